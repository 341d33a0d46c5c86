import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../../core/clock.js';
import { readPlainFile, replaceFile } from '../../../core/io/files.js';
import type { GroupSpan } from './collectors.js';
import { dayMs } from '../../../core/windows.js';

/** A settlement that could not be read for its size, as it seems. */
export interface LargeGroup {
  /** Events that came before the service refused to go on. */
  readonly events: number;
  /** When that was: milliseconds since 1970. */
  readonly at: number;
  /** The settlement's end then; null while it was open. */
  readonly end: number | null;
}

/** Settlements that aren't asked for again for a while: each attempt is more than a hundred requests in vain. */
export interface LargeGroups {
  /** What is known of a settlement that isn't to be asked for now. */
  find(group: GroupSpan): LargeGroup | undefined;
  /** Resolves once it is kept. */
  add(group: GroupSpan, events: number): Promise<void>;
}

/** For so long a settlement isn't asked for again, unless its end is another one by then. */
export const patienceMs = 7 * dayMs;

export interface LargeGroupsOptions {
  readonly path: string;
  readonly clock: Clock;
  /** All are asked for again. */
  readonly isForgotten: boolean;
  /** Told where they can't be kept. */
  readonly warn: (reason: unknown) => void;
}

/** Opens what is known of large settlements in a file on the local disk. It is a cache, and may be deleted at any time. */
export async function openLargeGroups({ path, clock, isForgotten, warn }: LargeGroupsOptions): Promise<LargeGroups> {
  const known = isForgotten ? new Map<string, LargeGroup>() : await groupsIn(path);
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, JSON.stringify(Object.fromEntries(known)), 0o600);
  };
  return {
    find: ({ id, end }) => {
      const found = known.get(id);
      return found?.end === end && clock.now() < found.at + patienceMs ? found : undefined;
    },
    add: async ({ id, end }, events) => {
      known.set(id, { events, at: clock.now(), end });
      writing = writing.then(write).catch(warn);
      await writing;
    },
  };
}

async function groupsIn(path: string): Promise<Map<string, LargeGroup>> {
  try {
    const kept: unknown = JSON.parse(String(await readPlainFile(path)));
    if (typeof kept !== 'object' || kept === null) return new Map();
    return new Map(Object.entries(kept).filter((entry): entry is [string, LargeGroup] => isLargeGroup(entry[1])));
  } catch {
    // Not there yet, or cut off by a crash of the machine.
    return new Map();
  }
}

function isLargeGroup(value: unknown): value is LargeGroup {
  if (typeof value !== 'object' || value === null) return false;
  const { events, at, end } = value as Readonly<Record<string, unknown>>;
  return Number.isFinite(events) && Number.isFinite(at) && (end === null || Number.isFinite(end));
}
