import { limits, type OperationName } from '../../sources/finances/api-v0/operations.js';
import { Meter, type Quota } from './meter.js';

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
    if (quota !== undefined) new Meter(quota);
  }

  /** The rate that is announced where no other one is in force; undefined: none. */
  get rate(): number | undefined {
    return this.#quota?.rate;
  }

  /**
   * Takes a token of an operation if there is one. `rate`: at which its meter runs from now on. `account`: whose request it
   * is, where there is a sign-in.
   */
  admit(operation: OperationName, now: number, rate: number | undefined = this.rate, account = ''): boolean {
    const key = `${operation} ${account}`;
    // Not throttled so far, or again: the meter that another rate brought is of no use then.
    if (rate === undefined) {
      this.#meters.delete(key);
      return true;
    }
    const meter = this.#meters.get(key) ?? new Meter(this.#quota ?? { rate, burst: limits.burst });
    this.#meters.delete(key);
    this.#meters.set(key, meter);
    // Refresh tokens cost nothing, so there may be any number of accounts.
    const [oldest = key] = this.#meters.keys();
    if (this.#meters.size > mostMeters) this.#meters.delete(oldest);
    meter.setRate(rate, now);
    return meter.admit(now);
  }
}
