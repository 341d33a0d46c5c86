import type { Clock } from '../../core/clock.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { ApiRefusal } from '../retry/api-refusal.js';
import type { Cause } from '../retry/cause.js';
import { causeOf, type FailedAttempt, type RetryPolicy } from '../retry/retry-policy.js';
import type { WaitWarning } from '../retry/wait-warning.js';
import type { RequestCounts } from '../run/pipeline.js';
import type { ApiClient, PagePlace, ReceivedPage } from './api-client.js';
import type { ApiPage, Query } from './paged-api.js';

/** How a query's requests are sent. */
export interface Asking {
  /** Place among the requests that wait: the lowest number is sent first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
  /** Takes what becomes of each request; left out: nobody listens. */
  readonly emit?: ((event: UpstreamEvent) => void) | undefined;
  /** Another way to ask for what was refused without a reason: where it is refused too, yet another one is tried at once. */
  readonly isGuess?: boolean;
}

/**
 * Asks for one page until it comes, or no further attempt is made.
 *
 * @throws ReadFailure then; the signal's reason, at once; what signing in fails with
 */
export type RequestPage<Q extends Query, P extends ApiPage> = (
  query: Q,
  place: PagePlace,
  asking: Asking,
) => Promise<ReceivedPage<P>>;

export interface PageRequestOptions<Q extends Query, P extends ApiPage> {
  readonly client: ApiClient<Q, P>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** The queue of an operation: its bucket has to know what became of each request. Left out: not throttled. */
  readonly queueOf?: ((operation: string) => RequestQueue) | undefined;
  /** Takes every attempt that failed; undefined: nobody listens. */
  readonly onWait?: WaitWarning | undefined;
}

/** Requests that are retried by the policy, counted and reported. */
export function pageRequests<Q extends Query, P extends ApiPage>({
  client,
  policy,
  clock,
  queueOf,
  onWait,
}: PageRequestOptions<Q, P>): RequestPage<Q, P> {
  return (query, place, { priority, signal, counts, emit, isGuess = false }) => {
    const { operation } = query;
    const queue = queueOf?.(operation);

    const send = async (attempt: number, after: Cause | null): Promise<ReceivedPage<P>> => {
      let sentAt = clock.now();
      const onStart = (): void => {
        counts.requests++;
        if (attempt > 1) counts.retries++;
        emit?.({ event: 'request-sent', operation, attempt, cause: after });
        sentAt = clock.now();
      };
      try {
        const received = await client.send(query, place, {
          priority,
          signal,
          onStart,
          onSlow: (slow) => emit?.({ event: 'answer-slow', operation, ...slow }),
        });
        const seconds = Math.max(0, clock.now() - sentAt) / 1000;
        queue?.answered(seconds);
        const { body, requestId = null } = received;
        emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId });
        return received;
      } catch (error) {
        // The bucket hands out nothing before it knows what became of a request that follows a refusal.
        if (causeOf(error) !== 'throttled' || signal.aborted) queue?.bucket?.failed();
        throw error;
      }
    };

    const failed = (attempt: FailedAttempt): void => {
      const { cause, error, isLast, pauseMs } = attempt;
      if (cause === 'throttled') {
        counts.throttled++;
        queue?.bucket?.refused(pauseMs);
      }
      emit?.({
        event: 'request-failed',
        operation,
        cause,
        status: error.status ?? null,
        requestId: (error instanceof ApiRefusal ? error.requestId : undefined) ?? null,
        again: !isLast,
        waitSeconds: isLast ? 0 : pauseMs / 1000,
      });
      onWait?.(operation, attempt);
    };

    return policy.run({ operation, signal, isGuess, send, failed });
  };
}
