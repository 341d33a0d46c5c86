import type { Window } from '../../core/windows.js';
import type { HttpResponse } from '../http/transport.js';
import type { PageWithHoles } from '../run/slice-holes.js';
import type { ApiRefusal, RefusedAnswer } from '../retry/api-refusal.js';

/** A request for results that arrive page by page. */
export interface Query {
  /** The operation that answers it; each one has its quota and its queue. */
  readonly operation: string;
}

/** A page of results, read from its bytes. */
export interface ApiPage extends PageWithHoles {
  /** Number of results. */
  readonly results: number;
  /** Requests the next page; undefined on the last page. */
  readonly cursor: string | undefined;
}

/** The request for a page, without the headers of all requests of the API. */
export interface PageRequest {
  /** Path and query. */
  readonly path: string;
  /** Path for messages, where `path` has a secret. */
  readonly shownPath?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted; a request without a body is a GET. */
  readonly body?: string;
}

/** A request as text: equal texts mean equal requests. */
export function requestText(request: PageRequest): string {
  return request.headers === undefined && request.body === undefined ? request.path : JSON.stringify(request);
}

/** An answer with status 200; secrets in its headers are redacted. */
export interface Answer {
  readonly headers: ReadonlyMap<string, string>;
  /** Exactly as received. */
  readonly body: Uint8Array;
}

/** The address of an API, and the headers of each request. */
export interface ApiAddress {
  /** `https://host:port`, without user and password. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets in the headers, in every form in which they are sent. */
  readonly secrets: readonly string[];
  /** For messages: the option or field that sets the address. */
  readonly setting: string;
  /** The header of the access token, and the prefix of its value; default `x-amz-access-token`. */
  readonly tokenHeader?: { readonly name: string; readonly before: string };
}

/** A paged HTTP API as the paged client reads it. Differences between APIs are members here, never cases in the client. */
export interface PagedApi<Q extends Query, P extends ApiPage> {
  /** Identifies the API in the page journal, which stores its hash. */
  readonly id: string;
  readonly address: ApiAddress;
  readonly operations: readonly string[];
  /** Of each operation, until the API states another rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  /** Lower-case names of the headers with the granted rate and the request id. */
  readonly rateHeader?: string | undefined;
  readonly requestIdHeader?: string | undefined;
  /** How long a cursor is accepted. */
  readonly cursorLifeMs: number;
  /** Accepted page sizes, the largest first; an API without that parameter has one entry. */
  readonly pageSizes: readonly number[];
  /** Bytes of the largest page; default 64 MB. */
  readonly mostBytes?: number;
  /** Longer windows get an empty answer, which would look like no results; default: no limit. */
  readonly longestWindowMs?: number;
  /** Whether a persistent fault after the first page means that the window is too large. */
  readonly isTooLargeWhereFaultLasts?: boolean;
  /** The request for a page. `cursor` undefined: the first page. */
  request(query: Q, cursor: string | undefined, pageSize: number): PageRequest;
  /** The range of dates of a query; undefined without one. `now`: milliseconds since 1970. */
  windowOf(query: Q, now: number): Window | undefined;
  /**
   * Reads a page.
   *
   * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY for a body that isn't a page: it is requested again. An ApiRefusal
   *   for a refusal with status 200
   */
  readPage(query: Q, answer: Answer, request: PageRequest): P;
  /** The meaning of an answer with a status other than 200. */
  refusal(query: Q, answer: RefusedAnswer): ApiRefusal;
  /** An empty last page, where a status other than 200 means no (more) results. */
  emptyPage?(answer: HttpResponse): P | undefined;
  /** A text for each result of a page, in order: equal texts mean equal results. */
  resultTexts(page: P): readonly string[];
  /** Recovers the position of an expired cursor; left out: the window is read again. */
  recovery?(query: Q): CursorRecovery<Q, P>;
}

/** Finds a new cursor for a query whose cursor has expired, by the pages received so far. */
export interface CursorRecovery<Q extends Query, P extends ApiPage> {
  /** Records the next page. */
  add(page: P): void;
  /**
   * The cursor after the recorded pages; undefined where it is uncertain.
   *
   * @param ask requests pages of the last page's size, or smaller ones: one can end where that page does
   */
  find(ask: RequestOnePage<Q, P>): Promise<FoundCursor | undefined>;
}

/** Requests one page of a query. */
export type RequestOnePage<Q extends Query, P extends ApiPage> = (query: Q, cursor?: string) => Promise<P>;

/** Where pages continue. */
export interface FoundCursor {
  /** Undefined: the first page, as none was received. */
  readonly cursor: string | undefined;
}
