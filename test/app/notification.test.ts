import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { postNotification } from '../../src/app/notification.js';
import { systemClock, type Clock } from '../../src/core/clock.js';
import { Secret } from '../../src/engine/auth/secret.js';
import { failureOf } from '../failure-of.js';
import { listening } from '../listening.js';

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that answers with these statuses in turn, the last one again and again; 0: never. */
async function answering(statuses: readonly number[], headers: Readonly<Record<string, string>> = {}) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ url: request.url, headers: request.headers, body });
      const status = statuses[received.length - 1] ?? statuses.at(-1) ?? 200;
      if (status !== 0) response.writeHead(status, headers).end('an answer');
    });
  });
  return { url: await listening(server), received };
}

/** A clock that goes thirty times as fast. */
const began = Date.now();
const clock: Clock = {
  now: () => began + (Date.now() - began) * 30,
  sleep: (ms, signal) => systemClock.sleep(ms / 30, signal),
};

const runs = [{ status: 'failed', account: 'shop' }];
const post = (address: string, limitMs = 30_000) =>
  postNotification(new Secret(address), { command: 'sync', exitCode: 1, runs }, { clock, limitMs });

test('is posted as JSON, again after a fault of the service, with the exit code and the command in the address', async () => {
  const { url, received } = await answering([500, 503, 204]);
  await post(`${url.replace('//', '//me:a%20word@')}/secret-path/{command}/{exit_code}?a=b`, 3_600_000);
  expect(received).toHaveLength(3);
  for (const { url: path, headers, body } of received) {
    expect(path).toBe('/secret-path/sync/1?a=b');
    expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: 'Basic bWU6YSB3b3Jk' });
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string;
    expect(JSON.parse(body)).toEqual({ command: 'sync', status: 'failed', exit_code: 1, at, runs });
  }
});

test.each([
  ['a service that never answers', [0], /^expected an answer within 30 s, got none$/, 1],
  ['a service with a lasting fault', [500], /^expected a status from 200 to 299, got 500\. Tried \d times\.$/, 2],
  ['a refusal, at once', [404], /^expected a status from 200 to 299, got 404\./, 1],
  [
    'a redirect, which is not followed',
    [302],
    /^expected a status from 200 to 299, got 302, and redirects are not followed\./,
    1,
  ],
])('%s is a failure without the address', async (_what, statuses, message, least) => {
  const elsewhere = await answering([200]);
  const { url, received } = await answering(statuses, { location: elsewhere.url });
  const failure = await failureOf(post(`${url}/secret-path`));
  expect(failure.message).toMatch(message);
  expect(`${failure.message} ${String(failure.details)}`).not.toMatch(/secret-path|127\.0\.0\.1/);
  expect(received.length).toBeGreaterThanOrEqual(least);
  if (least === 1) expect(received).toHaveLength(1);
  expect(elsewhere.received).toEqual([]);
});

test('a host that cannot be reached is not named', async () => {
  const failure = await failureOf(post('http://localhost:1/secret-path'));
  expect(failure.message).toBe('expected an answer, got none (ECONNREFUSED)');
});
