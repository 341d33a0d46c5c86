import { EventEmitter, once } from 'node:events';
import type { Clock } from '../../core/clock.js';
import { planConcurrency, maxPages, type ConcurrencyPlan } from './concurrency-plan.js';
import type { Pace } from './pipeline.js';
import type { Slice, Progress, SliceQueue } from './slice-queue.js';

/** A slice that is being loaded. */
export interface OpenSlice<S extends Slice = Slice> {
  readonly slice: S;
  /** Place among those that wait for a request, the lowest first: who has most left to read decides when all is read. */
  readonly priority: number;
  /** Takes how far it has been read: after each page, and once more when there are no more. */
  learn(progress: Progress): void;
  /** It needs no slot any more: it is in the lake, or back in the queue, or was given up. */
  close(): void;
}

export interface SchedulerOptions<S extends Slice> {
  readonly queue: SliceQueue<S>;
  /** Undefined: there is no quota, and `unpaced` slices are open at once. */
  readonly pace: () => Pace | undefined;
  readonly unpaced: number;
  readonly clock: Clock;
  /** Once it aborts no further slice is opened, and the wait for the next one ends. */
  readonly signal: AbortSignal;
  /** Once it aborts no further slice is opened either, and what is open is finished. */
  readonly closing?: AbortSignal | undefined;
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
 * Opens slices, as many at once as it takes to use the quota: one while answers come faster than tokens, several where they
 * don't, and before the first answer another one each time that a token would be lost because the bucket is full.
 */
export class Scheduler<S extends Slice> {
  readonly #queue: SliceQueue<S>;
  readonly #options: SchedulerOptions<S>;
  readonly #open = new Map<S, OpenState>();
  /** Something happened that may make room for another slice. */
  readonly #changes = new EventEmitter<{ change: [] }>();
  #plan: ConcurrencyPlan | undefined;
  #isStale = true;
  readonly #failures: unknown[] = [];
  #pages = 0;
  #openedAt = -Infinity;

  constructor(options: SchedulerOptions<S>) {
    this.#queue = options.queue;
    this.#options = options;
  }

  /**
   * The slices, each cut from the queue when there is room for it, so that what the others were found to hold sizes it. Ends
   * once the queue is empty and every slice was closed; earlier after a failure, or when either signal aborts: see `failure`.
   */
  async *slices(): AsyncGenerator<OpenSlice<S>> {
    const { closing } = this.#options;
    const changed = (): void => {
      this.#changes.emit('change');
    };
    closing?.addEventListener('abort', changed, { once: true });
    try {
      while (this.failure === undefined) {
        const slice = this.#next();
        if (slice !== undefined) yield this.#opened(slice);
        else if (this.#open.size > 0) await this.#change();
        else {
          const missing = this.#queue.missed?.() ?? [];
          if (missing.length === 0) return;
          for (const missed of missing) yield this.#opened(missed);
        }
      }
    } catch (error) {
      this.fail(error);
    } finally {
      closing?.removeEventListener('abort', changed);
    }
  }

  /** Opens no further slice. Those that are open are nobody's failure, and come to their end. */
  fail(error: unknown): void {
    this.#failures.push(error);
    this.#changes.emit('change');
  }

  /** Why no further slice is opened: the first failure, or the reason of a signal; undefined where nothing stands in the way. */
  get failure(): unknown {
    const { signal, closing } = this.#options;
    if (this.#failures.length > 0) return this.#failures[0];
    if (signal.aborted) return signal.reason as unknown;
    return closing?.aborted === true && this.#queue.left !== '' ? (closing.reason as unknown) : undefined;
  }

  /** Pages that all that is open or isn't begun is expected to have left; null while nothing is known. */
  get pagesLeft(): number | null {
    const stretches = this.#queue.stretches();
    if (stretches === undefined) return null;
    let left = stretches.reduce((sum, { pages }) => sum + Math.max(1, pages), 0);
    for (const [slice, state] of this.#open) if (!state.isWhole) left += this.#pagesLeftOf(slice, state);
    return Math.ceil(left);
  }

  #opened(slice: S): OpenSlice<S> {
    const state: OpenState = { pages: 0, isWhole: false };
    this.#open.set(slice, state);
    this.#openedAt = this.#options.clock.now();
    const left = (): number => this.#pagesLeftOf(slice, state);
    return {
      slice,
      get priority() {
        return -left();
      },
      learn: (progress) => {
        state.pages = progress.pages;
        state.isWhole = progress.isWhole;
        this.#queue.learn(slice, progress);
        this.#pages++;
        if (this.#pages <= settledPages) this.#isStale = true;
        this.#changes.emit('change');
      },
      close: () => {
        this.#open.delete(slice);
        this.#isStale = true;
        this.#changes.emit('change');
      },
    };
  }

  #pagesLeftOf(slice: S, { pages }: OpenState): number {
    return Math.max(1, (this.#queue.expected(slice) ?? 1) - pages);
  }

  /** The slice to open now, if any. */
  #next(): S | undefined {
    const paced = this.#options.pace();
    if (paced === undefined) {
      return this.#open.size < this.#options.unpaced ? this.#queue.next(maxPages) : undefined;
    }
    const stretches = this.#queue.stretches();
    if (this.#isStale && stretches !== undefined && stretches.length > 0) {
      const open = [...this.#open].map(([slice, state]) => this.#pagesLeftOf(slice, state));
      this.#plan = planConcurrency({ open, stretches, quota: paced, latency: paced.latency ?? guessedLatency });
      this.#isStale = false;
    }
    const hasRoom = this.#open.size < (this.#plan?.open ?? 1) || this.#msToOverflow(paced) <= 0;
    return hasRoom ? this.#queue.next(this.#plan?.pages ?? maxPages) : undefined;
  }

  /** Milliseconds until a token is lost because the bucket is full, and the slice opened last hasn't asked for it. */
  #msToOverflow({ rate, burst, level }: Pace): number {
    const sinceOpened = this.#options.clock.now() - this.#openedAt;
    return Math.max((1000 * (burst - 0.01 - level)) / rate, 1000 / rate - sinceOpened);
  }

  /** Resolves once there may be room for another slice, or none is to be opened any more. */
  async #change(): Promise<void> {
    const { pace, clock, signal } = this.#options;
    const over = new AbortController();
    const until = AbortSignal.any([over.signal, signal]);
    const waits: Promise<unknown>[] = [once(this.#changes, 'change', { signal: until })];
    const paced = this.#queue.left === '' ? undefined : pace();
    if (paced !== undefined) waits.push(clock.sleep(Math.max(1, this.#msToOverflow(paced)), until));
    try {
      await Promise.race(waits);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      over.abort();
      // The waits that lost the race end with the signal's reason, which is nobody's failure.
      await Promise.allSettled(waits);
    }
  }
}
