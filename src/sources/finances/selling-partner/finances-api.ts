import type { Table } from '../../../core/columns/table.js';
import { readEndpoint } from '../../../engine/http/address.js';
import type { Tape } from '../../../core/json/tape.js';
import type { ApiPage, PagedApi, Query } from '../../../engine/paging/paged-api.js';
import type { PagedClient } from '../../../engine/paging/paged-client.js';

/** Query parameters for a range of dates. */
export interface DateRange {
  /** The inclusive lower bound. */
  readonly after: string;
  /** The upper bound. */
  readonly before: string;
  /** Whether a missing `before` means now less the margin. */
  readonly beforeDefaultsToNow: boolean;
}

/** An operation of an API: what the client builds its URLs from, and the service its routes and checks. */
export interface ApiOperation {
  readonly name: string;
  /** Path with the path parameter in braces. */
  readonly path: string;
  readonly pathParameter?: { readonly name: string } | undefined;
  readonly range: DateRange | undefined;
  /** Query parameters besides the range, the page size and the token. */
  readonly parameters: readonly string[];
  /** Member with the page's results. */
  readonly result: string;
}

/** A version of the Finances API: what is the same for all readers of it. */
export interface FinancesApi {
  /** A value of `--api`, and of the column `source`: `v0`. */
  readonly name: string;
  readonly title: string;
  readonly operations: Readonly<Record<string, ApiOperation>>;
  /** Limits of each operation, until the service states others. */
  readonly limits: {
    /** Requests a second. */
    readonly rate: number;
    /** Requests at once. */
    readonly burst: number;
    /** Results a page, at most. */
    readonly pageSize: number;
    /** Maximal distance of the two date bounds; beyond it the answer is empty. */
    readonly maxSpanMs: number;
    /** Minimal age of a date bound at the request. */
    readonly marginMs: number;
  };
  /** The tables that its pipelines fill. */
  readonly tables: readonly Table[];
}

/** Address and limits of the Finances APIs. */
export interface FinancesApiOptions {
  /** Base address; its path precedes that of the operations. */
  readonly endpoint: URL | string;
  /** Of each operation, until the service states another rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number | undefined } | undefined;
  /** How long a NextToken is accepted. */
  readonly cursorLifeMs: number;
}

/** A page whose results are nodes of its JSON. */
export interface ScannedApiPage extends ApiPage {
  readonly tape: Tape;
}

/** A query: the parameters of its first request, dates in milliseconds since 1970. */
export interface ApiQuery<Operation extends string = string> extends Query {
  readonly operation: Operation;
  readonly parameters: Readonly<Record<string, string | number | undefined>>;
}

/** A Finances API as it is read. */
export interface PagedFinancesApi<Q extends ApiQuery, P extends ScannedApiPage> extends PagedApi<Q, P> {
  /** Visits every result of a page, in order, with the name of its list: empty but for events. */
  eachResult(page: P, visit: (list: string, node: number) => void): void;
}

/** A Finances API as pipelines read it. */
export type FinancesClient<Q extends Query, P extends ApiPage> = Pick<PagedClient<Q, P>, 'pages' | 'pace' | 'begun'>;

/** The text of a result: its list as JSON and its bytes, which is unique for each pair of list and bytes. */
export function resultText({ tape }: ScannedApiPage, list: string, node: number): string {
  return `${JSON.stringify(list)}${tape.text(node)}`;
}

/**
 * The members that the Finances APIs have in common, and the path before that of their operations.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function commonApi<P extends ScannedApiPage>(
  { endpoint, quota, cursorLifeMs }: FinancesApiOptions,
  { operations, limits: { burst, maxSpanMs } }: FinancesApi,
  eachResult: (page: P, visit: (list: string, node: number) => void) => void,
  headers: Readonly<Record<string, string>> = {},
) {
  const { origin, prefix, authorization, login } = readEndpoint(endpoint);
  const sent = { accept: 'application/json', ...headers, ...(authorization !== undefined && { authorization }) };
  const common = {
    address: { origin, headers: sent, secrets: login, setting: 'the endpoint' },
    quota: quota && { rate: quota.rate, burst: quota.burst ?? burst },
    rateHeader: 'x-amzn-ratelimit-limit',
    requestIdHeader: 'x-amzn-requestid',
    cursorLifeMs,
    longestWindowMs: maxSpanMs,
    operations: Object.keys(operations),
    eachResult,
    resultTexts: (page: P): readonly string[] => {
      const texts: string[] = [];
      eachResult(page, (list, node) => texts.push(resultText(page, list, node)));
      return texts;
    },
  };
  return { prefix, common };
}
