import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { pacedQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { readNamedRate } from '../../../src/engine/rate-limit/token-bucket.js';
import { HandClock } from '../../core/clock.js';

test.each([
  ['0.5', 0.5, true],
  [' 2 ', 2, true],
  ['0.0056', 0.0056, true],
  ['1e-10', 0.005, false],
  ['5e-324', 0.005, false],
  ['1e300', 10_000, false],
  ['0', undefined, false],
  ['-1', undefined, false],
  ['NaN', undefined, false],
  ['Infinity', undefined, false],
  ['1e999', undefined, false],
  ['', undefined, false],
  ['0.5, 0.5', undefined, false],
])('%j as a rate: %s, as it was named: %s', (header, rate, isFit) => {
  expect(readNamedRate(header)).toEqual({ rate, isFit });
});

const header = fc.oneof(fc.string(), fc.double().map(String), fc.constantFrom('1e-10', '0', '1e300', '-0', '0x1p-9'));

test('no header makes a request wait for more than 200 s, and it is told of once', async () => {
  const never = new AbortController().signal;
  await fc.assert(
    fc.asyncProperty(fc.array(header, { minLength: 1, maxLength: 5 }), async (headers) => {
      const clock = new HandClock();
      const emitted: RunEvent[] = [];
      const queue = pacedQueue({
        name: 'ListFinancialEvents',
        quota: { rate: 0.5, burst: 1 },
        clock,
        cursorLifeMs: 180_000,
        kept: undefined,
        emit: (event) => emitted.push(event),
      });
      await queue.run(() => Promise.resolve(), { priority: 0, signal: never });
      for (const each of headers) queue.takeNamedRate(each);
      await clock.until(queue.run(() => Promise.resolve(), { priority: 0, signal: never }));
      expect(clock.now()).toBeLessThanOrEqual(200_000);
      const unfit = headers.filter((each) => !readNamedRate(each).isFit);
      const warned = emitted.filter(({ event }) => event === 'rate-unfit');
      expect(warned).toHaveLength(Math.min(1, unfit.length));
      for (const event of warned) expect(JSON.stringify(event).length).toBeLessThan(400);
    }),
  );
});
