/** The commands that load from an API, or say what they would load. */
export const loadCommands = ['backfill', 'plan', 'sync'] as const;

export type LoadCommand = (typeof loadCommands)[number];

/** An option of a load. It is a flag, a list, or else a text, which what needs it parses. */
export interface LoadOption {
  /** What it is, for the help. */
  readonly about: string;
  readonly commands: readonly LoadCommand[];
  readonly isFlag?: true;
  /** Whether it is a list, which on the command line is a file with a line for each entry. */
  readonly isList?: true;
  /** Whether it decides what is read: the job has its value. */
  readonly isOfJob?: true;
  /** Whether programs don't have it. */
  readonly isOfCommandLine?: true;
}

/**
 * The options of a load that no setting has, in the order of the help, with what each is for programs: `acceptEmpty` is `--accept-empty`
 * on the command line.
 */
export const loadOptions = {
  /** Reads again what is already loaded, and replaces it. */
  refresh: {
    isFlag: true,
    about: 'Read again what is already loaded, and replace it',
    isOfJob: true,
    commands: ['backfill', 'plan'],
  },
  /** Rejects with LAKE_LAG if the lake is older than this after the run: `90m`, `2h`, `1d`; with USAGE where there is no lake. */
  maxLag: {
    about: 'Exit with 1 if the lake is older than this after the run: 90m, 2h, 1d; where there is no lake, begin none',
    commands: ['sync'],
  },
  /** Accepts an empty answer for slices of which the lake has rows. */
  acceptEmpty: {
    isFlag: true,
    about: 'Accept an answer that is empty, or has other orders, where the lake has events',
    isOfJob: true,
    commands: ['backfill', 'sync'],
  },
  /** Order ids, for `order-events` and `order-transactions`. */
  orders: {
    isList: true,
    about: 'File with order ids, one per line; - for standard input',
    isOfJob: true,
    commands: ['backfill', 'plan', 'sync'],
  },
  dryRun: {
    isFlag: true,
    about: 'Change nothing: print the plan, as ledgerlake plan does, and the first page of custom pipelines',
    isOfCommandLine: true,
    commands: ['backfill'],
  },
  /** Requests a page from the service where the lake has no data to estimate from. */
  probe: {
    isFlag: true,
    about: 'Request a few pages of each pipeline that has no loaded range, or lacks four weeks or more',
    isOfCommandLine: true,
    commands: ['plan'],
  },
} as const satisfies Readonly<Record<string, LoadOption>>;

type LoadOptionTable = typeof loadOptions;

type ValueOf<Option> = Option extends { readonly isFlag: true }
  ? boolean
  : Option extends { readonly isList: true }
    ? readonly string[]
    : string;

/** The values of options of a load; undefined or left out: not given. */
export type LoadValues = { readonly [Name in keyof LoadOptionTable]?: ValueOf<LoadOptionTable[Name]> | undefined };

/** Those that decide what is read. */
export type JobValues = {
  readonly [
    Name in keyof LoadValues as LoadOptionTable[Name] extends { readonly isOfJob: true } ? Name : never
  ]: LoadValues[Name];
};

/** The values of a load's options that its job has. */
export function jobValues(values: LoadValues): JobValues {
  const names = Object.entries<LoadOption>(loadOptions).flatMap(([name, { isOfJob }]) => (isOfJob ? name : []));
  return Object.fromEntries(names.map((name) => [name, values[name as keyof LoadValues]]));
}

/** The name of an option that the command takes, else `never`; of several commands, that each of them takes. */
type TakenName<Name extends keyof LoadOptionTable, Command extends LoadCommand> = [Command] extends [
  LoadOptionTable[Name]['commands'][number],
]
  ? Name
  : never;

/** The options that a program may give to each of the commands. */
export type LoadOptionsOf<Command extends LoadCommand> = {
  readonly [
    Name in keyof LoadOptionTable as LoadOptionTable[Name] extends { readonly isOfCommandLine: true }
      ? never
      : TakenName<Name, Command>
  ]?: ValueOf<LoadOptionTable[Name]> | undefined;
};

/** The options that each of the commands takes. */
export function loadOptionsOf<Command extends LoadCommand>(...commands: readonly Command[]) {
  const taken = Object.entries<LoadOption>(loadOptions).filter(([, option]) =>
    commands.every((command) => option.commands.includes(command)),
  );
  return Object.fromEntries(taken) as {
    readonly [Name in keyof LoadOptionTable as TakenName<Name, Command>]: LoadOption;
  };
}

/** The values of the options that a command takes. `given`: the value of an option; undefined: not given. */
export function readLoadOptions(
  command: LoadCommand,
  given: (name: keyof LoadValues) => LoadValues[keyof LoadValues],
): LoadValues {
  const names = Object.keys(loadOptionsOf(command)) as (keyof LoadValues)[];
  return Object.fromEntries(names.map((name) => [name, given(name)]));
}
