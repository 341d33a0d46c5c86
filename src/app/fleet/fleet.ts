import type { Emit } from '../../core/events/run-event.js';
import { openAsks, type Ask, type Asks } from './asks.js';
import { checkProtocol, checkRedis } from './fitness.js';
import { fleetKeys, type FleetKeys } from './fleet-keys.js';
import type { RedisAddress } from './redis-address.js';
import { connectRedis, type RedisClient } from './redis.js';
import { openTurnQueue, type TurnQueue } from './turn-queue.js';

/** Where a fleet is. */
export interface FleetPlace {
  readonly redis: RedisAddress;
  /** Several fleets can share a Redis. */
  readonly fleet: string;
}

/** Accounts, what they are asked to do, and whose turn it is, in Redis. */
export interface Fleet {
  readonly redis: RedisClient;
  readonly keys: FleetKeys;
  readonly asks: Asks;
  readonly queue: TurnQueue;
  /** Asks an account to do something. `now`: milliseconds since 1970. */
  ask(account: string, ask: Ask, now: number): Promise<void>;
  /** Sees that an account that has something left to do stands in the queue, as it was there before or not. */
  wakeMissing(account: string, now: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a fleet, or the place where one will be.
 *
 * @throws LedgerlakeError QUEUE_UNREACHABLE without Redis, QUEUE_UNFIT where it would lose jobs or holds another version's
 * fleet, USAGE for a name that isn't one
 */
export async function openFleet({ redis: address, fleet }: FleetPlace, emit: Emit): Promise<Fleet> {
  const keys = fleetKeys(fleet);
  const { client: redis, close } = await connectRedis(address, {
    lost: (reason) => {
      emit({ event: 'queue-lost', reason });
    },
    back: () => {
      emit({ event: 'queue-back' });
    },
  });
  try {
    for (const warning of await checkRedis(redis, address.shown)) emit({ event: 'queue-warning', reason: warning });
    await checkProtocol(redis, keys, fleet);
    const asks = openAsks(redis, keys);
    const queue = await openTurnQueue(redis, keys);
    return {
      ...{ redis, keys, asks, queue },
      ask: async (account, ask, now) => {
        await asks.add(account, ask, now);
        await queue.wake(account, ask.work, now);
      },
      wakeMissing: async (account, now) => {
        const [first] = await asks.of(account);
        if (first !== undefined && !(await queue.has(account))) await queue.wake(account, first.ask.work, now);
      },
      close: async () => {
        await queue.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}
