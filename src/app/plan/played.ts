import { setMaxListeners } from 'node:events';
import { TokenBucket } from '../../engine/rate-limit/bucket.js';
import { RequestQueue } from '../../engine/rate-limit/queue.js';
import { Scheduler, type OpenSlice } from '../../engine/run/scheduler.js';
import type { Slice } from '../../engine/run/slice.js';
import type { WindowSlice } from '../../engine/run/window-slices.js';
import type { Work } from '../../engine/run/work.js';
import type { Expectation } from '../../engine/slicing/volume-estimate';
import { SimulatedClock } from './simulated-clock.js';

/** The quota of one operation as it will be found. */
export interface PlayedQuota {
  readonly rate: number;
  readonly burst: number;
  /** `TokenBucket.state` as it was kept last; undefined: full. */
  readonly state: number | undefined;
}

export interface PlayOptions {
  /** Undefined: not throttled. */
  readonly quota: PlayedQuota | undefined;
  /** Whether slices are cut and opened by the quota. */
  readonly isPaced: boolean;
  /** Milliseconds since 1970. */
  readonly startsAt: number;
  /** Seconds from a request to its whole answer. */
  readonly latency: number;
  readonly tokenLifeMs: number;
  readonly signal: AbortSignal;
  /** Told of each slice how many results it is expected to hold. */
  readonly read: (results: number) => void;
}

export interface Played {
  readonly slices: number;
  readonly requests: number;
  readonly results: number;
  /** Milliseconds since 1970 at which the last answer is there. */
  readonly endsAt: number;
}

/** As many as a connection has under way for one operation, and slices that a backfill opens where there is no quota. */
const concurrency = 20;
const unpaced = 4;

/**
 * Plays the reading of what there is to do: the very code that opens slices and paces requests in a run, on a clock that
 * takes no time, with an upstream on which every slice holds what is expected of it.
 */
export async function played<S extends Slice>(
  work: Work<S>,
  expectation: Expectation<S>,
  { quota, isPaced, startsAt, latency, tokenLifeMs, signal, read }: PlayOptions,
): Promise<Played> {
  const clock = new SimulatedClock(startsAt);
  const bucket = quota && new TokenBucket({ ...quota, clock });
  const queue = new RequestQueue({ concurrency, bucket, patience: { ms: tokenLifeMs / 4, clock } });
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  const sum = { slices: 0, requests: 0, results: 0 };
  let isAnswered = false;
  /** Requests come whole: what is rounded off one slice goes to the next. */
  let owed = 0;

  const scheduler = new Scheduler({
    queue: work,
    pace: () =>
      bucket === undefined || !isPaced
        ? undefined
        : {
            rate: bucket.rate,
            burst: bucket.burst,
            level: bucket.level(),
            latency: isAnswered ? latency : undefined,
          },
    unpaced,
    clock,
    signal: never,
  });
  const readOne = async (open: OpenSlice<S>): Promise<void> => {
    const { slice } = open;
    const results = expectation.results(slice);
    owed += expectation.pages(slice);
    const pages = Math.max(1, Math.round(owed));
    owed -= pages;
    sum.slices++;
    sum.requests += pages;
    sum.results += results;
    read(results);
    for (let page = 1; page <= pages; page++) {
      await queue.run(() => clock.sleep(latency * 1000), { priority: open.priority, signal: never });
      isAnswered = true;
      const progress = { pages: page, results: (results * page) / pages };
      open.learn({ ...progress, reach: reachOf(slice, page / pages), isWhole: false });
    }
    open.learn({ pages, results, reach: reachOf(slice, 1), isWhole: true });
    open.close();
  };
  const readAll = async (): Promise<void> => {
    const slices: Promise<void>[] = [];
    for await (const open of scheduler.slices()) slices.push(readOne(open));
    await Promise.all(slices);
  };
  await clock.play(readAll(), signal);
  return { ...sum, endsAt: clock.now() };
}

function reachOf(slice: Slice & Partial<Pick<WindowSlice, 'window'>>, share: number): number | undefined {
  const { window } = slice;
  return window && window.start + (window.end - window.start) * share;
}
