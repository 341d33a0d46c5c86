/**
 * What a pipeline of one's own is written against: a file `NAME.js`, `NAME.mjs` or `NAME.ts` in the folder of `--pipelines`
 * whose default export is a {@link PipelineDefinition}. `docs/pipelines.md` goes through one.
 *
 * @packageDocumentation
 */

/** A value of an answer, as it came: nothing is decoded before it is asked for, and no number goes through a float. */
export interface Json {
  /** What kind of value it is. */
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** A string's value; of a number or boolean its text as it came (`12.30`, `1e3`, `true`); undefined for all others. */
  readonly text: string | undefined;
  /** The value's JSON exactly as received. */
  readonly raw: string;
  /** What stands below these names, one below the other; undefined where one isn't there, or where there is no object. */
  at(...names: readonly string[]): Json | undefined;
  /**
   * The elements of the array that stands below these names (of this value itself without a name).
   *
   * @throws an error that has the page asked for again, and fails the slice at last, where there is no array
   */
  list(...names: readonly string[]): readonly Json[];
  /** The keys of an object in the order in which they came; none of any other value. */
  keys(): readonly string[];
}

/** A text of the definition's own, or the environment variable that holds it, which `before` is put in front of. */
export type HeaderValue = string | HeaderVariable;

/** A header's value from the environment. */
export interface HeaderVariable extends Variable {
  /** What goes before it: `Bearer `. */
  readonly before?: string;
}

/** A text from the environment. */
export interface Variable {
  /** Name of the variable. */
  readonly env: string;
  /**
   * Whether each account has its own, whose name ends in the account's: `SHOP_TOKEN_MY_SHOP`. Where that isn't set, it comes from
   * `accounts.my-shop.secrets.SHOP_TOKEN` of the configuration. Default false: all accounts share one.
   */
  readonly perAccount?: boolean;
}

/** Sign-in by token exchange (OAuth 2.0): with a refresh token, or with the client's own credentials. */
export interface SignInDefinition {
  /** Where access tokens come from: `https://`, or loopback. */
  readonly tokenEndpoint: string | Variable;
  /** Who the client is. */
  readonly clientId: string | Variable;
  /** The client's secret, from the environment. */
  readonly clientSecret: Variable;
  /** Left out: the client signs in for itself (client credentials). */
  readonly refreshToken?: Variable;
  /** What the access token is to be good for, as the endpoint calls it; left out: what it gives by default. */
  readonly scope?: string;
  /** How the client shows who it is: `basic` in the Authorization header, `form` or `json` in the body; default `basic`. */
  readonly authentication?: 'basic' | 'form' | 'json';
  /** The header that the access token goes in; default `authorization`, with `Bearer ` before it. */
  readonly header?: {
    /** The header's name. */
    readonly name: string;
    /** What goes before the token: `Bearer `. */
    readonly before?: string;
  };
}

/** How fast an API may be asked: a token bucket. */
export interface Quota {
  /** Requests a second: the first guess where answers name it. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
  /** The header in which answers name the rate, in requests a second. */
  readonly rateHeader?: string;
}

/** An HTTP API that answers with JSON. */
export interface Api {
  /**
   * Base address (`https://host` or `https://host/prefix`), or the environment variable that holds it. Headers from the
   * environment go over `https://` only, or to loopback.
   */
  readonly address: string | Variable;
  /** Headers of every request. Secrets come from the environment: `{ env: 'SHOP_TOKEN', before: 'Bearer ' }`. */
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  /** How access tokens are had; left out: the headers sign in, or nothing does. */
  readonly signIn?: SignInDefinition;
  /** Requests a second, and at once, that the API allows; left out: as fast as it answers. */
  readonly quota?: Quota;
  /** Records on a full page; default 100. */
  readonly pageSize?: number;
  /** How long what `next` gives can be gone on with, after a crash for instance; default 3. */
  readonly cursorLifeMinutes?: number;
  /** Seconds until an answer must have begun, and between two pieces of it; default 60. */
  readonly timeoutSeconds?: number;
  /**
   * What a status other than 200 stands for, where it isn't the usual; undefined: the usual. That is: 204 no (more) records, 429
   * `throttled`, 408 and 5xx `fault`, 401 and 403 `denied`, 413 `too-large`, others `mistake`. `empty`: no (more) records,
   * where an API says so with another status, such as 404.
   */
  causeOf?(refusal: Refusal): RefusalCause | 'empty' | undefined;
  /**
   * What an answer with status 200 stands for that is no page, as GraphQL has its errors in the body; undefined: it is one.
   * Left out: every one is.
   */
  causeOfPage?(body: Json): RefusalCause | undefined;
  /** What a refusal says in words, for the message; left out: the beginning of its body. */
  messageOf?(body: Json): string | undefined;
}

/** An answer with a status other than 200. */
export interface Refusal {
  /** Any but 200. */
  readonly status: number;
  /** Undefined where it isn't JSON. */
  readonly body: Json | undefined;
  /** The value of a header, whatever its case. */
  header(name: string): string | undefined;
}

/**
 * Why there was no page, as far as what to do about it differs:
 *
 * - `throttled`: waited for (`Retry-After` is heeded) and asked again, for up to half an hour
 * - `fault`: passes; asked again up to seven times, with growing pauses
 * - `invalid`: may pass; asked again up to three times; the window is left open then
 * - `too-large`: the window holds too much; it is read in parts
 * - `cursor-expired`: what `next` gave isn't taken any more; the window is read again, in two parts where it can be
 * - `denied`, `mistake`: the run ends
 */
export type RefusalCause = 'throttled' | 'fault' | 'invalid' | 'too-large' | 'cursor-expired' | 'denied' | 'mistake';

/** A value of a parameter or header; one that is undefined is left out. */
export type Parameter = string | number | undefined;

/** What is asked for: a request below the API's address. */
export interface ApiRequest {
  /** Begins with `/`; what isn't fixed in it goes through `encodeURIComponent`. */
  readonly path: string;
  /** Parameters by name, in their order; of a list each value is a parameter of that name. */
  readonly query?: Readonly<Record<string, Parameter | readonly Parameter[]>>;
  /** Headers of this request beside those of the API, which they replace where the names are the same; never a secret. */
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** Posted as JSON; left out: it is a GET request. */
  readonly body?: unknown;
}

/** A window of dates that is to be read: `from` is included, `to` is not. It never crosses a UTC month. */
export interface AskedWindow {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** Whose data is loaded: `--account`. */
  readonly account: string;
  /** `api.pageSize`. */
  readonly pageSize: number;
}

/** A page as it was received, with status 200. */
export interface Page {
  /** The whole of it. */
  readonly body: Json;
  /** The value of a header, whatever its case. */
  header(name: string): string | undefined;
  /** Path and query that it answers, as they were sent. */
  readonly request: string;
  /** The JSON that was posted for it; undefined where it answers a GET request. */
  readonly posted: Json | undefined;
  /** What it is a page of. */
  readonly window: AskedWindow;
}

/**
 * What a column takes. A {@link Json} is read by the column's type; numbers of JavaScript's own must be whole. What isn't of
 * the type, or doesn't fit it exactly, becomes null and is counted in the run's summary; it stands in `raw` all the same.
 * In a table without `raw` it fails the window.
 */
export type Cell = Json | string | bigint | number | boolean | Date | null | undefined;

/**
 * `varchar` takes strings, and the text of numbers and booleans; `timestamp` ISO 8601 (UTC without a zone), to the
 * microsecond; `date` `2025-03-04`; `bigint` (64 bits), `integer` (32 bits) and `decimal(p,s)` (p up to 18) numbers or
 * their text, exact.
 */
export type ColumnType =
  'varchar' | 'timestamp' | 'date' | 'boolean' | 'bigint' | 'integer' | `decimal(${number},${number})`;

/** A column of a table; every one may be null. */
export interface ColumnDefinition {
  /** What it holds, as DuckDB names it. */
  readonly type: ColumnType;
  /** What it holds, in a sentence; it stands in the table's schema. */
  readonly about?: string;
}

/**
 * A table of the lake. Beside the columns that are named it has `window_start` and `window_end` (the window that was read),
 * `position` (order of receipt in it, from 0) and, unless `raw` is false, `content_hash` and `raw`; and, as folders,
 * `account` and `month`.
 */
export interface TableDefinition {
  /** Small letters, digits and `_`: it names a folder. */
  readonly name: string;
  /** What a row is, in a sentence. */
  readonly about: string;
  /** By name, in their order. */
  readonly columns: Readonly<Record<string, ColumnDefinition>>;
  /** Columns that rows are sorted by; files can be skipped by them. Left out: rows stand in the order of receipt. */
  readonly sort?: readonly string[];
  /** Whether each row keeps its record byte for byte, with a hash of it; default true. */
  readonly raw?: boolean;
}

/** Values of a row by column; what is left out is null. */
export type Row = Readonly<Record<string, Cell>>;

/** Lines of records, such as the items of an order, as rows of a table of their own. */
export interface LinesDefinition {
  /** The lines of a record; a column of theirs has to say which record they are of. A record without a row has no lines. */
  rows(record: Json): Row | readonly Row[];
  /** Its rows have no `raw`: that of their record is in the other table. */
  readonly table: Omit<TableDefinition, 'raw'>;
}

/** How a range is cut into windows. */
export interface Cutting {
  /** Days of a window where there is no quota to save, from 1 to 31; default 7. */
  readonly days?: number;
  /** Days of the first windows, while nobody knows what days hold; default the same. */
  readonly probeDays?: number;
  /** Records that a day is taken to have by then. */
  readonly guessPerDay?: number;
  /** Days of the longest window that the API answers, from 1 to 31; left out: a month. */
  readonly longestDays?: number;
  /**
   * Minutes until a record can be found: runs load nothing younger. A run of several pipelines goes by the longest of theirs. Left
   * out: `marginMinutes` of the settings, which is 5.
   */
  readonly latenessMinutes?: number;
}

/** From a paged HTTP API into a table, window by window. */
export interface PipelineDefinition {
  /** Small letters, digits and `-`: what it is called on the command line. */
  readonly name: string;
  /** For people, in a sentence. */
  readonly about: string;
  /** Where it is read from. */
  readonly api: Api;
  /** How a range is cut while nobody knows what days hold. */
  readonly windows?: Cutting;
  /** What a window's first page is asked with. */
  first(window: AskedWindow): ApiRequest;
  /**
   * What the page behind this one is asked with: a request, or the address of one at the same host; undefined behind the
   * last page. Left out: all of a window comes on one page.
   */
  next?(page: Page): ApiRequest | string | undefined;
  /** The records of a page, in order. */
  records(page: Page): readonly Json[];
  /** A record as rows of the table, by column; what is left out is null. */
  rows(record: Json): Row | readonly Row[];
  /** Where it comes into. */
  readonly table: TableDefinition;
  /** A second table, with lines of the records: readers see those of a window together with its records. */
  readonly lines?: LinesDefinition;
}
