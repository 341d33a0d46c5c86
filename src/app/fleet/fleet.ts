import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { openAccountJobs, type AccountJob } from './account-jobs.js';
import { connectRedis, fleetKeys, type FleetKeys, type RedisAddress, type RedisCommands } from './redis.js';
import { openTurnQueue } from './turn-queue.js';

/** The address of a fleet. */
export interface FleetAddress {
  readonly redis: RedisAddress;
  /** The fleet's name: several fleets can share a Redis. */
  readonly fleet: string;
}

export type Fleet = Awaited<ReturnType<typeof openFleet>>;

/**
 * Opens a fleet in Redis: the jobs of its accounts, and the queue of their turns.
 *
 * @throws LedgerlakeError QUEUE_UNREACHABLE without Redis, QUEUE_UNFIT where Redis could lose jobs or has the fleet of another version,
 * USAGE for an invalid name
 */
export async function openFleet({ redis: address, fleet }: FleetAddress, emit: Emit) {
  const keys = fleetKeys(fleet);
  const { client: redis, close } = await connectRedis(address, emit);
  try {
    for (const warning of await checkRedis(redis, address.shown)) emit({ event: 'queue-warning', reason: warning });
    await checkProtocol(redis, keys, fleet);
    const warn = (reason: string): void => {
      emit({ event: 'queue-warning', reason });
    };
    const jobs = openAccountJobs(redis, keys, warn);
    const queue = await openTurnQueue(redis, keys, warn);
    return {
      redis,
      keys,
      jobs,
      queue,
      /** Adds a job of an account, and adds the account to the queue. `now`: milliseconds since 1970. */
      enqueue: async (account: string, job: AccountJob, now: number): Promise<void> => {
        await jobs.add(account, job, now);
        await queue.wake(account, job.work, now);
      },
      /** Adds an account with pending jobs to the queue, if it is missing. */
      wakeMissing: async (account: string, now: number): Promise<void> => {
        const [first] = await jobs.of(account);
        if (first !== undefined && !(await queue.has(account))) await queue.wake(account, first.job.work, now);
      },
      close: async (): Promise<void> => {
        await queue.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** The version of the data in Redis, which changes with its format. */
export const jobProtocol = 2;

/**
 * Checks that Redis is suitable for a queue, and returns warnings about its configuration.
 *
 * @throws LedgerlakeError QUEUE_UNFIT for a replica, for a cluster of several shards, and where it evicts keys when its memory
 *   is full, which would silently lose jobs
 */
async function checkRedis(redis: RedisCommands, shown: string): Promise<readonly string[]> {
  if (fieldOf(await redis.info('replication'), 'role') === 'slave') {
    throw new LedgerlakeError(
      'QUEUE_UNFIT',
      `expected the Redis at ${shown} to be a primary, got a replica, which refuses to write; name the primary in REDIS_URL`,
    );
  }
  if (fieldOf(await redis.info('cluster'), 'cluster_enabled') === '1') {
    const cluster = await redis.cluster('INFO');
    // A server that has just started counts itself as a shard, without any slot too.
    const hasSlots = fieldOf(cluster, 'cluster_slots_assigned') !== '0';
    const size = hasSlots ? fieldOf(cluster, 'cluster_size') : '0';
    if (size !== '1') {
      throw new LedgerlakeError(
        'QUEUE_UNFIT',
        `expected a Redis without cluster mode at ${shown}, or a cluster of one shard, got a cluster of ${size ?? 'unknown'} ` +
          'shards; name another Redis in REDIS_URL',
      );
    }
  }
  const policy = fieldOf(await redis.info('memory'), 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new LedgerlakeError(
      'QUEUE_UNFIT',
      `expected maxmemory-policy noeviction of the Redis at ${shown}, got ${policy}, which drops jobs when the ` +
        'memory is full; set it in redis.conf, or with CONFIG SET maxmemory-policy noeviction',
    );
  }
  const warnings: string[] = [];
  if (policy === undefined)
    warnings.push(`the Redis at ${shown} does not report its maxmemory-policy; make sure that it is noeviction`);
  if (fieldOf(await redis.info('persistence'), 'aof_enabled') !== '1') {
    warnings.push(`the Redis at ${shown} has no append-only file, so a restart loses the queue; set appendonly yes`);
  }
  return warnings;
}

/**
 * Checks that all workers of a fleet have the same protocol.
 *
 * @throws LedgerlakeError QUEUE_UNFIT where a version with another protocol created the fleet
 */
async function checkProtocol(redis: RedisCommands, { protocol: key }: FleetKeys, fleet: string): Promise<void> {
  await redis.set(key, String(jobProtocol), 'NX');
  const found = await redis.get(key);
  if (found === String(jobProtocol)) return;
  throw new LedgerlakeError(
    'QUEUE_UNFIT',
    `expected the fleet ${fleet} to have protocol ${jobProtocol}, got ${JSON.stringify(found)}, because another version of ledgerlake created ` +
      `it; run that version, or another fleet with --fleet, or end its workers and delete the key ${key}`,
  );
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
