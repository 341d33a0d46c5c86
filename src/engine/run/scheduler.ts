import { EventEmitter, once } from 'node:events';
import type { Clock } from '../../core/clock.js';
import { monthNumber } from '../../core/windows.js';
import { planConcurrency, maxPages, type ConcurrencyPlan, type Stretch } from './concurrency-plan.js';
import type { Pace } from './pipeline.js';
import type { Slice, Progress, SliceQueue } from './slice-queue.js';
import { windowOf } from '../../lake/loads/load-keys.js';

/** A slice that is being loaded. */
export interface OpenSlice<S extends Slice = Slice> {
  readonly slice: S;
  /**
   * Among the waiting requests the lowest is sent first: of a slice that would end after all others, then of the newest month, so
   * that it is complete early; of several alike that with most remaining pages.
   */
  readonly priority: number;
  /** Records the progress: after each page, and after the last one. */
  learn(progress: Progress): void;
  /** Frees its slot: it was committed, put back, or skipped. */
  close(): void;
}

export interface SchedulerOptions<S extends Slice> {
  readonly queue: SliceQueue<S>;
  /** Undefined: no quota, and `unpaced` slices are open at once. */
  readonly pace: () => Pace | undefined;
  readonly unpaced: number;
  readonly clock: Clock;
  /** Once it aborts no further slice is opened, and waiting ends. */
  readonly signal: AbortSignal;
  /** Once it aborts no further slice is opened; the open ones are completed. */
  readonly closing?: AbortSignal | undefined;
}

/** The progress of an open slice. */
interface OpenState {
  pages: number;
  isWhole: boolean;
}

/** Assumed seconds of an answer before the first one. */
const guessedLatency = 1;

/** More than a slice has. */
const pagesPerMonth = 1_000_000;

/** Later than every month. */
const urgentMonth = 1_000_000;

/** A slice whose pages, one after the other, take more than this share of the time that the quota leaves is urgent. */
const urgentShare = 0.4;

/** Pages after which further ones hardly change the estimates of latency and density. */
const settledPages = 40;

/**
 * Opens as many slices at once as the quota needs: one while answers are faster than tokens, otherwise several; before the first
 * answer another one each time that a full bucket would lose a token.
 */
export class Scheduler<S extends Slice> {
  readonly #queue: SliceQueue<S>;
  readonly #options: SchedulerOptions<S>;
  readonly #open = new Map<S, OpenState>();
  /** Slices to read again that aren't open yet. */
  readonly #missed: S[] = [];
  /** Emits `change` when another slice may be opened. */
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
   * The slices, each cut from the queue when it can be opened, so that the density found so far determines its size. Ends once
   * the queue is empty and every slice is closed; earlier after a failure, or when either signal aborts: see `failure`.
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
          this.#missed.push(...(this.#queue.missed?.() ?? []));
          if (this.#missed.length === 0) return;
        }
      }
    } catch (error) {
      this.fail(error);
    } finally {
      closing?.removeEventListener('abort', changed);
    }
  }

  /** Opens no further slice. The open ones are completed. */
  fail(error: unknown): void {
    this.#failures.push(error);
    this.#changes.emit('change');
  }

  /** Why no further slice is opened: the first failure, or the reason of a signal; undefined otherwise. */
  get failure(): unknown {
    const { signal, closing } = this.#options;
    if (this.#failures.length > 0) return this.#failures[0];
    if (signal.aborted) return signal.reason as unknown;
    return closing?.aborted === true && !this.#isEmpty ? (closing.reason as unknown) : undefined;
  }

  /** Expected remaining pages of open and unopened slices; null: unknown. */
  get pagesLeft(): number | null {
    const stretches = this.#stretches();
    if (stretches === undefined) return null;
    let left = stretches.reduce((sum, { pages }) => sum + Math.max(1, pages), 0);
    for (const [slice, state] of this.#open) if (!state.isWhole) left += this.#pagesLeftOf(slice, state);
    return Math.ceil(left);
  }

  get #isEmpty(): boolean {
    return this.#queue.left === '' && this.#missed.length === 0;
  }

  /** All that isn't open yet, in expected pages; undefined: unknown. */
  #stretches(): readonly Stretch[] | undefined {
    const stretches = this.#queue.stretches();
    const missed = this.#missed.map((slice) => ({ pages: this.#queue.expected(slice) ?? 1, isCuttable: false }));
    return stretches && [...stretches, ...missed];
  }

  #opened(slice: S): OpenSlice<S> {
    const state: OpenState = { pages: 0, isWhole: false };
    this.#open.set(slice, state);
    this.#openedAt = this.#options.clock.now();
    const left = (): number => this.#pagesLeftOf(slice, state);
    const window = windowOf(slice);
    const month = window === undefined ? 0 : monthNumber(window.start);
    const priorityOf = (pages: number): number =>
      -(this.#endsLast(pages) ? urgentMonth : month) * pagesPerMonth - Math.min(pages, pagesPerMonth - 1);
    return {
      slice,
      get priority() {
        return priorityOf(left());
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

  /** Whether a slice with this many remaining pages would end after what else is to be read, if it waited for that. */
  #endsLast(pages: number): boolean {
    const pace = this.#options.pace();
    const allPages = pace && this.pagesLeft;
    if (pace === undefined || allPages == null) return false;
    const quotaSeconds = Math.max(0, allPages - pace.level) / pace.rate;
    return pages * (pace.latency ?? guessedLatency) > urgentShare * quotaSeconds;
  }

  #pagesLeftOf(slice: S, { pages }: OpenState): number {
    return Math.max(1, (this.#queue.expected(slice) ?? 1) - pages);
  }

  /** The slice to open now, if any. */
  #next(): S | undefined {
    if (this.#open.size >= (this.#queue.mostOpen ?? Infinity)) return undefined;
    const paced = this.#options.pace();
    if (paced === undefined) {
      return this.#open.size < this.#options.unpaced ? this.#take(maxPages) : undefined;
    }
    const stretches = this.#stretches();
    if (this.#isStale && stretches !== undefined && stretches.length > 0) {
      const open = [...this.#open].map(([slice, state]) => this.#pagesLeftOf(slice, state));
      this.#plan = planConcurrency({ open, stretches, quota: paced, latency: paced.latency ?? guessedLatency });
      this.#isStale = false;
    }
    const hasRoom = this.#open.size < (this.#plan?.open ?? 1) || this.#msToOverflow(paced) <= 0;
    return hasRoom ? this.#take(this.#plan?.pages ?? maxPages) : undefined;
  }

  /** Removes the first slice, cut to about `pages` where possible. */
  #take(pages: number): S | undefined {
    return this.#queue.next(pages) ?? this.#missed.shift();
  }

  /** Milliseconds until the full bucket loses a token; at least one token's interval after the last slice was opened. */
  #msToOverflow({ rate, burst, level }: Pace): number {
    const sinceOpened = this.#options.clock.now() - this.#openedAt;
    return Math.max((1000 * (burst - 0.01 - level)) / rate, 1000 / rate - sinceOpened);
  }

  /** Resolves once another slice may be opened, or after an abort. */
  async #change(): Promise<void> {
    const { pace, clock, signal } = this.#options;
    const over = new AbortController();
    const until = AbortSignal.any([over.signal, signal]);
    const waits: Promise<unknown>[] = [once(this.#changes, 'change', { signal: until })];
    const paced = this.#isEmpty ? undefined : pace();
    if (paced !== undefined) waits.push(clock.sleep(Math.max(1, this.#msToOverflow(paced)), until));
    try {
      await Promise.race(waits);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      over.abort();
      // The other waits reject with the signal's reason, which isn't a failure.
      await Promise.allSettled(waits);
    }
  }
}
