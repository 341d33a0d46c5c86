import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createTransport, type TransportRequest } from '../../../src/engine/http/transport.js';
import { tokenEndpoint } from '../auth/token-endpoint.js';

function request(address: string, body: string): TransportRequest {
  const { origin, pathname } = new URL(address);
  const headers = { 'content-type': 'text/plain' };
  return {
    origin,
    path: pathname,
    headers,
    body,
    addressOf: 'the token endpoint',
    signal: new AbortController().signal,
  };
}

test('a body is sent whole with its length, once', async () => {
  const server = await tokenEndpoint(() => ({ status: 418, headers: { 'x-a': 'b' }, body: 'no' }));
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const body = 'ä'.repeat(100_000);
  const answer = await transport.send(request(server.url, body));
  expect([answer.status, answer.headers.get('x-a'), Buffer.from(answer.body).toString()]).toEqual([418, 'b', 'no']);
  expect(server.asked).toMatchObject([
    { method: 'POST', url: '/auth/o2/token', headers: { 'content-length': '200000', 'content-type': 'text/plain' } },
  ]);
  expect(server.asked[0]?.body).toBe(body);
});

test('a failure names what has the address, and nothing of the body', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/t`;
  const failure = await transport.send(request(address, 'a secret')).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({ code: 'UPSTREAM_UNREACHABLE', retryable: true });
  expect(failure).toHaveProperty('message', expect.stringMatching(/closed the connection.*check the token endpoint/));
  expect(failure).toHaveProperty('details', expect.stringMatching(/^POST \/t\n/));
  expect(JSON.stringify(failure)).not.toContain('secret');
});
