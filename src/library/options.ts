import { usageError } from '../core/errors.js';
import type { RunEvent } from '../core/events/run-event.js';
import { nearestName } from '../core/text/fault-line.js';
import type { Api } from '../sources/finances/api-names.js';
import { loadOptionsOf, type LoadCommand, type LoadOption, type LoadOptionsOf } from '../engine/run/load-options.js';

/** The kind of an option's values. `isValid` may accept more than `T` where what reads the option later refuses it. */
export interface Kind<T> {
  /** The values in words. */
  readonly expected: string;
  readonly isValid: (value: unknown) => value is T;
}

/** The options of a function, by a table that has the kind of each. */
export type OptionsOf<Kinds> = {
  readonly [Name in keyof Kinds]?: (Kinds[Name] extends Kind<infer T> ? T : never) | undefined;
};

export function text<T extends string = string>(): Kind<T> {
  return { expected: 'a text that is not empty', isValid: (value): value is T => isText(value) };
}

export function texts<T extends string = string>(): Kind<readonly T[]> {
  return {
    expected: 'a list of texts',
    isValid: (value): value is readonly T[] => Array.isArray(value) && value.every(isText),
  };
}

export const number: Kind<number> = { expected: 'a number', isValid: (value) => typeof value === 'number' };

const flag: Kind<boolean> = { expected: 'true or false', isValid: (value) => typeof value === 'boolean' };

export const instant: Kind<string | Date> = {
  expected: 'a Date, or a text in ISO 8601',
  isValid: (value): value is string | Date => value instanceof Date || isText(value),
};

export function callback<T extends (value: never) => unknown>(): Kind<T> {
  return { expected: 'a function', isValid: (value): value is T => typeof value === 'function' };
}

export function values<T extends object>(): Kind<T> {
  return {
    expected: 'texts, numbers, bigints, booleans, dates and nulls, in a list or by name',
    isValid: (value): value is T => {
      const types = ['string', 'number', 'bigint', 'boolean'];
      if (typeof value !== 'object' || value === null) return false;
      return Object.values(value).every((each) => each === null || isInstant(each) || types.includes(typeof each));
    },
  };
}

/** What most functions take. */
export const callKinds = {
  /** The lake: a folder, or `s3://BUCKET/PREFIX`; default: the setting, else `data/lake`. */
  lake: text(),
  /** Configuration file; default: that of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` in the working folder if it exists. */
  config: text(),
  /**
   * Receives each event: of a run all, of other calls progress and notes as `message`. An error that it throws stops the call, and
   * rejects its promise.
   */
  onEvent: callback<(event: RunEvent) => void>(),
  /** Stops the call, as Ctrl-C does a command: what was committed stays, and the promise rejects with STOPPED. */
  signal: {
    expected: 'an AbortSignal',
    isValid: (value: unknown): value is AbortSignal => value instanceof AbortSignal,
  } satisfies Kind<AbortSignal>,
};

/**
 * What most functions take. Each option is that of the command line with the same name.
 *
 * @interface
 */
export type CallOptions = OptionsOf<typeof callKinds>;

export const viewKinds = {
  /** Time zone in which months begin and end, an IANA name; default: the setting, else UTC. */
  timeZone: text(),
  /** The chart of accounts, a CSV file; default: the setting, else the built-in one. */
  chart: text(),
  /** Unit costs, a CSV file; default: the setting, else none. */
  costs: text(),
};

/** What views are made with. */
export type ViewOptions = OptionsOf<typeof viewKinds>;

/** The credentials of an account. They are sent to the token endpoint, and are never logged or written anywhere. */
export interface Credentials {
  /** Client id of the application that the seller authorised. */
  readonly clientId: string;
  /** Client secret of the application. */
  readonly clientSecret: string;
  /** The seller's refresh token for the application. */
  readonly refreshToken: string;
  /** Where the refresh token is exchanged for access tokens; default: the account's setting, else Login with Amazon. */
  readonly tokenEndpoint?: string | undefined;
}

export const accountKinds = {
  /** The account; default: the only configured one, else `demo` with the embedded service. */
  account: text(),
  /** The service's base address; default: the account's, else the embedded service. */
  endpoint: text(),
  /** The account's credentials; default: its settings. */
  credentials: {
    expected: 'an object with clientId, clientSecret and refreshToken',
    isValid: areCredentials,
  } satisfies Kind<Credentials>,
  /** Requests per second for each operation, until the service announces its rate; default: 0.5. */
  rate: number,
  /** Requests at once for each operation; default: what each API allows. */
  burst: number,
  config: callKinds.config,
  onEvent: callKinds.onEvent,
};

/** The account to read. Defaults come from the environment, then from the configuration file. */
export interface AccountOptions extends Pick<CallOptions, 'config' | 'onEvent'>, OptionsOf<typeof accountKinds> {}

const runKinds = {
  ...accountKinds,
  ...callKinds,
  /** Pipelines by name; default: those of `api`. */
  pipelines: texts(),
  /** API whose pipelines run if none is named; default: `v0`. */
  api: text<Api>(),
  /** Folder for pages of unfinished slices; default: `LAKE/_journal`, for S3 the user's cache. */
  journal: text(),
  /** Folder with definitions of custom pipelines: `--pipelines` of the command line. */
  pipelineFolder: text(),
  /** How many hours replaced files stay; default: the setting of the lake. */
  retentionHours: number,
  /** What the run writes for other engines at its end; default: the setting. */
  export: texts<'iceberg' | 'symlinks'>(),
};

/** The options of both `backfill` and `sync`. Each is the option of the command line with the same name. */
export interface RunOptions
  extends AccountOptions, CallOptions, OptionsOf<typeof runKinds>, LoadOptionsOf<'backfill' | 'sync'> {}

export const backfillKinds = {
  ...runKinds,
  /** First instant, ISO 8601 in UTC; default: 90 days before `to`. */
  from: instant,
  /** End, exclusive; default: five minutes ago. */
  to: instant,
  ...loadKinds('backfill'),
};

/** The options of `backfill`. */
export interface BackfillOptions extends RunOptions, LoadOptionsOf<'backfill'>, OptionsOf<typeof backfillKinds> {}

export const syncKinds = {
  ...runKinds,
  /** Start of a first load, ISO 8601 in UTC; default: the setting, else 90 days ago. */
  from: instant,
  /** Reads this many days again, regardless of the schedule. */
  lookBack: number,
  ...loadKinds('sync'),
};

/** The options of `sync`. */
export interface SyncOptions extends RunOptions, LoadOptionsOf<'sync'>, OptionsOf<typeof syncKinds> {}

function loadKinds<Command extends LoadCommand>(command: Command) {
  const kinds = Object.entries<LoadOption>(loadOptionsOf(command)).flatMap(
    ([name, { isOfCommandLine, isFlag, isList }]) =>
      isOfCommandLine ? [] : [[name, isFlag ? flag : isList ? texts() : text()] as const],
  );
  return Object.fromEntries(kinds) as unknown as {
    readonly [Name in keyof LoadOptionsOf<Command>]-?: Kind<NonNullable<LoadOptionsOf<Command>[Name]>>;
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A `Date` whose text in ISO 8601 exists. */
function isInstant(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function areCredentials(value: unknown): value is Credentials {
  if (typeof value !== 'object' || value === null) return false;
  const { clientId, clientSecret, refreshToken, tokenEndpoint = 'none', ...others } = value as Record<string, unknown>;
  return [clientId, clientSecret, refreshToken, tokenEndpoint].every(isText) && Object.keys(others).length === 0;
}

/**
 * Checks the options of a caller, which may be JavaScript. No message has a value, which may be a secret.
 *
 * @throws LedgerlakeError USAGE for an unknown option, and for a value of another type
 */
export function checkOptions(subject: string, options: object, kinds: Readonly<Record<string, Kind<unknown>>>): void {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw usageError(`expected the options of ${subject} to be an object`);
  }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      const nearest = nearestName(name, Object.keys(kinds));
      const hint = nearest === undefined ? `it takes ${Object.keys(kinds).join(', ')}` : `did you mean ${nearest}?`;
      throw usageError(`expected an option of ${subject}, got ${JSON.stringify(name)}; ${hint}`);
    }
    if (value !== undefined && !kind.isValid(value))
      throw usageError(`expected the option ${name} of ${subject} to be ${kind.expected}`);
  }
}

/** An option's value as a text of the command line; undefined for one that has none. */
export function optionText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  // An empty list replaces the setting.
  if (Array.isArray(value)) return value.join(',') || 'none';
  if (!(value instanceof Date)) return undefined;
  // The text of an invalid date is an invalid instant, which is refused later.
  return isInstant(value) ? value.toISOString() : String(value);
}
