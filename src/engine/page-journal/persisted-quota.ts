import { dirname } from 'node:path';
import { readPlainFile } from '../../core/io/files.js';
import { checkedPath, makeFoldersBelow, type PathBelow } from '../../core/io/links.js';
import { replaceFile } from '../../core/io/write-file.js';

/** Values by name, persisted between runs. They are a cache, and may be deleted at any time. */
interface PersistedState<T> {
  /** The last persisted value; undefined: none. */
  stateOf(name: string): T | undefined;
  /** Persists a value. It is written in the background. */
  keep(name: string, value: T): void;
  /** Resolves once all values are written. */
  flush(): Promise<void>;
}

/** The states of token buckets (`TokenBucket.state`): a run right after another doesn't spend tokens twice. */
export type PersistedQuota = PersistedState<number>;

export function openPersistedQuota(file: PathBelow, warn: (reason: unknown) => void): Promise<PersistedQuota> {
  return openPersistedState(file, (value): value is number => Number.isFinite(value), warn);
}

/**
 * Opens values in a file on the local disk. An unreadable file counts as empty. A write error is reported once, and costs a
 * few requests in the next run.
 */
export async function openPersistedState<T>(
  file: PathBelow,
  isValue: (value: unknown) => value is T,
  warn: (reason: unknown) => void,
): Promise<PersistedState<T>> {
  const save = async (values: Readonly<Record<string, T>>): Promise<void> => {
    await makeFoldersBelow({ ...file, path: dirname(file.path) }, 0o700);
    await replaceFile(checkedPath(file), JSON.stringify(values), 0o600);
  };
  return persistedState(await valuesIn(file, isValue), save, warn);
}

/** Values that `save` stores: all of them each time, one save at a time. */
export function persistedState<T>(
  before: Readonly<Record<string, T>>,
  save: (values: Readonly<Record<string, T>>) => Promise<void>,
  warn: (reason: unknown) => void,
): PersistedState<T> {
  const values = new Map(Object.entries(before));
  let isDirty = false;
  let isWarned = false;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    try {
      while (isDirty) {
        isDirty = false;
        await save(Object.fromEntries(values));
      }
    } catch (error) {
      // Later values are saved too, together with all known values.
      if (!isWarned) warn(error);
      isWarned = true;
    } finally {
      writing = undefined;
    }
  };
  return {
    stateOf: (name) => values.get(name),
    keep: (name, value) => {
      values.set(name, value);
      isDirty = true;
      writing ??= write();
    },
    flush: async () => {
      await writing;
    },
  };
}

async function valuesIn<T>(file: PathBelow, isValue: (value: unknown) => value is T): Promise<Record<string, T>> {
  try {
    const kept: unknown = JSON.parse(String(await readPlainFile(checkedPath(file))));
    if (typeof kept !== 'object' || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter((entry): entry is [string, T] => isValue(entry[1])));
  } catch {
    // Not written yet, or truncated by a crash of the machine.
    return {};
  }
}
