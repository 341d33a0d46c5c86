import type { Txn } from '../delta/actions.js';
import type { Window } from '../../core/windows.js';

/** What the load keys of one pipeline were found to name. */
interface KnownKeys {
  readonly loadKeys: string[];
  readonly windows: (Window | undefined)[];
  inOrder: readonly Window[];
}

/** The windows that load keys of one kind name: the name of each is read once, however often it is asked for. */
export class LoadKeyWindows {
  readonly #read: (loadKey: string) => Window | undefined;
  readonly #known = new WeakMap<ReadonlyMap<string, Txn>, KnownKeys>();

  /** `read`: undefined for a load key of another kind. */
  constructor(read: (loadKey: string) => Window | undefined) {
    this.#read = read;
  }

  /** In order. */
  of(loadKeys: ReadonlyMap<string, Txn>): readonly Window[] {
    let known = this.#known.get(loadKeys);
    if (known === undefined) this.#known.set(loadKeys, (known = { loadKeys: [], windows: [], inOrder: [] }));
    let at = 0;
    let isOther = known.loadKeys.length > loadKeys.size;
    for (const loadKey of loadKeys.keys()) {
      // New ones come last, so that hardly one has to be read again.
      if (known.loadKeys[at] !== loadKey) {
        known.loadKeys[at] = loadKey;
        known.windows[at] = this.#read(loadKey);
        isOther = true;
      }
      at++;
    }
    if (!isOther) return known.inOrder;
    known.loadKeys.length = known.windows.length = at;
    known.inOrder = known.windows.filter((window) => window !== undefined).toSorted((a, b) => a.start - b.start);
    return known.inOrder;
  }
}
