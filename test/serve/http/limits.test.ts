import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Access } from '../../../src/core/http-server/answer.js';
import { startApiServer, type ApiServerOptions } from '../../../src/serve/http/server.js';
import { arrayBackend, event } from './array-backend.js';
import { paths, start } from './client.js';
import { handClock } from './hand-clock.js';
import { socketTo } from './socket-to.js';

const clock = handClock(start);
/** An answer of 20 MB: more than any socket keeps for a client that doesn't read. One event, as pages of several end at 10 MB. */
const large = [event('2025-06-01', 1, { json: JSON.stringify({ text: 'x'.repeat(20_000_000) }) })];

async function started(options: Partial<ApiServerOptions> = {}) {
  const accesses: Access[] = [];
  const onAccess = (access: Access) => accesses.push(access);
  const server = await startApiServer({ backend: arrayBackend(large), clock, onAccess, ...options });
  onTestFinished(() => server.close());
  return { server, accesses };
}

/** What comes back to bytes until the connection ends. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = await socketTo(port);
  socket.write(bytes);
  return text(socket);
}

describe('a client that is too slow', () => {
  test.each([
    ['with the first byte', ''],
    ['with its headers', `GET ${paths.events} HTTP/1.1\r\nHost: x\r\nX-Sl`],
  ])('%s: 408', async (_, bytes) => {
    const { server, accesses } = await started({ limits: { headersMs: 100 } });
    const answer = await answerTo(server.port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('{"errors":[{"code":"InvalidInput","message":"The request took too long to arrive."');
    expect(accesses).toMatchObject([{ method: '', status: 408 }]);
  });

  test('with its body: 408', async () => {
    const { server } = await started({
      limits: { headersMs: 100, requestMs: 200 },
      signIn: { clientId: 'id', clientSecret: 'secret' },
    });
    const head = 'POST /auth/o2/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"grant';
    expect(await answerTo(server.port, head)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('to take its answer: the rest is lost, and the log says so', async () => {
    const { server, accesses } = await started({ limits: { stallMs: 100 } });
    const socket = await socketTo(server.port);
    socket.on('error', () => undefined).pause();
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n\r\n`);
    while (accesses.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(accesses).toMatchObject([{ status: 200, bytes: undefined }]);
  });

  test('does not keep a service from its end', async () => {
    const { server } = await started({ limits: { closeMs: 100 } });
    const socket = await socketTo(server.port);
    socket.on('error', () => undefined).pause();
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n\r\n`);
    while (server.counts.requests('ListFinancialEvents', 200) === 0) await new Promise(setImmediate);
    expect(server.counts.underWay).toBe(1);
    const closed = once(socket, 'close');
    await server.close();
    socket.resume();
    await closed;
  });
});

describe('a Host', () => {
  const status = async (head: string, allowedHosts?: readonly string[]) => {
    const { server } = await started({ backend: arrayBackend([]), allowedHosts });
    const answer = await answerTo(server.port, head);
    expect(answer).toMatch(/\r\nx-amzn-RequestId: [0-9a-f-]{36}\r\n/);
    return Number(answer.slice(9, 12));
  };
  const get = (version: string, ...hosts: string[]) =>
    `GET ${paths.events} HTTP/${version}\r\n${hosts.map((host) => `Host: ${host}\r\n`).join('')}Connection: close\r\n\r\n`;

  test('is asked for once with HTTP/1.1', async () => {
    expect(await status(get('1.1'))).toBe(400);
    expect(await status(get('1.1', 'x', 'y'))).toBe(400);
    expect(await status(get('1.0'))).toBe(200);
    expect(await status(get('1.1', 'anything'))).toBe(200);
  });

  test.each([
    ['localhost:8080', 200],
    ['LOCALHOST', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:1', 200],
    ['sellingpartnerapi-eu.amazon.com', 200],
    ['api.amazon.com:443', 200],
    ['replica.example:8080', 200],
    ['evil.example', 421],
    ['evilamazon.com', 421],
    ['amazon.com.evil.example', 421],
    ['localhost.evil.example', 421],
    ['127.0.0.1.evil.example', 421],
    ['', 421],
  ])('%j where names are limited: %i', async (host, expected) => {
    expect(await status(get('1.1', host), ['replica.example'])).toBe(expected);
  });
});
