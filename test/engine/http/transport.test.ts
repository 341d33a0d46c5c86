import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createTransport,
  type HttpResponse,
  type Transport,
  type TransportOptions,
} from '../../../src/engine/http/transport.js';
import { recordingServer } from './recording-server.js';
import { failureOf } from '../../failure-of.js';

const never = new AbortController().signal;

function transport(options?: TransportOptions): Transport {
  const made = createTransport(options);
  onTestFinished(() => made.close());
  return made;
}

function get(origin: string, options?: TransportOptions, signal = never): Promise<HttpResponse> {
  return transport(options).send({ origin, path: '/finances?a=1', headers: { accept: 'application/json' }, signal });
}

/** A server below HTTP: each connection that has sent something gets these bytes and, mostly, its end. */
async function rawServer(answer: (socket: Socket) => void): Promise<{ origin: string; server: Server }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .once('data', () => {
        answer(socket);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('answers', () => {
  test('status, headers and body come as they are, whatever the status', async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
    const server = await recordingServer((_, response) => {
      response.writeHead(404, { 'X-Amzn-RequestId': 'abc', 'set-cookie': ['a=1', 'b=2'] }).end(bytes);
    });
    const answer = await get(server.origin);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('x-amzn-requestid')).toBe('abc');
    expect(answer.headers.get('set-cookie')).toBe('a=1, b=2');
    expect(Buffer.compare(answer.body, bytes)).toBe(0);
    expect(server.requests).toMatchObject([
      { method: 'GET', url: '/finances?a=1', headers: { accept: 'application/json', 'accept-encoding': 'identity' } },
    ]);
  });

  test('an empty body and one in chunks are whole bodies', async () => {
    const server = await recordingServer((_, response, number) => {
      if (number === 1) response.writeHead(204).end();
      else {
        response.write('ab');
        response.end('cd');
      }
    });
    expect((await get(server.origin)).body).toHaveLength(0);
    expect(Buffer.from((await get(server.origin)).body).toString()).toBe('abcd');
  });

  test('a redirect is an answer and is not followed', async () => {
    const server = await recordingServer((_, response) => response.writeHead(302, { location: '/elsewhere' }).end());
    expect((await get(server.origin)).status).toBe(302);
    expect(server.requests).toHaveLength(1);
  });

  test('many requests, one after the other, share one connection', async () => {
    const server = await recordingServer((_, response) => response.end('{}'));
    const shared = transport();
    for (let n = 0; n < 20; n++) {
      await shared.send({ origin: server.origin, path: `/${n}`, headers: {}, signal: never });
    }
    expect([server.requests.length, server.connections]).toEqual([20, 1]);
  });

  test('a body that is encoded though that was not asked for is refused', async () => {
    const server = await recordingServer((_, response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync('{}')),
    );
    const error = await failureOf(get(server.origin));
    expect(error.code).toBe('UPSTREAM_BODY');
    expect(error.message).toBe(
      `expected an answer without content-encoding, or with gzip, from 127.0.0.1:${server.port}, got br; check the proxy`,
    );
  });
});

describe('failures', () => {
  test('a refused connection names host and port and what to check', async () => {
    const { origin, server } = await rawServer((socket) => socket.end());
    await new Promise((resolve) => server.close(resolve));
    const error = await failureOf(get(origin));
    expect(error).toMatchObject({ code: 'UPSTREAM_UNREACHABLE', retryable: true, exitCode: 1 });
    expect(error.message).toBe(
      `cannot read from ${new URL(origin).host}: it refuses connections; check the endpoint, and that the service runs there`,
    );
    expect(error.details).toContain('GET /finances?a=1');
  });

  test('a host that does not exist is named with the port of its scheme', async () => {
    const error = await failureOf(get('https://no-such-host.invalid'));
    expect(error.code).toBe('UPSTREAM_UNREACHABLE');
    expect(error.message).toMatch(/^cannot read from no-such-host\.invalid:443: .*DNS/);
  });

  test('a body that is shorter than its content-length is an error, not a short body', async () => {
    const { origin } = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"a":'));
    const error = await failureOf(get(origin));
    expect(error.code).toBe('UPSTREAM_UNREACHABLE');
    expect(error.message).toMatch(/it closed the connection|its answer was cut off/);
  });

  test('chunks without their end are an error too', async () => {
    const { origin } = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n'),
    );
    expect((await failureOf(get(origin))).code).toBe('UPSTREAM_UNREACHABLE');
  });

  test('a connection that is reset within the body is told as broken off', async () => {
    const { origin } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"a":', () => socket.resetAndDestroy());
    });
    expect((await failureOf(get(origin))).message).toContain('it closed the connection');
  });

  test('what is not HTTP is told so', async () => {
    const { origin } = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    expect((await failureOf(get(origin))).message).toContain('does not speak HTTP');
  });

  test('https to a port without TLS is told so', async () => {
    const server = await recordingServer((_, response) => response.end());
    const error = await failureOf(get(server.origin.replace('http:', 'https:')));
    expect(error.code).toBe('UPSTREAM_UNREACHABLE');
    expect(error.message).toContain(`127.0.0.1:${server.port}`);
    expect(error.message).toContain('does not speak TLS');
  });

  test('an answer that does not begin in time, and one that stops midway, end in an error', async () => {
    const silent = await recordingServer(() => undefined);
    const halting = await recordingServer((_, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('{"a":');
    });
    const [late, stuck] = await Promise.all([
      failureOf(get(silent.origin, { headersTimeoutMs: 50 })),
      failureOf(get(halting.origin, { bodyTimeoutMs: 50 })),
    ]);
    expect([late.code, late.message]).toEqual(['UPSTREAM_UNREACHABLE', expect.stringContaining('too long to answer')]);
    expect([stuck.code, stuck.message]).toEqual([
      'UPSTREAM_UNREACHABLE',
      expect.stringContaining('stalled for too long'),
    ]);
  });
});

describe('abort', () => {
  test('ends a request that was not answered yet, with the reason of the signal', async () => {
    const stop = new AbortController();
    const server = await recordingServer(() => {
      stop.abort(new Error('enough'));
    });
    await expect(get(server.origin, {}, stop.signal)).rejects.toThrow('enough');
  });

  test('ends a request in the middle of its body, and the connection with it', async () => {
    const stop = new AbortController();
    let gone: (() => void) | undefined;
    const connectionGone = new Promise<void>((resolve) => (gone = resolve));
    const server = await recordingServer((_, response) => {
      response.on('close', () => gone?.());
      response.writeHead(200, { 'content-length': 10 });
      response.write('{"a":', () =>
        setImmediate(() => {
          stop.abort(new Error('enough'));
        }),
      );
    });
    await expect(get(server.origin, {}, stop.signal)).rejects.toThrow('enough');
    // Open for ever, and the test with it, if the client only stopped listening.
    await connectionGone;
  });

  test('sends nothing for a signal that is aborted already', async () => {
    const server = await recordingServer((_, response) => response.end());
    await expect(get(server.origin, {}, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect([server.requests.length, server.connections]).toEqual([0, 0]);
  });
});

test('close waits for what is under way and lets go of the connections', async () => {
  let finish: (() => void) | undefined;
  const server = await recordingServer((_, response) => {
    finish = () => response.end('{}');
    arrived?.();
  });
  let arrived: (() => void) | undefined;
  const underWay = new Promise<void>((resolve) => (arrived = resolve));
  const made = createTransport();
  const answer = made.send({ origin: server.origin, path: '/', headers: {}, signal: never });
  await underWay;
  const closed = made.close();
  finish?.();
  expect((await answer).status).toBe(200);
  await closed;
  await expect(made.send({ origin: server.origin, path: '/', headers: {}, signal: never })).rejects.toThrow(
    'cannot read from',
  );
  expect(server.requests).toHaveLength(1);
});
