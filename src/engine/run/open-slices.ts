import type { Clock } from '../../core/clock.js';
import { chooseOpening, mostPages, type Opening } from './outlook.js';
import type { Pace } from './pipeline.js';
import type { Slice } from './slice.js';
import type { Progress, Work } from './work.js';

/** A slice that is being read. */
export interface OpenSlice<S extends Slice> {
  readonly slice: S;
  /** Place among those that wait for a request, the lowest first: who has most left to read decides when all is read. */
  readonly priority: number;
  /** To be told after each page. */
  progressed(progress: Progress): void;
  /** Pages that all that is open or isn't begun is expected to have left; null while nothing is known. */
  pagesLeft(): number | null;
}

export interface OpeningOptions<S extends Slice> {
  readonly work: Work<S>;
  /** Undefined: there is no quota, and `unpaced` slices are open at once. */
  readonly pace: () => Pace | undefined;
  readonly unpaced: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Once it aborts no further slice is opened. */
  readonly closing?: AbortSignal | undefined;
  /** Loads a slice. Once it throws no further one is opened. */
  readonly load: (open: OpenSlice<S>) => Promise<void>;
}

/** How far an open slice has been read. */
interface OpenState {
  pages: number;
  isWhole: boolean;
}

/** Seconds that an answer is taken to need before there was one. */
const guessedLatency = 1;

/** Pages after which what is known of answers and of days changes little with another one. */
const settledPages = 40;

/**
 * Loads slices until nothing is left, as many at once as it takes to use the quota: one while answers come faster than
 * tokens, several where they don't, and before the first answer another one each time that a token would be lost because
 * the bucket is full.
 *
 * @throws what `load` threw first, once every open slice has come to its end; `closing`'s reason, likewise, where it left
 * something that wasn't begun
 */
export async function loadAll<S extends Slice>(options: OpeningOptions<S>): Promise<void> {
  const { work, pace, unpaced, clock, signal, closing, load } = options;
  const open = new Map<S, OpenState & { readonly loading: Promise<void> }>();
  const failures: unknown[] = [];
  let opening: Opening | undefined;
  let isStale = true;
  let pages = 0;
  let openedAt = -Infinity;
  let wake = (): void => undefined;

  const pagesLeft = (): number | null => {
    const stretches = work.stretches();
    if (stretches === undefined) return null;
    let left = stretches.reduce((sum, { pages: some }) => sum + Math.max(1, some), 0);
    for (const [slice, { pages: read, isWhole }] of open) {
      if (!isWhole) left += Math.max(1, (work.expected(slice) ?? 1) - read);
    }
    return Math.ceil(left);
  };

  const start = (slice: S): void => {
    const state: OpenState = { pages: 0, isWhole: false };
    const loading = load({
      slice,
      get priority() {
        return -Math.max(1, (work.expected(slice) ?? 1) - state.pages);
      },
      progressed: (progress) => {
        state.pages = progress.pages;
        state.isWhole = progress.isWhole;
        work.learn(slice, progress);
        pages++;
        if (pages <= settledPages) isStale = true;
        wake();
      },
      pagesLeft,
    })
      .catch((error: unknown) => {
        failures.push(error);
      })
      .finally(() => {
        open.delete(slice);
        isStale = true;
        wake();
      });
    open.set(slice, Object.assign(state, { loading }));
    openedAt = clock.now();
  };

  /** The slice to open now, if any. */
  const next = (): S | undefined => {
    const paced = pace();
    if (paced === undefined) return open.size < unpaced ? work.next(mostPages) : undefined;
    const stretches = work.stretches();
    if (isStale && stretches !== undefined && stretches.length > 0) {
      const left = [...open].map(([slice, state]) => Math.max(1, (work.expected(slice) ?? 1) - state.pages));
      opening = chooseOpening({ open: left, stretches, quota: paced, latency: paced.latency ?? guessedLatency });
      isStale = false;
    }
    const wanted = opening?.open ?? 1;
    if (open.size < wanted || isOverflowing(paced)) return work.next(opening?.pages ?? mostPages);
    return undefined;
  };
  const isOverflowing = ({ rate, burst, level }: Pace): boolean =>
    level >= burst - 0.01 && clock.now() - openedAt >= 1000 / rate;

  while (failures.length === 0) {
    signal.throwIfAborted();
    if (closing?.aborted === true && work.left !== '') break;
    for (let slice = next(); slice !== undefined; slice = next()) start(slice);
    if (open.size === 0) for (const slice of work.again?.() ?? []) start(slice);
    if (open.size === 0) return;
    const over = new AbortController();
    const change = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const paced = pace();
    const waits = [change];
    closing?.addEventListener('abort', wake, { once: true });
    if (paced !== undefined && work.left !== '') {
      const { rate, burst, level } = paced;
      const fullIn = Math.max((1000 * (burst - level)) / rate, openedAt + 1000 / rate - clock.now(), 1);
      waits.push(clock.sleep(fullIn, AbortSignal.any([over.signal, signal])));
    }
    try {
      await Promise.race(waits);
    } finally {
      over.abort();
      closing?.removeEventListener('abort', wake);
      // The sleeper that lost the race ends with the signal's reason, which is nobody's failure.
      await Promise.allSettled(waits.slice(1));
    }
  }
  await Promise.all([...open.values()].map(({ loading }) => loading));
  throw failures[0] ?? closing?.reason;
}
