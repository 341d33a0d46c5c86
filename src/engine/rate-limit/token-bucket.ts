import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';

/** The factor of the rate after each refusal, its minimum, and the factor after each granted request. */
const slowing = { factor: 0.5, least: 1 / 16, recovery: 1.25 };

interface TokenBucketOptions {
  /** Tokens refilled each second: above 0. */
  readonly rate: number;
  /** Tokens that a full bucket holds: a whole number from 1 on. */
  readonly burst: number;
  readonly clock: Clock;
  /** `state` of an earlier bucket, to continue from. Left out: full. */
  readonly state?: number | undefined;
  /**
   * Tokens that stay in the upstream's bucket, also fractions: the network delay varies, and a request that arrives early
   * would be refused. Default 0; the bucket holds at least one token.
   */
  readonly reserve?: number | undefined;
  /** Called after a token was taken, or the rate has changed: `state` is different then. */
  readonly changed?: (() => void) | undefined;
}

/** A nanosecond: the rounding error of a rate such as 0.3 must not cost a millisecond. */
const grain = 1e-6;

/**
 * A token bucket (GCRA): `burst` tokens at once, then one each `1000 / rate` ms, each at the first whole millisecond at which it
 * is available (specification, section 8). The queue does the waiting.
 *
 * Nothing is counted by ticks. Since `#origin`, when the bucket was last full, `#spent` tokens were taken. The time of the next
 * token follows from these two by one division, so that rounding errors don't add up.
 */
export class TokenBucket {
  readonly burst: number;
  readonly clock: Clock;
  readonly #changed: () => void;
  /** Tokens a second that the upstream states, and the present rate: lower after refusals. */
  #named: number;
  #rate: number;
  /** No token is issued before this time. */
  #pausedUntil = -Infinity;
  /** Refusals in a row; those during one pause count once. */
  #refusals = 0;
  #isProbing = false;
  #origin: number;
  #spent: number;

  /** @throws LedgerlakeError USAGE for a rate, burst or state that isn't one */
  constructor({ rate, burst, clock, state, changed, reserve = 0 }: TokenBucketOptions) {
    if (!(Number.isSafeInteger(burst) && burst >= 1)) throw invalidOption('burst', 'a whole number from 1', burst);
    if (state !== undefined && !Number.isFinite(state)) throw invalidOption('state', 'a finite number', state);
    if (!(reserve >= 0)) throw invalidOption('reserve', 'a number from 0', reserve);
    this.burst = Math.max(1, burst - reserve);
    this.clock = clock;
    this.#changed = changed ?? (() => undefined);
    this.#named = checkedRate(rate);
    this.#rate = this.#named;
    this.#origin = this.#now();
    // The missing tokens count as taken just now. A state in the past means a full bucket.
    this.#spent = state === undefined ? 0 : (Math.max(0, Math.ceil(state) - this.#origin) * this.#rate) / 1000;
  }

  /** Takes a token; false where none is available. */
  take(): boolean {
    if (this.#isProbing || this.nextTokenAt() > this.#now()) return false;
    this.#spent += 1;
    this.#isProbing = this.#refusals > 0;
    this.#changed();
    return true;
  }

  /** When a token is available: now, or at a later whole millisecond since 1970. */
  nextTokenAt(): number {
    const now = this.#refill();
    return Math.max(now, this.#pausedUntil, this.#origin + this.#msFor(this.#spent + 1 - this.burst));
  }

  /** Whether the outcome of the first request after a refusal is pending: no other one starts. */
  get isProbing(): boolean {
    return this.#isProbing;
  }

  /** Available tokens, with the fraction of the next one: 0 to `burst`. */
  level(): number {
    const missing = this.#missingAt(this.#refill());
    return Math.min(this.burst, Math.max(0, this.burst - missing));
  }

  /** The number to persist between runs: when the bucket is full, in whole milliseconds since 1970. */
  get state(): number {
    return this.#origin + this.#msFor(this.#spent);
  }

  /** The present rate, in tokens a second. */
  get rate(): number {
    return this.#rate;
  }

  /** Updates `#origin` and returns the time. */
  #refill(): number {
    const now = this.#now();
    // The clock was set back: no time counts as elapsed.
    if (now < this.#origin) this.#origin = now;
    if (this.state <= now) {
      this.#origin = now;
      this.#spent = 0;
    } else if (this.state > now + this.#msFor(this.burst) + 1) {
      // The clock was ahead earlier: the bucket is at worst empty.
      this.#origin = now;
      this.#spent = this.burst;
    }
    return now;
  }

  #missingAt(now: number): number {
    return this.#spent - ((now - this.#origin) * this.#rate) / 1000;
  }

  #now(): number {
    return Math.floor(this.clock.now());
  }

  /** Whole milliseconds to refill this many tokens. */
  #msFor(tokens: number): number {
    return Math.ceil((tokens * 1000) / this.#rate - grain);
  }

  /**
   * Changes the upstream's rate; the available tokens stay.
   *
   * @throws LedgerlakeError USAGE for a rate that isn't a finite number above 0
   */
  setRate(rate: number): void {
    if (checkedRate(rate) === this.#named) return;
    const slowness = this.#rate / this.#named;
    this.#named = rate;
    this.#handOut(rate * slowness);
  }

  /**
   * Records a refusal by the upstream. The first one pauses the bucket for `waitMs`. From the second in a row on the bucket is
   * also emptied, and its rate halved. Refusals of concurrent requests, during the pause, count once. After a refusal only one
   * token is issued, until `refused`, `granted` or `failed` reports the outcome of its request.
   */
  refused(waitMs: number): void {
    const now = this.#refill();
    const isPaused = now < this.#pausedUntil;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.ceil(waitMs));
    if (!isPaused) this.#refusals++;
    this.#isProbing = false;
    let rate = this.#rate;
    if (this.#refusals > 1) {
      this.#origin = now;
      this.#spent = this.burst;
      if (!isPaused) rate = Math.max(this.#named * slowing.least, rate * slowing.factor);
    }
    this.#handOut(rate);
  }

  /** Records a granted request: after refusals the rate recovers, up to the upstream's. */
  granted(): void {
    if (this.clock.now() >= this.#pausedUntil) this.#refusals = 0;
    this.#isProbing = false;
    if (this.#rate < this.#named) this.#handOut(Math.min(this.#named, this.#rate * slowing.recovery));
  }

  /** Records a request that failed for a reason other than the quota: the next one is the probe. */
  failed(): void {
    this.#isProbing = false;
  }

  #handOut(rate: number): void {
    const now = this.#refill();
    this.#spent = Math.max(0, this.#missingAt(now));
    this.#origin = now;
    this.#rate = rate;
    this.#changed();
  }
}

function checkedRate(rate: number): number {
  if (!(Number.isFinite(rate) && rate > 0))
    throw invalidOption('rate', 'a finite number of tokens a second above 0', rate);
  return rate;
}

function invalidOption(option: string, expected: string, got: unknown): Error {
  return usageError(`expected \`${option}\` to be ${expected}, got \`${String(got)}\` (${typeof got})`);
}

/** Requests a second: the limits of a plausible rate. One in 200 s is below all known rates of the service. */
const least = 0.005;
const most = 10_000;

/**
 * Reads the rate of an answer's header. Too low a rate would stop a run for years, too high a rate is no quota: the nearest
 * limit applies (`isFit`: the rate itself). A text that isn't a positive number has no rate.
 */
export function readNamedRate(header: string): { rate: number | undefined; isFit: boolean } {
  const named = header.trim() === '' ? NaN : Number(header);
  if (!(Number.isFinite(named) && named > 0)) return { rate: undefined, isFit: false };
  const rate = Math.min(most, Math.max(least, named));
  return { rate, isFit: rate === named };
}
