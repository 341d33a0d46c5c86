/**
 * The interface for custom pipelines: a file `NAME.js`, `NAME.mjs` or `NAME.ts` in the folder of `--pipelines` whose default
 * export is a {@link PipelineDefinition}. `docs/pipelines.md` explains one.
 *
 * @packageDocumentation
 */

import type { Json, Row } from '../records/record.js';

/** A literal text, or an environment variable with an optional prefix. */
export type HeaderValue = string | HeaderVariable;

/** A header's value from the environment. */
export interface HeaderVariable extends Variable {
  /** Prefix of the value: `Bearer `. */
  readonly before?: string;
}

/** A text from the environment. */
export interface Variable {
  /** Name of the variable. */
  readonly env: string;
  /**
   * Whether each account has a separate variable, whose name ends in the account's: `SHOP_TOKEN_MY_SHOP`. The fallback is
   * `accounts.my-shop.secrets.SHOP_TOKEN` of the configuration. Default false: all accounts share one.
   */
  readonly perAccount?: boolean;
}

/** Sign-in by token exchange (OAuth 2.0): with a refresh token, or with the client's own credentials. */
export interface SignInDefinition {
  /** The token endpoint: `https://`, or loopback. */
  readonly tokenEndpoint: string | Variable;
  /** The client's id. */
  readonly clientId: string | Variable;
  /** The client's secret, from the environment. */
  readonly clientSecret: Variable;
  /** Left out: the client signs in for itself (client credentials). */
  readonly refreshToken?: Variable;
  /** The scope of the access token; left out: the endpoint's default. */
  readonly scope?: string;
  /** How the client authenticates: `basic` in the Authorization header, `form` or `json` in the body; default `basic`. */
  readonly authentication?: 'basic' | 'form' | 'json';
  /** The header of the access token; default `authorization`, with the prefix `Bearer `. */
  readonly header?: {
    /** The header's name. */
    readonly name: string;
    /** Prefix of the token: `Bearer `. */
    readonly before?: string;
  };
}

/** The rate limit of an API: a token bucket. */
export interface Quota {
  /** Requests a second: the initial value where answers state the rate. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
  /** The header in which answers state the rate, in requests a second. */
  readonly rateHeader?: string;
}

/** An HTTP API that answers with JSON. */
export interface ApiDefinition {
  /**
   * Base address (`https://host` or `https://host/prefix`), or its environment variable. Headers from the environment are sent
   * over `https://` only, or to loopback.
   */
  readonly address: string | Variable;
  /** Headers of every request. Secrets come from the environment: `{ env: 'SHOP_TOKEN', before: 'Bearer ' }`. */
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  /** How access tokens are obtained; left out: the headers sign in, or nothing does. */
  readonly signIn?: SignInDefinition;
  /** The rate limit; left out: none. */
  readonly quota?: Quota;
  /** Records on a full page; default 100. */
  readonly pageSize?: number;
  /** How long a result of `next` is valid, for instance after a crash; default 3. */
  readonly cursorLifeMinutes?: number;
  /** Seconds until an answer must begin, and between two chunks of it; default 60. */
  readonly timeoutSeconds?: number;
  /**
   * The meaning of a status other than 200; undefined: the default. Defaults: 204 no (more) records, 429 `throttled`, 408 and
   * 5xx `fault`, 401 and 403 `denied`, 413 `too-large`, others `mistake`. `empty`: no (more) records, for an API that uses
   * another status, such as 404.
   */
  causeOf?(refusal: RefusalDefinition): RefusalCause | 'empty' | undefined;
  /**
   * The meaning of an answer with status 200 that isn't a page, such as an error in a GraphQL body; undefined: it is a page. Left
   * out: every answer is a page.
   */
  causeOfPage?(body: Json): RefusalCause | undefined;
  /** The message of a refusal; left out: the beginning of its body. */
  messageOf?(body: Json): string | undefined;
}

/** An answer with a status other than 200. */
export interface RefusalDefinition {
  /** Any but 200. */
  readonly status: number;
  /** Undefined: not JSON. */
  readonly body: Json | undefined;
  /** The value of a header, whatever its case. */
  header(name: string): string | undefined;
}

/**
 * Why an answer isn't a page; each cause is handled differently:
 *
 * - `throttled`: retried after a pause (`Retry-After` is respected), for up to half an hour
 * - `fault`: transient; retried up to seven times, with growing pauses
 * - `invalid`: possibly transient; retried up to three times; then the window stays open
 * - `too-large`: the window is too large; it is split
 * - `cursor-expired`: the result of `next` is no longer accepted; the window is read again, in two halves where possible
 * - `denied`, `mistake`: the run ends
 */
export type RefusalCause = 'throttled' | 'fault' | 'invalid' | 'too-large' | 'cursor-expired' | 'denied' | 'mistake';

/** A value of a parameter or header; undefined values are omitted. */
export type Parameter = string | number | undefined;

/** A request, relative to the API's address. */
export interface ApiRequest {
  /** Begins with `/`; variable parts are encoded with `encodeURIComponent`. */
  readonly path: string;
  /** Parameters by name, in order; each value of a list is a parameter of that name. */
  readonly query?: Readonly<Record<string, Parameter | readonly Parameter[]>>;
  /** Headers of this request, which replace those of the API with the same name; never a secret. */
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** Posted as JSON; a request without a body is a GET. */
  readonly body?: unknown;
}

/** A window of dates to read: `from` is inclusive, `to` is exclusive. It never crosses a UTC month. */
export interface AskedWindow {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** The account: `--account`. */
  readonly account: string;
  /** `api.pageSize`. */
  readonly pageSize: number;
}

/** A received page, with status 200. */
export interface Page {
  /** The whole body. */
  readonly body: Json;
  /** The value of a header, whatever its case. */
  header(name: string): string | undefined;
  /** Path and query of its request, as sent. */
  readonly request: string;
  /** The posted JSON; undefined for a GET request. */
  readonly posted: Json | undefined;
  /** The window of the query. */
  readonly window: AskedWindow;
}

/**
 * `varchar` accepts strings, and the text of numbers and booleans; `timestamp` ISO 8601 (UTC without a zone), to the
 * microsecond; `date` `2025-03-04`; `bigint` (64 bits), `integer` (32 bits) and `decimal(p,s)` (p up to 18) numbers or
 * their text, exact.
 */
export type ColumnTypeName =
  'varchar' | 'timestamp' | 'date' | 'boolean' | 'bigint' | 'integer' | `decimal(${number},${number})`;

/** A column of a table; every column may be null. */
export interface ColumnDefinition {
  /** The type, by its name in DuckDB. */
  readonly type: ColumnTypeName;
  /** The content, in a sentence for the table's schema. */
  readonly about?: string;
}

/**
 * A table of the lake. Beside the defined columns it has `window_start` and `window_end` (the window that was read),
 * `position` (order of receipt in it, from 0) and, unless `raw` is false, `content_hash` and `raw`; and, as folders,
 * `account` and `month`.
 */
export interface TableDefinition {
  /** Small letters, digits and `_`: the name of a folder. */
  readonly name: string;
  /** What a row is, in a sentence. */
  readonly about: string;
  /** By name, in order. */
  readonly columns: Readonly<Record<string, ColumnDefinition>>;
  /** Columns that rows are sorted by; queries skip files by them. Left out: rows are in order of receipt. */
  readonly sort?: readonly string[];
  /** Whether each row stores its record byte for byte, with a hash of it; default true. */
  readonly raw?: boolean;
}

/** Lines of records, such as the items of an order, as rows of a second table. */
export interface LinesDefinition {
  /** The lines of a record; one of their columns should identify the record. A record without a row has no lines. */
  rows(record: Json): Row | readonly Row[];
  /** Its rows have no `raw`: that of the record is in the other table. */
  readonly table: Omit<TableDefinition, 'raw'>;
}

/** How a range is cut into windows. */
export interface Cutting {
  /** Days of a window without a quota, from 1 to 31; default 7. */
  readonly days?: number;
  /** Days of the first windows, while the density is unknown; default the same. */
  readonly probeDays?: number;
  /** Assumed records a day while the density is unknown. */
  readonly guessPerDay?: number;
  /** Days of the longest window that the API answers, from 1 to 31; default a month. */
  readonly longestDays?: number;
  /**
   * Minutes until a record is available: runs load nothing younger. A run of several pipelines uses the longest of theirs. Default:
   * `marginMinutes` of the settings, which is 5.
   */
  readonly latenessMinutes?: number;
}

/** Loads a table from a paged HTTP API, window by window. */
export interface PipelineDefinition {
  /** Small letters, digits and `-`: its name on the command line. */
  readonly name: string;
  /** A sentence for help texts. */
  readonly about: string;
  /** The API that it reads. */
  readonly api: ApiDefinition;
  /** How a range is cut into windows. */
  readonly windows?: Cutting;
  /** The request for a window's first page. */
  first(window: AskedWindow): ApiRequest;
  /**
   * The request for the page after this one, or its address at the same host; undefined after the last page. Left out: a window
   * has one page.
   */
  next?(page: Page): ApiRequest | string | undefined;
  /** The records of a page, in order. */
  records(page: Page): readonly Json[];
  /** A record as rows of the table, by column; a missing column is null. */
  rows(record: Json): Row | readonly Row[];
  /** The table to load. */
  readonly table: TableDefinition;
  /** A second table with lines of the records. Queries show the lines of a window together with its records. */
  readonly lines?: LinesDefinition;
}
