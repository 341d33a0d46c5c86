import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { causeOf } from '../../../src/engine/retry/retry-policy.js';
import {
  createTransport,
  type TransportRequest,
  type HttpResponse,
  type SlowAnswer,
} from '../../../src/engine/http/transport.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer } from './recording-server.js';
import { failureOf } from '../../failure-of.js';

const megabyte = 1024 * 1024;

function get(origin: string, more: Partial<TransportRequest> = {}, clock = new HandClock()): Promise<HttpResponse> {
  const transport = createTransport({ clock });
  onTestFinished(() => transport.close());
  return transport.send({ origin, path: '/', headers: {}, signal: new AbortController().signal, ...more });
}

/** Writes a piece again and again for as long as anybody reads; how many bytes that took. */
function endless(response: ServerResponse, piece: Buffer): { bytes: number } {
  const sent = { bytes: 0 };
  const more = (): void => {
    if (response.destroyed) return;
    sent.bytes += piece.length;
    response.write(piece, () => setImmediate(more));
  };
  more();
  return sent;
}

test('a page without an end is given up at its cap, and counts as too large', async () => {
  let sent = { bytes: 0 };
  const server = await recordingServer((_, response) => {
    sent = endless(response, Buffer.alloc(megabyte / 4, 0x20));
  });
  const failure = await failureOf(get(server.origin, { mostBytes: 2 * megabyte }));
  expect(failure).toMatchObject({ code: 'TOO_LARGE', exitCode: 1 });
  expect(failure.message).toMatch(/at most 2 MB from 127\.0\.0\.1:\d+, got a larger one/);
  expect(causeOf(failure)).toBe('too-large');
  expect(sent.bytes).toBeLessThan(32 * megabyte);
});

test('a page of exactly the cap is taken, also in pieces of one byte', async () => {
  const body = Buffer.from('{"payload":{"FinancialEvents":{}}}');
  const server = await recordingServer((_, response) => {
    for (const byte of body) response.write(Buffer.of(byte));
    response.end();
  });
  expect(Buffer.from((await get(server.origin, { mostBytes: body.length })).body)).toEqual(body);
  expect((await failureOf(get(server.origin, { mostBytes: body.length - 1 }))).code).toBe('TOO_LARGE');
});

test('of a refusal without an end the first megabyte is read, and its status counts', async () => {
  const server = await recordingServer((_, response) => {
    response.writeHead(503);
    endless(response, Buffer.alloc(megabyte / 4, 0x61));
  });
  const { status, body } = await get(server.origin);
  expect([status, body.length]).toEqual([503, megabyte]);
});

test.each(['br', 'deflate', 'zstd', 'gzip, gzip', '\u0085Atza|token'])(
  'nothing of a body is read that is encoded: %j',
  async (encoding) => {
    let sent = { bytes: 0 };
    const server = await recordingServer((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding });
      sent = endless(response, gzipSync(Buffer.alloc(megabyte)));
    });
    const failure = await failureOf(get(server.origin));
    expect(failure.code).toBe('UPSTREAM_BODY');
    expect(failure.message).not.toContain('Atza');
    expect(sent.bytes).toBeLessThan(megabyte);
  },
);

test.each(['gzip', 'x-gzip', 'GZIP'])('a body in %s is decoded, of a refusal too', async (encoding) => {
  const body = Buffer.from('{"payload":{}}');
  const server = await recordingServer((_, response, number) =>
    response.writeHead(number === 1 ? 200 : 500, { 'content-encoding': encoding }).end(gzipSync(body)),
  );
  for (const status of [200, 500]) {
    const answer = await get(server.origin);
    expect([answer.status, Buffer.from(answer.body)]).toEqual([status, body]);
  }
  expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
});

test('a small body that expands without end counts as too large, and is not read on', async () => {
  let sent = { bytes: 0 };
  const server = await recordingServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    sent = endless(response, gzipSync(Buffer.alloc(16 * megabyte)));
  });
  const failure = await failureOf(get(server.origin, { mostBytes: 8 * megabyte }));
  expect(failure.code).toBe('TOO_LARGE');
  expect(sent.bytes).toBeLessThan(32 * megabyte);
});

test('of a refusal that expands without end the first megabyte is read', async () => {
  const server = await recordingServer((_, response) => {
    response.writeHead(503, { 'content-encoding': 'gzip' });
    endless(response, gzipSync(Buffer.alloc(16 * megabyte)));
  });
  const { status, body } = await get(server.origin);
  expect([status, body.length]).toEqual([503, megabyte]);
});

test.each([
  ['is no gzip', Buffer.from('{"payload":{}}')],
  ['is cut off', gzipSync('{"payload":{}}').subarray(0, 20)],
])('a body that %s, though it says so, is a fault of the answer', async (_what, body) => {
  const server = await recordingServer((_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(body),
  );
  const failure = await failureOf(get(server.origin));
  expect([failure.code, causeOf(failure)]).toEqual(['UPSTREAM_BODY', 'fault']);
  expect(failure.message).toContain('got gzip that is broken; check the proxy');
});

test('gzip that drips without a byte of a body is given up when its time is over', async () => {
  const clock = new HandClock();
  const server = await recordingServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    // The header of gzip with a file name that doesn't end.
    response.write(Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]));
    const drip = (): void => {
      if (response.destroyed) return;
      clock.jump(clock.now() + 20_000);
      response.write('a', () => setTimeout(drip, 1));
    };
    drip();
  });
  const failure = await failureOf(get(server.origin, {}, clock));
  expect(failure.message).toContain('its whole answer took too long; try again later');
});

test('an answer that drips is told of, and given up when its time is over', async () => {
  const clock = new HandClock();
  const slow: SlowAnswer[] = [];
  const server = await recordingServer((_, response) => {
    const drip = (): void => {
      if (response.destroyed) return;
      clock.jump(clock.now() + 20_000);
      response.write(' ', () => setTimeout(drip, 1));
    };
    drip();
  });
  const failure = await failureOf(get(server.origin, { onSlow: (one) => slow.push(one) }, clock));
  expect(failure.code).toBe('UPSTREAM_UNREACHABLE');
  expect(failure.message).toContain('its whole answer took too long; try again later');
  expect(causeOf(failure)).toBe('fault');
  expect(slow.length).toBeGreaterThan(3);
  for (const { seconds, bytes } of slow) expect([seconds <= 300, bytes > 0]).toEqual([true, true]);
  expect(slow.map(({ seconds }) => seconds)).toEqual(slow.map(({ seconds }) => seconds).toSorted((a, b) => a - b));
});

test('headers that drip, as answers that announce another one, are given up too', async () => {
  const clock = new HandClock();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const drip = (): void => {
      if (socket.destroyed) return;
      clock.jump(clock.now() + 20_000);
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', () => setTimeout(drip, 1));
    };
    socket.once('data', drip);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const failure = await failureOf(get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {}, clock));
  expect(failure.code).toBe('UPSTREAM_UNREACHABLE');
});
