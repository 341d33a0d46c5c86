import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { serveMetrics } from '../../../src/observe/metrics/metrics-server.js';
import { handClock } from '../../serve/http/hand-clock.js';
import { hostileRequests, oddTargets } from '../../core/http-server/hostile-requests.js';
import { exchange, statusesOf } from '../../core/http-server/raw-client.js';

const clock = handClock('2026-03-20T12:00:00Z');
const metrics = { text: () => Promise.resolve('ledgerlake_x 1\n'), contentType: 'text/plain; version=0.0.4' };

async function started(made: Pick<Parameters<typeof serveMetrics>[0], 'text' | 'contentType'> = metrics) {
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => faults.push(fault);
  const server = await serveMetrics(made, { host: '127.0.0.1', port: 0, clock, onFault });
  onTestFinished(() => {
    server.close();
  });
  const { address } = server;
  const port = Number(new URL(address).port);
  const ask = (line: string, host = 'localhost') => exchange(port, `${line} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return { address, port, faults, ask };
}

test('metrics are at /metrics, in either form of target', async () => {
  const { address, ask } = await started();
  const answer = await fetch(address);
  expect([answer.status, await answer.text()]).toEqual([200, 'ledgerlake_x 1\n']);
  expect(answer.headers.get('content-type')).toBe(metrics.contentType);
  expect(answer.headers.get('date')).toBe('Fri, 20 Mar 2026 12:00:00 GMT');
  expect(await ask('GET http://localhost/metrics?x=1')).toContain('ledgerlake_x 1');
  expect(statusesOf(await ask('POST /metrics'))).toEqual([405]);
});

test.each(oddTargets)('a request for %j ends nothing', async (target) => {
  const { ask, faults } = await started();
  for (const status of statusesOf(await ask(`GET ${target}`))) expect([200, 400, 404, 414, 421, 431]).toContain(status);
  expect(faults).toEqual([]);
  expect(statusesOf(await ask('GET /metrics'))).toEqual([200]);
});

test('a web page can not read them through a name of its own', async () => {
  const { ask } = await started();
  expect(statusesOf(await ask('GET /metrics', 'evil.example'))).toEqual([421]);
  expect(statusesOf(await ask('GET http://evil.example/metrics'))).toEqual([421]);
});

test('metrics that can not be made: 500, and it is told', async () => {
  const failing = { ...metrics, text: () => Promise.reject(new Error('a gauge failed')) };
  const { ask, faults } = await started(failing);
  expect(await ask('GET /metrics')).toMatch(/^HTTP\/1\.1 500 .*\{"errors":\[\{"code":"InternalFailure"/s);
  expect(faults).toHaveLength(1);
});

test('whatever bytes come, the next request is answered', async () => {
  const { port, ask, faults } = await started();
  await fc.assert(
    fc.asyncProperty(fc.oneof(...Object.values(hostileRequests)), async (bytes) => {
      await exchange(port, bytes);
      expect(statusesOf(await ask('GET /metrics'))).toEqual([200]);
    }),
    { numRuns: 150 },
  );
  expect(faults).toEqual([]);
});
