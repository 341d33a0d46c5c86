import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';
import type { JobKind } from './turns.js';

/** What an account is asked to do; a backfill has its range as the user gave it, ISO 8601, or null. */
export type AccountJob =
  { readonly work: 'sync' } | { readonly work: 'backfill'; readonly from: string | null; readonly to: string | null };

/** One that was asked for, and isn't done. */
export interface PendingJob {
  readonly job: AccountJob;
  /** When it was asked for last. */
  readonly askedAt: number;
}

/** What accounts are asked to do until it is done, whatever becomes of turns and workers in between. */
export interface AccountJobs {
  /** Adds a job; one that is there already is asked for again. `now`: milliseconds since 1970. */
  add(account: string, job: AccountJob, now: number): Promise<void>;
  /** What isn't done, in the order in which it is to be: syncs first, backfills in the order of asking. */
  of(account: string): Promise<readonly PendingJob[]>;
  /** It is done. One that was asked for again in the meantime stays. */
  done(account: string, open: PendingJob): Promise<void>;
}

const deleteIfSame =
  "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0";

const order: Readonly<Record<JobKind, number>> = { sync: 0, backfill: 1 };

export function openAccountJobs(redis: RedisCommands, keys: FleetKeys): AccountJobs {
  return {
    add: async (account, job, now) => {
      await redis.hset(keys.jobs(account), JSON.stringify(job), String(now));
    },
    of: async (account) => {
      const fields = Object.entries(await redis.hgetall(keys.jobs(account)));
      return fields
        .map(([text, askedAt]) => ({ job: readJob(text), askedAt: Number(askedAt) }))
        .toSorted((a, b) => order[a.job.work] - order[b.job.work] || a.askedAt - b.askedAt);
    },
    done: async (account, { job, askedAt }) => {
      await redis.eval(deleteIfSame, 1, keys.jobs(account), JSON.stringify(job), String(askedAt));
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
