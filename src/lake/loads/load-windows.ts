import type { Txn } from '../delta/actions.js';
import type { Window } from '../../core/windows.js';

/** What the units of one pipeline were found to name. */
interface KnownUnits {
  readonly units: string[];
  readonly windows: (Window | undefined)[];
  inOrder: readonly Window[];
}

/** The windows that units of one kind name: the name of each is read once, however often it is asked for. */
export class UnitWindows {
  readonly #read: (unit: string) => Window | undefined;
  readonly #known = new WeakMap<ReadonlyMap<string, Txn>, KnownUnits>();

  /** `read`: undefined for a unit of another kind. */
  constructor(read: (unit: string) => Window | undefined) {
    this.#read = read;
  }

  /** In order. */
  of(units: ReadonlyMap<string, Txn>): readonly Window[] {
    let known = this.#known.get(units);
    if (known === undefined) this.#known.set(units, (known = { units: [], windows: [], inOrder: [] }));
    let at = 0;
    let isOther = known.units.length > units.size;
    for (const unit of units.keys()) {
      // New ones come last, so that hardly one has to be read again.
      if (known.units[at] !== unit) {
        known.units[at] = unit;
        known.windows[at] = this.#read(unit);
        isOther = true;
      }
      at++;
    }
    if (!isOther) return known.inOrder;
    known.units.length = known.windows.length = at;
    known.inOrder = known.windows.filter((window) => window !== undefined).toSorted((a, b) => a.start - b.start);
    return known.inOrder;
  }
}
