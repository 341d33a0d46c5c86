import { dirname } from 'node:path';
import { makeFolders, readPlainFile, replaceFile } from '../../core/io/files.js';

/** Values by name that are kept between runs. They are a cache, and may be deleted at any time. */
export interface KeptState<T> {
  /** As it was kept last; undefined: nothing is known. */
  stateOf(name: string): T | undefined;
  /** Keeps a value. It is on the disk a moment later, also should the run die then. */
  keep(name: string, value: T): void;
  /** Resolves once all of it is on the disk. */
  flush(): Promise<void>;
}

/** The states of buckets (`TokenBucket.state`), so that a run right after another doesn't spend what is spent already. */
export type KeptQuota = KeptState<number>;

export function openKeptQuota(path: string, warn: (reason: unknown) => void): Promise<KeptQuota> {
  return openKeptState(path, (value): value is number => Number.isFinite(value), warn);
}

/**
 * Opens values in a file on the local disk: what can't be read counts as nothing known, what can't be written is reported once
 * and costs a few requests in the next run.
 */
export async function openKeptState<T>(
  path: string,
  isValue: (value: unknown) => value is T,
  warn: (reason: unknown) => void,
): Promise<KeptState<T>> {
  const save = async (values: Readonly<Record<string, T>>): Promise<void> => {
    await makeFolders(dirname(path), 0o700);
    await replaceFile(path, JSON.stringify(values), 0o600);
  };
  return keptState(await valuesIn(path, isValue), save, warn);
}

/** Values that are saved wherever `save` puts them, all of them each time, and never twice at once. */
export function keptState<T>(
  before: Readonly<Record<string, T>>,
  save: (values: Readonly<Record<string, T>>) => Promise<void>,
  warn: (reason: unknown) => void,
): KeptState<T> {
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
      // Later values are tried as well, each with all that are known by then.
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

async function valuesIn<T>(path: string, isValue: (value: unknown) => value is T): Promise<Record<string, T>> {
  try {
    const kept: unknown = JSON.parse(String(await readPlainFile(path)));
    if (typeof kept !== 'object' || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter((entry): entry is [string, T] => isValue(entry[1])));
  } catch {
    // Not there yet, or cut off by a crash of the machine.
    return {};
  }
}
