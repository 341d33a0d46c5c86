import { LedgerlakeError } from '../../core/errors.js';

/** A committed file that is missing or was changed behind the lake's back. */
export class DamagedFile extends LedgerlakeError {
  /** What was expected and what is there, without what to do. */
  readonly found: string;

  /** What is wrong with it, in words. */
  readonly fault: string;

  constructor(address: string, fault: string, advice: string) {
    const found = `expected ${address} as its commit has it, ${fault}`;
    super('LAKE_STORE', `${found}; nothing of it was touched: ${advice}`);
    this.found = found;
    this.fault = fault;
  }
}
