import type { SyncInTurns } from '../sync/synced-pipelines.js';
import type { PendingJob } from './account-jobs.js';
import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';
import { dayMs } from '../../core/windows.js';

/** An account's sync, over all the turns that it takes. */
export interface OpenSync extends SyncInTurns {
  /** What it was begun for: one that was asked for in the meantime is another one. */
  readonly pending: PendingJob;
  /** Nothing is left of it. */
  done(): Promise<void>;
}

/** After that what was read doesn't tell any more how it is now: a sync that isn't done by then begins anew. */
const longestMs = dayMs;

/** The sync of an account that was begun and isn't done; where there is none, one that begins now: milliseconds since 1970. */
export async function openSync(
  redis: RedisCommands,
  keys: FleetKeys,
  account: string,
  asked: PendingJob,
  now: number,
): Promise<OpenSync> {
  const key = keys.sync(account);
  const found = await redis.hgetall(key);
  const isOpen = now - Number(found['began'] ?? -Infinity) < longestMs;
  const began = isOpen ? Number(found['began']) : now;
  const askedAt = isOpen ? Number(found['asked']) : asked.askedAt;
  if (!isOpen) {
    await redis.del(key);
    await redis.hset(key, { began, asked: askedAt });
  }
  // With its beginning: a worker that was thought to be dead may still tell of a sync before, and that one isn't open any more.
  const field = (pipeline: string, slice: string): string => `${began} ${pipeline} ${slice}`;
  return {
    began,
    pending: { job: asked.job, askedAt },
    wasRead: (pipeline, slice) => Object.hasOwn(found, field(pipeline, slice)),
    read: async (pipeline, slices) => {
      await redis.hset(key, new Map(slices.map((slice) => [field(pipeline, slice), ''])));
    },
    done: async () => {
      await redis.del(key);
    },
  };
}
