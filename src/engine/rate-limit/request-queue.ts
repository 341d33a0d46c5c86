import PQueue, { PriorityQueue, type Queue, type QueueAddOptions } from 'p-queue';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { excerpt } from '../retry/api-refusal.js';
import type { Pace } from '../run/pipeline.js';
import type { PersistedQuota } from '../journal/persisted-quota.js';
import { TokenBucket } from './token-bucket.js';

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

type Job<T> = (signal: AbortSignal) => Promise<T>;

interface WaitingJob {
  /** In p-queue. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly since: number;
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
 * A token is taken only while a job waits and a slot is free. The job is chosen when the token is available, so that a later
 * job of higher priority gets it. So p-queue sees the waiting jobs through a gate, which a token opens for one job. A job that
 * has waited for `patienceMs` gets the next token, as its cursor may expire.
 */
export class RequestQueue {
  readonly #queue: PQueue<Jobs>;
  readonly #gate: Gate;
  readonly #concurrency: number;
  readonly #bucket: TokenBucket | undefined;
  /** One for each waiting job, in order of arrival: aborting it removes the job from p-queue. */
  readonly #waiting = new Map<AbortController, WaitingJob>();
  readonly #patienceMs: number;
  /** Ends the sleep until the next token; undefined without a sleep. */
  #alarm: AbortController | undefined;
  #jobs = 0;
  #latency: number | undefined;
  #onUnfitRate: RequestQueueOptions['onUnfitRate'];

  /** @throws TypeError for a concurrency below 1 */
  constructor({ bucket, concurrency, patienceMs = Infinity, onUnfitRate }: RequestQueueOptions) {
    this.#bucket = bucket;
    this.#concurrency = concurrency;
    this.#onUnfitRate = onUnfitRate;
    this.#patienceMs = patienceMs;
    this.#gate = { slots: bucket === undefined ? Infinity : 0 };
    this.#queue = new PQueue({ concurrency, queueClass: jobsBehind(this.#gate) });
    // A job has ended, or a waiting one was aborted.
    this.#queue.on('next', () => {
      this.#startJobs();
    });
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
    this.#restart();
  }

  /** Records a throttled request: none is sent for `waitMs`. */
  refused(waitMs: number): void {
    this.#bucket?.refused(waitMs);
    this.#restart();
  }

  /** Records a request that failed for another reason. */
  failed(): void {
    this.#bucket?.failed();
    this.#restart();
  }

  /** Applies the rate of an answer's header, limited to plausible rates; undefined: no header. */
  takeNamedRate(header: string | undefined): void {
    if (header === undefined || this.#bucket === undefined) return;
    const { rate, isFit } = readNamedRate(header);
    if (rate !== undefined) {
      this.#bucket.setRate(rate);
      this.#restart();
    }
    if (isFit) return;
    this.#onUnfitRate?.(header, this.#bucket.rate);
    this.#onUnfitRate = undefined;
  }

  /**
   * Runs the job in its turn and returns its result. Every call takes one token, so that a retry is a separate call. A started
   * job occupies its slot until it has settled, and must end when the signal aborts.
   *
   * @returns undefined for a job that may not start when its turn has come: its token is given back
   * @throws what the job throws; the signal's reason when it aborts before the job has started
   */
  run<T>(job: Job<T>, options: QueuedJobOptions): Promise<T>;
  run<T>(job: Job<T>, options: QueuedJobOptions & { readonly mayStart: () => boolean }): Promise<T | undefined>;
  async run<T>(
    job: Job<T>,
    { priority, signal, mayStart = () => true }: QueuedJobOptions & { readonly mayStart?: () => boolean },
  ): Promise<T | undefined> {
    signal.throwIfAborted();
    const waiting = new AbortController();
    const endWait = (): void => {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', giveUp);
    };
    const giveUp = (): void => {
      endWait();
      waiting.abort(signal.reason);
      if (this.#waiting.size === 0) this.#stopSleeping();
    };

    const id = String(this.#jobs++);
    this.#waiting.set(waiting, { id, since: this.#bucket?.clock.now() ?? 0 });
    signal.addEventListener('abort', giveUp, { once: true });
    // p-queue gets the signal of the wait only: with the job's signal it would free the slot before the job has ended.
    const result = this.#queue.add(
      () => {
        endWait();
        if (mayStart()) return job(signal);
        this.#bucket?.giveBack();
        return Promise.resolve(undefined);
      },
      { id, priority: -priority, signal: waiting.signal },
    );
    this.#startJobs();
    try {
      return await result;
    } finally {
      endWait();
    }
  }

  /** Called after a change of the bucket, which may allow waiting jobs to start. */
  #restart(): void {
    this.#stopSleeping();
    this.#startJobs();
  }

  /** Starts the jobs of highest priority while there are tokens and slots, and sleeps until the next token. */
  #startJobs(): void {
    const bucket = this.#bucket;
    if (bucket === undefined || this.#alarm !== undefined) return;
    while (this.#waiting.size > 0 && this.#queue.pending < this.#concurrency) {
      if (!bucket.take()) {
        if (!bucket.isProbing) this.#sleep(bucket.nextTokenAt() - bucket.clock.now());
        return;
      }
      this.#promoteImpatient(bucket.clock.now());
      this.#gate.slots = 1;
      // The setter makes p-queue start jobs.
      this.#queue.concurrency = this.#concurrency;
      this.#gate.slots = 0;
    }
  }

  /** Gives the longest waiting job top priority once it has waited for `patienceMs`. */
  #promoteImpatient(now: number): void {
    const [longest] = this.#waiting.values();
    if (longest !== undefined && now - longest.since >= this.#patienceMs)
      this.#queue.setPriority(longest.id, topPriority);
  }

  /** Timers can be early, and last at most 24 days: `#startJobs` checks the clock after the sleep. */
  #sleep(ms: number): void {
    const alarm = new AbortController();
    this.#alarm = alarm;
    this.#bucket?.clock.sleep(Math.min(ms, longestTimer), alarm.signal).then(
      () => {
        if (this.#alarm !== alarm) return;
        this.#alarm = undefined;
        this.#startJobs();
      },
      (error: unknown) => {
        // Aborted by `#stopSleeping`.
        if (this.#alarm !== alarm) return;
        this.#alarm = undefined;
        const failed = [...this.#waiting.keys()];
        this.#waiting.clear();
        for (const waiting of failed) waiting.abort(error);
      },
    );
  }

  #stopSleeping(): void {
    const alarm = this.#alarm;
    this.#alarm = undefined;
    alarm?.abort();
  }
}

/** Limits how many waiting jobs may start. */
interface Gate {
  slots: number;
}

type Jobs = Queue<RunFunction, QueueAddOptions>;
type RunFunction = () => Promise<unknown>;

/** p-queue's priority queue, which shows it as many jobs as the gate has slots. */
function jobsBehind(gate: Gate): new () => Jobs {
  return class implements Jobs {
    readonly #jobs = new PriorityQueue();

    get size(): number {
      return Math.min(gate.slots, this.#jobs.size);
    }

    dequeue(): RunFunction | undefined {
      gate.slots--;
      return this.#jobs.dequeue();
    }

    enqueue(run: RunFunction, options?: Partial<QueueAddOptions>): void {
      this.#jobs.enqueue(run, options);
    }

    setPriority(id: string, priority: number): void {
      this.#jobs.setPriority(id, priority);
    }

    remove(id: string): void {
      this.#jobs.remove(id);
    }

    filter(options: Readonly<Partial<QueueAddOptions>>): RunFunction[] {
      return this.#jobs.filter(options);
    }
  };
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

/** Requests a second: the limits of a plausible rate. One in 200 s is below all known rates of the service. */
const least = 0.005;
const most = 10_000;

/**
 * Reads the rate of an answer's header. Too low a rate would stop a run for years, too high a rate is no quota: the nearest
 * limit applies (`isFit`: the rate itself). A text that isn't a positive number has no rate.
 */
export function readNamedRate(header: string): { rate: number | undefined; isFit: boolean } {
  const named = header.trim() === '' ? NaN : Number(header);
  if (!(Number.isFinite(named) && named > 0)) return { rate: undefined, isFit: false };
  const rate = Math.min(most, Math.max(least, named));
  return { rate, isFit: rate === named };
}
