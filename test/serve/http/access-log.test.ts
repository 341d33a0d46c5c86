import { expect, test } from 'vitest';
import type { Access } from '../../../src/core/http-server/answer.js';
import { accessLine } from '../../../src/serve/http/server.js';
import { startClient } from './client.js';
import { event } from './array-backend.js';

const access: Access = {
  method: 'GET',
  target: '/finances/v0/financialEvents',
  status: 200,
  ms: 12.4,
  bytes: 4711,
  requestId: 'id',
};
const lineOf = (more: Partial<Access>) => accessLine({ ...access, ...more }, Date.parse('2026-01-31T12:00:00Z'));

test('a line has when, what, how it ended, how long it took and how much it was', () => {
  expect(lineOf({})).toBe('2026-01-31T12:00:00.000Z GET /finances/v0/financialEvents 200 12ms 4711B id');
  expect(lineOf({ status: 0, bytes: undefined })).toMatch(/ - 12ms - id$/);
  expect(lineOf({ method: '', target: '', status: 431 })).toMatch(/Z - - 431 12ms 4711B id$/);
});

test.each([
  ['a token', '/x?NextToken=SECRET&MaxResultsPerPage=5', '/x?NextToken=…&MaxResultsPerPage=5'],
  ['dates', '/x?PostedAfter=2026-01-01T00%3A00%3A00Z', '/x?PostedAfter=2026-01-01T00%3A00%3A00Z'],
  ['what nobody knows', '/auth/o2/token?client_secret=SECRET&a', '/auth/o2/token?client_secret=…&a'],
  ['control characters', '/a\u001b[2Jb\u007fü', '/a?[2Jb??'],
])('a target with %s', (_, target, shown) => {
  expect(lineOf({ target }).split(' ')[2]).toBe(shown);
});

test('a target without end is cut', () => {
  expect(lineOf({ target: `/${'x'.repeat(20_000)}` }).length).toBeLessThan(400);
});

test('a service tells of each request, with the id of its answer', async () => {
  const accesses: Access[] = [];
  const client = await startClient([event('2025-06-01', 1)], {
    onAccess: (one) => {
      accesses.push(one);
      client.clock.move(1);
    },
    latencyMs: 30,
  });
  const replies = [await client.get('/finances/v0/financialEvents'), await client.get('/nowhere')];
  expect(accesses).toEqual(
    replies.map(({ status, text, headers }, at) => ({
      method: 'GET',
      target: at === 0 ? '/finances/v0/financialEvents' : '/nowhere',
      status,
      ms: at === 0 ? 30 : 0,
      bytes: Buffer.byteLength(text),
      requestId: headers.get('x-amzn-requestid'),
    })),
  );
});
