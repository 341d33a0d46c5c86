import type { Window } from '../../core/windows.js';
import type { HttpAnswer } from '../http/transport.js';
import type { ApiRefusal, RefusedAnswer } from '../retry/api-refusal.js';

/** What is asked of an API: results that come page by page. */
export interface Query {
  /** The operation that answers it; each has a quota, and a queue, of its own. */
  readonly operation: string;
}

/** A page of results, read from its bytes. */
export interface ApiPage {
  /** How many results it holds. */
  readonly results: number;
  /** What the next page is asked for with; undefined on the last page. */
  readonly cursor: string | undefined;
}

/** What asks for a page, beside the headers that all requests of the API carry. */
export interface PageRequest {
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is posted; left out: it is a GET request. */
  readonly body?: string;
}

/** A request as one text: equal texts are equal requests. */
export function requestText(request: PageRequest): string {
  return request.headers === undefined && request.body === undefined ? request.path : JSON.stringify(request);
}

/** An answer with status 200, without any of our secrets in its headers. */
export interface Answer {
  readonly headers: ReadonlyMap<string, string>;
  /** Exactly as received. */
  readonly body: Uint8Array;
}

/** Where an API is, and what each of its requests carries. */
export interface ApiAddress {
  /** `https://host:port`, without user and password. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What of the headers is secret, in all forms that it is sent in. */
  readonly secrets: readonly string[];
  /** What names the address, for messages: an option, a field of a definition. */
  readonly setting: string;
  /** The header that an access token goes in, and what goes before it; left out: `x-amz-access-token`. */
  readonly tokenHeader?: { readonly name: string; readonly before: string };
}

/**
 * A paged HTTP API as the paged client reads it: what differs between APIs is a property here, and never a case in the
 * client.
 */
export interface PagedApi<Q extends Query, P extends ApiPage> {
  /** Names the API in the journal, where it is kept as a hash. */
  readonly id: string;
  readonly address: ApiAddress;
  readonly operations: readonly string[];
  /** Of each operation, as long as the API names no other rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  /** Headers by lower-case name: the rate that the API grants, and the id that it gave to a request. */
  readonly rateHeader?: string | undefined;
  readonly requestIdHeader?: string | undefined;
  /** How long a cursor is accepted. */
  readonly cursorLifeMs: number;
  /** Results a page that can be asked for, the most first; an API that takes no page size has one entry: its own. */
  readonly pageSizes: readonly number[];
  /** A longer window gets an empty answer, which must not pass for one without results; left out: any length is answered. */
  readonly longestWindowMs?: number;
  /** Whether a fault that lasts behind the first page means that the window holds too much. */
  readonly isTooLargeWhereFaultLasts?: boolean;
  /** What asks for a page. `cursor` undefined: for the first page. */
  request(query: Q, cursor: string | undefined, pageSize: number): PageRequest;
  /** The dates that a query asks for; undefined where it has none. `now`: milliseconds since 1970. */
  windowOf(query: Q, now: number): Window | undefined;
  /**
   * Reads a page.
   *
   * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY for what isn't a page: it is asked for again. An ApiRefusal for
   *   one that is none in spite of its status
   */
  readPage(query: Q, answer: Answer, request: PageRequest): P;
  /** The meaning of an answer with another status than 200. */
  refusal(query: Q, answer: RefusedAnswer): ApiRefusal;
  /** The last page, where an answer with another status than 200 says that there are no (more) results; left out: none does. */
  emptyPage?(answer: HttpAnswer): P | undefined;
  /** A text for each result of a page, in order: equal texts are equal results. */
  resultTexts(page: P): readonly string[];
  /** How the position of an expired cursor is found again; left out: the window is read again. */
  recovery?(query: Q): CursorRecovery<Q, P>;
}

/** Finds the end of the pages of one query again when its cursor has expired, by what was received so far. */
export interface CursorRecovery<Q extends Query, P extends ApiPage> {
  /** Takes in the page that follows. */
  add(page: P): void;
  /**
   * The cursor of what follows the pages taken in; undefined where that can't be said for certain.
   *
   * @param ask asks in pages of as many results as the last page was asked with, or fewer: its answer can end where that page does
   */
  find(ask: AskPage<Q, P>): Promise<FoundCursor | undefined>;
}

/** Asks for one page of a query. */
export type AskPage<Q extends Query, P extends ApiPage> = (query: Q, cursor?: string) => Promise<P>;

/** Where pages continue. */
export interface FoundCursor {
  /** Undefined: at the beginning of the query, as nothing of it was received yet. */
  readonly cursor: string | undefined;
}
