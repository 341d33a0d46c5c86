import type { Table } from '../../../core/columns/table.js';
import type { Derivation } from '../../../engine/run/derivation.js';
import type { Window } from '../../../core/windows.js';
import { readEndpoint } from '../../../engine/http/address.js';
import type { ApiPage, PagedApi, Query } from '../../../engine/paging/paged-api.js';
import type { PagedClient } from '../../../engine/paging/paged-client.js';
import type { RefusedQuery } from './refusals.js';
import { resultText, type ScannedApiPage } from './scanned-page.js';

/** Query parameters for a range of dates. */
export interface DateRange {
  /** The inclusive lower bound. */
  readonly after: string;
  /** The upper bound. */
  readonly before: string;
  /** Whether a missing `before` means now less the margin. */
  readonly beforeDefaultsToNow: boolean;
  /** Minimal age of both bounds at the request, in milliseconds; undefined: no limit. */
  readonly marginMs: number | undefined;
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
  /** Derives entries from the stored rows of its main tables. */
  readonly derivation: Derivation;
  /**
   * What figures are made of. `events`: the table of its events by date, with the columns of `transactions` that the views read;
   * `amounts`: a view of their amounts, with the columns of `transaction_amounts`. They count up to an account's first day of a newer
   * API. Left out by v0, whose events by date name no settlement.
   */
  readonly figures?: { readonly events: string; readonly amounts: string };
  /**
   * The API as it is read.
   *
   * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
   */
  paged(options: FinancesApiOptions): PagedFinancesApi<ApiQuery, ScannedApiPage>;
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
export type FinancesReader<Q extends Query, P extends ApiPage> = Pick<PagedClient<Q, P>, 'pages' | 'pace' | 'begun'>;

/** The bounds of a query's range of dates: milliseconds since 1970; none for an operation without one. */
function datesOf(
  operation: ApiOperation | undefined,
  parameters: ApiQuery['parameters'],
): readonly (number | undefined)[] {
  const { range } = operation ?? {};
  return [range?.after, range?.before].map((name) => {
    const bound = name === undefined ? undefined : parameters[name];
    return typeof bound === 'number' ? bound : undefined;
  });
}

/**
 * A query as far as the cause of its refusal depends on it.
 *
 * @param paging names of the parameters for paging
 * @param hasSubject whether it is for a group, an order or a settlement, which may not exist
 */
export function refusedQuery(
  { name, pathParameter, range, parameters: others }: ApiOperation,
  { parameters }: ApiQuery,
  paging: readonly string[],
  hasSubject: boolean,
): RefusedQuery {
  const dates = range === undefined ? [] : [range.after, range.before];
  return {
    operation: name,
    parameters: [...paging, ...(pathParameter === undefined ? [] : [pathParameter.name]), ...dates, ...others],
    hasSubject,
    bounds: dates.flatMap((date) => parameters[date] ?? []).filter((bound) => typeof bound === 'number'),
    marginMs: range?.marginMs ?? -Infinity,
  };
}

/**
 * The members that the Finances APIs have in common, and the path before that of their operations.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function commonApi<P extends ScannedApiPage>(
  { endpoint, quota, cursorLifeMs }: FinancesApiOptions,
  { operations, limits: { burst, maxSpanMs, marginMs } }: Pick<FinancesApi, 'operations' | 'limits'>,
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
    windowOf: ({ operation, parameters }: ApiQuery, now: number): Window | undefined => {
      const [start, end = now - marginMs] = datesOf(operations[operation], parameters);
      return start === undefined ? undefined : { start, end };
    },
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
