import { usageError } from '../../core/errors.js';
import { variableOf, type Environment } from '../../core/environment.js';

/** Where a fleet's Redis is. */
export interface RedisAddress {
  /** As given; it may hold a password. */
  readonly url: string;
  /** The same for people: without user and password. */
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
    throw usageError(`expected REDIS_URL or --redis to say where Redis or Valkey is, ${expected}; got neither`);
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
  if (!isAddress) throw usageError(`expected ${name} to be ${expected}, got something else: correct it`);
  if (given !== undefined && parsed.password !== '') {
    throw usageError(
      'expected --redis without a password, which others could read on the command line: put the address in REDIS_URL',
    );
  }
  return { url, shown: `${parsed.protocol}//${parsed.host}${parsed.pathname}` };
}
