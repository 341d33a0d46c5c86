import { keptQuota, type KeptQuota } from '../../engine/rate-limit/kept-quota.js';
import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';

/** The states of an account's buckets in Redis: they go over to whichever worker has its next turn. */
export async function openSharedQuota(
  redis: RedisCommands,
  keys: FleetKeys,
  { account, name }: { readonly account: string; readonly name: string },
  warn: (reason: unknown) => void,
): Promise<KeptQuota> {
  const key = keys.quota(account);
  const before: Record<string, number> = {};
  for (const [field, state] of Object.entries(await redis.hgetall(key))) {
    if (field.startsWith(`${name} `)) before[field.slice(name.length + 1)] = Number(state);
  }
  const save = async (states: Readonly<Record<string, number>>): Promise<void> => {
    const fields = new Map(Object.entries(states).map(([bucket, state]) => [`${name} ${bucket}`, String(state)]));
    await redis.hset(key, fields);
  };
  return keptQuota(before, save, warn);
}
