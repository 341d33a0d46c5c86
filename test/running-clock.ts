import { systemClock, type Clock } from '../src/core/clock.js';

/** A clock that begins at an instant (ISO 8601) and runs on in real time, or so many times as fast. */
export function runningClock(iso: string, speed = 1): Clock {
  const start = Date.parse(iso);
  const began = performance.now();
  return {
    now: () => Math.floor(start + (performance.now() - began) * speed),
    sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
  };
}
