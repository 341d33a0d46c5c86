import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { SlowAnswer } from '../http/transport.js';
import { ApiRefusal, type Cause } from '../retry/api-refusal.js';
import { causeOf, type FailedAttempt, type RetryPolicy } from '../retry/retry-policy.js';
import type { RequestCounts } from '../run/pipeline.js';
import { ApiClient, type ApiClientOptions, type PagePosition, type ReceivedPage } from './api-client.js';
import type { ApiPage, Query } from './paged-api.js';

/** How the requests of a query are sent. */
export interface RequestOptions {
  /** Among the waiting requests: the lowest number is sent first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
  readonly emit?: ((event: UpstreamEvent) => void) | undefined;
  /** Whether it is another form of a request that was refused without a reason: a second refusal is not retried. */
  readonly isGuess?: boolean;
}

/**
 * Requests one page, with retries.
 *
 * @throws ReadFailure after the last attempt; the signal's reason, at once; the errors of signing in
 */
export type RequestPage<Q extends Query, P extends ApiPage> = (
  query: Q,
  position: PagePosition,
  options: RequestOptions,
) => Promise<ReceivedPage<P>>;

interface PagedRequestOptions<Q extends Query, P extends ApiPage> extends ApiClientOptions<Q, P> {
  readonly policy: RetryPolicy;
  readonly onWait?: ((operation: string, failed: FailedAttempt) => void) | undefined;
}

/** Requests that the policy retries, counted and reported. */
export function pagedRequests<Q extends Query, P extends ApiPage>(
  options: PagedRequestOptions<Q, P>,
): RequestPage<Q, P> {
  const { policy, clock, queueOf, onWait } = options;
  const client = new ApiClient(options);
  return (query, position, { priority, signal, counts, emit, isGuess = false }) => {
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
      const onSlow = (slow: SlowAnswer): void => emit?.({ event: 'answer-slow', operation, ...slow });
      try {
        const received = await client.send(query, position, { priority, signal, onStart, onSlow });
        const seconds = Math.max(0, clock.now() - sentAt) / 1000;
        queue?.answered(seconds);
        const { body, requestId = null } = received;
        emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId });
        return received;
      } catch (error) {
        // After a refusal the bucket waits for the outcome of one request.
        if (causeOf(error) !== 'throttled' || signal.aborted) queue?.failed();
        throw error;
      }
    };

    const failed = (attempt: FailedAttempt): void => {
      const { cause, error, isLast, pauseMs } = attempt;
      if (cause === 'throttled') {
        counts.throttled++;
        queue?.refused(pauseMs);
      }
      const status = error.status ?? null;
      const requestId = (error instanceof ApiRefusal ? error.requestId : undefined) ?? null;
      const waitSeconds = isLast ? 0 : pauseMs / 1000;
      emit?.({ event: 'request-failed', operation, cause, status, requestId, again: !isLast, waitSeconds });
      onWait?.(operation, attempt);
    };

    return policy.run({ operation, signal, isGuess, send, failed });
  };
}
