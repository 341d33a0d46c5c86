/** The commands that load from an API, or say what they would load. */
export const loadCommands = ['backfill', 'plan', 'sync'] as const;

export type LoadCommand = (typeof loadCommands)[number];

/** An option of a load: a flag, or a text, which its reader parses. */
export interface LoadOption {
  /** What it is, for the help. */
  readonly about: string;
  readonly isFlag?: true;
  readonly commands: readonly LoadCommand[];
}

/**
 * The options of a load that no setting has, with what each is for programs: `acceptEmpty` is `--accept-empty` on the command line.
 * The job has their values.
 */
export const loadOptions = {
  /** Reads again what is already loaded, and replaces it. */
  refresh: {
    isFlag: true,
    about: 'Read again what is already loaded, and replace it',
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
    commands: ['backfill', 'sync'],
  },
} as const satisfies Readonly<Record<string, LoadOption>>;

type LoadOptionTable = typeof loadOptions;

type ValueOf<Option> = Option extends { readonly isFlag: true } ? boolean : string;

/** The values of options of a load; undefined or left out: not given. */
export type LoadValues = { readonly [Name in keyof LoadOptionTable]?: ValueOf<LoadOptionTable[Name]> | undefined };

/** Those of the options that the command takes; of several commands, each of them. */
export type LoadOptionsOf<Command extends LoadCommand> = {
  readonly [
    Name in keyof LoadOptionTable as [Command] extends [LoadOptionTable[Name]['commands'][number]] ? Name : never
  ]?: ValueOf<LoadOptionTable[Name]> | undefined;
};

/** The options that a command takes. */
export function loadOptionsOf<Command extends LoadCommand>(command: Command) {
  const taken = Object.entries<LoadOption>(loadOptions).filter(([, { commands }]) => commands.includes(command));
  return Object.fromEntries(taken) as Readonly<Record<keyof LoadOptionsOf<Command>, LoadOption>>;
}

/** The values of all options. `given`: whether a flag is set, the text of another option, or undefined. */
export function readLoadOptions(given: (name: keyof LoadValues) => string | boolean | undefined): LoadValues {
  return Object.fromEntries(Object.keys(loadOptions).map((name) => [name, given(name as keyof LoadValues)]));
}
