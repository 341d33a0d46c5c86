import type { Txn } from '../lake/actions.js';
import type { Window } from './windows.js';

/** The windows that units of one kind name: the name of each is read once, however often it is asked for. */
export class UnitWindows {
  readonly #read: (unit: string) => Window | undefined;
  readonly #known = new WeakMap<Txn, { readonly window: Window | undefined }>();

  /** `read`: undefined for a unit of another kind. */
  constructor(read: (unit: string) => Window | undefined) {
    this.#read = read;
  }

  /** In order. */
  of(units: ReadonlyMap<string, Txn>): Window[] {
    const windows: Window[] = [];
    for (const [unit, txn] of units) {
      let known = this.#known.get(txn);
      if (known === undefined) this.#known.set(txn, (known = { window: this.#read(unit) }));
      if (known.window !== undefined) windows.push(known.window);
    }
    return windows.toSorted((a, b) => a.start - b.start);
  }
}
