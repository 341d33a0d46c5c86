import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { FailedAttempt } from './retry-policy.js';

/** What is told of an attempt that failed. */
export function requestFailed(
  operation: string,
  { cause, error, isLast, pause }: FailedAttempt,
  requestId: string | undefined,
): UpstreamEvent {
  return {
    event: 'request-failed',
    operation,
    cause,
    status: error.status ?? null,
    requestId: requestId ?? null,
    again: !isLast,
    waitSeconds: isLast ? 0 : pause / 1000,
  };
}
