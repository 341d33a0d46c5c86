import { shortHash } from '../../core/short-hash.js';
import type { Clock } from '../../core/clock.js';
import type { Window } from '../../core/windows.js';
import type { PageJournal } from '../page-journal/page-journal.js';
import { ReadFailure } from '../retry/read-failure.js';
import type { Reading } from '../run/pipeline.js';
import { requestText, type ApiPage, type PagedApi, type Query } from './paged-api.js';
import { isCursorStale, type KnownPage, type PaginatorOptions } from './paginator.js';

/** What connects a paginator to the page journal: the pages to resume after, and what stores the next ones. */
type Recorded<Q extends Query, P extends ApiPage> = Pick<PaginatorOptions<Q, P>, 'resume' | 'onPage'>;

/** The queries of an API in the page journal; without one it stores nothing. An entry is `HASH OPERATION START/END REQUEST`. */
export class JournaledQueries<Q extends Query, P extends ApiPage> {
  readonly #api: PagedApi<Q, P>;
  readonly #clock: Clock;
  readonly #pageJournal: PageJournal | undefined;
  /** Separates the APIs. A hash, since the id may contain a password. */
  readonly #hash: string;

  constructor(api: PagedApi<Q, P>, clock: Clock, pageJournal: PageJournal | undefined) {
    this.#api = api;
    this.#clock = clock;
    this.#pageJournal = pageJournal;
    this.#hash = shortHash(api.id);
  }

  /** The pages of a query, each stored as it arrives, and dropped once they are committed or can't be resumed. */
  async *recorded(
    query: Q,
    reading: Pick<Reading<unknown>, 'committed'>,
    read: (recorded: Recorded<Q, P>) => AsyncIterable<P>,
  ): AsyncGenerator<P, void> {
    const entry = this.#entryOf(query);
    const drop = async (): Promise<void> => this.#pageJournal?.drop(entry);
    reading.committed(drop);
    const resume = await this.#takeOver(query, entry);
    // An empty answer, always the last one, has no body to store.
    const onPage = (page: KnownPage<P>) => (page.body.length === 0 ? undefined : this.#pageJournal?.add(entry, page));
    try {
      yield* read({ resume, onPage });
    } catch (error) {
      // The query will be read from its beginning, or split.
      if (error instanceof ReadFailure) await drop();
      throw error;
    }
  }

  /** The windows of an operation that a dead run had begun to read. */
  begun(operation: string): readonly Window[] {
    return (this.#pageJournal?.begun() ?? []).flatMap((entry) => {
      if (!this.#isOf(entry, operation)) return [];
      const [start = 0, end = 0] = (entry.split(' ')[2] ?? '').split('/').map(Number);
      return start < end ? [{ start, end }] : [];
    });
  }

  /** Drops what dead runs left of some operations. */
  async sweep(operations: ReadonlySet<string>): Promise<void> {
    await this.#pageJournal?.sweep((entry) => [...operations].some((operation) => this.#isOf(entry, operation)));
  }

  /** The pages that a dead run received of a query; dropped, and empty, where they can't be resumed. */
  async #takeOver(query: Q, entry: string): Promise<readonly KnownPage<P>[]> {
    const hasRecovery = this.#api.recovery !== undefined;
    const stored = (await this.#pageJournal?.takeOver(entry)) ?? [];
    const known: KnownPage<P>[] = [];
    for (const { cursor, ...page } of stored) {
      const request = this.#api.request(query, cursor, page.pageSize);
      // A recovered cursor is on no page; otherwise a page out of sequence is from another definition.
      const isNext = cursor === known.at(-1)?.page.cursor || hasRecovery;
      if (!isNext) break;
      try {
        known.push({ ...page, cursor, page: this.#api.readPage(query, page, request) });
      } catch {
        // Another definition can't read it: the pages are requested again.
        break;
      }
    }
    const isComplete = known.at(-1)?.page.cursor === undefined;
    const isStale = isCursorStale(known, this.#api.cursorLifeMs, this.#clock.now());
    const isLost = !hasRecovery && !isComplete && isStale;
    if (known.length === stored.length && !isLost) return known;
    await this.#pageJournal?.drop(entry);
    return [];
  }

  #entryOf(query: Q): string {
    const { start = '', end = '' } = this.#api.windowOf(query, this.#clock.now()) ?? {};
    const request = requestText(this.#api.request(query, undefined, 1));
    return `${this.#hash} ${query.operation} ${start}/${end} ${request}`;
  }

  #isOf(entry: string, operation: string): boolean {
    return entry.startsWith(`${this.#hash} ${operation} `);
  }
}
