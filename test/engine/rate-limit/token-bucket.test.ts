import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { HandClock, settled } from '../../core/clock.js';

const start = Date.parse('2025-03-04T05:06:07.089Z');

const never = new AbortController().signal;
// All who wait listen to it, as to the signal of a run.
setMaxListeners(0, never);

/** Those who wait for a bucket's tokens, one behind the other, as requests do. */
function lineFor(bucket: TokenBucket) {
  const queue = new RequestQueue({ bucket, concurrency: Infinity });
  const take = (signal = never) => queue.run(() => Promise.resolve(), { priority: 0, signal });
  return Object.assign(queue, { take });
}

/** Takes a token for each and notes the instant of its grant, relative to the start of the test. */
function takeAll(
  line: Pick<ReturnType<typeof lineFor>, 'take'>,
  clock: HandClock,
  count: number,
  grants: number[],
): Promise<void>[] {
  return Array.from({ length: count }, async () => {
    await line.take();
    grants.push(clock.now() - start);
  });
}

/** Milliseconds within which so many tokens come back at `milliRate` tokens each 1000 s: whole numbers throughout. */
function exactMs(tokens: number, milliRate: number): number {
  const dividend = tokens * 1_000_000 + milliRate - 1;
  return (dividend - (dividend % milliRate)) / milliRate;
}

describe('grants', () => {
  test('a burst at once, then one token each 2 s', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 30, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    const all = Promise.all(takeAll(line, clock, 33, grants));
    await settled();
    expect(grants).toEqual(Array.from({ length: 30 }, () => 0));
    await clock.until(all);
    expect(grants.slice(30)).toEqual([2000, 4000, 6000]);
  });

  test('never more than burst + rate × time, and each at the first instant at which that allows it', async () => {
    const arrivals = fc.array(fc.record({ gap: fc.nat(20_000), count: fc.integer({ min: 1, max: 6 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        arrivals,
        fc.integer({ min: 20, max: 20_000 }),
        fc.integer({ min: 1, max: 12 }),
        async (groups, milliRate, burst) => {
          const clock = new HandClock(start);
          const bucket = new TokenBucket({ rate: milliRate / 1000, burst, clock });
          const line = lineFor(bucket);
          const asked: number[] = [];
          const grants: number[] = [];
          const all: Promise<void>[] = [];
          for (const { gap, count } of groups) {
            await clock.advance(gap);
            for (let n = 0; n < count; n++) asked.push(clock.now() - start);
            all.push(...takeAll(line, clock, count, grants));
          }
          await clock.until(Promise.all(all), 1e9);

          // By the definition alone: of all grants so far, none may begin an interval that holds too many.
          const earliest: number[] = [];
          for (const [k, at] of asked.entries()) {
            const bounds = earliest.map((grant, j) => grant + exactMs(Math.max(0, k - j + 1 - burst), milliRate));
            earliest.push(Math.max(at, earliest.at(-1) ?? 0, ...bounds));
          }
          expect(grants).toEqual(earliest);
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([0.3, 0.7, 1 / 3, 0.0167, 15])('does not drift: the 100 000th token at rate %d is on time', (rate) => {
    const clock = new HandClock(start);
    // With a burst of 1 a token that is there between two milliseconds is rightly lost: the bucket was full until then.
    const bucket = new TokenBucket({ rate, burst: 2, clock });
    for (let n = 0; n < 100_002; n++) {
      clock.jump(bucket.nextTokenAt());
      bucket.take();
    }
    const exact = (100_000 * 1000) / rate;
    expect(Math.abs(clock.now() - start - exact)).toBeLessThanOrEqual(1);
  });

  test('a timer that is early grants nothing early', async () => {
    class EarlyClock extends HandClock {
      override sleep(ms: number, signal?: AbortSignal): Promise<void> {
        return super.sleep(Math.max(1, ms - 3), signal);
      }
    }
    const clock = new EarlyClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 1, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    await clock.until(Promise.all(takeAll(line, clock, 3, grants)));
    expect(grants).toEqual([0, 2000, 4000]);
  });

  test('a wait that is longer than a timer lasts is slept in parts', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 1e-7, burst: 1, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    const all = Promise.all(takeAll(line, clock, 2, grants));
    await settled();
    expect(clock.nextWake).toBe(start + 2 ** 31 - 1);
    await clock.until(all, 1e11);
    expect(grants).toEqual([0, 1e10]);
  });
});

describe('waiting', () => {
  test('who gives up leaves the line and takes no token', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 1, clock });
    const line = lineFor(bucket);
    const stop = new AbortController();
    const order: string[] = [];
    const waiter = (name: string, signal?: AbortSignal): Promise<unknown> =>
      line.take(signal).then(() => order.push(name));
    void waiter('first');
    const second = waiter('second', stop.signal);
    const third = waiter('third');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await clock.until(third);
    expect([order, clock.now() - start]).toEqual([['first', 'third'], 2000]);
  });

  test('nobody sleeps for those who all gave up, and the token is there for the next one', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 1, clock });
    const line = lineFor(bucket);
    await line.take();
    const stop = new AbortController();
    const wait = line.take(stop.signal);
    stop.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(clock.sleeping).toBe(0);
    await expect(line.take(AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    await clock.advance(2000);
    expect(bucket.level()).toBe(1);
  });

  test('a token that is being used is counted: its use may ask for the next one', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 1, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    let inner: Promise<void>[] = [];
    const asking = (): Promise<void> => {
      inner = takeAll(line, clock, 1, grants);
      return Promise.resolve();
    };
    await line.run(asking, { priority: 0, signal: never });
    await clock.until(Promise.all(inner));
    expect(grants).toEqual([2000]);
  });

  test('a clock that fails fails those who wait', async () => {
    const clock = { now: () => start, sleep: () => Promise.reject(new Error('no timers')) };
    const bucket = new TokenBucket({ rate: 0.5, burst: 1, clock });
    const line = lineFor(bucket);
    await line.take();
    await expect(line.take()).rejects.toThrow('no timers');
  });
});

describe('rate', () => {
  test('a new rate keeps the tokens that are there and holds for those who wait already', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 4, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    await Promise.all(takeAll(line, clock, 4, grants));
    await clock.advance(3000);
    expect(bucket.level()).toBe(1.5);
    line.takeNamedRate('0.1');
    expect(bucket.level()).toBe(1.5);
    const all = Promise.all(takeAll(line, clock, 3, grants));
    await clock.advance(1000);
    // Half a token was there: at 0.1 a second the other half is due 5 s after the change, at 8 a second much sooner.
    line.takeNamedRate('8');
    await clock.until(all);
    expect(grants.slice(4)).toEqual([3000, 4050, 4175]);
  });

  test('the rate that it has already changes nothing, however often it comes', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.3, burst: 2, clock });
    const line = lineFor(bucket);
    const grants: number[] = [];
    const all = Promise.all(takeAll(line, clock, 5, grants));
    for (let n = 0; n < 20; n++) {
      await clock.advance(101);
      line.takeNamedRate('0.3');
    }
    await clock.until(all);
    expect(grants).toEqual([0, 0, 3334, 6667, 10_000]);
  });

  test('never more than burst + the sum of rate × time, through changes of the rate', async () => {
    const steps = fc.array(fc.record({ rate: fc.integer({ min: 1, max: 50 }), ms: fc.nat(4000), asked: fc.nat(8) }), {
      minLength: 1,
      maxLength: 15,
    });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 8 }), async (changes, burst) => {
        const clock = new HandClock(start);
        const bucket = new TokenBucket({ rate: 1, burst, clock });
        const line = lineFor(bucket);
        const rates: { from: number; rate: number }[] = [{ from: 0, rate: 1 }];
        const grants: number[] = [];
        const all: Promise<void>[] = [];
        for (const { rate, ms, asked } of changes) {
          line.takeNamedRate(String(rate / 10));
          rates.push({ from: clock.now() - start, rate: rate / 10 });
          all.push(...takeAll(line, clock, asked, grants));
          await clock.advance(ms);
        }
        await clock.until(Promise.all(all), 1e9);

        const tokensBy = (instant: number): number =>
          rates.reduce((sum, { from, rate }, i) => {
            const to = Math.min(instant, rates[i + 1]?.from ?? Infinity);
            return sum + (Math.max(0, to - from) * rate) / 1000;
          }, 0);
        for (const [j, first] of grants.entries()) {
          for (const [k, last] of grants.entries()) {
            if (k >= j) expect(k - j + 1).toBeLessThanOrEqual(burst + tokensBy(last) - tokensBy(first) + 1e-6);
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('state', () => {
  test('a bucket goes on where an earlier one left off', async () => {
    const clock = new HandClock(start);
    const options = { rate: 0.5, burst: 30, clock };
    const first = new TokenBucket(options);
    for (let n = 0; n < 25; n++) first.take();
    expect(first.state).toBe(start + 50_000);
    await clock.advance(1000);
    const second = new TokenBucket({ ...options, state: first.state });
    expect([second.level(), second.nextTokenAt(), second.state]).toEqual([5.5, clock.now(), first.state]);
  });

  test('one number is all there is: with or without a restart the grants are the same', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(9000), { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 5 }),
        (gaps, burst) => {
          const clock = new HandClock(start);
          const steady = new TokenBucket({ rate: 0.5, burst, clock });
          let restarted = new TokenBucket({ rate: 0.5, burst, clock });
          for (const gap of gaps) {
            clock.jump(Math.max(clock.now() + gap, steady.nextTokenAt()));
            restarted = new TokenBucket({ rate: 0.5, burst, clock, state: restarted.state });
            expect(restarted.nextTokenAt()).toBe(steady.nextTokenAt());
            expect(restarted.level()).toBeCloseTo(steady.level(), 9);
            expect([steady.take(), restarted.take()]).toEqual([true, true]);
          }
        },
      ),
    );
  });

  test('a state long past is a full bucket, one far ahead an empty one', () => {
    const clock = new HandClock(start);
    const options = { rate: 0.5, burst: 30, clock };
    expect(new TokenBucket({ ...options, state: 0 }).level()).toBe(30);
    const ahead = new TokenBucket({ ...options, state: start + 86_400_000 });
    expect([ahead.level(), ahead.nextTokenAt()]).toEqual([0, start + 2000]);
  });

  test('a clock that is set back costs no more than what it had given', () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 3, clock });
    bucket.take();
    clock.jump(start - 3_600_000);
    expect([bucket.level(), bucket.nextTokenAt()]).toEqual([2, start - 3_600_000]);

    clock.jump(start);
    for (let n = 0; n < 2000; n++) {
      clock.jump(bucket.nextTokenAt());
      bucket.take();
    }
    clock.jump(start + 1000);
    expect([bucket.level(), bucket.nextTokenAt()]).toEqual([0, start + 3000]);
  });
});

describe('after a refusal', () => {
  const ends = [
    [
      'a grant',
      (line: RequestQueue) => {
        line.answered(0);
      },
      4,
    ],
    [
      'a failure that says nothing',
      (line: RequestQueue) => {
        line.failed();
      },
      1,
    ],
    [
      'another refusal',
      (line: RequestQueue) => {
        line.refused(1000);
      },
      0,
    ],
  ] as const;
  test.each(ends)('one request starts, the others behind it once it has come to %s', async (_what, end, further) => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 5, burst: 30, clock });
    const line = lineFor(bucket);
    line.refused(1000);
    let started = 0;
    const waiting = Array.from({ length: 5 }, () => line.take().then(() => started++));
    await clock.advance(60_000);
    expect(started).toBe(1);
    end(line);
    await clock.advance(0);
    expect(started).toBe(1 + further);
    // After as many of them as there are requests, all have had their turn.
    for (let turn = 0; turn < 5; turn++) {
      line.failed();
      await clock.advance(2000);
    }
    await Promise.all(waiting);
  });
});

describe('a refusal', () => {
  test('by itself makes it wait, and takes nothing from it', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 30, clock });
    bucket.refused(10_000);
    bucket.refused(4000);
    expect([bucket.level(), bucket.rate, bucket.nextTokenAt()]).toEqual([30, 0.5, start + 10_000]);
    await clock.advance(10_000);
    bucket.granted();
    bucket.refused(1000);
    expect([bucket.level(), bucket.rate, bucket.nextTokenAt()]).toEqual([30, 0.5, start + 11_000]);
  });

  test('that follows another empties and halves it; good answers bring it back to the rate that was named', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 0.5, burst: 30, clock });
    bucket.refused(1);
    await clock.advance(1);
    bucket.refused(9999);
    // Refused with it, as it was under way too.
    bucket.refused(4000);
    expect([bucket.level(), bucket.rate, bucket.nextTokenAt()]).toEqual([0, 0.25, start + 10_000]);
    await clock.advance(10_000);
    expect(bucket.level()).toBe(2.5);
    bucket.refused(1000);
    expect([bucket.level(), bucket.rate]).toEqual([0, 0.125]);
    for (let n = 0; n < 6; n++) bucket.granted();
    expect(bucket.rate).toBeCloseTo(0.125 * 1.25 ** 6);
    bucket.granted();
    expect(bucket.rate).toBe(0.5);
  });

  test('never slows it to a standstill, and a rate that is named anew counts from there', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 1, burst: 5, clock });
    for (let n = 0; n < 20; n++) {
      bucket.refused(1);
      await clock.advance(2);
    }
    expect(bucket.rate).toBe(1 / 16);
    bucket.setRate(2);
    expect(bucket.rate).toBe(1 / 8);
    // Its own rate said again changes nothing.
    bucket.setRate(2);
    expect(bucket.rate).toBe(1 / 8);
  });

  test('makes those wait who wait already', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 1, burst: 1, clock });
    const line = lineFor(bucket);
    await line.take();
    const waiting = line.take();
    line.refused(60_000);
    await clock.until(waiting);
    expect(clock.now()).toBe(start + 60_000);
  });
});

test('whoever keeps the state is told of each change of it', () => {
  const clock = new HandClock(start);
  const states: number[] = [];
  const bucket: TokenBucket = new TokenBucket({ rate: 1, burst: 3, clock, changed: () => states.push(bucket.state) });
  bucket.take();
  bucket.take();
  bucket.setRate(0.5);
  expect(states).toEqual([start + 1000, start + 2000, start + 4000]);
});

describe('options', () => {
  const clock = new HandClock(start);
  const good = { rate: 0.5, burst: 30, clock };

  test.each([
    [{ rate: 0 }, 'expected `rate` to be a finite number of tokens a second above 0, got `0` (number)'],
    [{ rate: -1 }, 'got `-1` (number)'],
    [{ rate: NaN }, 'got `NaN` (number)'],
    [{ rate: Infinity }, 'got `Infinity` (number)'],
    [{ burst: 0 }, 'expected `burst` to be a whole number from 1, got `0` (number)'],
    [{ burst: 1.5 }, 'got `1.5` (number)'],
    [{ burst: Infinity }, 'got `Infinity` (number)'],
    [{ state: NaN }, 'expected `state` to be a finite number, got `NaN` (number)'],
  ])('%j is refused with what was expected and what came', (wrong, message) => {
    expect(() => new TokenBucket({ ...good, ...wrong })).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringContaining(message) as string }) as Error,
    );
  });

  test('a rate that is none leaves the old one in place', () => {
    const bucket = new TokenBucket(good);
    expect(() => {
      bucket.setRate(0);
    }).toThrow('expected `rate`');
    expect(bucket.level()).toBe(30);
  });
});
