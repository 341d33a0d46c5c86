import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';

/** How much slower a bucket gets with each refusal, how slow at most, and how fast it comes back with each good answer. */
const slowing = { factor: 0.5, least: 1 / 16, recovery: 1.25 };

export interface TokenBucketOptions {
  /** Tokens that come back each second: above 0. */
  readonly rate: number;
  /** Tokens that a full bucket holds: a whole number from 1 on. */
  readonly burst: number;
  readonly clock: Clock;
  /** `state` of an earlier bucket, to go on where it left off. Left out: full. */
  readonly state?: number | undefined;
  /**
   * Tokens, or a part of one, that stay in the upstream's bucket: requests take now more, now less time to get there, and
   * one that overtakes its turn would be refused. Default 0; the bucket holds one token at least.
   */
  readonly reserve?: number | undefined;
  /** Called when a token was taken, or the rate has changed: `state` is another one then. */
  readonly changed?: (() => void) | undefined;
}

/** A nanosecond: a rate such as 0.3 has no exact double, and must not cost a millisecond for that. */
const grain = 1e-6;

/**
 * A token bucket (GCRA): `burst` tokens at once, then one each `1000 / rate` ms, each at the first whole millisecond at which it
 * is there (specification, section 8). Who waits for them is the queue's.
 *
 * Nothing is counted by ticks. Since `#origin`, when the bucket was full for the last time, `#spent` tokens were taken,
 * and when the next one is there follows from these two by one division, so that no rounding adds up.
 */
export class TokenBucket {
  readonly burst: number;
  readonly clock: Clock;
  readonly #changed: () => void;
  /** Tokens a second as the upstream names them, and as they are handed out: fewer after refusals. */
  #named: number;
  #rate: number;
  /** Before it no token is handed out, whatever the bucket holds. */
  #pausedUntil = -Infinity;
  /** Refusals in a row, those of one spell of waiting counted once. */
  #refusals = 0;
  #isProbing = false;
  #origin: number;
  #spent: number;

  /** @throws LedgerlakeError USAGE for a rate, burst or state that isn't one */
  constructor({ rate, burst, clock, state, changed, reserve = 0 }: TokenBucketOptions) {
    if (!(Number.isSafeInteger(burst) && burst >= 1)) throw unexpected('burst', 'a whole number from 1', burst);
    if (state !== undefined && !Number.isFinite(state)) throw unexpected('state', 'a finite number', state);
    if (!(reserve >= 0)) throw unexpected('reserve', 'a number from 0', reserve);
    this.burst = Math.max(1, burst - reserve);
    this.clock = clock;
    this.#changed = changed ?? (() => undefined);
    this.#named = checkedRate(rate);
    this.#rate = this.#named;
    this.#origin = this.#now();
    // As if all that is missing had been taken just now. A state that is long past stands for a full bucket.
    this.#spent = state === undefined ? 0 : (Math.max(0, Math.ceil(state) - this.#origin) * this.#rate) / 1000;
  }

  /** The one number to keep between runs: when the bucket is full (again), in whole milliseconds since 1970. */
  get state(): number {
    return this.#origin + this.#msFor(this.#spent);
  }

  /** Tokens a second that are handed out at present. */
  get rate(): number {
    return this.#rate;
  }

  /** Tokens that are there now, with the fraction of the one that is coming: 0 to `burst`. */
  level(): number {
    const missing = this.#missingAt(this.#refill());
    return Math.min(this.burst, Math.max(0, this.burst - missing));
  }

  /** When a token is there: now, or the first whole millisecond (since 1970) after it. */
  nextTokenAt(): number {
    const now = this.#refill();
    return Math.max(now, this.#pausedUntil, this.#origin + this.#msFor(this.#spent + 1 - this.burst));
  }

  /**
   * Changes the tokens a second; the tokens that are there stay.
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
   * The upstream had no token where there should have been one. One refusal is taken for a slip: nothing is handed out for
   * so many milliseconds. From the second one in a row on, what the bucket seems to hold isn't there: it is empty, and hands
   * out half as much as before. What else is under way is refused with it, and counts no second time. After a refusal one
   * token is handed out and no other, until `refused`, `granted` or `failed` says what became of its request.
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

  /** The upstream took a request: after refusals, tokens come a little faster again, until it is the rate that was named. */
  granted(): void {
    if (this.clock.now() >= this.#pausedUntil) this.#refusals = 0;
    this.#isProbing = false;
    if (this.#rate < this.#named) this.#handOut(Math.min(this.#named, this.#rate * slowing.recovery));
  }

  /** A request failed for another reason than the quota: the next one finds out. */
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

  /** Whether one request finds out after a refusal whether it is over, and what became of it isn't known: no other one starts. */
  get isProbing(): boolean {
    return this.#isProbing;
  }

  /** Takes the token that is there; false where none is to be had yet. */
  take(): boolean {
    if (this.#isProbing || this.nextTokenAt() > this.#now()) return false;
    this.#spent += 1;
    this.#isProbing = this.#refusals > 0;
    this.#changed();
    return true;
  }

  /** Brings `#origin` up to date and returns the time. */
  #refill(): number {
    const now = this.#now();
    // A clock that was set back: as far as anyone can tell, no time has gone by.
    if (now < this.#origin) this.#origin = now;
    if (this.state <= now) {
      this.#origin = now;
      this.#spent = 0;
    } else if (this.state > now + this.#msFor(this.burst) + 1) {
      // Emptier than empty, by a clock that was ahead once: empty is the worst that it can be.
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

  /** The whole milliseconds within which so many tokens come back. */
  #msFor(tokens: number): number {
    return Math.ceil((tokens * 1000) / this.#rate - grain);
  }
}

function checkedRate(rate: number): number {
  if (!(Number.isFinite(rate) && rate > 0))
    throw unexpected('rate', 'a finite number of tokens a second above 0', rate);
  return rate;
}

function unexpected(option: string, expected: string, got: unknown): Error {
  return usageError(`expected \`${option}\` to be ${expected}, got \`${String(got)}\` (${typeof got})`);
}
