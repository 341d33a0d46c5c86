import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { readInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type { SyncInTurns } from '../load/sync.js';
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

/**
 * Opens the jobs of accounts, which are kept in Redis until they are done, independently of turns and workers. What others have
 * written there and is no job is ignored; `warn` is called once for each.
 */
export function openAccountJobs(redis: RedisCommands, keys: FleetKeys, warn: (reason: string) => void) {
  const warned = new Set<string>();
  const ignored = (key: string, text: string): [] => {
    const reason = `expected jobs of an account in ${key} of Redis, got ${JSON.stringify(text.slice(0, 100))}, which is ignored; delete it with HDEL`;
    if (!warned.has(reason)) warn(reason);
    warned.add(reason);
    return [];
  };
  return {
    /** Adds a job, or updates the time of an equal one. `now`: milliseconds since 1970. */
    add: async (account: string, job: AccountJob, now: number): Promise<void> => {
      await redis.hset(keys.jobs(account), JSON.stringify(job), String(now));
    },
    /** The pending jobs in the order of execution: syncs first, then backfills in the order of their requests. */
    of: async (account: string): Promise<readonly PendingJob[]> => {
      const key = keys.jobs(account);
      const fields = Object.entries(await redis.hgetall(key));
      return fields
        .flatMap(([text, requestedAt]) => readPending(text, requestedAt) ?? ignored(key, text))
        .toSorted((a, b) => order[a.job.work] - order[b.job.work] || a.requestedAt - b.requestedAt);
    },
    /** Removes a job that is done, unless it was requested again in the meantime. */
    remove: async (account: string, { job, requestedAt }: PendingJob): Promise<void> => {
      await redis.eval(deleteIfSame, 1, keys.jobs(account), JSON.stringify(job), String(requestedAt));
    },
  };
}

const instantText = z
  .string()
  .max(64)
  .refine((text) => readInstant(text) !== undefined)
  .nullable();
const jobShape: z.ZodType<AccountJob> = z.discriminatedUnion('work', [
  z.strictObject({ work: z.literal('sync') }),
  z.strictObject({ work: z.literal('backfill'), from: instantText, to: instantText }),
]);
/** Milliseconds since 1970. */
const instantShape = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

/** A job from Redis; undefined for anything that `add` doesn't write, which `remove` could not remove. */
function readPending(text: string, requestedAt: string): PendingJob | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const [job, at] = [jobShape.safeParse(value), instantShape.safeParse(requestedAt)];
  if (!job.success || !at.success || JSON.stringify(job.data) !== text) return undefined;
  return { job: job.data, requestedAt: at.data };
}

/** An account's sync, over all of its turns. */
export interface OpenSync extends SyncInTurns {
  /** Notes the slices that a run has read and committed, by pipeline. */
  read(pipeline: string, slices: readonly string[]): Promise<void>;
  /** The job that started it; a request in the meantime is a new job. */
  readonly pending: PendingJob;
  /** Removes the state of the completed sync. */
  clear(): Promise<void>;
}

/** The longest duration of a sync: after that its first slices are out of date, and it starts again. */
const longestMs = dayMs;

/** The start of a sync, and when it was requested, as Redis has them; without them no sync is open. */
const syncShape = z.object({ began: instantShape, asked: instantShape });

/** What `openSync` needs besides Redis. */
interface FleetSync {
  readonly account: string;
  /** The job that asks for it. */
  readonly requested: PendingJob;
  /** Milliseconds since 1970. */
  readonly now: number;
  /**
   * A secret of the account that all workers have. What a sync has read is kept in Redis with a code that only they can compute, so that
   * others who can write there can't make a sync skip anything.
   */
  readonly secret: string;
  /** Called where the state of a sync is ignored. */
  readonly warn: (reason: string) => void;
}

/** Continues the unfinished sync of an account, or starts one. */
export async function openSync(
  redis: RedisCommands,
  keys: FleetKeys,
  { account, requested, now, secret, warn }: FleetSync,
): Promise<OpenSync> {
  const key = keys.sync(account);
  const stored = await redis.hgetall(key);
  const authenticationCode = (text: string): string =>
    createHmac('sha256', secret).update(`${account}\0${text}`).digest('hex');
  const { data } = syncShape.safeParse(stored);
  const isOpen =
    data !== undefined &&
    data.began <= now &&
    now - data.began < longestMs &&
    stored['code'] === authenticationCode(`${data.began} ${data.asked}`);
  const isOver = data !== undefined && now - data.began >= longestMs;
  if (!isOpen && !isOver && Object.keys(stored).length > 0) {
    warn(
      `expected the state of a sync of ${account} in ${key} of Redis, got another, which is ignored: the sync starts again`,
    );
  }
  const began = isOpen ? data.began : now;
  const requestedAt = isOpen ? data.asked : requested.requestedAt;
  if (!isOpen) {
    await redis.del(key);
    await redis.hset(key, { began, asked: requestedAt, code: authenticationCode(`${began} ${requestedAt}`) });
  }
  // The key includes the start: a worker that was considered dead may still report slices of an earlier sync.
  const field = (pipeline: string, slice: string): string => `${began} ${pipeline} ${slice}`;
  return {
    began,
    pending: { job: requested.job, requestedAt },
    wasRead: (pipeline, slice) => stored[field(pipeline, slice)] === authenticationCode(field(pipeline, slice)),
    read: async (pipeline, slices) => {
      const read = slices.map((slice) => field(pipeline, slice));
      await redis.hset(key, new Map(read.map((name) => [name, authenticationCode(name)])));
    },
    clear: async () => {
      await redis.del(key);
    },
  };
}
