import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { serveMetrics } from '../../src/observe/metrics/metrics-server.js';
import { startApiServer } from '../../src/serve/http/server.js';
import { trialsOf } from '../campaign.js';
import { hostileRequests } from '../core/http-server/hostile-requests.js';
import { exchange, statusesOf } from '../core/http-server/raw-client.js';
import { arrayBackend, event } from '../serve/http/array-backend.js';
import { handClock } from '../serve/http/hand-clock.js';

const clock = handClock('2026-03-20T12:00:00Z');
const requestsOfAKind = trialsOf('REQUESTS', 1000);
const alive = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

const figures: Record<string, string> = {};
afterAll(() => {
  console.log(figures);
});

const metrics = { text: () => Promise.resolve('x 1\n'), contentType: 'text/plain' };
const servers: Readonly<
  Record<string, (onFault: () => void) => Promise<{ readonly port: number; readonly close: () => unknown }>>
> = {
  metrics: async (onFault) => {
    const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0, clock, onFault });
    const close = () => {
      server.close();
    };
    return { port: Number(new URL(server.address).port), close };
  },
  apiServer: (onFault) =>
    startApiServer({
      backend: arrayBackend([event('2026-02-01', 1)]),
      clock,
      allowedHosts: [],
      onFault,
      signIn: { clientId: 'id', clientSecret: 'a secret of some length' },
    }),
};

describe.each(Object.keys(servers))('raw requests to %s', (name) => {
  test.each(Object.entries(hostileRequests))('%s: the next request is answered', async (kind, requests) => {
    let faults = 0;
    let tried = 0;
    const { port, close } = (await servers[name]?.(() => faults++)) ?? { port: 0, close: () => undefined };
    try {
      await fc.assert(
        fc.asyncProperty(requests, async (bytes) => {
          await exchange(port, bytes);
          expect(statusesOf(await exchange(port, alive))).toHaveLength(1);
          tried++;
        }),
        { numRuns: requestsOfAKind },
      );
    } finally {
      await close();
    }
    expect(faults).toBe(0);
    figures[`${name}, ${kind}`] = `${tried} tried, ${tried} held`;
  });
});
