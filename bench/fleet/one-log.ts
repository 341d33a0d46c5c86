import type { Store } from '../../src/lake/store/store.js';
import { HandClock } from '../../test/core/clock.js';
import { committed, opened, sliceOf } from '../../test/lake/small-table.js';
import { memoryStore } from '../../test/lake/memory-store.js';

/** What so many writers of one log come to. */
export interface OneLog {
  readonly writers: number;
  readonly commitsPerSecond: number;
  /** Calls of the store a commit. */
  readonly calls: number;
  /** From a writer's wish to commit to its commit: the longest, in seconds. */
  readonly longest: number;
}

/**
 * Has writers, each as a process of its own, commit one slice after the other to one table, by the lake's own code, on a
 * store whose every call takes so long on a clock that is moved by hand.
 */
export async function commitToOneLog(writers: number, callMs: number, commits: number): Promise<OneLog> {
  const clock = new HandClock(Date.UTC(2026, 0, 1));
  const held = memoryStore();
  let calls = 0;
  const waiting = async (): Promise<void> => {
    calls++;
    await clock.sleep(callMs);
  };
  const store: Store = {
    ...held,
    read: async (path) => (await waiting(), held.read(path)),
    readRange: async (path, start, length) => (await waiting(), held.readRange(path, start, length)),
    write: async (path, bytes) => (await waiting(), held.write(path, bytes)),
    create: async (path, bytes) => (await waiting(), held.create(path, bytes)),
    list: async function* (folder, after) {
      await waiting();
      yield* held.list(folder, after);
    },
  };
  await committed(await opened(held, clock), sliceOf('first'), clock);
  let left = commits;
  let longest = 0;
  const began = clock.now();
  const write = async (writer: number): Promise<void> => {
    const lake = await opened(store, clock);
    for (let slice = 0; left > 0; slice++) {
      left--;
      const wished = clock.now();
      await committed(lake, sliceOf(`${writer}-${slice}`), clock);
      longest = Math.max(longest, clock.now() - wished);
    }
  };
  await clock.until(Promise.all(Array.from({ length: writers }, (_, writer) => write(writer))), 1e9);
  const seconds = (clock.now() - began) / 1000;
  return { writers, commitsPerSecond: commits / seconds, calls: calls / commits, longest: longest / 1000 };
}
