import { dayMs } from '../../core/windows.js';
import type { SyncInTurns } from '../sync/synced-pipelines.js';
import type { FleetKeys, RedisCommands } from './redis.js';
import type { JobKind } from './turns.js';

/** What an account is asked to do; a backfill has its range as the user gave it, ISO 8601, or null. */
export type AccountJob =
  { readonly work: 'sync' } | { readonly work: 'backfill'; readonly from: string | null; readonly to: string | null };

/** One that was asked for, and isn't done. */
export interface PendingJob {
  readonly job: AccountJob;
  /** When it was asked for last. */
  readonly requestedAt: number;
}

const deleteIfSame =
  "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0";

const order: Readonly<Record<JobKind, number>> = { sync: 0, backfill: 1 };

/** What accounts are asked to do until it is done, whatever becomes of turns and workers in between. */
export function openAccountJobs(redis: RedisCommands, keys: FleetKeys) {
  return {
    /** Adds a job; one that is there already is asked for again. `now`: milliseconds since 1970. */
    add: async (account: string, job: AccountJob, now: number): Promise<void> => {
      await redis.hset(keys.jobs(account), JSON.stringify(job), String(now));
    },
    /** What isn't done, in the order in which it is to be: syncs first, backfills in the order of asking. */
    of: async (account: string): Promise<readonly PendingJob[]> => {
      const fields = Object.entries(await redis.hgetall(keys.jobs(account)));
      return fields
        .map(([text, requestedAt]) => ({ job: readJob(text), requestedAt: Number(requestedAt) }))
        .toSorted((a, b) => order[a.job.work] - order[b.job.work] || a.requestedAt - b.requestedAt);
    },
    /** It is done. One that was asked for again in the meantime stays. */
    remove: async (account: string, { job, requestedAt }: PendingJob): Promise<void> => {
      await redis.eval(deleteIfSame, 1, keys.jobs(account), JSON.stringify(job), String(requestedAt));
    },
  };
}

/** The protocol's number says that it was written here: anything else is a fault of this program. */
function readJob(text: string): AccountJob {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && 'work' in value) {
    if (value.work === 'sync') return { work: 'sync' };
    if (value.work === 'backfill' && 'from' in value && 'to' in value) {
      return { work: 'backfill', from: textOrNull(value.from), to: textOrNull(value.to) };
    }
  }
  throw new Error(`expected a job, got ${text}`);
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** An account's sync, over all the turns that it takes. */
interface OpenSync extends SyncInTurns {
  /** What it was begun for: one that was asked for in the meantime is another one. */
  readonly pending: PendingJob;
  /** Nothing is left of it. */
  clear(): Promise<void>;
}

/** After that, what was read is out of date: a sync that isn't done by then begins anew. */
const longestMs = dayMs;

/** The sync of an account that was begun and isn't done; where there is none, one that begins now: milliseconds since 1970. */
export async function openSync(
  redis: RedisCommands,
  keys: FleetKeys,
  account: string,
  requested: PendingJob,
  now: number,
): Promise<OpenSync> {
  const key = keys.sync(account);
  const stored = await redis.hgetall(key);
  const isOpen = now - Number(stored['began'] ?? -Infinity) < longestMs;
  const began = isOpen ? Number(stored['began']) : now;
  const requestedAt = isOpen ? Number(stored['asked']) : requested.requestedAt;
  if (!isOpen) {
    await redis.del(key);
    await redis.hset(key, { began, asked: requestedAt });
  }
  // With its beginning: a worker that was taken for dead may still report slices of an earlier sync, which isn't open any more.
  const field = (pipeline: string, slice: string): string => `${began} ${pipeline} ${slice}`;
  return {
    began,
    pending: { job: requested.job, requestedAt },
    wasRead: (pipeline, slice) => Object.hasOwn(stored, field(pipeline, slice)),
    read: async (pipeline, slices) => {
      await redis.hset(key, new Map(slices.map((slice) => [field(pipeline, slice), ''])));
    },
    clear: async () => {
      await redis.del(key);
    },
  };
}
