import type { Store } from '../../src/lake/store/store.js';

/** A store that tells how many of its calls are under way. */
export interface BusyStore {
  readonly store: Store;
  readonly busy: () => number;
}

export function busyStore(store: Store): BusyStore {
  let busy = 0;
  const counted = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        if (!(result instanceof Promise)) return result;
        busy++;
        return result.finally(() => {
          busy--;
        });
      };
    },
  });
  return { store: counted, busy: () => busy };
}
