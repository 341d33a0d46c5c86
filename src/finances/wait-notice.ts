import type { Clock } from '../clock.js';
import type { Tell } from '../events/run-event.js';
import type { Wait } from './attempts.js';

/** No notice comes sooner after the one before. */
const leastBetweenMs = 60_000;

/** Tells of long waits for the service, at most once a minute, so that a run which stands still says why and until when. */
export function waitNotice(clock: Clock, tell: Tell): (wait: Wait) => void {
  let last = -Infinity;
  return ({ operation, cause, reason, until }) => {
    if (clock.now() - last < leastBetweenMs) return;
    last = clock.now();
    tell({ event: 'service-awaited', operation, cause, reason, until: new Date(until).toISOString() });
  };
}
