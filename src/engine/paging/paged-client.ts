import type { Emit } from '../../core/events/run-event.js';
import type { AccessTokens } from '../auth/access-token-cache.js';
import type { Transport } from '../http/transport.js';
import type { PageJournal } from '../page-journal/page-journal.js';
import type { PersistedQuota } from '../page-journal/persisted-quota.js';
import { pacedQueue, type RequestQueue } from '../rate-limit/request-queue.js';
import { clockWarning, RetryPolicy, waitWarning, type RetryPolicyOptions } from '../retry/retry-policy.js';
import type { Reading, RequestClient } from '../run/pipeline.js';
import { pagedRequests } from './api-client.js';
import { LearnedPageSize } from './page-size.js';
import type { ApiPage, PagedApi, Query } from './paged-api.js';
import { readPages } from './paginator.js';
import { JournaledQueries } from './journaled-queries.js';

export interface PagedClientOptions extends RetryPolicyOptions {
  /** Closed with the client. */
  readonly transport: Transport;
  /** Left out: the API requires no access token. */
  readonly accessTokens?: AccessTokens | undefined;
  /** Stores the state of the token buckets between runs. */
  readonly kept?: PersistedQuota | undefined;
  /** Stores the pages of open slices, so that the next run resumes after a crash. */
  readonly pageJournal?: PageJournal | undefined;
  /** Receives the events of the buckets, and of long waits. */
  readonly emit?: Emit | undefined;
  /** Called with each answer that has a date: the API's clock minus ours, in milliseconds; left out: `emit` receives a difference. */
  readonly onClock?: ((skewMs: number) => void) | undefined;
}

/** The retries of signing in: those of the API, but of another host, which may not have answered yet. */
export function signInRetries({ emit, ...options }: RetryPolicyOptions & Pick<PagedClientOptions, 'emit'>) {
  const { clock } = options;
  return { policy: new RetryPolicy(options), onWait: emit && waitWarning(clock, emit) };
}

/** A paged API as pipelines read it. */
export interface PagedClient<Q extends Query, P extends ApiPage> extends RequestClient {
  /**
   * The pages of a query in order, through empty ones too, until there are no more. Pages that a dead run received come from
   * the page journal.
   *
   * @throws what `readPages` throws
   */
  pages(query: Q, reading: Reading<unknown>): AsyncGenerator<P, void>;
  /**
   * Removes the pages that dead runs left, at the end of a run: those of the operations whose pace it requested. Other
   * operations' pages stay for another run.
   */
  sweep(): Promise<void>;
  /** Removes every page that isn't committed, those of this run too: they belong to another account. */
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
  options: PagedClientOptions,
): PagedClient<Q, P> {
  const { transport, clock, accessTokens, kept, pageJournal, emit } = options;
  const { quota, cursorLifeMs } = api;
  const operations = new Map(
    api.operations.map((name) => [
      name,
      { queue: pacedQueue({ name, quota, clock, cursorLifeMs, kept, emit }), learnedSize: new LearnedPageSize() },
    ]),
  );
  const operationOf = (name: string): { readonly queue: RequestQueue; readonly learnedSize: LearnedPageSize } => {
    const found = operations.get(name);
    if (found === undefined) throw new TypeError(`expected one of ${api.operations.join(', ')}, got ${name}`);
    return found;
  };
  const queueOf = (name: string): RequestQueue => operationOf(name).queue;
  const policy = new RetryPolicy(options);
  const onWait = emit && waitWarning(clock, emit);
  const onClock = options.onClock ?? (emit && clockWarning(emit));
  const request = pagedRequests({ api, transport, queueOf, accessTokens, clock, policy, onWait, onClock });
  const journaledQueries = new JournaledQueries(api, clock, pageJournal);
  /** Operations of the pipelines in this run, also of those with nothing to read. */
  const pacedOperations = new Set<string>();

  return {
    pages: async function* (query, reading) {
      const { learnedSize } = operationOf(query.operation);
      yield* journaledQueries.recorded(query, reading, (recorded) =>
        readPages(query, { api, request, clock, learnedSize, requestOptions: reading, ...recorded }),
      );
    },
    pace: (operation) => {
      pacedOperations.add(operation);
      return queueOf(operation).pace();
    },
    begun: (operation) => journaledQueries.begun(operation),
    sweep: () => journaledQueries.sweep(pacedOperations),
    clear: async () => pageJournal?.clear(),
    close: async () => {
      await transport.close();
      await kept?.flush();
    },
  };
}
