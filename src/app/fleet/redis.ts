import type { Redis as Client } from 'ioredis';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { fleetPackage } from './fleet-package.js';
import type { RedisAddress } from './redis-address.js';

export type { Redis as RedisClient } from 'ioredis';

/** The commands that a fleet needs beside its queue. */
export type RedisCommands = Pick<Client, 'get' | 'set' | 'del' | 'hget' | 'hset' | 'hgetall' | 'eval' | 'info'>;

/** How long the first connection may take. */
const connectMs = 10_000;
/** The longest pause between two attempts to get a lost connection back. */
const longestPauseMs = 5000;

/**
 * Connects to Redis. A connection that is lost later is made again for as long as it takes, and commands wait for it:
 * `lost` and `back` are told of each time.
 *
 * @throws LedgerlakeError QUEUE_UNREACHABLE where the first connection doesn't come about, USAGE without the package
 */
export async function connectRedis(
  { url, shown }: RedisAddress,
  { lost, back }: { readonly lost: (reason: string) => void; readonly back: () => void },
): Promise<{ readonly client: Client; readonly close: () => void }> {
  const { Redis } = await fleetPackage('ioredis', () => import('ioredis'));
  let isReady = false;
  let isLost = false;
  let last: unknown;
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    // As BullMQ asks for: commands wait until there is a connection again.
    maxRetriesPerRequest: null,
    retryStrategy: (times) => (isReady ? Math.min(times * 200, longestPauseMs) : null),
  });
  client.on('error', (error: unknown) => {
    last = error;
  });
  client.on('close', () => {
    if (!isReady || isLost) return;
    isLost = true;
    lost(reasonOf(last));
  });
  client.on('ready', () => {
    if (isLost) back();
    isLost = false;
  });
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    client.disconnect();
    throw new LedgerlakeError(
      'QUEUE_UNREACHABLE',
      `expected Redis or Valkey at ${shown}, got no connection (${reasonOf(last ?? error)}): check REDIS_URL and the server`,
      { cause: error },
    );
  }
  isReady = true;
  return {
    client,
    close: () => {
      isReady = false;
      client.disconnect();
    },
  };
}

/** Never a password: the server's words don't repeat what they were sent, and Node's have host and port at the most. */
function reasonOf(error: unknown): string {
  const text = error === undefined ? 'the connection was closed' : messageOf(error);
  return text === '' && error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : text;
}
