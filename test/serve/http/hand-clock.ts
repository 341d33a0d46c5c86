import type { Clock } from '../../../src/core/clock.js';

/** A clock that stands still until a test moves it. */
export interface HandClock extends Clock {
  /** Moves on by milliseconds; back where they are below 0. */
  move(ms: number): void;
}

export function handClock(start: number | string): HandClock {
  let now = typeof start === 'number' ? start : Date.parse(start);
  return {
    now: () => now,
    move: (ms) => {
      now += ms;
    },
    sleep: (ms) => {
      now += ms;
      return Promise.resolve();
    },
  };
}
