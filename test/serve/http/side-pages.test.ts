import { expect, test } from 'vitest';
import { frontPage, healthPage } from '../../../src/serve/http/side-pages.js';
import { startClient } from './client.js';

async function started(look: () => Promise<Record<string, unknown>>) {
  const faults: unknown[] = [];
  const client = await startClient([], {
    signIn: { clientId: 'id', clientSecret: 'secret' },
    quota: { rate: 0.5, burst: 1 },
    sidePages: new Map([
      ['/', frontPage('an array')],
      ['/healthz', healthPage(look, (fault) => faults.push(fault))],
    ]),
  });
  return { ...client, faults };
}

test('/healthz tells what is served, to everybody and without the quota', async () => {
  const { raw } = await started(() => Promise.resolve({ serves: 'lake', tables: { events: 7 } }));
  for (let count = 0; count < 3; count++) {
    const response = await raw('/healthz');
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ status: 'ok', serves: 'lake', tables: { events: 7 } });
    expect(response.headers.has('x-amzn-ratelimit-limit')).toBe(false);
  }
  const head = await raw('/healthz', { method: 'HEAD' });
  expect([head.status, head.text]).toEqual([200, '']);
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(50);
});

test('/healthz answers 503 where it finds a fault, and keeps its words for the log', async () => {
  const { raw, faults } = await started(() => Promise.reject(new Error('the disk at /secret/place is gone')));
  const { status, text } = await raw('/healthz');
  expect(status).toBe(503);
  expect(text).not.toContain('secret');
  expect(faults).toHaveLength(1);
});

test('other methods: 405 with those that it takes', async () => {
  const { raw } = await started(() => Promise.resolve({}));
  for (const path of ['/', '/healthz']) {
    const { status, headers, code } = await raw(path, { method: 'POST' });
    expect([status, headers.get('allow'), code]).toEqual([405, 'GET, HEAD', 'MethodNotAllowed']);
  }
});

test('/ says in plain text what answers here', async () => {
  const { server } = await started(() => Promise.resolve({}));
  const response = await fetch(server.url);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toContain('the Financial Events Service over an array');
});
