import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startApiServer } from '../../../src/serve/http/server.js';
import { arrayBackend, event } from './array-backend.js';
import { firstToken, paths, start, startClient } from './client.js';
import { handClock } from './hand-clock.js';

const day = Date.parse('2025-06-01T00:00:00Z');
const seven = Array.from({ length: 7 }, (_, index) => event(day + index, index));
const bounds = { PostedAfter: '2025-06-01T00:00:00Z', PostedBefore: '2025-06-02T00:00:00Z' };

describe('the key', () => {
  const restarted = async (first: string | undefined, second: string | undefined) => {
    const one = await startClient(seven, { tokenKey: first });
    const token = await firstToken(one, paths.events, { MaxResultsPerPage: 3 });
    const other = await startClient(seven, { tokenKey: second });
    return other.get(paths.events, { NextToken: token });
  };

  test('the same again takes earlier tokens', async () => {
    expect(await restarted('key', 'key')).toMatchObject({ status: 200, ids: [3, 4, 5] });
  });

  test('another one refuses them, and so does a random one', async () => {
    expect(await restarted('key', 'other')).toMatchObject({ status: 400, code: 'InvalidInput' });
    expect(await restarted(undefined, undefined)).toMatchObject({ status: 400, code: 'InvalidInput' });
  });
});

describe('a token that was not issued', () => {
  test('any bit changed, any character put in, left out or cut off: 400', async () => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { ...bounds, MaxResultsPerPage: 3 });
    const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_');
    const place = fc.nat(token.length - 1);
    const forged = fc.oneof(
      fc
        .tuple(place, fc.constantFrom(...alphabet, '=', '+', '/', ' ', '.', 'é'))
        .map(([at, other]) => token.slice(0, at) + other + token.slice(at + 1)),
      place.map((at) => token.slice(0, at) + token.slice(at + 1)),
      fc
        .tuple(place, fc.constantFrom(...alphabet, '=', ' '))
        .map(([at, other]) => token.slice(0, at) + other + token.slice(at)),
      place.map((at) => token.slice(0, at)),
      fc.constantFrom('=', '==', ' ', '\n', 'A', token).map((end) => token + end),
      fc.string({ minLength: 1, unit: 'binary' }),
      fc.base64String({ minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(forged, async (text) => {
        fc.pre(text !== token);
        expect(await client.get(paths.events, { NextToken: text })).toMatchObject({
          status: 400,
          code: 'InvalidInput',
        });
      }),
      { numRuns: 250 },
    );
  });

  test('every single bit of the bytes, and of the text, matters', async () => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 3 });
    const flips: string[] = [];
    for (const coding of ['base64url', 'latin1'] as const) {
      const bytes = Buffer.from(token, coding);
      for (const index of bytes.keys()) {
        const changed = Buffer.from(bytes);
        changed.writeUInt8(changed.readUInt8(index) ^ (1 << (index % 8)), index);
        flips.push(changed.toString(coding));
      }
    }
    const statuses = await Promise.all(
      flips.map(async (NextToken) => (await client.get(paths.events, { NextToken })).status),
    );
    expect(new Set(statuses)).toEqual(new Set([400]));
  });
});

describe('the life of a token', () => {
  const life = 3 * 60_000;

  test('ends after its time, and the message says how long that is', async () => {
    const client = await startClient(seven, { tokenLifeMs: life });
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    client.clock.move(life);
    expect((await client.get(paths.events, { NextToken: token })).status).toBe(200);
    client.clock.move(1);
    expect(await client.get(paths.events, { NextToken: token })).toMatchObject({
      status: 400,
      code: 'InvalidInput',
      message: 'Token is not valid, token duration is 3 minutes.',
    });
  });

  test('counts from its own page, not from the first', async () => {
    const client = await startClient(seven, { tokenLifeMs: life });
    let token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    for (const id of [1, 2, 3]) {
      client.clock.move(life);
      const reply = await client.get(paths.events, { NextToken: token });
      expect(reply.ids).toEqual([id]);
      token = reply.token ?? '';
    }
  });

  test('has no end unless one is set', async () => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    client.clock.move(365 * 86_400_000);
    expect((await client.get(paths.events, { NextToken: token })).ids).toEqual([1]);
  });

  test('must be above 0', async () => {
    const options = { backend: arrayBackend([]), clock: handClock(start) };
    await expect(startApiServer({ ...options, tokenLifeMs: 0 })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(startApiServer({ ...options, tokenLifeMs: NaN })).rejects.toMatchObject({ code: 'USAGE' });
  });
});
