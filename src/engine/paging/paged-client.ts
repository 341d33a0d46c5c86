import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Window } from '../../core/windows.js';
import type { AccessTokens } from '../auth/access-token-cache.js';
import type { Transport } from '../http/transport.js';
import type { Journal } from '../journal/journal.js';
import type { KeptQuota } from '../journal/persisted-quota.js';
import { pacedQueue, type RequestQueue } from '../rate-limit/request-queue.js';
import { ReadFailure } from '../retry/read-failure.js';
import { RetryPolicy, waitWarning } from '../retry/retry-policy.js';
import type { Pace, Reading } from '../run/pipeline.js';
import { pagedRequests } from './paged-requests.js';
import { FoundSize } from './page-size.js';
import { requestText, type ApiPage, type PagedApi, type Query } from './paged-api.js';
import { isCursorStale, readPages, type KnownPage } from './paginator.js';

export interface PagedClientOptions {
  /** Closed with the client. */
  readonly transport: Transport;
  readonly clock: Clock;
  /** From 0 up to 1: spreads what is tried again. */
  readonly random: () => number;
  /** How the account signs in; left out: the API asks for no access token. */
  readonly accessTokens?: AccessTokens | undefined;
  /** The state of the buckets when the last run ended, and where this run's is kept. */
  readonly kept?: KeptQuota | undefined;
  /** Pages of slices that are open, for the next run should this one die. */
  readonly journal?: Journal | undefined;
  /** Receives the events of the buckets, and of long waits; left out: nobody listens. */
  readonly emit?: Emit | undefined;
}

/** A paged API as pipelines read it. */
export interface PagedClient<Q extends Query, P extends ApiPage> {
  /**
   * The pages of a query in order, through empty ones too, until there are no more; those that a dead run has received come
   * from the journal.
   *
   * @throws what `readPages` throws
   */
  pages(query: Q, reading: Reading<unknown>): AsyncGenerator<P, void>;
  /** How fast an operation can be asked; undefined: as fast as it answers. */
  pace(operation: string): Pace | undefined;
  /** The windows of an operation that a dead run had begun to read, as far as they can be continued. */
  begun(operation: string): readonly Window[];
  /**
   * Forgets the pages that dead runs have left, at the end of a run: of the operations that it asked for the pace of. What
   * another run may continue stays.
   */
  sweep(): Promise<void>;
  /** Forgets every page that isn't in the lake, those of this run too: they are another account's. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to an API: one transport, and for each operation a queue with a bucket of its own.
 *
 * @throws LedgerlakeError USAGE for a rate or burst that isn't one
 */
export function connectApi<Q extends Query, P extends ApiPage>(
  api: PagedApi<Q, P>,
  { transport, clock, random, accessTokens, kept, journal, emit }: PagedClientOptions,
): PagedClient<Q, P> {
  const { quota, cursorLifeMs } = api;
  const operations = new Map(
    api.operations.map((name) => [
      name,
      { queue: pacedQueue({ name, quota, clock, cursorLifeMs, kept, emit }), foundSize: new FoundSize() },
    ]),
  );
  const operationOf = (name: string): { readonly queue: RequestQueue; readonly foundSize: FoundSize } => {
    const found = operations.get(name);
    if (found === undefined) throw new TypeError(`expected one of ${api.operations.join(', ')}, got ${name}`);
    return found;
  };
  const queueOf = (name: string): RequestQueue => operationOf(name).queue;
  const policy = new RetryPolicy({ clock, random });
  const onWait = emit && waitWarning(clock, emit);
  const request = pagedRequests({ api, transport, queueOf, accessTokens, clock, policy, onWait });
  const entries = new JournalEntries(api);
  const pacedOperations = new Set<string>();

  /** What a dead run has received of a query, as far as it can be continued; else it is forgotten. */
  const takeOver = async (query: Q, entry: string): Promise<readonly KnownPage<P>[]> => {
    const kept = (await journal?.takeOver(entry)) ?? [];
    const known: KnownPage<P>[] = [];
    for (const { cursor, ...page } of kept) {
      const request = api.request(query, cursor, page.pageSize);
      // A recovered cursor is on no page; else a page that isn't the next one comes from another definition.
      const isNext = cursor === known.at(-1)?.page.cursor || api.recovery !== undefined;
      if (!isNext) break;
      known.push({ ...page, cursor, page: api.readPage(query, page, request) });
    }
    const isOver = known.at(-1)?.page.cursor === undefined;
    const isLost = api.recovery === undefined && !isOver && isCursorStale(known, cursorLifeMs, clock.now());
    if (known.length === kept.length && !isLost) return known;
    await journal?.drop(entry);
    return [];
  };

  return {
    pages: async function* (query, reading) {
      const entry = entries.nameOf(query, clock.now());
      reading.committed(async () => journal?.drop(entry));
      const pages = readPages(query, {
        ...{ api, request, clock, asking: reading },
        foundSize: operationOf(query.operation).foundSize,
        resume: await takeOver(query, entry),
        // Without a body it is an empty answer, the last one: the journal keeps pages alone.
        onPage: (page) => (page.body.length === 0 ? undefined : journal?.add(entry, page)),
      });
      try {
        yield* pages;
      } catch (error) {
        // It will be read from its beginning, or split.
        if (error instanceof ReadFailure) await journal?.drop(entry);
        throw error;
      }
    },
    pace: (operation) => {
      // The first that a pipeline asks for, also where it has nothing to read.
      pacedOperations.add(operation);
      return queueOf(operation).pace();
    },
    begun: (operation) => (journal?.begun() ?? []).flatMap((entry) => entries.windowOf(entry, operation) ?? []),
    sweep: async () => journal?.sweep((entry) => [...pacedOperations].some((name) => entries.isOf(entry, name))),
    clear: async () => journal?.clear(),
    close: async () => {
      await transport.close();
      await kept?.flush();
    },
  };
}

/** The names of an API's queries in the journal: `HASH OPERATION START/END REQUEST`. */
class JournalEntries<Q extends Query, P extends ApiPage> {
  readonly #api: PagedApi<Q, P>;
  /** Another API's cursors are of no use here. The address itself may hold a password. */
  readonly #hash: string;

  constructor(api: PagedApi<Q, P>) {
    this.#api = api;
    this.#hash = hash('sha256', api.id).slice(0, 16);
  }

  nameOf(query: Q, now: number): string {
    const { start = '', end = '' } = this.#api.windowOf(query, now) ?? {};
    const request = requestText(this.#api.request(query, undefined, 1));
    return `${this.#hash} ${query.operation} ${start}/${end} ${request}`;
  }

  isOf(entry: string, operation: string): boolean {
    return entry.startsWith(`${this.#hash} ${operation} `);
  }

  windowOf(entry: string, operation: string): Window | undefined {
    if (!this.isOf(entry, operation)) return undefined;
    const [start = 0, end = 0] = (entry.split(' ')[2] ?? '').split('/').map(Number);
    return start < end ? { start, end } : undefined;
  }
}
