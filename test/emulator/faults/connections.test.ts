import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FaultKind } from '../../../src/emulator/faults/fault-settings.js';
import { event } from '../../serve/http/array-backend.js';
import { paths, startClient } from '../../serve/http/client.js';

const items = [event('2025-06-01', 1, { json: `{"id":1,"text":"${'é'.repeat(500)}"}` })];

/** A plain client: everything that comes on a connection, and how the connection ended. */
async function listen(port: number) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  const seen = { bytes: Buffer.alloc(0), error: undefined as string | undefined };
  socket.on('data', (bytes: Buffer) => {
    seen.bytes = Buffer.concat([seen.bytes, bytes]);
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    seen.error = error.code;
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      resolve();
    });
  });
  socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return { socket, seen, closed };
}

function parts(bytes: Buffer): { status: string; length: number; body: Buffer } {
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.toString('latin1', 0, end);
  return {
    status: head.slice(0, head.indexOf('\r\n')),
    length: Number(/^content-length: (\d+)$/im.exec(head)?.[1]),
    body: bytes.subarray(end + 4),
  };
}

/** A service that shows a fault once. */
async function faulty(kind: FaultKind) {
  const client = await startClient(items, { faults: { [kind]: { times: 1 } } });
  const right = async () => {
    const reply = await client.get(paths.events);
    expect(reply).toMatchObject({ status: 200, ids: [1] });
    return Buffer.from(reply.text);
  };
  return { ...client, right };
}

describe('the connection', () => {
  test('cut-body: closes in the middle of a body that was to be longer', async () => {
    const { server, right } = await faulty('cut-body');
    const { seen, closed } = await listen(server.port);
    await closed;
    const whole = await right();
    const { status, length, body } = parts(seen.bytes);
    expect(status).toBe('HTTP/1.1 200 OK');
    expect(length).toBe(whole.length);
    expect(body).toEqual(whole.subarray(0, Math.floor(whole.length / 2)));
    expect(seen.error).toBeUndefined();
  });

  test('wrong-length: the body goes on after its length, then the connection closes', async () => {
    const { server, right } = await faulty('wrong-length');
    const { seen, closed } = await listen(server.port);
    await closed;
    const whole = await right();
    const { status, length, body } = parts(seen.bytes);
    expect(status).toBe('HTTP/1.1 200 OK');
    expect(length).toBe(Math.floor(whole.length / 2));
    expect(body).toEqual(whole);
  });

  test('reset: is reset before any byte', async () => {
    const { server, right } = await faulty('reset');
    const { seen, closed } = await listen(server.port);
    await closed;
    expect(seen).toEqual({ bytes: Buffer.alloc(0), error: 'ECONNRESET' });
    expect(server.counts.requests('ListFinancialEvents', 0)).toBe(1);
    await right();
  });

  test.each(['cut-body', 'wrong-length', 'reset'] as const)('%s: a client sees no whole page', async (kind) => {
    const { server, right } = await faulty(kind);
    const read = async () => JSON.parse(await (await fetch(server.url + paths.events)).text()) as unknown;
    await expect(read()).rejects.toThrow();
    await right();
  });
});

describe('what never comes', () => {
  /** Long enough that an answer on loopback would have come. */
  const pause = () => delay(60);

  async function open(kind: FaultKind) {
    const client = await faulty(kind);
    const listened = await listen(client.server.port);
    await pause();
    return { ...client, ...listened };
  }
  const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

  test('no-answer: no byte, and the others are served meanwhile', async () => {
    const { seen, socket, right } = await open('no-answer');
    await right();
    expect(isOpen(socket)).toBe(true);
    expect(seen.bytes).toHaveLength(0);
  });

  test('no-body: the head, and no byte of the body', async () => {
    const { seen, socket, right } = await open('no-body');
    const whole = await right();
    expect(isOpen(socket)).toBe(true);
    expect(parts(seen.bytes)).toEqual({ status: 'HTTP/1.1 200 OK', length: whole.length, body: Buffer.alloc(0) });
  });

  test.each(['no-answer', 'no-body'] as const)('%s: ends when the service closes', async (kind) => {
    const { server, closed } = await open(kind);
    await vi.waitFor(() => {
      expect(server.counts.underWay).toBe(1);
    }, 10_000);
    await server.close();
    await closed;
    while (server.counts.underWay > 0) await delay(5);
  });

  test.each(['no-answer', 'no-body'] as const)('%s: ends when the client leaves', async (kind) => {
    const { server, socket, right } = await open(kind);
    await vi.waitFor(() => {
      expect(server.counts.underWay).toBe(1);
    }, 10_000);
    socket.destroy();
    while (server.counts.underWay > 0) await delay(5);
    await right();
    expect(server.counts.peak).toBe(1);
  });
});
