import { LedgerlakeError } from '../../src/core/errors.js';
import type { Store, StoredFile } from '../../src/lake/store/store.js';
import type { MemoryStore } from './memory-store.js';

/** Lets the test decide what happens next: resolves when it is this step's turn. */
export type Turn = (label: string) => Promise<void>;

export interface ActorOptions {
  readonly turn: Turn;
  /** The call, from 1 on, at which the actor's process dies; undefined: it lives. */
  readonly diesAt?: number | undefined;
  /** Whether what it was doing when it died still reaches the store, some time later. */
  readonly late?: boolean;
  /** Called after everything that changes the lake. */
  readonly changed: () => void;
}

/**
 * One process's way to a store in memory. Each call waits for its turn, takes effect at once, and waits again before
 * its answer is there, so that everything can happen in between. A call that the process dies in never returns.
 */
export function scheduledStore(memory: MemoryStore, name: string, options: ActorOptions): Store & { dead(): boolean } {
  const { turn, diesAt, late = false, changed } = options;
  let calls = 0;
  const never = new Promise<never>(() => undefined);
  const step = async <T>(label: string, effect: () => Promise<T>): Promise<T> => {
    const dying = ++calls === diesAt;
    if (diesAt !== undefined && calls > diesAt) return never;
    if (dying && !late) return never;
    await turn(`${name} ${label}`);
    const answer = await effect();
    changed();
    if (dying) return never;
    await turn(`${name} ${label} answered`);
    return answer;
  };
  return {
    ...memory,
    dead: () => diesAt !== undefined && calls >= diesAt,
    read: (path) => step(`read ${path}`, () => memory.read(path)),
    readRange: (path, start, length) => step(`readRange ${path}`, () => memory.readRange(path, start, length)),
    write: (path, bytes) => step(`write ${path}`, () => memory.write(path, bytes)),
    create: (path, bytes) => step(`create ${path}`, () => memory.create(path, bytes)),
    remove: (path) => step(`remove ${path}`, () => memory.remove(path)),
    removeUnfinished: () => Promise.resolve(0),
    async *list(folder, after): AsyncGenerator<StoredFile> {
      const found = await step(`list ${folder}`, async () => {
        const files: StoredFile[] = [];
        for await (const file of memory.list(folder, after)) files.push(file);
        return files;
      });
      yield* found;
    },
  };
}

/** Whether a run may end so: it says what stood in its way, and nothing is lost by it. */
export function isClear(error: unknown): boolean {
  return error instanceof LedgerlakeError && error.message.length > 20;
}
