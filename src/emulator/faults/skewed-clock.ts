import type { Clock } from '../../core/clock.js';

/** A clock that is off by so many milliseconds; its sleep is as long as any. */
export function skewedClock(clock: Clock, offsetMs: number): Clock {
  if (offsetMs === 0) return clock;
  return { now: () => clock.now() + offsetMs, sleep: (ms, signal) => clock.sleep(ms, signal) };
}
