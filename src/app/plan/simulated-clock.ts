import type { Clock } from '../../core/clock.js';

interface Sleeper {
  readonly due: number;
  wake(): void;
}

/** A clock that goes on only while something is played on it, and then from one sleeper to the next without a pause. */
export class SimulatedClock implements Clock {
  #now: number;
  /** By due instant, then by arrival. */
  readonly #sleepers: Sleeper[] = [];

  /** `start`: milliseconds since 1970. */
  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const giveUp = (): void => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(signal?.reason as Error);
      };
      const sleeper: Sleeper = {
        due: this.#now + Math.max(0, ms),
        wake: () => {
          signal?.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const later = this.#sleepers.findIndex((other) => other.due > sleeper.due);
      this.#sleepers.splice(later === -1 ? this.#sleepers.length : later, 0, sleeper);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /**
   * Plays work that waits for nothing but this clock to its end; what it gives or throws.
   *
   * @throws Error where it waits for something else, the signal's reason once that aborts
   */
  async play<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    const state = { isOpen: true };
    const end = (): void => {
      state.isOpen = false;
    };
    work.then(end, end);
    for (;;) {
      await settled();
      if (!state.isOpen) return work;
      signal.throwIfAborted();
      const next = this.#sleepers.shift();
      if (next === undefined) throw new Error('what is simulated waits for something that nobody does');
      this.#now = next.due;
      next.wake();
    }
  }
}

/** Resolves once every chain of promises that can run on has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
