import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import type { FailedAttempt } from './retry-policy.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** Takes an operation's attempt that failed. */
export type WaitWarning = (operation: string, failed: FailedAttempt) => void;

/** Milliseconds from which on a wait is reported. */
const longWaitMs = 30_000;

/** Milliseconds between two reports, at least. */
const leastBetweenMs = 60_000;

/** Reports long waits for an API, at most once a minute: a run that waits says why and until when. */
export function waitWarning(clock: Clock, emit: Emit): WaitWarning {
  let last = -Infinity;
  return (operation, { cause, error, since, isLast, pauseMs }) => {
    const now = clock.now();
    const until = now + pauseMs;
    if (isLast || until - since < longWaitMs || now - last < leastBetweenMs) return;
    last = now;
    const reason = error.message;
    emit({ event: 'service-awaited', operation, cause, reason, until: isoInstant(until) });
  };
}
