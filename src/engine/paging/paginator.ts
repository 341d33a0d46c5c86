import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { formatBytes } from '../../core/text/amounts.js';
import { dayMs } from '../../core/windows.js';
import type { JournaledPage } from '../page-journal/page-journal.js';
import { ReadFailure } from '../retry/read-failure.js';
import type { PagePosition, ReceivedPage, RequestOptions, RequestPage } from './api-client.js';
import { LearnedPageSize, PageSize } from './page-size.js';
import type { ApiPage, CursorRecovery, PagedApi, Query } from './paged-api.js';

/** A received page of a query. */
export interface KnownPage<P> extends JournaledPage {
  readonly page: P;
}

export interface PaginatorOptions<Q extends Query, P extends ApiPage> {
  readonly api: PagedApi<Q, P>;
  readonly request: RequestPage<Q, P>;
  /** Its priority changes with every page. */
  readonly requestOptions: RequestOptions;
  readonly clock: Clock;
  /** The page size that the operation's other queries have learned. */
  readonly learnedSize?: LearnedPageSize;
  /** The query's first pages without a gap, received earlier: they aren't requested again. */
  readonly resume?: readonly KnownPage<P>[];
  /** Called with every newly received page of the query, before it is yielded. */
  readonly onPage?: (known: KnownPage<P>) => Promise<void> | void;
}

/** Empty pages are normal, but more in a row mean that the API repeats itself. */
const mostEmptyPages = 1000;
/** Bytes of a query's pages, all of which are in memory: several times the longest known chain of an API. */
const mostBytes = 384 * 1024 * 1024;
/** Recoveries of the position in a row without a page. */
const mostRecoveries = 3;
/** A cursor must last until its request is sent. */
const cursorMarginMs = 30_000;

/**
 * The pages of a query in order, through empty ones too, until one has no cursor. They contain every result once: a page that
 * is too large is requested in smaller ones, and an expired cursor is recovered, as far as the API allows either.
 *
 * @throws ReadFailure, with the number of pages before it:
 * - the failures of the requests
 * - `cursor-expired` where the position can't be recovered for certain
 * - `loop` where a cursor appears twice, also after its page was requested again; after more than 1,000 empty pages in a row,
 *   or more than 384 MB in all
 * - `mistake`, before any request, for a window longer than the API answers
 *
 * or the signal's reason, or an error of `onPage`
 */
export async function* readPages<Q extends Query, P extends ApiPage>(
  query: Q,
  options: PaginatorOptions<Q, P>,
): AsyncGenerator<P, void> {
  const { api, clock, resume = [] } = options;
  refuseLongWindow(api, query, clock.now());
  const paginator = new Paginator(query, options);
  for (const known of resume) paginator.accept(known);
  // Before the known pages are yielded: if the position is lost, all pages are read again.
  if (isCursorStale(resume, api.cursorLifeMs, clock.now())) await paginator.recover();
  for (const { page } of resume) yield page;
  for (let page = await paginator.next(); page !== undefined; page = await paginator.next()) yield page;
}

/** Whether the cursor on the last of these pages is too old to be sent. */
export function isCursorStale(pages: readonly KnownPage<unknown>[], cursorLifeMs: number, now: number): boolean {
  const last = pages.at(-1);
  return last !== undefined && now - last.receivedAt > cursorLifeMs - cursorMarginMs;
}

/** Refuses a window that the API would answer with an empty page, which looks like success. */
function refuseLongWindow<Q extends Query, P extends ApiPage>(api: PagedApi<Q, P>, query: Q, now: number): void {
  const { longestWindowMs = Infinity } = api;
  const { start, end } = api.windowOf(query, now) ?? { start: 0, end: 0 };
  if (end - start <= longestWindowMs) return;
  const [most, days] = [longestWindowMs / dayMs, Math.ceil((end - start) / dayMs)];
  const { code, message } = usageError(
    `expected dates of ${query.operation} that are at most ${most} days apart, got ${days} days, for which the API returns nothing; use a shorter range`,
  );
  throw new ReadFailure('mistake', code, message);
}

/** Reads the pages of one query. */
class Paginator<Q extends Query, P extends ApiPage> {
  readonly #query: Q;
  readonly #options: PaginatorOptions<Q, P>;
  readonly #recovery: CursorRecovery<Q, P> | undefined;
  readonly #size: PageSize;
  /** Cursors of requests, each with the number of its page. */
  readonly #requested = new Map<string, number>();
  #pages = 0;
  #emptyPages = 0;
  #bytes = 0;
  #isDone = false;
  /** The last page, and its position. */
  #last: (PagePosition & { readonly page: P }) | undefined;
  /** The cursor of the next page; undefined: the query's first page is next. */
  #cursor: string | undefined;
  /** The page size that the cursor came with. */
  #cursorSize: number;
  /** The page size of the last page that had results. */
  #lastSize: number;
  /** Recoveries since the last page. */
  #recoveries = 0;

  constructor(query: Q, options: PaginatorOptions<Q, P>) {
    const { api, learnedSize = new LearnedPageSize(), resume = [] } = options;
    this.#query = query;
    this.#options = options;
    this.#recovery = api.recovery?.(query);
    this.#size = new PageSize(api.pageSizes, learnedSize, resume.at(-1)?.pageSize);
    this.#cursorSize = this.#size.current;
    this.#lastSize = this.#size.current;
  }

  /** Records a page of the query. */
  accept({ page, cursor: asked, pageSize, body }: KnownPage<P>): void {
    const { results, cursor } = page;
    this.#pages++;
    this.#bytes += body.length;
    if (asked !== undefined) this.#requested.set(asked, this.#pages);
    this.#last = { cursor: asked, pageSize, page };
    this.#recovery?.add(page);
    this.#cursor = cursor;
    this.#cursorSize = pageSize;
    if (results > 0) this.#lastSize = pageSize;
    this.#emptyPages = results === 0 ? this.#emptyPages + 1 : 0;
    this.#isDone = cursor === undefined;
    this.#recoveries = 0;
    this.#size.grow();
  }

  /** The next page; undefined after the last one. */
  async next(): Promise<P | undefined> {
    if (!this.#isDone) await this.#refuseRepeatedPages();
    if (this.#isDone) return undefined;
    const known = await this.#receive();
    await this.#options.onPage?.(known);
    this.#options.requestOptions.counts.pages++;
    this.accept(known);
    return known.page;
  }

  /** Requests the next page, in another form after each failure. */
  async #receive(): Promise<KnownPage<P>> {
    for (;;) {
      const position = { cursor: this.#cursor, pageSize: this.#size.current };
      try {
        const { page, headers, body } = await this.#ask(this.#query, position, this.#size.isGuess);
        return { ...position, page, headers, body, receivedAt: this.#options.clock.now() };
      } catch (error) {
        if (!(error instanceof ReadFailure)) throw error;
        await this.#changeRequest(error, position.pageSize);
      }
    }
  }

  /** Changes the next request after a failure, or throws the failure. */
  async #changeRequest(failure: ReadFailure, pageSize: number): Promise<void> {
    const { kind } = failure;
    if (kind === 'too-large' || kind === 'unreadable') {
      if (!this.#size.shrink()) throw this.#failed(failure);
      return;
    }
    // An API doesn't always report that a page is too large. The size that issued the cursor is not the cause.
    if (kind === 'invalid' && (this.#cursor === undefined || pageSize <= this.#cursorSize)) {
      if (this.#size.shrink()) return;
      if (this.#size.isGuess) throw this.#failed(failure);
    }
    if (this.#cursor === undefined) throw this.#failed(failure);
    // A cursor may be valid only for the size that issued it. A cursor that was just recovered hasn't expired.
    const isExpired = kind === 'cursor-expired' && this.#recoveries === 0;
    const mayBeItsSize = kind === 'invalid' || kind === 'mistake' || kind === 'cursor-expired';
    if (!isExpired && mayBeItsSize && pageSize !== this.#cursorSize) {
      this.#size.fix(Math.min(pageSize, this.#cursorSize));
      // After a larger size no recovery is needed: the cursor is valid for the previous size.
      if (pageSize > this.#cursorSize) return;
    } else if (kind !== 'cursor-expired') throw this.#failed(failure);
    await this.recover(failure);
  }

  #failed(failure: ReadFailure): ReadFailure {
    const { isTooLargeWhereFaultLasts = false } = this.#options.api;
    const isTooLarge = isTooLargeWhereFaultLasts && failure.kind === 'fault' && this.#pages > 0;
    return failure.with({ pages: this.#pages, ...(isTooLarge && { kind: 'too-large' }) });
  }

  /**
   * Finds another cursor for the end of the received pages.
   *
   * @throws ReadFailure `cursor-expired` where none is certain; the failures of the requests
   */
  async recover(failure?: ReadFailure): Promise<void> {
    if (this.#isDone) return;
    if (this.#recovery === undefined) throw failure === undefined ? this.#lostCursor(failure) : this.#failed(failure);
    const pageSize = Math.min(this.#size.current, this.#lastSize);
    const ask = async (query: Q, cursor?: string): Promise<P> => (await this.#ask(query, { cursor, pageSize })).page;
    const found =
      this.#recoveries === mostRecoveries
        ? undefined
        : await this.#recovery.find(ask).catch((error: unknown) => {
            if (!(error instanceof ReadFailure)) throw error;
            // Cursors that expire between two requests, and pages that are now too large, prevent a recovery.
            if (error.kind === 'cursor-expired' || error.kind === 'too-large') return undefined;
            throw this.#failed(error);
          });
    if (found === undefined) throw this.#lostCursor(failure);
    this.#cursor = found.cursor;
    this.#cursorSize = pageSize;
    this.#recoveries++;
  }

  #ask(query: Q, position: PagePosition, isGuess = false): Promise<ReceivedPage<P>> {
    const { request, requestOptions } = this.#options;
    return request(query, position, { ...requestOptions, isGuess });
  }

  /**
   * Refuses pages that repeat, or exceed the limit for memory. A repeated cursor may be a single wrong answer: the same page
   * is requested again, and its new cursor counts.
   */
  async #refuseRepeatedPages(): Promise<void> {
    const last = this.#last;
    if (last !== undefined && this.#pageRequestedBefore() !== undefined) {
      const { page } = await this.#ask(this.#query, last);
      const { api } = this.#options;
      if (isDeepStrictEqual(api.resultTexts(page), api.resultTexts(last.page))) {
        this.#cursor = page.cursor;
        this.#isDone = page.cursor === undefined;
        this.#last = { ...last, page };
      }
    }
    const before = this.#pageRequestedBefore();
    const isLarge = this.#bytes > mostBytes;
    if (before === undefined && this.#emptyPages <= mostEmptyPages && !isLarge) return;
    const got =
      before !== undefined
        ? `the cursor of page ${before} again`
        : isLarge
          ? `a cursor behind ${formatBytes(this.#bytes)}`
          : `${this.#emptyPages} empty pages in a row`;
    const message =
      `expected page ${this.#pages} of ${this.#query.operation} to end the list or to lead to a new page, got ${got}: ` +
      `the API repeats its pages; try again later${this.#orShorter()}`;
    throw new ReadFailure('loop', 'UPSTREAM_BODY', message, { pages: this.#pages });
  }

  /** The number of the page that the next cursor has requested before; undefined for a recovered cursor, which may be an old one. */
  #pageRequestedBefore(): number | undefined {
    return this.#recoveries === 0 ? this.#requested.get(this.#cursor ?? '') : undefined;
  }

  /** Empty for a settlement or an order, which has no range. */
  #orShorter(): string {
    const { api, clock } = this.#options;
    return api.windowOf(this.#query, clock.now()) === undefined ? '' : ', or with a shorter range';
  }

  #lostCursor(failure: ReadFailure | undefined): ReadFailure {
    const message =
      `expected ${this.#query.operation} to continue after page ${this.#pages}, got an expired cursor, ` +
      `and the remaining pages cannot be found with certainty; run it again${this.#orShorter()}`;
    const { code = 'UPSTREAM_STATUS', tries = 0, status, details } = failure ?? {};
    const about = { cause: failure, status, details, tries, pages: this.#pages };
    return new ReadFailure('cursor-expired', code, message, about);
  }
}
