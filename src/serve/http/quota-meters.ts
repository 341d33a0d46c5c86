import { usageError } from '../../core/errors.js';
import type { OperationName } from './counts.js';

/** How many requests a token bucket lets through. */
interface BucketSize {
  /** Requests a second. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
}

export interface Quota {
  /** Requests a second, for each operation. */
  readonly rate: number;
  /** Requests at once, for each operation; undefined: as many as the operation has by itself. */
  readonly burst?: number | undefined;
}

/** An operation, and how many requests at once it has by itself. */
interface MeteredOperation {
  readonly name: OperationName;
  readonly burst: number;
}

/** A microsecond: what rounding may add to a sum of milliseconds, and less than any clock here can tell apart. */
const grain = 1e-3;

function msPerTokenAt(rate: number): number {
  if (rate > 0 && Number.isFinite(rate)) return 1000 / rate;
  throw usageError(`expected a rate above 0 requests a second, got ${rate}`);
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
  constructor({ rate, burst }: BucketSize) {
    this.#msPerToken = msPerTokenAt(rate);
    if (!(Number.isSafeInteger(burst) && burst >= 1)) {
      throw usageError(`expected a burst of 1 request or more, a whole number, got ${burst}`);
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

/** Of how many accounts and operations what they used is kept. */
const mostMeters = 10_000;

/** The quotas of all operations, each counted on its own (specification, section 8), and so is each account's. */
export class Quotas {
  readonly #quota: Quota | undefined;
  /** By operation and account, the one that was asked for last at the end. */
  readonly #meters = new Map<string, Meter>();

  /** Without a quota nothing is throttled. Throws a USAGE error for one that can't be. */
  constructor(quota: Quota | undefined) {
    this.#quota = quota;
    if (quota !== undefined) new Meter({ rate: quota.rate, burst: quota.burst ?? 1 });
  }

  /** The rate that is announced where no other one is in force; undefined: none. */
  get rate(): number | undefined {
    return this.#quota?.rate;
  }

  /**
   * Takes a token of an operation if there is one. `rate`: at which its meter runs from now on. `account`: whose request it
   * is, where there is a sign-in.
   */
  admit({ name, burst }: MeteredOperation, now: number, rate: number | undefined = this.rate, account = ''): boolean {
    const key = `${name} ${account}`;
    // Not throttled so far, or again: the meter that another rate brought is of no use then.
    if (rate === undefined) {
      this.#meters.delete(key);
      return true;
    }
    const meter =
      this.#meters.get(key) ?? new Meter({ rate: this.#quota?.rate ?? rate, burst: this.#quota?.burst ?? burst });
    this.#meters.delete(key);
    this.#meters.set(key, meter);
    // Refresh tokens cost nothing, so there may be any number of accounts.
    const [oldest = key] = this.#meters.keys();
    if (this.#meters.size > mostMeters) this.#meters.delete(oldest);
    meter.setRate(rate, now);
    return meter.admit(now);
  }
}
