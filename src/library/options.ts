import { usageError } from '../core/errors.js';
import type { RunEvent } from '../core/events/run-event.js';
import { nearestName } from '../core/text/fault-line.js';

/** An operation with pages, of Finances v0, Finances 2024-06-19 or Transfers 2024-06-01. */
export type FinancesOperation =
  | 'ListFinancialEventGroups'
  | 'ListFinancialEvents'
  | 'ListFinancialEventsByGroupId'
  | 'ListFinancialEventsByOrderId'
  | 'listTransactions'
  | 'listSummary'
  | 'listPayouts';

/** What most functions take. Each option is that of the command line with the same name. */
export interface CallOptions {
  /** The lake: a folder, or `s3://BUCKET/PREFIX`; default: the setting, else `data/lake`. */
  readonly lake?: string | undefined;
  /** Configuration file; default: that of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` in the working folder if it exists. */
  readonly config?: string | undefined;
  /**
   * Receives each event: of a run all, of other calls progress and notes as `message`. An error that it throws stops the call, and
   * rejects its promise.
   */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Stops the call, as Ctrl-C does a command: what was committed stays, and the promise rejects with STOPPED. */
  readonly signal?: AbortSignal | undefined;
}

/** What views are made with. */
export interface ViewOptions {
  /** Time zone in which months begin and end, an IANA name; default: the setting, else UTC. */
  readonly timeZone?: string | undefined;
  /** The chart of accounts, a CSV file; default: the setting, else the built-in one. */
  readonly chart?: string | undefined;
  /** Unit costs, a CSV file; default: the setting, else none. */
  readonly costs?: string | undefined;
}

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

/** The account to read. Defaults come from the environment, then from the configuration file. */
export interface AccountOptions extends Pick<CallOptions, 'config' | 'onEvent'> {
  /** The account; default: the only configured one, else `demo` with the embedded service. */
  readonly account?: string | undefined;
  /** The service's base address; default: the account's, else the embedded service. */
  readonly endpoint?: string | undefined;
  /** The account's credentials; default: its settings. */
  readonly credentials?: Credentials | undefined;
  /** Requests per second for each operation, until the service announces its rate; default: 0.5. */
  readonly rate?: number | undefined;
  /** Requests at once for each operation; default: what each API allows. */
  readonly burst?: number | undefined;
}

/** The options of both `backfill` and `sync`. Each is the option of the command line with the same name. */
export interface RunOptions extends AccountOptions, CallOptions {
  /** Pipelines by name; default: those of `api`. */
  readonly pipelines?: readonly string[] | undefined;
  /** API whose pipelines run if none is named; default: `v0`. */
  readonly api?: 'v0' | '2024-06-19' | 'both' | undefined;
  /** Order ids, for `order-events` and `order-transactions`. */
  readonly orders?: readonly string[] | undefined;
  /** Accepts an empty answer for slices of which the lake has rows. */
  readonly acceptEmpty?: boolean | undefined;
  /** Folder for pages of unfinished slices; default: `LAKE/_journal`, for S3 the user's cache. */
  readonly journal?: string | undefined;
  /** Folder with definitions of custom pipelines: `--pipelines` of the command line. */
  readonly pipelineFolder?: string | undefined;
  /** How many hours replaced files stay; default: the setting of the lake. */
  readonly retentionHours?: number | undefined;
  /** What the run writes for other engines at its end; default: the setting. */
  readonly export?: readonly ('iceberg' | 'symlinks')[] | undefined;
}

/** The options of `backfill`. */
export interface BackfillOptions extends RunOptions {
  /** First instant, ISO 8601 in UTC; default: 90 days before `to`. */
  readonly from?: string | Date | undefined;
  /** End, exclusive; default: five minutes ago. */
  readonly to?: string | Date | undefined;
  /** Reads again what is already loaded, and replaces it. */
  readonly refresh?: boolean | undefined;
}

/** The options of `sync`. */
export interface SyncOptions extends RunOptions {
  /** Start of a first load, ISO 8601 in UTC; default: the setting, else 90 days ago. */
  readonly from?: string | Date | undefined;
  /** Reads this many days again, regardless of the schedule. */
  readonly lookBack?: number | undefined;
  /** Rejects with LAKE_LAG if the lake is older than this after the run: `90m`, `2h`, `1d`; with USAGE where there is no lake. */
  readonly maxLag?: string | undefined;
}

/** The kinds of values of options. */
type Kind =
  'text' | 'number' | 'flag' | 'texts' | 'values' | 'instant' | 'version' | 'function' | 'signal' | 'credentials';

/** The kind of each option of a function. */
export type OptionKinds<T> = { readonly [Name in keyof Required<T>]: Kind };

export const callKinds: OptionKinds<CallOptions> = {
  lake: 'text',
  config: 'text',
  onEvent: 'function',
  signal: 'signal',
};
export const viewKinds: OptionKinds<ViewOptions> = { timeZone: 'text', chart: 'text', costs: 'text' };

export const accountKinds: OptionKinds<AccountOptions> = {
  account: 'text',
  endpoint: 'text',
  credentials: 'credentials',
  rate: 'number',
  burst: 'number',
  config: 'text',
  onEvent: 'function',
};

const runKinds: OptionKinds<RunOptions> = {
  ...accountKinds,
  ...callKinds,
  pipelines: 'texts',
  api: 'text',
  orders: 'texts',
  acceptEmpty: 'flag',
  journal: 'text',
  pipelineFolder: 'text',
  retentionHours: 'number',
  export: 'texts',
};

export const backfillKinds: OptionKinds<BackfillOptions> = {
  ...runKinds,
  from: 'instant',
  to: 'instant',
  refresh: 'flag',
};
export const syncKinds: OptionKinds<SyncOptions> = { ...runKinds, from: 'instant', lookBack: 'number', maxLag: 'text' };

const kinds: Readonly<Record<Kind, { readonly expected: string; readonly isValid: (value: unknown) => boolean }>> = {
  text: { expected: 'a text that is not empty', isValid: isText },
  number: { expected: 'a number', isValid: (value) => typeof value === 'number' },
  flag: { expected: 'true or false', isValid: (value) => typeof value === 'boolean' },
  texts: { expected: 'a list of texts', isValid: (value) => Array.isArray(value) && value.every(isText) },
  values: { expected: 'texts, numbers, bigints, booleans, dates and nulls, in a list or by name', isValid: areValues },
  instant: { expected: 'a Date, or a text in ISO 8601', isValid: (value) => value instanceof Date || isText(value) },
  version: {
    expected: 'a version as a number, VERSION or VERSION:HASH, or an instant: a Date, or a text in ISO 8601',
    isValid: (value) => value instanceof Date || isText(value) || (Number.isSafeInteger(value) && Number(value) >= 0),
  },
  function: { expected: 'a function', isValid: (value) => typeof value === 'function' },
  signal: { expected: 'an AbortSignal', isValid: (value) => value instanceof AbortSignal },
  credentials: { expected: 'an object with clientId, clientSecret and refreshToken', isValid: areCredentials },
};

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** A `Date` whose text in ISO 8601 exists. */
function isInstant(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function areValues(value: unknown): boolean {
  const types = ['string', 'number', 'bigint', 'boolean'];
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every((each) => each === null || isInstant(each) || types.includes(typeof each));
}

function areCredentials(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { clientId, clientSecret, refreshToken, tokenEndpoint = 'none', ...others } = value as Record<string, unknown>;
  return [clientId, clientSecret, refreshToken, tokenEndpoint].every(isText) && Object.keys(others).length === 0;
}

/**
 * Checks the options of a caller, which may be JavaScript. No message has a value, which may be a secret.
 *
 * @throws LedgerlakeError USAGE for an unknown option, and for a value of another type
 */
export function checkOptions<T extends object>(subject: string, options: T, known: OptionKinds<T>): void {
  const all: Readonly<Partial<Record<string, Kind>>> = known;
  const given: unknown = options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw usageError(`expected the options of ${subject} to be an object`);
  }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const kind = Object.hasOwn(all, name) ? all[name] : undefined;
    if (kind === undefined) {
      const nearest = nearestName(name, Object.keys(all));
      const hint = nearest === undefined ? `it takes ${Object.keys(all).join(', ')}` : `did you mean ${nearest}?`;
      throw usageError(`expected an option of ${subject}, got ${JSON.stringify(name)}; ${hint}`);
    }
    const { expected, isValid } = kinds[kind];
    if (value !== undefined && !isValid(value))
      throw usageError(`expected the option ${name} of ${subject} to be ${expected}`);
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
