import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import type { FailedAttempt } from './retry-policy.js';

/** Told of an attempt that failed at an operation. */
export type WaitWarning = (operation: string, failed: FailedAttempt) => void;

/** Milliseconds from which on a wait is told of. */
const longWaitMs = 30_000;

/** No notice comes sooner after the one before. */
const leastBetweenMs = 60_000;

/**
 * Tells of waits for the service that last, or have lasted, for long: at most once a minute, so that a run which stands
 * still says why and until when.
 */
export function waitWarning(clock: Clock, emit: Emit): WaitWarning {
  let last = -Infinity;
  return (operation, { cause, error, since, isLast, pause }) => {
    const now = clock.now();
    const until = now + pause;
    if (isLast || until - since < longWaitMs || now - last < leastBetweenMs) return;
    last = now;
    const reason = error.message;
    emit({ event: 'service-awaited', operation, cause, reason, until: new Date(until).toISOString() });
  };
}
