import type { Clock } from '../../core/clock.js';

/** After the first failure, milliseconds; twice as much after each further one. */
const firstDelayMs = 250;
const longestDelayMs = 4000;

/** Failures are forgotten so long after the last one. */
const forgottenMs = 60_000;

/** Attempts that wait at once. */
const mostWaiting = 8;

/** Seconds after which one that found no place may come again. */
export const retryAfterSeconds = longestDelayMs / 1000;

/**
 * Makes guessing slow: once an attempt to sign in has failed, every attempt waits before it is looked at, right or wrong, and
 * few may wait. So eight attempts are looked at in four seconds, however many connections they come on.
 */
export class GuessDelay {
  readonly #clock: Clock;
  #failures = 0;
  #lastAt = -Infinity;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to whether the attempt may be looked at, once it has waited; the signal ends its waiting. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (this.#clock.now() - this.#lastAt > forgottenMs) this.#failures = 0;
    if (this.#failures === 0) return true;
    if (this.#waiting >= mostWaiting) return false;
    this.#waiting += 1;
    try {
      await this.#clock.sleep(Math.min(longestDelayMs, firstDelayMs * 2 ** (this.#failures - 1)), signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    } finally {
      this.#waiting -= 1;
    }
  }

  failed(): void {
    this.#failures += 1;
    this.#lastAt = this.#clock.now();
  }

  succeeded(): void {
    this.#failures = 0;
  }
}
