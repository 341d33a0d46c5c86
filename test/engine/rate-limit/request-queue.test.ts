import { describe, expect, test } from 'vitest';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { RequestQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { HandClock, settled } from '../../core/clock.js';

const never = new AbortController().signal;

interface Setup {
  readonly rate?: number;
  readonly burst?: number;
  readonly concurrency?: number;
  readonly patienceMs?: number;
}

function throttled({ rate = 0.5, burst = 1, concurrency = 10, patienceMs }: Setup = {}) {
  const clock = new HandClock(0);
  const bucket = new TokenBucket({ rate, burst, clock });
  const queue = new RequestQueue({ bucket, concurrency, patienceMs });
  const starts: [name: string, at: number][] = [];
  /** Asks for a job that notes its start and takes `ms`. */
  const add = (name: string, priority: number, { ms = 0, signal = never } = {}): Promise<string> =>
    queue.run(
      async () => {
        starts.push([name, clock.now()]);
        await clock.sleep(ms);
        return name;
      },
      { priority, signal },
    );
  return { clock, bucket, queue, starts, add };
}

describe('order', () => {
  test('the token goes to the most important job at the instant at which it comes, not to who asked first', async () => {
    const { clock, starts, add } = throttled();
    await add('first', 9);
    void add('c', 3);
    void add('d', 4);
    await clock.advance(1000);
    void add('a', 1);
    await clock.advance(999);
    const b = add('b', 2);
    await clock.advance(1);
    expect(starts).toEqual([
      ['first', 0],
      ['a', 2000],
    ]);
    await clock.until(b);
    await clock.advance(4000);
    expect(starts.slice(2)).toEqual([
      ['b', 4000],
      ['c', 6000],
      ['d', 8000],
    ]);
  });

  test('who has waited for too long goes first, however important the others are', async () => {
    const { clock, starts, add } = throttled({ patienceMs: 5000 });
    await add('first', 1);
    void add('patient', 9);
    for (const name of ['a', 'b', 'c', 'd']) void add(name, 1);
    await clock.advance(8000);
    expect(starts).toEqual([
      ['first', 0],
      ['a', 2000],
      ['b', 4000],
      ['patient', 6000],
      ['c', 8000],
    ]);
  });

  test('equal jobs go in the order of asking', async () => {
    const { clock, starts, add } = throttled();
    await clock.until(Promise.all(['a', 'b', 'c', 'd'].map((name) => add(name, 5))));
    expect(starts.map(([name]) => name)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('without a bucket order and concurrency are all that holds', async () => {
    const clock = new HandClock(0);
    const queue = new RequestQueue({ concurrency: 1 });
    const started: string[] = [];
    const add = (name: string, priority: number): Promise<void> =>
      queue.run(
        async () => {
          started.push(name);
          await clock.sleep(10);
        },
        { priority, signal: never },
      );
    queue.takeNamedRate('1');
    await clock.until(Promise.all([add('first', 9), add('c', 3), add('a', 1), add('b', 2)]));
    expect([started, clock.now()]).toEqual([['first', 'a', 'b', 'c'], 40]);
  });
});

describe('tokens', () => {
  test('a burst starts at once, each job with a token of its own', async () => {
    const { clock, bucket, starts, add } = throttled({ burst: 3 });
    const all = Promise.all([1, 2, 3, 4, 5].map((n) => add(`job ${n}`, n)));
    await settled();
    expect([starts.length, bucket.level()]).toEqual([3, 0]);
    await clock.until(all);
    expect(starts.slice(3)).toEqual([
      ['job 4', 2000],
      ['job 5', 4000],
    ]);
  });

  test('no token is taken while there is no room, so none is lost on a job that is not there yet', async () => {
    const { clock, bucket, starts, add } = throttled({ burst: 5, concurrency: 2 });
    const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => add(name, 1, { ms: 100 })));
    await settled();
    expect([starts.length, bucket.level()]).toEqual([2, 3]);
    await clock.until(all);
    expect(starts).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 100],
      ['d', 100],
    ]);
  });

  test('every attempt takes one, whether it works out or not', async () => {
    const { clock, bucket, queue, add } = throttled({ burst: 3 });
    const failing = (): Promise<never> =>
      queue.run(() => Promise.reject(new Error('no')), { priority: 1, signal: never });
    await expect(failing()).rejects.toThrow('no');
    await expect(failing()).rejects.toThrow('no');
    expect(bucket.level()).toBe(1);
    const thrown = queue.run(
      () => {
        throw new Error('at once');
      },
      { priority: 1, signal: never },
    );
    await expect(thrown).rejects.toThrow('at once');
    expect([bucket.level(), await clock.until(add('after', 1))]).toEqual([0, 'after']);
  });

  test('a job may ask for another one as its first act', async () => {
    const { clock, starts, queue, add } = throttled({ concurrency: 5 });
    await clock.until(queue.run(() => add('inner', 1), { priority: 1, signal: never }));
    expect(starts).toEqual([['inner', 2000]]);
  });

  test('a higher rate that the service names holds for the job that waits already', async () => {
    const { clock, queue, starts, add } = throttled();
    await add('a', 1);
    const b = add('b', 1);
    await settled();
    queue.takeNamedRate('10');
    await clock.until(b);
    expect(starts.at(-1)).toEqual(['b', 100]);
  });
});

describe('abort', () => {
  test('a job that waits for a token goes at once, its token to the next one', async () => {
    const { clock, starts, add } = throttled();
    await add('first', 1);
    const stop = new AbortController();
    const gone = add('gone', 1, { signal: stop.signal });
    const next = add('next', 2);
    await clock.advance(500);
    stop.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    await clock.until(next);
    expect(starts.at(-1)).toEqual(['next', 2000]);
  });

  test('when the last one goes nobody waits for a token, and it stays in the bucket', async () => {
    const { clock, bucket, starts, add } = throttled();
    await add('first', 1);
    const stop = new AbortController();
    const gone = add('gone', 1, { signal: stop.signal });
    await clock.advance(500);
    stop.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    expect(clock.sleeping).toBe(0);
    await clock.advance(1500);
    expect(bucket.level()).toBe(1);
    await add('late', 1);
    expect(starts.at(-1)).toEqual(['late', 2000]);
  });

  test('a job that waits for room goes too; one that is aborted already never waits', async () => {
    const { clock, starts, add } = throttled({ burst: 9, concurrency: 1 });
    const first = add('first', 1, { ms: 100 });
    const stop = new AbortController();
    const gone = add('gone', 1, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    await expect(add('dead', 1, { signal: stop.signal })).rejects.toThrow('enough');
    await clock.until(first);
    expect(starts.map(([name]) => name)).toEqual(['first']);
  });

  test('a running job keeps its place until it has really ended', async () => {
    const { clock, queue, starts, add } = throttled({ burst: 9, concurrency: 1 });
    const stop = new AbortController();
    const slow = queue.run(
      async (signal) => {
        await clock.sleep(100);
        return signal.aborted;
      },
      { priority: 1, signal: stop.signal },
    );
    const next = add('next', 1);
    stop.abort();
    expect(await clock.until(slow)).toBe(true);
    await clock.until(next);
    expect(starts).toEqual([['next', 100]]);
  });

  test('without a bucket a job that waits goes too', async () => {
    const clock = new HandClock(0);
    const queue = new RequestQueue({ concurrency: 1 });
    const stop = new AbortController();
    const first = queue.run(() => clock.sleep(10), { priority: 1, signal: never });
    const gone = queue.run(() => clock.sleep(10), { priority: 1, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    await clock.until(first);
    expect(clock.now()).toBe(10);
  });
});

test('a clock that fails fails every job that waits', async () => {
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error('no timers')) };
  const queue = new RequestQueue({ bucket: new TokenBucket({ rate: 1, burst: 1, clock }), concurrency: 3 });
  const run = (): Promise<string> => queue.run(() => Promise.resolve('done'), { priority: 1, signal: never });
  const results = await Promise.allSettled([run(), run(), run()]);
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).toEqual([
    'done',
    'Error: no timers',
    'Error: no timers',
  ]);
});

test('a clock that goes on while it is read makes no request wait', async () => {
  let now = 0;
  const clock = { now: () => (now += 1000), sleep: () => Promise.reject(new Error('a request waits')) };
  const queue = new RequestQueue({ bucket: new TokenBucket({ rate: 1, burst: 2, clock }), concurrency: 3 });
  const run = (): Promise<string> => queue.run(() => Promise.resolve('done'), { priority: 1, signal: never });
  expect(await Promise.all([run(), run(), run()])).toEqual(['done', 'done', 'done']);
});

test('a concurrency below 1 is refused', () => {
  expect(() => new RequestQueue({ concurrency: 0 })).toThrow('Expected `concurrency` to be a number from 1 and up');
});
