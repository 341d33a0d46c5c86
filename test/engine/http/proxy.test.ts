import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTransport, type HttpResponse } from '../../../src/engine/http/transport.js';
import { causeRules } from '../../../src/engine/retry/causes.js';
import { causeOf } from '../../../src/engine/retry/retry-policy.js';
import { authority } from '../../core/connections/certificates.js';
import { closedPort, proxyServer, tlsFront } from '../../core/connections/proxy-server.js';
import { builtModule } from '../../core/built-module.js';
import { recordingServer } from './recording-server.js';
import { failureOf } from '../../failure-of.js';

const get = (origin: string, environment: Record<string, string>): Promise<HttpResponse> => {
  const transport = createTransport({ environment, connectTimeoutMs: 5000 });
  onTestFinished(() => transport.close());
  return transport.send({ origin, path: '/page?a=b', headers: {}, signal: new AbortController().signal });
};

describe('a proxy', () => {
  test('is asked for a connection, with its user and password, and the request goes through it', async () => {
    const server = await recordingServer((_, response) => response.end('{}'));
    const proxy = await proxyServer(server.port);
    const address = `http://user:p%40ss@127.0.0.1:${proxy.port}`;
    const { status } = await get('http://upstream.test:8080', { HTTP_PROXY: address });
    expect(status).toBe(200);
    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(proxy.connects).toEqual([['upstream.test:8080', authorization]]);
    expect(server.requests).toMatchObject([{ url: '/page?a=b', headers: { host: 'upstream.test:8080' } }]);
    expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test.each([
    [403, 'answered status 403'],
    [407, 'answered status 407, as it wants a user and a password'],
    [502, 'answered status 502'],
  ])('that answers %i is named, without its password', async (status, what) => {
    const { port } = await proxyServer(1, { status });
    const failure = await failureOf(
      get('https://upstream.test', { https_proxy: `http://user:secret-word@127.0.0.1:${port}` }),
    );
    expect(failure.code).toBe('UPSTREAM_UNREACHABLE');
    expect(failure.message).toBe(
      `cannot read from upstream.test:443: the proxy 127.0.0.1:${port} (https_proxy) ${what}; check the proxy, or name this host in NO_PROXY`,
    );
    expect(failure.details).not.toContain('secret-word');
    expect(causeOf(failure)).toBe('no-connection');
  });

  test('that refuses connections is named', async () => {
    const port = await closedPort();
    const failure = await failureOf(get('https://upstream.test', { HTTPS_PROXY: `127.0.0.1:${port}` }));
    expect(failure.message).toMatch(
      new RegExp(`the proxy 127\\.0\\.0\\.1:${port} \\(HTTPS_PROXY\\) can't be reached \\(connect ECONNREFUSED`),
    );
  });

  test('is not used for loopback, nor for what NO_PROXY names', async () => {
    const server = await recordingServer((_, response) => response.end('{}'));
    const environment = { HTTP_PROXY: `http://127.0.0.1:${await closedPort()}`, NO_PROXY: 'upstream.test' };
    expect((await get(server.origin, environment)).status).toBe(200);
    // It has no address.
    expect((await failureOf(get('http://upstream.test', environment))).message).toContain('host');
  });
});

describe('a certificate', () => {
  test('of an authority that is not trusted is named with the remedy, and is not tried again', async () => {
    const server = await recordingServer((_, response) => response.end('{}'));
    const { port } = await tlsFront(server.port);
    const failure = await failureOf(get(`https://127.0.0.1:${port}`, {}));
    expect(failure.message).toMatch(/its certificate is not trusted \(.*\); .* in NODE_EXTRA_CA_CERTS$/);
    const cause = causeOf(failure);
    expect(cause).toBe('certificate');
    expect(causeRules[cause]).toMatchObject({ retries: 0, failure: 'unreachable' });
  });

  test('of an authority in NODE_EXTRA_CA_CERTS is accepted, behind a proxy too; another host name is not', async () => {
    const server = await recordingServer((_, response) => response.end('{}'));
    const front = await tlsFront(server.port);
    const proxy = await proxyServer(front.port);
    const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'authority.pem');
    await writeFile(file, authority);
    const script = `
      import { createTransport } from ${JSON.stringify(await builtModule('src/engine/http/transport.ts'))};
      const transport = createTransport();
      for (const origin of ['https://127.0.0.1:${front.port}', 'https://upstream.test:8443', 'https://other.test:8443'])
        await transport.send({ origin, path: '/', headers: {}, signal: new AbortController().signal }).then(
          ({ status }) => console.log(status), (error) => console.log(error.message));
      await transport.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: file, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: '' },
    });
    const [direct, tunnelled, other] = stdout.trim().split('\n');
    expect([direct, tunnelled]).toEqual(['200', '200']);
    expect(other).toMatch(/certificate is for another host \(ERR_TLS_CERT_ALTNAME_INVALID\); check the endpoint/);
    expect(proxy.connects.map(([target]) => target)).toEqual(['upstream.test:8443', 'other.test:8443']);
  });
});
