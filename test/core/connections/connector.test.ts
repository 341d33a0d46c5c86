import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type LookupFunction } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { openConnectionPool } from '../../../src/core/connections/connector.js';

/** Answers `slow`. Its thread accepts no connection until `start`, so that the kernel leaves those beyond its queue unanswered. */
async function blockedServer(host: string, port: number): Promise<{ readonly start: () => void }> {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { createServer } = require('node:http');
    const { parentPort, workerData } = require('node:worker_threads');
    const { flag, ...address } = workerData;
    createServer((_, answer) => answer.end('slow')).listen({ ...address, backlog: 1 }, () => {
      parentPort.postMessage('listening');
      Atomics.wait(flag, 0, 0);
    });`,
    { eval: true, workerData: { flag, host, port } },
  );
  const start = (): void => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  };
  onTestFinished(async () => {
    start();
    await worker.terminate();
  });
  await once(worker, 'message');
  // Linux's queue has one more than it is asked for.
  for (let queued = 0; queued < 2; queued++) {
    const socket = connect(port, host);
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
  }
  return { start };
}

/** A pool for a host with two addresses: `start` makes the first one answer, the second one answers `fast`. */
async function hostOfTwo() {
  const fast = createServer((_, answer) => answer.end('fast')).listen(0, '127.0.0.1');
  onTestFinished(() => {
    fast.close();
    fast.closeAllConnections();
  });
  await once(fast, 'listening');
  const { port } = fast.address() as AddressInfo;
  const { start } = await blockedServer('127.0.0.2', port);
  const lookup: LookupFunction = (_, __, callback) => {
    callback(
      null,
      ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 })),
    );
  };
  const timeouts = { timeoutMs: 10_000, headersTimeoutMs: 10_000, bodyTimeoutMs: 10_000 };
  const pool = openConnectionPool({ ...timeouts, environment: {}, lookup });
  onTestFinished(() => pool.close());
  const answer = async () =>
    (await pool.request({ origin: `http://host.test:${port}`, path: '/', method: 'GET' })).body.text();
  return { start, answer };
}

test.runIf(process.platform === 'linux')('an address that takes half a second to answer is waited for', async () => {
  const { start, answer } = await hostOfTwo();
  setTimeout(start, 500);
  expect(await answer()).toBe('slow');
});

test.runIf(process.platform === 'linux')('an address that does not answer leaves time for the next one', async () => {
  const { answer } = await hostOfTwo();
  expect(await answer()).toBe('fast');
});
