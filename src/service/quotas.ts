import { limits, operations, type OperationName } from '../finances/operations.js';
import { Meter, type Quota } from './meter.js';

/** The quotas of all operations, each counted on its own (specification, section 8). */
export class Quotas {
  readonly #quota: Quota | undefined;
  readonly #meters = new Map<OperationName, Meter>();

  /** Without a quota nothing is throttled. Throws a USAGE error for one that can't be. */
  constructor(quota: Quota | undefined) {
    this.#quota = quota;
    if (quota !== undefined) for (const { name } of Object.values(operations)) this.#meters.set(name, new Meter(quota));
  }

  /** The rate that is announced where no other one is in force; undefined: none. */
  get rate(): number | undefined {
    return this.#quota?.rate;
  }

  /** Takes a token of an operation if there is one. `rate`: at which its meter runs from now on. */
  admit(operation: OperationName, now: number, rate: number | undefined = this.rate): boolean {
    // Not throttled so far, or again: the meter that another rate brought is of no use then.
    if (rate === undefined) {
      this.#meters.delete(operation);
      return true;
    }
    const meter = this.#meters.get(operation) ?? new Meter({ rate, burst: limits.burst });
    this.#meters.set(operation, meter);
    meter.setRate(rate, now);
    return meter.admit(now);
  }
}
