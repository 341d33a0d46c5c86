import PQueue from 'p-queue';
import type { Clock } from '../../core/clock.js';
import type { TokenBucket } from './token-bucket.js';
import { readNamedRate } from './named-rate.js';

export interface RequestQueueOptions {
  /** Paces the starts. Left out: not throttled. */
  readonly bucket?: TokenBucket | undefined;
  /** Jobs that run at once: a whole number from 1 on, or Infinity. */
  readonly concurrency: number;
  /** A job that has waited for so many milliseconds goes before more important ones. Left out: none does. */
  readonly patience?: { readonly ms: number; readonly clock: Clock } | undefined;
  /** Told once of a rate that can't be meant, as it was named, and of the rate that counts. */
  readonly onUnfitRate?: ((named: string, rate: number) => void) | undefined;
}

export interface JobOptions {
  /** Place among the jobs that wait: the lowest number goes first, equal ones in the order of asking. */
  readonly priority: number;
  readonly signal: AbortSignal;
}

interface WaitingJob {
  /** In p-queue. */
  readonly id: string;
  /** Milliseconds since 1970; undefined where nobody looks. */
  readonly since: number | undefined;
}

/** Above every priority that a job can have been given. */
const foremost = Number.MAX_VALUE;

/**
 * Requests in the order of their importance, so many at once and no faster than the bucket allows: p-queue holds the
 * work, its order and its concurrency, the bucket paces the starts.
 *
 * A token is asked for only while a job waits and there is room for it to run, and the job is chosen at the instant at
 * which the token is there: whoever came meanwhile and is more important gets it. For that p-queue is paused between
 * two starts. Nobody waits for ever: what a job asks with may have a life of its own.
 */
export class RequestQueue {
  readonly #queue: PQueue;
  readonly #bucket: TokenBucket | undefined;
  /** Ends the wait for the next token, while there is one. */
  #asking: AbortController | undefined;
  /** One for each job that waits, in the order of asking: aborting it takes the job out of p-queue. */
  readonly #waiting = new Map<AbortController, WaitingJob>();
  readonly #patience: RequestQueueOptions['patience'];
  #jobs = 0;
  #onUnfitRate: RequestQueueOptions['onUnfitRate'];

  /** @throws TypeError for a concurrency below 1 */
  constructor({ bucket, concurrency, patience, onUnfitRate }: RequestQueueOptions) {
    this.#bucket = bucket;
    this.#onUnfitRate = onUnfitRate;
    this.#patience = patience;
    this.#queue = new PQueue({ concurrency, autoStart: bucket === undefined });
    // A job has ended, or one that waited was given up.
    this.#queue.on('next', () => {
      this.#ask();
    });
  }

  /** The jobs' bucket, for whoever tells it what the upstream says. */
  get bucket(): TokenBucket | undefined {
    return this.#bucket;
  }

  /** Changes the tokens a second; nothing where there is no bucket. Throws a USAGE error for what isn't a rate. */
  setRate(rate: number): void {
    this.#bucket?.setRate(rate);
  }

  /** Takes the rate that an answer's header names, as far as it can be meant; undefined: it names none. */
  takeNamedRate(header: string | undefined): void {
    if (header === undefined || this.#bucket === undefined) return;
    const { rate, isFit } = readNamedRate(header);
    if (rate !== undefined) this.#bucket.setRate(rate);
    if (isFit) return;
    this.#onUnfitRate?.(header, this.#bucket.rate);
    this.#onUnfitRate = undefined;
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
    const id = String(this.#jobs++);
    const wait = (): void => {
      this.#waiting.set(waiting, { id, since: this.#patience?.clock.now() });
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
      { id, priority: -priority, signal: waiting.signal },
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
          for (const waiting of this.#waiting.keys()) waiting.abort(error);
        },
      );
  }

  /** Starts the most important job that waits; false where none does any more. */
  #startBest(): boolean {
    this.#promoteImpatient();
    const before = this.#queue.pending;
    // p-queue would now start one job after the other until there is no room, but each pauses it as its first act.
    this.#queue.start();
    this.#queue.pause();
    return this.#queue.pending > before;
  }

  /** Puts the job that has waited longest before all others, if that was too long. */
  #promoteImpatient(): void {
    const [longest] = this.#waiting.values();
    if (this.#patience === undefined || longest?.since === undefined) return;
    if (this.#patience.clock.now() - longest.since >= this.#patience.ms) this.#queue.setPriority(longest.id, foremost);
  }
}
