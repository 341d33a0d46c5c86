import type { Redis as Client } from 'ioredis';
import { connectionFaultOf } from '../../core/connections/connection-fault.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { optionalPackage } from '../../core/optional-package.js';
import { isLoopback } from '../../engine/http/address.js';

export type RedisClient = Client;

/** The address of a fleet's Redis. */
export interface RedisAddress {
  /** As the user gave it; it may contain a password. */
  readonly url: string;
  /** The address for people, without user and password. */
  readonly shown: string;
}

const expected = 'an address such as redis://127.0.0.1:6379 or rediss://host:6380/1';

/**
 * The address of `--redis`, else of `REDIS_URL`.
 *
 * @throws LedgerlakeError USAGE where there is none, or it isn't one; what was given isn't in it, as it may hold a password
 */
export function readRedisAddress(given: string | undefined, environment: Environment): RedisAddress {
  const url = given ?? variableOf(environment, 'REDIS_URL');
  if (url === undefined) {
    throw usageError(`expected REDIS_URL or --redis to name Redis or Valkey, ${expected}, got neither`);
  }
  const name = given === undefined ? 'REDIS_URL' : '--redis';
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isAddress =
    parsed !== undefined &&
    /^rediss?:$/.test(parsed.protocol) &&
    parsed.hostname !== '' &&
    /^(\/\d*)?$/.test(parsed.pathname) &&
    parsed.search === '' &&
    parsed.hash === '';
  if (!isAddress) throw usageError(`expected ${name} to be ${expected}, got something else; correct it`);
  if (given !== undefined && parsed.password !== '') {
    throw usageError(
      'expected --redis without a password, which others could read on the command line; put the address in REDIS_URL',
    );
  }
  const isSent = parsed.username !== '' || parsed.password !== '';
  if (isSent && parsed.protocol === 'redis:' && !isLoopback(parsed)) {
    throw usageError(
      `expected ${name} with a password to begin with rediss://, got redis:// to another host, which would send it in the clear; ` +
        'use rediss://',
    );
  }
  return { url, shown: `${parsed.protocol}//${parsed.host}${parsed.pathname}` };
}

/** The Redis commands that a fleet uses beside its queue. */
export type RedisCommands = Pick<
  Client,
  'get' | 'set' | 'del' | 'hget' | 'hset' | 'hgetall' | 'eval' | 'info' | 'cluster'
>;

/** Timeout of the first connection. */
const connectMs = 10_000;
/** The longest pause between two attempts to reconnect. */
const longestPauseMs = 5000;

/**
 * Connects to Redis. A lost connection is retried without a limit, and commands wait for it: `queue-lost` and `queue-back` are emitted
 * each time.
 *
 * @throws LedgerlakeError QUEUE_UNREACHABLE where the first connection fails, USAGE without the package
 */
export async function connectRedis({ url, shown }: RedisAddress, emit: Emit) {
  const { Redis } = await fleetPackage('ioredis', () => import('ioredis'));
  let isReady = false;
  let isLost = false;
  let last: unknown;
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    // Required by BullMQ: commands wait for the connection.
    maxRetriesPerRequest: null,
    retryStrategy: (times) =>
      isReady ? (isReadOnly(last) ? longestPauseMs : Math.min(times * 200, longestPauseMs)) : null,
    // After a failover the old primary refuses to write: the address leads to the new one. 2: the command is sent again.
    reconnectOnError: (error) => {
      if (!isReadOnly(error)) return false;
      last = error;
      return 2;
    },
  });
  client.on('error', (error: unknown) => {
    last = error;
  });
  client.on('close', () => {
    if (!isReady || isLost) return;
    isLost = true;
    emit({ event: 'queue-lost', reason: connectionReason(last) });
  });
  client.on('ready', () => {
    if (isLost) emit({ event: 'queue-back' });
    isLost = false;
    last = undefined;
  });
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    client.disconnect();
    const reason: unknown = last ?? error;
    const { what, todo } = connectionFaultOf(reason) ?? {
      what: connectionReason(reason),
      todo: 'check REDIS_URL and the server',
    };
    throw new LedgerlakeError(
      'QUEUE_UNREACHABLE',
      `expected Redis or Valkey at ${shown}, got no connection (${what}); ${todo}`,
      { cause: error },
    );
  }
  isReady = true;
  return {
    client,
    close: (): void => {
      isReady = false;
      client.disconnect();
    },
  };
}

/** Whether a server refused to write because it is a replica. */
function isReadOnly(error: unknown): boolean {
  return messageOf(error).includes('READONLY');
}

/** The reason of a connection failure. It has no password: the server doesn't repeat it, and Node reports host and port only. */
function connectionReason(error: unknown): string {
  const text = error === undefined ? 'the connection was closed' : messageOf(error);
  return text === '' && error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : text;
}

/**
 * Imports an optional package that only fleets need.
 *
 * @throws LedgerlakeError USAGE where it isn't installed
 */
export function fleetPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  return optionalPackage(name, '`enqueue` and `worker`', load);
}

/**
 * The keys of a fleet in Redis. The prefix in braces is a hash tag, which puts all keys on one node of a cluster.
 *
 * @throws LedgerlakeError USAGE for an invalid name
 */
export function fleetKeys(fleet: string) {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(fleet)) {
    throw usageError(
      `expected --fleet to be 1 to 64 letters, digits, dots, dashes or underscores, got ${JSON.stringify(fleet)}`,
    );
  }
  const prefix = `{${fleet}}`;
  return {
    /** The prefix of all keys, including the queue's. */
    prefix,
    protocol: `${prefix}:protocol`,
    /** The number of turns so far. */
    turns: `${prefix}:turn-count`,
    holders: `${prefix}:holders`,
    jobs: (account: string) => `${prefix}:asks:${account}`,
    quota: (account: string) => `${prefix}:quota:${account}`,
    sync: (account: string) => `${prefix}:sync:${account}`,
  };
}

export type FleetKeys = Readonly<ReturnType<typeof fleetKeys>>;
