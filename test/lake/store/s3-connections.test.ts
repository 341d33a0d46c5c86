import { expect, onTestFinished, test } from 'vitest';
import { s3Store } from '../../../src/lake/store/s3.js';
import { proxyServer, tlsFront } from '../../core/connections/proxy-server.js';
import { startS3Server } from '../../s3-server/server.js';

const bytes = Buffer.from('bytes');

async function s3() {
  const server = await startS3Server('bucket');
  onTestFinished(() => server.close());
  const { endpoint, credentials } = server;
  return { server, port: Number(new URL(endpoint).port), options: { credentials, region: 'us-east-1' } };
}

test('the bucket is read and written through the proxy of the environment', async () => {
  const { server, port, options } = await s3();
  const proxy = await proxyServer(port);
  const environment = { http_proxy: `http://user:word@127.0.0.1:${proxy.port}` };
  const store = s3Store('s3://bucket/lake', { ...options, environment, endpoint: 'http://s3.test:9000' });
  await store.write('a', bytes);
  // Large enough that the SDK asks whether to send it.
  const large = Buffer.alloc(3_000_000, 'x');
  await store.write('b', large);
  expect(await store.read('a')).toEqual(new Uint8Array(bytes));
  expect(Buffer.from((await store.read('b')) ?? []).equals(large)).toBe(true);
  expect(server.calls.map(({ operation }) => operation)).toEqual(['PutObject', 'PutObject', 'GetObject', 'GetObject']);
  const authorization = `Basic ${Buffer.from('user:word').toString('base64')}`;
  expect(new Set(proxy.connects.map(([target, login]) => `${target} ${login}`))).toEqual(
    new Set([`s3.test:9000 ${authorization}`]),
  );
});

test('a proxy that refuses is named, without its password', async () => {
  const { port, options } = await s3();
  const proxy = await proxyServer(port, { status: 407 });
  const environment = { HTTPS_PROXY: `http://user:secret-word@127.0.0.1:${proxy.port}` };
  const store = s3Store('s3://bucket/lake', { ...options, environment, endpoint: 'https://s3.test' });
  await expect(store.write('a', bytes)).rejects.toMatchObject({
    code: 'LAKE_STORE',
    message: `cannot write s3://bucket/lake/a: s3.test can't be reached: the proxy 127.0.0.1:${proxy.port} (HTTPS_PROXY) answered status 407, as it wants a user and a password; check the proxy, or name this host in NO_PROXY`,
  });
});

test('a certificate that is not trusted is named with the remedy, and is not tried again', async () => {
  const { port, options } = await s3();
  const front = await tlsFront(port);
  const store = s3Store('s3://bucket/lake', {
    ...options,
    environment: {},
    endpoint: `https://127.0.0.1:${front.port}`,
  });
  await expect(store.write('a', bytes)).rejects.toMatchObject({
    message: expect.stringMatching(/its certificate is not trusted \(.*\); .* in NODE_EXTRA_CA_CERTS$/) as string,
  });
  expect(front.connections).toBe(1);
});
