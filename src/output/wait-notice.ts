import type { Clock } from '../clock.js';
import type { Cause } from '../attempts/cause.js';
import type { Wait } from '../finances/attempts.js';

/** No line comes sooner after the one before. */
const leastBetweenMs = 60_000;

const causeTexts: Partial<Record<Cause, string>> = {
  throttled: 'the service throttles it (429)',
  'bound-too-late': 'the date bounds are too near to the present by the clock of the service',
};

/** Tells of long waits for the service, at most once a minute, so that a run which stands still says why and until when. */
export function waitNotice(clock: Clock, log: (line: string) => void): (wait: Wait) => void {
  let last = -Infinity;
  return ({ operation, cause, reason, until }) => {
    if (clock.now() - last < leastBetweenMs) return;
    last = clock.now();
    const instant = `${new Date(until).toISOString().slice(0, 19)}Z`;
    log(`${operation}: waiting until ${instant}, then it is tried again: ${causeTexts[cause] ?? reason}`);
  };
}
