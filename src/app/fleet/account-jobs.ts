import { dayMs } from '../../core/windows.js';
import type { SyncInTurns } from '../load/synced-pipelines.js';
import type { FleetKeys, RedisCommands } from './redis.js';
import type { JobKind } from './turns.js';

/** A job of an account; a backfill has its range as the user wrote it, ISO 8601, or null. */
export type AccountJob =
  { readonly work: 'sync' } | { readonly work: 'backfill'; readonly from: string | null; readonly to: string | null };

/** A job that isn't done. */
export interface PendingJob {
  readonly job: AccountJob;
  /** When it was last requested. */
  readonly requestedAt: number;
}

const deleteIfSame =
  "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0";

const order: Readonly<Record<JobKind, number>> = { sync: 0, backfill: 1 };

/** Opens the jobs of accounts, which are kept in Redis until they are done, independently of turns and workers. */
export function openAccountJobs(redis: RedisCommands, keys: FleetKeys) {
  return {
    /** Adds a job, or updates the time of an equal one. `now`: milliseconds since 1970. */
    add: async (account: string, job: AccountJob, now: number): Promise<void> => {
      await redis.hset(keys.jobs(account), JSON.stringify(job), String(now));
    },
    /** The pending jobs in the order of execution: syncs first, then backfills in the order of their requests. */
    of: async (account: string): Promise<readonly PendingJob[]> => {
      const fields = Object.entries(await redis.hgetall(keys.jobs(account)));
      return fields
        .map(([text, requestedAt]) => ({ job: readJob(text), requestedAt: Number(requestedAt) }))
        .toSorted((a, b) => order[a.job.work] - order[b.job.work] || a.requestedAt - b.requestedAt);
    },
    /** Removes a job that is done, unless it was requested again in the meantime. */
    remove: async (account: string, { job, requestedAt }: PendingJob): Promise<void> => {
      await redis.eval(deleteIfSame, 1, keys.jobs(account), JSON.stringify(job), String(requestedAt));
    },
  };
}

/** Parses a job. The protocol's version ensures its form, so any other text is a bug. */
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

/** An account's sync, over all of its turns. */
interface OpenSync extends SyncInTurns {
  /** The job that started it; a request in the meantime is a new job. */
  readonly pending: PendingJob;
  /** Removes the state of the completed sync. */
  clear(): Promise<void>;
}

/** The longest duration of a sync: after that its first slices are out of date, and it starts again. */
const longestMs = dayMs;

/** Continues the unfinished sync of an account, or starts one at `now`, milliseconds since 1970. */
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
  // The key includes the start: a worker that was considered dead may still report slices of an earlier sync.
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
