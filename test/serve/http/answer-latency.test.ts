import { describe, expect, test } from 'vitest';
import { createLatency } from '../../../src/serve/http/fault-injection.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { HandClock, settled } from '../../core/clock.js';
import { arrayBackend, event } from './array-backend.js';
import { paths, start } from './client.js';

const backend = arrayBackend([event('2025-06-01', 1)]);

/** A service whose clock only a test moves, and requests to it. */
async function slow(latencyMs: number) {
  const clock = new HandClock(start);
  const server = await startApiServer({ backend, clock, latencyMs });
  const ask = () => fetch(server.url + paths.events);
  const asleep = async (count: number) => {
    while (clock.sleeping < count) await settled();
  };
  return { clock, server, ask, asleep };
}

describe('an answer', () => {
  test('takes as long as it should, by the clock', async () => {
    const { clock, server, ask, asleep } = await slow(3_000);
    const answered = ask();
    await asleep(1);
    expect(clock.nextWake).toBe(Date.parse(start) + 3_000);
    await clock.advance(3_000);
    const response = await answered;
    expect(response.status).toBe(200);
    expect(Date.parse(response.headers.get('date') ?? '')).toBe(Date.parse(start) + 3_000);
    await response.text();
    await server.close();
  });

  test('does not hold up others', async () => {
    const { clock, server, ask, asleep } = await slow(3_000);
    const answered = Promise.all([ask(), ask(), ask()]);
    await asleep(3);
    expect(server.counts.underWay).toBe(3);
    await clock.advance(3_000);
    expect((await answered).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(server.counts.peak).toBe(3);
    await server.close();
  });

  test('comes at once when the service closes', async () => {
    const { server, ask, asleep } = await slow(3_600_000);
    const answered = ask();
    await asleep(1);
    const [response] = await Promise.all([answered, server.close()]);
    expect(response.status).toBe(200);
  });

  test('is waited for no more when the client leaves', async () => {
    const { clock, server, asleep } = await slow(3_000);
    const left = new AbortController();
    const asked = fetch(server.url + paths.events, { signal: left.signal }).catch(() => 'left');
    await asleep(1);
    left.abort();
    expect(await asked).toBe('left');
    while (clock.sleeping > 0) await settled();
    await server.close();
  });
});

describe('a range', () => {
  test('is drawn from evenly, the same for the same seed', async () => {
    const clock = new HandClock(start);
    const never = new AbortController().signal;
    const drawn = async (seed: number) => {
      const wait = createLatency({ least: 100, most: 300 }, seed, clock);
      const waits: number[] = [];
      for (let number = 1; number <= 200; number++) {
        const before = clock.now();
        await clock.until(wait(number, never));
        waits.push(clock.now() - before);
      }
      return waits;
    };
    const waits = await drawn(1);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...waits)).toBeLessThanOrEqual(300);
    expect(waits.filter((ms) => ms < 200).length).toBeGreaterThan(60);
    expect(waits.filter((ms) => ms > 200).length).toBeGreaterThan(60);
    const rounded = (list: number[]) => list.map((ms) => Math.round(ms));
    expect(rounded(await drawn(1))).toEqual(rounded(waits));
    expect(rounded(await drawn(2))).not.toEqual(rounded(waits));
  });

  test.each([-1, NaN, Infinity, { least: 2, most: 1 }])('%j can not be', async (latencyMs) => {
    const starting = startApiServer({ backend, clock: new HandClock(start), latencyMs });
    await expect(starting).rejects.toMatchObject({ code: 'USAGE' });
  });
});
