import { usageError } from '../../core/errors.js';

export interface Quota {
  /** Requests a second. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
}

/** A microsecond: what rounding may add to a sum of milliseconds, and less than any clock here can tell apart. */
const grain = 1e-3;

function msPerTokenAt(rate: number): number {
  if (rate > 0 && Number.isFinite(rate)) return 1000 / rate;
  throw usageError(`The rate must be a number of requests a second above 0, not ${rate}`);
}

/**
 * The token bucket of one operation (specification, section 8): full at the start, one token back every `1000 / rate`
 * milliseconds. What is refused costs nothing.
 */
export class Meter {
  #msPerToken: number;
  readonly #burst: number;
  /** When the bucket was last full, and what was taken since: one product a check, so that no rounding adds up. */
  #fullAt = -Infinity;
  #taken = 0;

  /** Throws a USAGE error for a rate that isn't above 0 or a burst that isn't a whole number from 1 on. */
  constructor({ rate, burst }: Quota) {
    this.#msPerToken = msPerTokenAt(rate);
    if (!(Number.isSafeInteger(burst) && burst >= 1)) {
      throw usageError(`The burst must be a whole number of requests from 1 on, not ${burst}`);
    }
    this.#burst = burst;
  }

  /** Goes on at another rate with as much in the bucket as there is. Throws a USAGE error for a rate that isn't above 0. */
  setRate(rate: number, now: number): void {
    const msPerToken = msPerTokenAt(rate);
    if (msPerToken === this.#msPerToken) return;
    const missing = this.#taken === 0 ? 0 : Math.max(0, this.#taken - (now - this.#fullAt) / this.#msPerToken);
    this.#taken = Math.ceil(missing);
    if (this.#taken > 0) this.#fullAt = now - (this.#taken - missing) * msPerToken;
    this.#msPerToken = msPerToken;
  }

  /** Takes a token if there is one. `now`: milliseconds since 1970; a clock that went back refills nothing. */
  admit(now: number): boolean {
    if (now + grain >= this.#fullAt + this.#taken * this.#msPerToken) {
      this.#fullAt = Math.max(now, this.#fullAt);
      this.#taken = 0;
    }
    const needed = this.#taken + 1 - this.#burst;
    if (needed > 0 && now + grain < this.#fullAt + needed * this.#msPerToken) return false;
    this.#taken += 1;
    return true;
  }
}
