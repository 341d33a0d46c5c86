import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Window } from '../../core/windows.js';
import type { AccessTokens } from '../auth/access-token-cache.js';
import type { Transport } from '../http/transport.js';
import type { Journal } from '../journal/journal.js';
import type { KeptQuota } from '../journal/persisted-quota.js';
import { pacedQueue, type RequestQueue } from '../rate-limit/request-queue.js';
import { RetryPolicy, waitWarning } from '../retry/retry-policy.js';
import type { Pace, Reading } from '../run/pipeline.js';
import { pagedRequests } from './paged-requests.js';
import { FoundSize } from './page-size.js';
import type { ApiPage, PagedApi, Query } from './paged-api.js';
import { readPages } from './paginator.js';
import { QueryJournal } from './query-journal.js';

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
 * Connects to an API: one transport, and for each operation a queue with its token bucket.
 *
 * @throws LedgerlakeError USAGE for an invalid rate or burst
 */
export function connectApi<Q extends Query, P extends ApiPage>(
  api: PagedApi<Q, P>,
  { transport, clock, random, accessTokens, kept, journal: pageJournal, emit }: PagedClientOptions,
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
  const journal = new QueryJournal(api, clock, pageJournal);
  /** Operations of the pipelines in this run, also of those with nothing to read. */
  const pacedOperations = new Set<string>();

  return {
    pages: async function* (query, reading) {
      const { foundSize } = operationOf(query.operation);
      yield* journal.recorded(query, reading, (recorded) =>
        readPages(query, { api, request, clock, foundSize, asking: reading, ...recorded }),
      );
    },
    pace: (operation) => {
      pacedOperations.add(operation);
      return queueOf(operation).pace();
    },
    begun: (operation) => journal.begun(operation),
    sweep: () => journal.sweep(pacedOperations),
    clear: async () => pageJournal?.clear(),
    close: async () => {
      await transport.close();
      await kept?.flush();
    },
  };
}
