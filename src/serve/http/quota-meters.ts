import { usageError } from '../../core/errors.js';
import type { OperationName } from '../../sources/finances/finances-apis.js';

/** Rate and size of a token bucket. */
interface BucketSize {
  /** Tokens added a second. */
  readonly rate: number;
  /** Capacity in tokens: the most requests at once. */
  readonly burst: number;
}

export interface ServerQuota {
  /** Requests a second for each operation; undefined: the operation's default. */
  readonly rate?: number | undefined;
  /** Requests at once for each operation; undefined: the operation's default. */
  readonly burst?: number | undefined;
}

/** An operation with its default rate and burst. */
interface ThrottledOperation extends BucketSize {
  readonly name: OperationName;
}

/**
 * A microsecond: larger than the rounding errors of sums, smaller than the resolution of a clock.
 */
const toleranceMs = 1e-3;

function msPerTokenAt(rate: number): number {
  if (rate > 0 && Number.isFinite(rate)) return 1000 / rate;
  throw usageError(`expected a rate above 0 requests a second, got ${rate}`);
}

/**
 * The token bucket of one operation (specification, section 8): full at the start, refilled by one token every
 * `1000 / rate` milliseconds. A refused request takes no token.
 */
export class Meter {
  #msPerToken: number;
  readonly #burst: number;
  /**
   * The instant at which the bucket was last full, and the tokens taken since: one multiplication for each check, so
   * that rounding errors don't accumulate.
   */
  #fullAt = -Infinity;
  #taken = 0;

  /** @throws LedgerlakeError USAGE for a rate that isn't above 0 or a burst that isn't a whole number from 1 on */
  constructor({ rate, burst }: BucketSize) {
    this.#msPerToken = msPerTokenAt(rate);
    if (!(Number.isSafeInteger(burst) && burst >= 1)) {
      throw usageError(`expected a burst of 1 request or more, a whole number, got ${burst}`);
    }
    this.#burst = burst;
  }

  /**
   * Changes the rate and keeps the tokens in the bucket.
   *
   * @throws LedgerlakeError USAGE for a rate that isn't above 0
   */
  setRate(rate: number, now: number): void {
    const msPerToken = msPerTokenAt(rate);
    if (msPerToken === this.#msPerToken) return;
    const missing = this.#taken === 0 ? 0 : Math.max(0, this.#taken - (now - this.#fullAt) / this.#msPerToken);
    this.#taken = Math.ceil(missing);
    if (this.#taken > 0) this.#fullAt = now - (this.#taken - missing) * msPerToken;
    this.#msPerToken = msPerToken;
  }

  /** Takes a token if there is one. `now`: milliseconds since 1970; a clock that is set back refills nothing. */
  admit(now: number): boolean {
    if (now + toleranceMs >= this.#fullAt + this.#taken * this.#msPerToken) {
      this.#fullAt = Math.max(now, this.#fullAt);
      this.#taken = 0;
    }
    const needed = this.#taken + 1 - this.#burst;
    if (needed > 0 && now + toleranceMs < this.#fullAt + needed * this.#msPerToken) return false;
    this.#taken += 1;
    return true;
  }
}

/** Largest number of meters, one for each account and operation. */
const mostMeters = 10_000;

/** The quotas of all operations, metered separately for each operation (specification, section 8) and each account. */
export class Quotas {
  readonly #quota: ServerQuota | undefined;
  /** Meters by operation and account, least recently used first. */
  readonly #meters = new Map<string, Meter>();

  /**
   * @param quota undefined: nothing is throttled
   *
   * @throws LedgerlakeError USAGE for a quota that is invalid
   */
  constructor(quota: ServerQuota | undefined) {
    this.#quota = quota;
    if (quota !== undefined) new Meter({ rate: quota.rate ?? 1, burst: quota.burst ?? 1 });
  }

  /** The configured rate of all operations; undefined: none. */
  get rate(): number | undefined {
    return this.#quota?.rate;
  }

  /** The rate of an operation, announced where no other is in force; undefined: it isn't throttled. */
  rateOf({ rate }: ThrottledOperation): number | undefined {
    return this.#quota && (this.#quota.rate ?? rate);
  }

  /**
   * Takes a token of an operation if there is one. `rate`: the rate of its meter from now on. `account`: the caller's
   * account, where there is a sign-in.
   */
  admit(operation: ThrottledOperation, now: number, rate: number | undefined, account = ''): boolean {
    const { name, burst } = operation;
    const key = `${name} ${account}`;
    // Without a rate nothing is throttled, and a meter of an earlier rate would be out of date.
    if (rate === undefined) {
      this.#meters.delete(key);
      return true;
    }
    const meter =
      this.#meters.get(key) ?? new Meter({ rate: this.rateOf(operation) ?? rate, burst: this.#quota?.burst ?? burst });
    this.#meters.delete(key);
    this.#meters.set(key, meter);
    // Clients can invent any number of refresh tokens, and so of accounts.
    const [oldest = key] = this.#meters.keys();
    if (this.#meters.size > mostMeters) this.#meters.delete(oldest);
    meter.setRate(rate, now);
    return meter.admit(now);
  }
}
