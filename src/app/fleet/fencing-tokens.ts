import { randomBytes } from 'node:crypto';
import { LedgerlakeError } from '../../core/errors.js';
import type { Store } from '../../lake/store/store.js';
import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';

/** A turn's hold on its account. */
export interface FencingToken {
  /** Which turn of the fleet it is, from 1. */
  readonly turn: number;
  /** @throws LedgerlakeError STOPPED once another turn has the account */
  check(): Promise<void>;
}

const take =
  "local turn = redis.call('INCR', KEYS[1]) redis.call('HSET', KEYS[2], ARGV[1], turn .. '-' .. ARGV[2]) return turn";

/**
 * Takes an account for a turn, and with that from every turn before. A worker that was thought to be dead and isn't finds
 * out with its next commit.
 */
export async function takeFencingToken(redis: RedisCommands, keys: FleetKeys, account: string): Promise<FencingToken> {
  // A Redis that has lost its last second counts the same numbers once more: so none is a turn's whole name.
  const name = randomBytes(8).toString('hex');
  const turn = Number(await redis.eval(take, 2, keys.turns, keys.holders, account, name));
  return {
    turn,
    check: async () => {
      const holder = await redis.hget(keys.holders, account);
      if (holder === `${turn}-${name}`) return;
      const message = `the account ${account} is in the hands of another turn (${holder ?? 'none'}): this one commits nothing more`;
      throw new LedgerlakeError('STOPPED', message);
    },
  };
}

/**
 * A store in which a file that only one of all writers can create, such as a commit, is created by who still holds the
 * account. Between the look and the commit time goes by: what comes in between is the commit's own matter, which is
 * conditional, and of windows that take the place of the same windows.
 */
export function fencedStore(store: Store, check: () => Promise<void>): Store {
  return {
    ...store,
    create: async (path, bytes) => {
      await check();
      return store.create(path, bytes);
    },
  };
}
