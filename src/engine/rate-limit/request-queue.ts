import PQueue from 'p-queue';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { excerpt } from '../retry/api-refusal.js';
import type { Pace } from '../run/pipeline.js';
import type { PersistedQuota } from '../page-journal/persisted-quota.js';
import { readNamedRate, TokenBucket } from './token-bucket.js';

interface RequestQueueOptions {
  /** Paces the starts. Left out: not throttled. */
  readonly bucket?: TokenBucket | undefined;
  /** Jobs that run at once: a whole number from 1 on, or Infinity. */
  readonly concurrency: number;
  /** A job that has waited for this many milliseconds precedes those of higher priority. Default: never. */
  readonly patienceMs?: number | undefined;
  /** Called with the first implausible rate of a header, and the rate that applies. */
  readonly onUnfitRate?: (named: string, rate: number) => void;
}

interface QueuedJobOptions {
  /** Among the waiting jobs: the lowest number first, equal ones in order of arrival. */
  readonly priority: number;
  readonly signal: AbortSignal;
}

type QueueTask<T> = (signal: AbortSignal) => Promise<T>;

interface WaitingJob {
  /** In p-queue. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Removes the job from p-queue. */
  readonly removal: AbortController;
}

/** Higher than every priority of a job. */
const topPriority = Number.MAX_VALUE;

/** Weight of the newest answer in the average latency. */
const newestShare = 0.2;

/** Milliseconds; Node runs longer timers after 1 ms. */
const longestTimer = 2 ** 31 - 1;

/** Whether requests at a rate are worth saving: then slices follow the quota, and pages are journaled. */
export function isWorthPacing(rate: number): boolean {
  return rate <= 100;
}

/**
 * Requests by priority, with limited concurrency and no faster than the bucket allows: p-queue manages the jobs, their order
 * and their concurrency, the bucket paces the starts.
 *
 * With a bucket p-queue is paused. It is started for one job at a time, while a token is available and a slot is free, and the
 * job that starts pauses it and takes the token. So the job is chosen when the token is available, and a later job of higher
 * priority gets it. A job that has waited for `patienceMs` is next, as its cursor may expire.
 */
export class RequestQueue {
  readonly #queue: PQueue;
  readonly #bucket: TokenBucket | undefined;
  readonly #patienceMs: number;
  /** In order of arrival. */
  readonly #waiting = new Set<WaitingJob>();
  /** Ends the sleep until the next token. */
  #alarm = new AbortController();
  #jobs = 0;
  #latency: number | undefined;
  #onUnfitRate: RequestQueueOptions['onUnfitRate'];

  /** @throws TypeError for a concurrency below 1 */
  constructor({ bucket, concurrency, patienceMs = Infinity, onUnfitRate }: RequestQueueOptions) {
    this.#bucket = bucket;
    this.#onUnfitRate = onUnfitRate;
    this.#patienceMs = patienceMs;
    this.#queue = new PQueue({ concurrency, autoStart: bucket === undefined });
    // A job has ended, or a waiting one was aborted.
    this.#queue.on('next', () => {
      this.#startJobs();
    });
  }

  /**
   * Runs the job in its turn and returns its result. Every job that starts takes one token, so that a retry is a separate call. A
   * started job occupies its slot until it has settled, and must end when the signal aborts.
   *
   * @returns undefined for a job that may not start when its turn has come: it takes no token
   * @throws what the job throws; the signal's reason when it aborts before the job has started
   */
  run<T>(job: QueueTask<T>, options: QueuedJobOptions): Promise<T>;
  run<T>(job: QueueTask<T>, options: QueuedJobOptions & { readonly mayStart: () => boolean }): Promise<T | undefined>;
  async run<T>(
    job: QueueTask<T>,
    { priority, signal, mayStart = () => true }: QueuedJobOptions & { readonly mayStart?: () => boolean },
  ): Promise<T | undefined> {
    signal.throwIfAborted();
    const id = String(this.#jobs++);
    const waiting = { id, since: this.#bucket?.clock.now() ?? 0, removal: new AbortController() };
    const endWait = (): void => {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', giveUp);
    };
    const giveUp = (): void => {
      endWait();
      waiting.removal.abort(signal.reason);
    };
    const start = (): Promise<T | undefined> => {
      endWait();
      if (this.#bucket !== undefined) this.#queue.pause();
      if (!mayStart()) return Promise.resolve(undefined);
      this.#bucket?.take();
      return job(signal);
    };

    this.#waiting.add(waiting);
    signal.addEventListener('abort', giveUp, { once: true });
    // With the job's own signal p-queue would free the slot before the job has ended.
    const result = this.#queue.add(start, { id, priority: -priority, signal: waiting.removal.signal });
    this.#startJobs();
    try {
      return await result;
    } finally {
      endWait();
    }
  }

  /** Starts the jobs of highest priority while there are tokens and slots, and sleeps until the next token. */
  #startJobs(): void {
    const bucket = this.#bucket;
    if (bucket === undefined) return;
    this.#alarm.abort();
    while (this.#queue.size > 0 && this.#queue.pending < this.#queue.concurrency && !bucket.isProbing) {
      const nextTokenAt = bucket.nextTokenAt();
      // Read after the bucket has read it: a clock that goes on meanwhile makes no request wait.
      const now = bucket.clock.now();
      if (nextTokenAt > now) {
        this.#sleep(nextTokenAt - now, bucket.clock);
        return;
      }
      const [longest] = this.#waiting;
      if (longest !== undefined && now - longest.since >= this.#patienceMs)
        this.#queue.setPriority(longest.id, topPriority);
      this.#queue.start();
    }
  }

  /** Timers can be early, and last at most 24 days: `#startJobs` checks the clock after the sleep. */
  #sleep(ms: number, clock: Clock): void {
    const { signal } = (this.#alarm = new AbortController());
    clock.sleep(Math.min(ms, longestTimer), signal).then(
      () => {
        if (!signal.aborted) this.#startJobs();
      },
      (error: unknown) => {
        if (signal.aborted) return;
        for (const { removal } of this.#waiting) removal.abort(error);
      },
    );
  }

  /** The rate of requests, and their latency; undefined: not throttled. */
  pace(): Pace | undefined {
    const bucket = this.#bucket;
    if (bucket === undefined || !isWorthPacing(bucket.rate)) return undefined;
    return { rate: bucket.rate, burst: bucket.burst, level: bucket.level(), latency: this.#latency };
  }

  /** Records a granted request, and the seconds to its complete answer. */
  answered(seconds: number): void {
    const before = this.#latency ?? seconds;
    this.#latency = before + (seconds - before) * newestShare;
    this.#bucket?.granted();
    this.#startJobs();
  }

  /** Records a throttled request: none is sent for `waitMs`. */
  refused(waitMs: number): void {
    this.#bucket?.refused(waitMs);
    this.#startJobs();
  }

  /** Records a request that failed for another reason. */
  failed(): void {
    this.#bucket?.failed();
    this.#startJobs();
  }

  /** Applies the rate of an answer's header, limited to plausible rates; undefined: no header. */
  takeNamedRate(header: string | undefined): void {
    if (header === undefined || this.#bucket === undefined) return;
    const { rate, isFit } = readNamedRate(header);
    if (rate !== undefined) this.#bucket.setRate(rate);
    if (!isFit) {
      this.#onUnfitRate?.(header, this.#bucket.rate);
      this.#onUnfitRate = undefined;
    }
    this.#startJobs();
  }
}

interface PacedQueueOptions {
  /** Of the operation: identifies its bucket in the persisted state and in events. */
  readonly name: string;
  /** Undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  readonly clock: Clock;
  /** How long a cursor is accepted: no request may wait that long. */
  readonly cursorLifeMs: number;
  /** Stores the state of the bucket between runs. */
  readonly kept: PersistedQuota | undefined;
  /** Receives the events of the bucket. */
  readonly emit: Emit | undefined;
}

/** Concurrent requests of one operation: the maximum of open slices. */
const concurrency = 20;

/** Seconds by which a request may overtake the previous one on the network, and the most tokens that this costs. */
const overtaking = { seconds: 0.6, tokens: 3 };

/** The queue of an operation's requests, with a bucket that is persisted between runs. */
export function pacedQueue({ name, quota, clock, cursorLifeMs, kept, emit }: PacedQueueOptions): RequestQueue {
  if (quota === undefined) return new RequestQueue({ concurrency });
  const bucket: TokenBucket = new TokenBucket({
    ...quota,
    clock,
    reserve: Math.min(overtaking.tokens, overtaking.seconds * quota.rate),
    state: kept?.stateOf(name),
    changed: () => {
      kept?.keep(name, bucket.state);
      const { rate, burst } = bucket;
      const nextTokenSeconds = (bucket.nextTokenAt() - clock.now()) / 1000;
      const state = { rate, burst, tokens: bucket.level(), nextTokenSeconds: Math.max(0, nextTokenSeconds) };
      emit?.({ event: 'bucket-changed', operation: name, ...state });
    },
  });
  const onUnfitRate = (named: string, rate: number): void => {
    emit?.({ event: 'rate-unfit', operation: name, named: excerpt(named, 40), rate });
  };
  return new RequestQueue({ concurrency, bucket, patienceMs: cursorLifeMs / 4, onUnfitRate });
}
