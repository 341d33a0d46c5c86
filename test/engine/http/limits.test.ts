import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { causeOf } from '../../../src/engine/retry/retry-policy.js';
import type { LedgerlakeError } from '../../../src/core/errors.js';
import {
  createTransport,
  type GetRequest,
  type HttpResponse,
  type SlowAnswer,
} from '../../../src/engine/http/transport.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer } from './recording-server.js';

const megabyte = 1024 * 1024;

function get(origin: string, more: Partial<GetRequest> = {}, clock = new HandClock()): Promise<HttpResponse> {
  const transport = createTransport({ clock });
  onTestFinished(() => transport.close());
  return transport.get({ origin, path: '/', headers: {}, signal: new AbortController().signal, ...more });
}

async function failureOf(answer: Promise<unknown>): Promise<LedgerlakeError> {
  return answer.then(
    () => Promise.reject(new Error('expected a failure')),
    (error: unknown) => error as LedgerlakeError,
  );
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

test.each(['gzip', 'br', 'deflate', 'zstd', '\u0085Atza|token'])(
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
