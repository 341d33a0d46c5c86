import type { LedgerlakeError } from '../../../src/core/errors.js';
import type { Store, StoredFile } from '../../../src/lake/store/store.js';
import { MemoryFiles, type CallName } from './memory-files.js';

/** A call of a store that waits for its turn. */
export interface Call {
  readonly process: Process;
  readonly name: CallName;
  readonly path: string;
  /** Takes effect, and returns the answer. */
  readonly effect: () => unknown;
  readonly answer: (value: unknown) => void;
  readonly fail: (error: LedgerlakeError) => void;
}

/** A process that makes calls; one that is dead gets no answers and makes no more. */
export interface Process {
  isDead: boolean;
}

/** Files in memory, and the calls on them that wait. */
export class SimulatedFiles extends MemoryFiles {
  readonly pending: Call[] = [];

  /** The store of a process: each call waits until the simulation lets it take effect. */
  storeOf(process: Process): Store {
    const call = <T>(name: Call['name'], path: string, effect: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        if (process.isDead) return;
        this.pending.push({
          process,
          name,
          path,
          effect,
          answer: (value) => {
            resolve(value as T);
          },
          fail: reject,
        });
      });
    return this.storeOver(call);
  }
}

/** The same store, which repeats calls that fail, as one that speaks HTTP does; but claims. */
export function repeating(store: Store): Store {
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === 3) throw error;
      }
    }
  };
  return {
    ...store,
    read: (path) => again(() => store.read(path)),
    readRange: (path, ...range) => again(() => store.readRange(path, ...range)),
    write: (path, bytes) => again(() => store.write(path, bytes)),
    remove: (path) => again(() => store.remove(path)),
    async *list(folder, after) {
      yield* await again(async () => {
        const found: StoredFile[] = [];
        for await (const file of store.list(folder, after)) found.push(file);
        return found;
      });
    },
  };
}
