import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { readRedisAddress } from '../../../src/app/fleet/redis.js';

function refusal(given: string | undefined, environment: Record<string, string>): string {
  try {
    readRedisAddress(given, environment);
  } catch (error) {
    expect(error).toMatchObject({ code: 'USAGE' });
    return messageOf(error);
  }
  throw new Error(`it took ${String(given)}`);
}

describe('where Redis is', () => {
  test('the command line goes before the environment, and no password is shown', () => {
    const environment = { REDIS_URL: 'rediss://me:secret@queue.example:6380/2' };
    expect(readRedisAddress('redis://127.0.0.1:6379', environment).url).toBe('redis://127.0.0.1:6379');
    expect(readRedisAddress(undefined, environment)).toEqual({
      url: environment.REDIS_URL,
      shown: 'rediss://queue.example:6380/2',
    });
  });

  test('none, and what is no address', () => {
    expect(refusal(undefined, {})).toMatch(/^expected REDIS_URL or --redis .* got neither$/);
    for (const text of [
      'localhost:6379',
      'http://127.0.0.1',
      'redis://',
      'redis://host/db',
      'redis://h:6379/0?x=1',
      'x',
    ]) {
      expect(refusal(text, {}), text).toMatch(/^expected --redis to be an address such as /);
    }
  });

  test('a password has no place on the command line', () => {
    expect(refusal('redis://me:secret@host', {})).toMatch(/^expected --redis without a password/);
  });

  test('a password goes to this machine, or encrypted', () => {
    for (const host of ['queue.example', '10.0.0.7:6379', 'localhost.example', '[::2]']) {
      for (const login of ['me:hunter2@', ':hunter2@', 'me@']) {
        expect(refusal(undefined, { REDIS_URL: `redis://${login}${host}` })).toMatch(
          /^expected REDIS_URL with a password to begin with rediss:\/\/, got redis:\/\/? to another host/,
        );
      }
      const secure = `rediss://me:hunter2@${host}`;
      expect(readRedisAddress(undefined, { REDIS_URL: secure }).url).toBe(secure);
      expect(readRedisAddress(undefined, { REDIS_URL: `redis://${host}` }).url).toBe(`redis://${host}`);
    }
    for (const host of ['127.0.0.1:6379', 'localhost', '[::1]:6379']) {
      const url = `redis://me:hunter2@${host}`;
      expect(readRedisAddress(undefined, { REDIS_URL: url }).url).toBe(url);
    }
  });

  test('no message repeats what may be a password', () => {
    const scheme = fc.constantFrom('redis://', 'rediss://', 'redis:', 'http://', '');
    fc.assert(
      fc.property(scheme, fc.constantFrom('@host:1/x', '@', '@host:99999', '', '@host?a'), (begin, end) => {
        const text = `${begin}me:hunter2-xyz${end}`;
        expect(refusal(undefined, { REDIS_URL: text })).not.toContain('hunter2');
      }),
    );
  });
});
