import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { answered, exchange, socketTo, startedServer, statusesOf } from './raw-client.js';

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const last = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** Until it holds; the test's own time is the limit. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('no exception leaves a listener', () => {
  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('the disk at /secret/place is gone'))],
    [
      'throws',
      () => {
        throw new TypeError('at once');
      },
    ],
  ])('an answer that %s: 500 in the usual form, told once', async (_, answer) => {
    const { server, accesses, faults } = await startedServer({ answer });
    const said = await exchange(server.port, get + last);
    expect(statusesOf(said)).toEqual([500, 500]);
    expect(said).toContain('{"errors":[{"code":"InternalFailure","message":"');
    expect(said).not.toMatch(/secret|at once/);
    expect(faults).toHaveLength(2);
    expect(accesses.map(({ status }) => status)).toEqual([500, 500]);
  });

  test('an answer that can not be written ends its connection and no other', async () => {
    const bad = { ...answered('{}'), headers: { 'x-bad': 'a\r\nb' } };
    const { server, faults } = await startedServer({
      answer: ({ target }) => Promise.resolve(target === '/bad' ? bad : answered('{}')),
    });
    expect(await exchange(server.port, get.replace('/', '/bad'))).toBe('');
    expect(faults).toHaveLength(1);
    expect(statusesOf(await exchange(server.port, last))).toEqual([200]);
  });

  test('a log that can not be written to', async () => {
    const fail = () => {
      throw new Error('standard error is gone');
    };
    const answer = () => Promise.reject(new Error('so is the lake'));
    const { server } = await startedServer({ answer, onAccess: fail, onFault: fail });
    expect(statusesOf(await exchange(server.port, get + last))).toEqual([500, 500]);
    expect(statusesOf(await exchange(server.port, 'no HTTP\r\n\r\n'))).toEqual([400]);
  });
});

describe('every answer has a Date, a request id and a body in the usual form', () => {
  test.each([
    ['no HTTP', 'no HTTP at all\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a foreign Host', 'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n', 421],
    ['long headers', `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['a long target', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
    ['CONNECT', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
  ])('%s', async (_, bytes, status) => {
    const hosts = { isAllowed: () => false, advice: 'ask for localhost' };
    const { server, accesses } = await startedServer({ hosts });
    const said = await exchange(server.port, bytes);
    expect(statusesOf(said)).toEqual([status]);
    expect(said).toMatch(/\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n/);
    expect(said).toMatch(/\r\nx-amzn-RequestId: [0-9a-f-]{36}\r\n/);
    const [, body = ''] = said.split('\r\n\r\n');
    const { errors } = JSON.parse(body) as { errors: { details: string }[] };
    expect(errors[0]?.details.length).toBeLessThanOrEqual(200);
    expect(accesses.map((access) => access.status)).toEqual([status]);
  });
});

describe('a target that is a whole address', () => {
  const hosts = { isAllowed: (name: string) => name === 'shop.example', advice: 'ask for localhost' };
  const statusOf = async (target: string, host = 'localhost') => {
    const { server } = await startedServer({ hosts });
    return statusesOf(await exchange(server.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
  };

  test.each([
    ['http://localhost/x', 200],
    ['HTTP://LOCALHOST:1/x', 200],
    ['https://shop.example', 200],
    ['http://user:secret@shop.example/x', 200],
    ['http://evil.example/x', 421],
    ['http://localhost@evil.example/x', 421],
    ['http://evil.example?localhost/', 421],
    ['http://', 421],
  ])('%s: %i', async (target, status) => {
    expect(await statusOf(target)).toEqual([status]);
  });

  test('does not make up for a foreign Host', async () => {
    expect(await statusOf('http://localhost/x', 'evil.example')).toEqual([421]);
  });
});

describe('requests of one connection', () => {
  test('are answered one after the other, however many came at once', async () => {
    let open = 0;
    let most = 0;
    let turn = 0;
    const { server } = await startedServer({
      answer: async () => {
        most = Math.max(most, ++open);
        await new Promise(setImmediate);
        open--;
        return answered(`{"turn":${turn++}}`);
      },
    });
    const socket = await socketTo(server.port);
    socket.write(get.repeat(4999) + last);
    const answers = await text(socket);
    expect([...answers.matchAll(/"turn":(\d+)/g)].map(([, number]) => Number(number))).toEqual(
      Array.from({ length: 5000 }, (_, number) => number),
    );
    expect(most).toBe(1);
  });

  test('with bodies, too, and the last one in parts', async () => {
    const bodies: string[] = [];
    const { server } = await startedServer({
      answer: async ({ body }) => {
        bodies.push(String(await body()));
        return answered('{}');
      },
    });
    const post = (body: string) =>
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = await socketTo(server.port);
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const long = 'c'.repeat(50_000);
    const bytes = post('a') + post('b') + post(long);
    socket.write(bytes.slice(0, -10_000));
    await until(() => statusesOf(said).length === 2);
    socket.write(bytes.slice(-10_000));
    await until(() => statusesOf(said).length === 3);
    expect(bodies).toEqual(['a', 'b', long]);
  });

  test('that are not read hold one answer and what was parsed: no more is read', async () => {
    const body = 'x'.repeat(1_000_000);
    let asked = 0;
    const { server } = await startedServer({
      answer: () => {
        asked++;
        return Promise.resolve(answered(body));
      },
    });
    const socket = (await socketTo(server.port)).pause();
    const many = Buffer.from(get.repeat(2000));
    let written = 0;
    // 35 MB of requests, each for a megabyte, unless the server stops to read.
    while (written < 500 * many.length) {
      written += many.length;
      if (!socket.write(many) && socket.writableLength > 16 * many.length) break;
      await new Promise(setImmediate);
    }
    await until(() => server.load.waiting > 0);
    const seen = asked;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(socket.writableLength).toBeGreaterThan(0);
    expect(server.load.undeliveredBytes).toBeLessThanOrEqual(2 * body.length);
    expect(server.load.waiting).toBeLessThan(10_000);
    expect(asked).toBe(seen);
    expect(asked).toBeLessThan(50);
    socket.destroy();
    await until(() => server.load.waiting === 0 && server.load.undeliveredBytes === 0);
  });

  test('that wait in too large a number end their connection, and others go on', async () => {
    const { server } = await startedServer({ limits: { pipelined: 10 } });
    const said = await exchange(server.port, get.repeat(1000));
    expect(statusesOf(said).length).toBeLessThan(1000);
    expect(server.load.waiting).toBe(0);
    expect(statusesOf(await exchange(server.port, get.repeat(5) + last))).toHaveLength(6);
  });
});

describe('limits', () => {
  test('a connection too many is closed', async () => {
    const { server } = await startedServer({ limits: { connections: 2 } });
    const held = [await socketTo(server.port), await socketTo(server.port)];
    expect(await exchange(server.port, last)).toBe('');
    held[0]?.destroy();
    await until(() => held[0]?.closed === true);
    let said = '';
    while (said === '') said = await exchange(server.port, last);
    expect(statusesOf(said)).toEqual([200]);
  });

  test('an idle connection is closed', async () => {
    const { server } = await startedServer({ limits: { idleMs: 50 } });
    const socket = await socketTo(server.port);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume().write(get);
    await closed;
  });

  test('a client that takes its answer drop by drop loses the rest', async () => {
    const body = 'x'.repeat(20_000_000);
    const { server, accesses } = await startedServer({
      answer: () => Promise.resolve(answered(body)),
      limits: { answerMs: 300 },
    });
    const socket = (await socketTo(server.port)).pause();
    socket.write(get);
    while (accesses.length === 0) {
      socket.read(1000);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(accesses).toMatchObject([{ status: 200, bytes: undefined }]);
  });

  test('a client that breaks off within a body does no harm', async () => {
    const { server } = await startedServer({
      answer: async ({ body }) => answered(String((await body())?.length)),
    });
    for (const length of ['Content-Length: 100000', 'Transfer-Encoding: chunked']) {
      const socket = await socketTo(server.port);
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n5\r\nhello`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.resetAndDestroy();
    }
    expect(statusesOf(await exchange(server.port, last))).toEqual([200]);
  });
});

test('a body that is too large gets its status before the connection is closed', async () => {
  const { server, faults } = await startedServer({
    answer: async ({ body }) => ({ ...answered('{}'), status: (await body()) === undefined ? 413 : 200 }),
    limits: { closeMs: 100 },
  });
  const socket = await socketTo(server.port);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n');
  // The client reads only after it has sent a part that is larger than what the server keeps.
  socket.pause();
  const piece = Buffer.alloc(1_000_000);
  for (let sent = 0; sent < 4; sent++)
    await new Promise<void>((resolve) =>
      socket.write(piece, () => {
        resolve();
      }),
    );
  const [first] = (await once(socket.resume(), 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
  await once(socket, 'close');
  expect(faults).toEqual([]);
});
