import { dirname } from 'node:path';
import { readPlainFile } from '../../core/io/files.js';
import { checkedPath, makeFoldersBelow, type PathBelow } from '../../core/io/links.js';
import { replaceFile } from '../../core/io/write-file.js';

/**
 * The states of token buckets (`TokenBucket.state`): a run right after another doesn't spend tokens twice. They may be deleted at any
 * time.
 */
export interface PersistedQuota {
  /** The last persisted state; undefined: none. */
  stateOf(name: string): number | undefined;
  /** Persists a state. It is written in the background. */
  keep(name: string, state: number): void;
  /** Resolves once all states are written. */
  flush(): Promise<void>;
}

/**
 * Opens the states in a file on the local disk. An unreadable file counts as empty. A write error is reported once, and costs a
 * few requests in the next run.
 */
export async function openPersistedQuota(file: PathBelow, warn: (reason: unknown) => void): Promise<PersistedQuota> {
  const save = async (states: Readonly<Record<string, number>>): Promise<void> => {
    await makeFoldersBelow({ ...file, path: dirname(file.path) });
    await replaceFile(checkedPath(file), JSON.stringify(states), 0o600);
  };
  return persistedQuota(await statesIn(file), save, warn);
}

/** States that `save` stores: all of them each time, one save at a time. */
export function persistedQuota(
  before: Readonly<Record<string, number>>,
  save: (states: Readonly<Record<string, number>>) => Promise<void>,
  warn: (reason: unknown) => void,
): PersistedQuota {
  const states = new Map(Object.entries(before));
  let isDirty = false;
  let isWarned = false;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    try {
      while (isDirty) {
        isDirty = false;
        await save(Object.fromEntries(states));
      }
    } catch (error) {
      // Later states are saved too, together with all known ones.
      if (!isWarned) warn(error);
      isWarned = true;
    } finally {
      writing = undefined;
    }
  };
  return {
    stateOf: (name) => states.get(name),
    keep: (name, state) => {
      states.set(name, state);
      isDirty = true;
      writing ??= write();
    },
    flush: async () => {
      await writing;
    },
  };
}

async function statesIn(file: PathBelow): Promise<Record<string, number>> {
  try {
    const kept: unknown = JSON.parse(String(await readPlainFile(checkedPath(file))));
    if (typeof kept !== 'object' || kept === null) return {};
    return Object.fromEntries(
      Object.entries(kept).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
    );
  } catch {
    // Not written yet, or truncated by a crash of the machine.
    return {};
  }
}
