import { expect, test } from 'vitest';
import { HandClock, settled } from './clock.js';

test('stands still, and wakes sleepers in the order of their instants, each at its own', async () => {
  const clock = new HandClock('2025-01-01T00:00:00Z');
  const start = Date.parse('2025-01-01T00:00:00Z');
  const woken: [string, number][] = [];
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push([name, clock.now() - start]);
  };
  void sleeper('late', 30);
  void sleeper('early', 10);
  void sleeper('early too', 10);
  await settled();
  expect([woken, clock.sleeping, clock.nextWake]).toEqual([[], 3, start + 10]);

  await clock.advance(29);
  expect([woken, clock.now() - start]).toEqual([
    [
      ['early', 10],
      ['early too', 10],
    ],
    29,
  ]);
  await clock.advance(1);
  expect(woken.at(-1)).toEqual(['late', 30]);
});

test('a chain of sleeps goes on within one move', async () => {
  const clock = new HandClock();
  const seen: number[] = [];
  void (async () => {
    for (;;) {
      await clock.sleep(7);
      await Promise.resolve().then(() => seen.push(clock.now()));
    }
  })();
  await clock.advance(30);
  expect(seen).toEqual([7, 14, 21, 28]);
});

test('a sleep ends with the reason of its signal, before it and within it', async () => {
  const clock = new HandClock();
  await expect(clock.sleep(5, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  const stop = new AbortController();
  const sleep = clock.sleep(5, stop.signal);
  stop.abort(new Error('within'));
  await expect(sleep).rejects.toThrow('within');
  expect(clock.sleeping).toBe(0);
});

test('until goes from sleeper to sleeper, and gives up on what never ends', async () => {
  const clock = new HandClock();
  const work = clock.sleep(1000).then(() => clock.sleep(500).then(() => clock.now()));
  expect(await clock.until(work)).toBe(1500);
  const endless = async (): Promise<never> => {
    for (;;) await clock.sleep(60_000);
  };
  await expect(clock.until(endless(), 600_000)).rejects.toThrow('still open after 600000 ms');
});
