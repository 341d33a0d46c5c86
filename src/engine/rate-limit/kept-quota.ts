import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../../core/io/files.js';
import { readPlainFile } from '../../core/io/files.js';

/** The states of buckets, kept between runs, so that a run right after another doesn't spend what is spent already. */
export interface KeptQuota {
  /** `TokenBucket.state` as it was kept last; undefined: nothing is known, the bucket is full. */
  stateOf(bucket: string): number | undefined;
  /** Keeps a state. It is on the disk a moment later, also should the run die then. */
  keep(bucket: string, state: number): void;
  /** Resolves once all of it is on the disk. */
  flush(): Promise<void>;
}

/**
 * Opens the states of buckets in a file on the local disk. It is a cache: what can't be read counts as nothing known, what
 * can't be written is reported once and costs no more than a few refused requests in the next run.
 */
export async function openKeptQuota(path: string, warn: (reason: unknown) => void): Promise<KeptQuota> {
  const save = async (states: Readonly<Record<string, number>>): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, JSON.stringify(states), 0o600);
  };
  return keptQuota(await statesIn(path), save, warn);
}

/** States of buckets that are saved wherever `save` puts them, all of them each time, and never twice at once. */
export function keptQuota(
  before: Readonly<Record<string, number>>,
  save: (states: Readonly<Record<string, number>>) => Promise<void>,
  warn: (reason: unknown) => void,
): KeptQuota {
  const states = new Map(Object.entries(before));
  let isDirty = false;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (isDirty) {
      isDirty = false;
      await save(Object.fromEntries(states));
    }
  };
  let isBroken = false;
  return {
    stateOf: (bucket) => states.get(bucket),
    keep: (bucket, state) => {
      states.set(bucket, state);
      isDirty = true;
      if (isBroken) return;
      writing ??= write()
        .catch((error: unknown) => {
          isBroken = true;
          warn(error);
        })
        .finally(() => {
          writing = undefined;
        });
    },
    flush: async () => {
      await writing;
    },
  };
}

async function statesIn(path: string): Promise<Record<string, number>> {
  try {
    const kept: unknown = JSON.parse(String(await readPlainFile(path)));
    if (typeof kept !== 'object' || kept === null) return {};
    return Object.fromEntries(
      Object.entries(kept).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
    );
  } catch {
    // Not there yet, or cut off by a crash of the machine.
    return {};
  }
}
