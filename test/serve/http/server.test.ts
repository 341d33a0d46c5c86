import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Backend } from '../../../src/serve/served-apis.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { arrayBackend, event } from './array-backend.js';
import { paths, start, startClient } from './client.js';
import { gate } from './gate.js';
import { handClock } from './hand-clock.js';
import { socketTo } from './socket-to.js';

const items = [event('2025-06-01', 1), event('2025-06-02', 2)];
const options = { backend: arrayBackend(items), clock: handClock(start) };
const order = '902-1845936-5435065';

/** A backend that answers no question until it is told to, and says when one has come. */
function heldBackend() {
  const asked = gate<undefined>();
  const answer = gate<undefined>();
  const backend: Backend = {
    ...arrayBackend(items),
    events: async (...question) => {
      asked.open(undefined);
      await answer.opened;
      return arrayBackend(items).events(...question);
    },
  };
  const release = () => {
    answer.open(undefined);
  };
  return { backend, asked: asked.opened, answer: release };
}

function failingBackend(): Backend {
  const fail = () => Promise.reject(new Error('the disk at /secret/place is gone'));
  return {
    groups: () => {
      throw new TypeError('thrown at once');
    },
    events: fail,
    eventsOfGroup: fail,
    eventsOfOrder: fail,
  };
}

/** Resolves once the socket is closed, cleanly or reset. */
function closeOf(socket: Socket): Promise<void> {
  socket.on('error', () => undefined).resume();
  return new Promise((resolve) => {
    socket.once('close', () => {
      resolve();
    });
  });
}

/** What a server sends back to raw bytes until it closes the connection. */
async function exchange(port: number, bytes: string): Promise<{ head: string; body: string }> {
  const socket = await socketTo(port);
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { head, body };
}

describe('where it listens', () => {
  test('on loopback and a free port, unless told otherwise', async () => {
    const { server } = await startClient(items);
    expect(server.port).toBeGreaterThan(0);
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
  });

  test('a port that is taken is the user’s mistake', async () => {
    const { server } = await startClient(items);
    await expect(startApiServer({ ...options, port: server.port })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(startApiServer({ ...options, port: server.port })).rejects.toThrow(
      `cannot listen on 127.0.0.1, port ${server.port}`,
    );
  });

  test.each([-1, 65_536, 1.5, NaN])('port %d is refused', async (port) => {
    await expect(startApiServer({ ...options, port })).rejects.toThrow(/expected a port from 0/);
  });
});

describe('a backend that fails', () => {
  test('is answered with 500 InternalFailure that says nothing of the cause', async () => {
    const faults: [unknown, string][] = [];
    const onFault = (fault: unknown, requestId: string) => faults.push([fault, requestId]);
    const { get } = await startClient([], { backend: failingBackend(), quota: { rate: 0.5, burst: 30 }, onFault });
    for (const path of [paths.groups, paths.events, paths.ofGroup('G'), paths.ofOrder(order)]) {
      const reply = await get(path);
      expect(reply).toMatchObject({ status: 500, code: 'InternalFailure' });
      expect(reply.body.errors?.[0]?.details).toBe('');
      expect(reply.text).not.toMatch(/secret|thrown|\.ts|at /);
      expect(reply.headers.has('x-amzn-ratelimit-limit')).toBe(false);
      expect(faults.at(-1)?.[1]).toBe(reply.headers.get('x-amzn-requestid'));
    }
    expect(faults).toHaveLength(4);
    expect(faults[0]?.[0]).toBeInstanceOf(TypeError);
  });

  test('does not stop the service', async () => {
    let broken = true;
    const backend: Backend = {
      ...arrayBackend(items),
      events: (...question) => (broken ? failingBackend() : arrayBackend(items)).events(...question),
    };
    const { get } = await startClient([], { backend });
    expect((await get(paths.events)).status).toBe(500);
    broken = false;
    expect((await get(paths.events)).ids).toEqual([1, 2]);
  });
});

describe('odd requests', () => {
  test('headers that are too long: 431 in the usual form', async () => {
    const { server } = await startClient(items);
    const { head, body } = await exchange(
      server.port,
      `GET ${paths.events} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
    );
    expect(head).toMatch(/^HTTP\/1\.1 431 /);
    expect(head).toMatch(/x-amzn-RequestId: [0-9a-f-]{36}/);
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    expect(JSON.parse(body)).toMatchObject({ errors: [{ code: 'InvalidInput', details: '' }] });
  });

  test('bytes that are not HTTP: 400, and the next connection is served', async () => {
    const { server, get } = await startClient(items);
    const { head, body } = await exchange(server.port, 'NOT HTTP AT ALL\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).toMatchObject({ errors: [{ code: 'InvalidInput' }] });
    expect((await get(paths.events)).status).toBe(200);
  });

  test('the body of a GET is ignored, and the connection goes on', async () => {
    const { server } = await startClient(items);
    const one = `GET ${paths.events} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`;
    const two = `GET ${paths.events} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const socket = await socketTo(server.port);
    socket.write(one + two);
    expect((await text(socket)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test('a body without end loses its connection', async () => {
    const { server, get } = await startClient(items);
    const socket = await socketTo(server.port);
    const closed = closeOf(socket);
    socket.write(`POST ${paths.events} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', pump);
    pump();
    await closed;
    expect((await get(paths.events)).status).toBe(200);
  });

  test.each(['Expect: 100-continue', 'Expect: something-else'])('%j is answered like any other', async (header) => {
    const { server } = await startClient(items);
    const socket = await socketTo(server.port);
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const answers = await text(socket);
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    expect(answers.match(/x-amzn-RequestId/g)).toHaveLength(2);
  });

  test('an upgrade is passed over, and the connection ends with the answer', async () => {
    const { server } = await startClient(items);
    const { head, body } = await exchange(
      server.port,
      `GET ${paths.events} HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n`,
    );
    expect(head).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(body).toContain('{"id":2}');
  });

  test('a client that leaves before its answer does no harm', async () => {
    const { backend, asked, answer } = heldBackend();
    const { server, get } = await startClient([], { backend });
    const socket = await socketTo(server.port);
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await asked;
    socket.destroy();
    answer();
    expect((await get(paths.events)).ids).toEqual([1, 2]);
  });
});

describe('close', () => {
  test('ends idle connections, also ones that never asked or asked half', async () => {
    const server = await startApiServer(options);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => {
      agent.destroy();
    });
    const [response] = (await once(request({ agent, port: server.port, path: paths.events }).end(), 'response')) as [
      NodeJS.ReadableStream,
    ];
    await text(response);
    const silent = await socketTo(server.port);
    const half = await socketTo(server.port);
    half.write(`GET ${paths.events} HTTP/1.1\r\nHo`);
    const ended = [silent, half].map(closeOf);
    await server.close();
    await Promise.all(ended);
    await expect(fetch(server.url + paths.events)).rejects.toThrow();
  });

  test('finishes the requests that are running, then their connections', async () => {
    const { backend, asked, answer } = heldBackend();
    const server = await startApiServer({ ...options, backend });
    const socket = await socketTo(server.port);
    socket.write(`GET ${paths.events} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const received = text(socket);
    await asked;
    let closed = false;
    const closing = server.close().then(() => {
      closed = true;
    });
    await expect(fetch(server.url + paths.events)).rejects.toThrow();
    expect(closed).toBe(false);
    answer();
    const answered = await received;
    expect(answered).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answered).toMatch(/\r\nConnection: close\r\n/i);
    expect(answered).toContain('{"id":2}');
    await closing;
  });

  test('twice is once', async () => {
    const server = await startApiServer(options);
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});
