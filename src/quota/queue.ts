import PQueue from 'p-queue';
import type { TokenBucket } from './bucket.js';

export interface RequestQueueOptions {
  /** Paces the starts. Left out: not throttled. */
  readonly bucket?: TokenBucket | undefined;
  /** Jobs that run at once: a whole number from 1 on, or Infinity. */
  readonly concurrency: number;
}

export interface JobOptions {
  /** Place among the jobs that wait: the lowest number goes first, equal ones in the order of asking. */
  readonly priority: number;
  readonly signal: AbortSignal;
}

/**
 * Requests in the order of their importance, so many at once and no faster than the bucket allows: p-queue holds the
 * work, its order and its concurrency, the bucket paces the starts.
 *
 * A token is asked for only while a job waits and there is room for it to run, and the job is chosen at the instant at
 * which the token is there: whoever came meanwhile and is more important gets it. For that p-queue is paused between
 * two starts.
 */
export class RequestQueue {
  readonly #queue: PQueue;
  readonly #bucket: TokenBucket | undefined;
  /** Ends the wait for the next token, while there is one. */
  #asking: AbortController | undefined;
  /** One for each job that waits: aborting it takes the job out of p-queue. */
  readonly #waiting = new Set<AbortController>();

  /** @throws TypeError for a concurrency below 1 */
  constructor({ bucket, concurrency }: RequestQueueOptions) {
    this.#bucket = bucket;
    this.#queue = new PQueue({ concurrency, autoStart: bucket === undefined });
    // A job has ended, or one that waited was given up.
    this.#queue.on('next', () => {
      this.#ask();
    });
  }

  /** Changes the tokens a second; nothing where there is no bucket. Throws a USAGE error for what isn't a rate. */
  setRate(rate: number): void {
    this.#bucket?.setRate(rate);
  }

  /**
   * Runs the work when its turn has come and returns what it returns. Every call takes one token, so that a retry is
   * a call of its own. Once started the work keeps its place until it has settled: it is up to the work to end when
   * the signal aborts.
   *
   * @throws what the work throws; the signal's reason when it aborts before the work was started
   */
  async run<T>(work: (signal: AbortSignal) => Promise<T>, { priority, signal }: JobOptions): Promise<T> {
    signal.throwIfAborted();
    const waiting = new AbortController();
    const giveUp = (): void => {
      waiting.abort(signal.reason);
    };
    const wait = (): void => {
      this.#waiting.add(waiting);
      signal.addEventListener('abort', giveUp, { once: true });
    };
    const endWait = (): void => {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', giveUp);
    };

    wait();
    // p-queue gets the signal of the wait only: it would give away the place of a job that is still on its way to end.
    const result = this.#queue.add(
      () => {
        if (this.#bucket !== undefined) this.#queue.pause();
        endWait();
        return work(signal);
      },
      { priority: -priority, signal: waiting.signal },
    );
    this.#ask();
    try {
      return await result;
    } finally {
      endWait();
    }
  }

  /** Asks for a token if there is a job for it; one at a time. */
  #ask(): void {
    if (this.#bucket === undefined) return;
    if (this.#queue.size === 0) {
      this.#asking?.abort();
      this.#asking = undefined;
      return;
    }
    if (this.#asking !== undefined || this.#queue.pending >= this.#queue.concurrency) return;
    const asking = new AbortController();
    this.#asking = asking;
    this.#bucket
      .spend(() => this.#startBest(), asking.signal)
      .then(
        () => {
          if (this.#asking !== asking) return;
          this.#asking = undefined;
          this.#ask();
        },
        (error: unknown) => {
          if (this.#asking !== asking) return;
          this.#asking = undefined;
          for (const waiting of this.#waiting) waiting.abort(error);
        },
      );
  }

  /** Starts the most important job that waits; false where none does any more. */
  #startBest(): boolean {
    const before = this.#queue.pending;
    // p-queue would now start one job after the other until there is no room, but each pauses it as its first act.
    this.#queue.start();
    this.#queue.pause();
    return this.#queue.pending > before;
  }
}
