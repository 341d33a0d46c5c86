import { LedgerlakeError } from '../../core/errors.js';
import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';

/** What workers leave for each other in Redis, and how they read it: another number where that changes. */
export const protocol = 2;

/**
 * Whether Redis can hold a fleet's queue; what people should know of it all the same, a sentence each.
 *
 * @throws LedgerlakeError QUEUE_UNFIT where it throws keys away when its memory is full: jobs would be lost without a word
 */
export async function checkRedis(redis: RedisCommands, shown: string): Promise<readonly string[]> {
  const policy = fieldOf(await redis.info('memory'), 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new LedgerlakeError(
      'QUEUE_UNFIT',
      `expected maxmemory-policy noeviction of the Redis at ${shown}, got ${policy}: it would throw jobs away when its ` +
        'memory is full; set it in redis.conf, or with CONFIG SET maxmemory-policy noeviction',
    );
  }
  const warnings: string[] = [];
  if (policy === undefined)
    warnings.push(`the Redis at ${shown} doesn't tell its maxmemory-policy: see that it is noeviction`);
  if (fieldOf(await redis.info('persistence'), 'aof_enabled') !== '1') {
    warnings.push(
      `the Redis at ${shown} has no append-only file: what was asked for is lost when it restarts; set appendonly yes`,
    );
  }
  return warnings;
}

/**
 * Sees that all workers of a fleet speak of the same things.
 *
 * @throws LedgerlakeError QUEUE_UNFIT where another version has set it up
 */
export async function checkProtocol(redis: RedisCommands, { protocol: key }: FleetKeys, fleet: string): Promise<void> {
  await redis.set(key, String(protocol), 'NX');
  const found = await redis.get(key);
  if (found === String(protocol)) return;
  throw new LedgerlakeError(
    'QUEUE_UNFIT',
    `expected the fleet ${fleet} to be of protocol ${protocol}, got ${JSON.stringify(found)}: another version of ledgerlake set it ` +
      `up; run the same one, or another fleet with --fleet, or end its workers and delete the key ${key}`,
  );
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
