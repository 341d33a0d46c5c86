import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { formatBytes } from '../../core/text/amounts.js';
import { dayMs } from '../../core/windows.js';
import type { JournalPage } from '../journal/journal.js';
import { ReadFailure } from '../retry/read-failure.js';
import type { PagePosition, ReceivedPage } from './api-client.js';
import type { Asking, RequestPage } from './paged-requests.js';
import { FoundSize, PageSize } from './page-size.js';
import type { ApiPage, CursorRecovery, PagedApi, Query } from './paged-api.js';

/** A page of a query as it was received. */
export interface KnownPage<P> extends JournalPage {
  readonly page: P;
}

export interface PaginatorOptions<Q extends Query, P extends ApiPage> {
  readonly api: PagedApi<Q, P>;
  readonly request: RequestPage<Q, P>;
  /** Its priority is another one with every page. */
  readonly asking: Asking;
  readonly clock: Clock;
  /** What the operation's other queries have found out about its page size. */
  readonly foundSize?: FoundSize;
  /** The query's first pages, received earlier and without a gap: they aren't asked for again. */
  readonly resume?: readonly KnownPage<P>[];
  /** Takes every page that comes over the wire and is part of the answer, before it is handed on. */
  readonly onPage?: (known: KnownPage<P>) => Promise<void> | void;
}

/** Pages without a result are normal, but so many in a row come from an API that runs in a circle. */
const mostEmptyPages = 1000;
/** Bytes of a query's pages, all of which are in memory: several times what the longest chain of an API is known to hold. */
const mostBytes = 384 * 1024 * 1024;
/** Times in a row that the position is found again and no page follows. */
const mostRecoveries = 3;
/** A cursor must last until its request is sent. */
const cursorMarginMs = 30_000;

/**
 * The pages of a query in order, through empty ones too, until one has no cursor. Every result is in them once, whatever
 * happens on the way: a page that is too large is asked for in smaller ones, and where a cursor has expired the position is
 * found again, as far as the API allows either.
 *
 * @throws ReadFailure, with the number of pages that came before: what the requests fail with; `cursor-expired` where the
 *   position can't be found again for certain; `loop` where a cursor comes a second time, also when its page is asked for
 *   again, or where more than 1,000 pages in a row are empty, or all of them more than 384 MB; `mistake`, before anything is asked, for a window that is
 *   longer than the API answers. The signal's reason when it aborts. What `onPage` throws.
 */
export async function* readPages<Q extends Query, P extends ApiPage>(
  query: Q,
  options: PaginatorOptions<Q, P>,
): AsyncGenerator<P, void> {
  const { api, clock, resume = [] } = options;
  refuseLongWindow(api, query, clock.now());
  const paginator = new Paginator(query, options);
  for (const known of resume) paginator.accept(known);
  // Before the known pages are handed on: where the position is lost, they will be read again anyway.
  if (isCursorStale(resume, api.cursorLifeMs, clock.now())) await paginator.recover();
  for (const { page } of resume) yield page;
  for (let page = await paginator.next(); page !== undefined; page = await paginator.next()) yield page;
}

/** Whether the cursor on the last of these pages is too old to be sent. */
export function isCursorStale(pages: readonly KnownPage<unknown>[], cursorLifeMs: number, now: number): boolean {
  const last = pages.at(-1);
  return last !== undefined && now - last.receivedAt > cursorLifeMs - cursorMarginMs;
}

/** What the API answers with an empty page must never be asked: it would look like success. */
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

/** The pages of one query, as far as they have been read. */
class Paginator<Q extends Query, P extends ApiPage> {
  readonly #query: Q;
  readonly #options: PaginatorOptions<Q, P>;
  readonly #recovery: CursorRecovery<Q, P> | undefined;
  readonly #size: PageSize;
  /** Cursors asked with, each with the number of its page. */
  readonly #asked = new Map<string, number>();
  #pages = 0;
  #emptyPages = 0;
  #bytes = 0;
  #isDone = false;
  /** The page taken last, and its position. */
  #last: (PagePosition & { readonly page: P }) | undefined;
  /** The cursor of the next page; undefined: the query's first page is next. */
  #cursor: string | undefined;
  /** The page size that the cursor came with. */
  #cursorSize: number;
  /** The page size of the last page that had results. */
  #lastSize: number;
  /** How often the position was found again since the last page came. */
  #recoveries = 0;

  constructor(query: Q, options: PaginatorOptions<Q, P>) {
    const { api, foundSize = new FoundSize(), resume = [] } = options;
    this.#query = query;
    this.#options = options;
    this.#recovery = api.recovery?.(query);
    this.#size = new PageSize(api.pageSizes, foundSize, resume.at(-1)?.pageSize);
    this.#cursorSize = this.#size.now;
    this.#lastSize = this.#size.now;
  }

  /** Takes in a page that is part of the answer. */
  accept({ page, cursor: asked, pageSize, body }: KnownPage<P>): void {
    const { results, cursor } = page;
    this.#pages++;
    this.#bytes += body.length;
    if (asked !== undefined) this.#asked.set(asked, this.#pages);
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

  /** The next page; undefined behind the last one. */
  async next(): Promise<P | undefined> {
    if (!this.#isDone) await this.#leaveCircle();
    if (this.#isDone) return undefined;
    const known = await this.#receive();
    await this.#options.onPage?.(known);
    this.#options.asking.counts.pages++;
    this.accept(known);
    return known.page;
  }

  /** Asks for the next page until it comes, in another way each time. */
  async #receive(): Promise<KnownPage<P>> {
    for (;;) {
      const position = { cursor: this.#cursor, pageSize: this.#size.now };
      try {
        const { page, headers, body } = await this.#ask(this.#query, position, this.#size.isGuess);
        return { ...position, page, headers, body, receivedAt: this.#options.clock.now() };
      } catch (error) {
        if (!(error instanceof ReadFailure)) throw error;
        await this.#findAnotherWay(error, position.pageSize);
      }
    }
  }

  /** Changes what is asked next after a failure, or throws the failure. */
  async #findAnotherWay(failure: ReadFailure, pageSize: number): Promise<void> {
    const { kind } = failure;
    if (kind === 'too-large') {
      if (!this.#size.shrink()) throw this.#failed(failure);
      return;
    }
    // An API doesn't always say that a page is too large. A size that was good for the cursor isn't to blame.
    if (kind === 'invalid' && (this.#cursor === undefined || pageSize <= this.#cursorSize)) {
      if (this.#size.shrink()) return;
      if (this.#size.isGuess) throw this.#failed(failure);
    }
    if (this.#cursor === undefined) throw this.#failed(failure);
    // Perhaps a cursor holds only for the size that it came with. A cursor that has just been found hasn't expired.
    const isExpired = kind === 'cursor-expired' && this.#recoveries === 0;
    const mayBeItsSize = kind === 'invalid' || kind === 'mistake' || kind === 'cursor-expired';
    if (!isExpired && mayBeItsSize && pageSize !== this.#cursorSize) {
      this.#size.fix(Math.min(pageSize, this.#cursorSize));
      // For a larger size the position needn't be found again: the cursor is good for the size before.
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
   * Finds the end of the received pages again, by another cursor.
   *
   * @throws ReadFailure `cursor-expired` where that can't be done for certain, and what the requests fail with
   */
  async recover(failure?: ReadFailure): Promise<void> {
    if (this.#isDone) return;
    if (this.#recovery === undefined) throw failure === undefined ? this.#lost(failure) : this.#failed(failure);
    const pageSize = Math.min(this.#size.now, this.#lastSize);
    const ask = async (query: Q, cursor?: string): Promise<P> => (await this.#ask(query, { cursor, pageSize })).page;
    const found =
      this.#recoveries === mostRecoveries
        ? undefined
        : await this.#recovery.find(ask).catch((error: unknown) => {
            if (!(error instanceof ReadFailure)) throw error;
            // A cursor that dies between two requests, or pages that are too large now: not to be found in this way.
            if (error.kind === 'cursor-expired' || error.kind === 'too-large') return undefined;
            throw this.#failed(error);
          });
    if (found === undefined) throw this.#lost(failure);
    this.#cursor = found.cursor;
    this.#cursorSize = pageSize;
    this.#recoveries++;
  }

  #ask(query: Q, position: PagePosition, isGuess = false): Promise<ReceivedPage<P>> {
    const { request, asking } = this.#options;
    return request(query, position, { ...asking, isGuess });
  }

  /**
   * Refuses pages that run in a circle, or are more than memory should hold. A cursor that comes a second time may have been a slip: where the same page has another
   * one when it is asked again, it was.
   */
  async #leaveCircle(): Promise<void> {
    const last = this.#last;
    if (last !== undefined && this.#pageAskedBefore() !== undefined) {
      const { page } = await this.#ask(this.#query, last);
      const { api } = this.#options;
      if (isDeepStrictEqual(api.resultTexts(page), api.resultTexts(last.page))) {
        this.#cursor = page.cursor;
        this.#isDone = page.cursor === undefined;
        this.#last = { ...last, page };
      }
    }
    const before = this.#pageAskedBefore();
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

  /** The number of the page that was asked with the next cursor before; a cursor that has just been found may be an old one. */
  #pageAskedBefore(): number | undefined {
    return this.#recoveries === 0 ? this.#asked.get(this.#cursor ?? '') : undefined;
  }

  /** A settlement or an order has no range that could be shorter. */
  #orShorter(): string {
    const { api, clock } = this.#options;
    return api.windowOf(this.#query, clock.now()) === undefined ? '' : ', or with a shorter range';
  }

  #lost(failure: ReadFailure | undefined): ReadFailure {
    const message =
      `expected ${this.#query.operation} to continue after page ${this.#pages}, got an expired cursor, ` +
      `and the remaining pages cannot be found with certainty; run it again${this.#orShorter()}`;
    const { code = 'UPSTREAM_STATUS', tries = 0, status, details } = failure ?? {};
    return new ReadFailure('cursor-expired', code, message, {
      cause: failure,
      status,
      details,
      tries,
      pages: this.#pages,
    });
  }
}
