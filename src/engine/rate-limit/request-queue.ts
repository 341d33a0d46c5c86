import PQueue, { PriorityQueue, type Queue, type QueueAddOptions } from 'p-queue';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { excerpt } from '../retry/api-refusal.js';
import type { Pace } from '../run/pipeline.js';
import type { KeptQuota } from '../journal/persisted-quota.js';
import { TokenBucket } from './token-bucket.js';

export interface RequestQueueOptions {
  /** Paces the starts. Left out: not throttled. */
  readonly bucket?: TokenBucket | undefined;
  /** Jobs that run at once: a whole number from 1 on, or Infinity. */
  readonly concurrency: number;
  /** A job that has waited for so many milliseconds goes before more important ones. Left out: none does. */
  readonly patienceMs?: number | undefined;
  /** Takes the first rate that can't be meant, as it was named, and the rate that counts. */
  readonly onUnfitRate?: (named: string, rate: number) => void;
}

export interface JobOptions {
  /** Place among the jobs that wait: the lowest number goes first, equal ones in the order of asking. */
  readonly priority: number;
  readonly signal: AbortSignal;
}

interface WaitingJob {
  /** In p-queue. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Above every priority that a job can have been given. */
const foremost = Number.MAX_VALUE;

/** Of the time that an answer took, against what was known: one slow answer says little. */
const newestShare = 0.2;

/** Milliseconds; a timer takes anything longer for 1. */
const longestTimer = 2 ** 31 - 1;

/** Whether slices are cut and opened by the quota, and pages kept for the next run: a faster one is never waited for. */
export function isWorthPacing(rate: number): boolean {
  return rate <= 100;
}

/**
 * Requests in the order of their importance, so many at once and no faster than the bucket allows: p-queue holds the
 * jobs, their order and their concurrency, the bucket paces the starts.
 *
 * A token is taken only while a job waits and there is room for it to run, and the job is chosen at the instant at
 * which the token is there: whoever came meanwhile and is more important gets it. So p-queue sees the waiting jobs through
 * a gate, which a token opens for one. Nobody waits for ever: what a job asks with may have a life of its own.
 */
export class RequestQueue {
  readonly #queue: PQueue<Jobs>;
  readonly #gate: Gate;
  readonly #concurrency: number;
  readonly #bucket: TokenBucket | undefined;
  /** One for each job that waits, in the order of asking: aborting it takes the job out of p-queue. */
  readonly #waiting = new Map<AbortController, WaitingJob>();
  readonly #patienceMs: number;
  /** Ends the sleep before the next token, while there is one. */
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
    // A job has ended, or one that waited was given up.
    this.#queue.on('next', () => {
      this.#startJobs();
    });
  }

  /** How fast requests can be sent, and how fast they are answered; undefined: as fast as they are answered. */
  pace(): Pace | undefined {
    const bucket = this.#bucket;
    if (bucket === undefined || !isWorthPacing(bucket.rate)) return undefined;
    return { rate: bucket.rate, burst: bucket.burst, level: bucket.level(), latency: this.#latency };
  }

  /** Takes in that a request was granted, and its whole answer there after so many seconds. */
  answered(seconds: number): void {
    const before = this.#latency ?? seconds;
    this.#latency = before + (seconds - before) * newestShare;
    this.#bucket?.granted();
    this.#lookAgain();
  }

  /** Takes in that the upstream refused a request for the quota, and that none is to be sent for so long. */
  refused(waitMs: number): void {
    this.#bucket?.refused(waitMs);
    this.#lookAgain();
  }

  /** Takes in that a request failed for another reason. */
  failed(): void {
    this.#bucket?.failed();
    this.#lookAgain();
  }

  /** Takes the rate that an answer's header names, as far as it can be meant; undefined: it names none. */
  takeNamedRate(header: string | undefined): void {
    if (header === undefined || this.#bucket === undefined) return;
    const { rate, isFit } = readNamedRate(header);
    if (rate !== undefined) {
      this.#bucket.setRate(rate);
      this.#lookAgain();
    }
    if (isFit) return;
    this.#onUnfitRate?.(header, this.#bucket.rate);
    this.#onUnfitRate = undefined;
  }

  /**
   * Runs the job when its turn has come and returns what it returns. Every call takes one token, so that a retry is
   * a call of its own. Once started the job keeps its slot until it has settled: it is up to the job to end when
   * the signal aborts.
   *
   * @throws what the job throws; the signal's reason when it aborts before the job was started
   */
  async run<T>(job: (signal: AbortSignal) => Promise<T>, { priority, signal }: JobOptions): Promise<T> {
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
    // p-queue gets the signal of the wait only: it would give away the slot of a job that is still on its way to end.
    const result = this.#queue.add(
      () => {
        endWait();
        return job(signal);
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

  /** The bucket has changed: what it hands out now is for the jobs that wait already too. */
  #lookAgain(): void {
    this.#stopSleeping();
    this.#startJobs();
  }

  /** Starts the most important jobs as long as there are tokens and room for them, and comes back when there is a token. */
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
      // Setting it makes p-queue look for jobs that may start.
      this.#queue.concurrency = this.#concurrency;
      this.#gate.slots = 0;
    }
  }

  /** Puts the job that has waited longest before all others, if that was too long. */
  #promoteImpatient(now: number): void {
    const [longest] = this.#waiting.values();
    if (longest !== undefined && now - longest.since >= this.#patienceMs) this.#queue.setPriority(longest.id, foremost);
  }

  /** Timers can be early, and none lasts longer than 24 days: what follows the sleep looks at the clock anew. */
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
        // Its end by `#stopSleeping` is no failure.
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

/** How many of the waiting jobs may start. */
interface Gate {
  slots: number;
}

type Jobs = Queue<RunFunction, QueueAddOptions>;
type RunFunction = () => Promise<unknown>;

/** p-queue's own order of jobs, of which it sees as many as the gate has slots. */
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

export interface PacedQueueOptions {
  /** Of the operation: its bucket is kept and told of by it. */
  readonly name: string;
  /** Undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  readonly clock: Clock;
  /** How long a cursor is accepted: nobody waits for that long. */
  readonly cursorLifeMs: number;
  /** The state of the bucket when the last run ended, and where this one's is kept. */
  readonly kept: KeptQuota | undefined;
  /** Receives the events of the bucket; undefined: nobody listens. */
  readonly emit: Emit | undefined;
}

/** Requests of one operation under way at once: as many as slices are open at the most. */
const concurrency = 20;

/** Seconds by which a request may overtake the one before it on its way, and tokens that this costs at the most. */
const overtaking = { seconds: 0.6, tokens: 3 };

/** The queue of an operation's requests, with a bucket that is kept between runs. */
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

/** Requests a second between which a rate that the service names is taken: one in 200 s is below all that it is known for. */
const least = 0.005;
const most = 10_000;

/**
 * Reads the rate that an answer names. One that is too low would stop a run for years, one that is too high is no quota:
 * the nearest rate that is taken counts (`isFit`: the one that was named). What isn't a number above 0 changes nothing.
 */
export function readNamedRate(header: string): { rate: number | undefined; isFit: boolean } {
  const named = header.trim() === '' ? NaN : Number(header);
  if (!(Number.isFinite(named) && named > 0)) return { rate: undefined, isFit: false };
  const rate = Math.min(most, Math.max(least, named));
  return { rate, isFit: rate === named };
}
