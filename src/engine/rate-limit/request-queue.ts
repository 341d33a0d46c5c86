import PQueue, { PriorityQueue, type Queue, type QueueAddOptions } from 'p-queue';
import type { Clock } from '../../core/clock.js';
import type { Pace } from '../run/pipeline.js';
import { TokenBucket } from './token-bucket.js';
import { excerpt } from '../retry/api-refusal.js';
import type { Emit } from '../../core/events/run-event.js';
import type { KeptQuota } from './kept-quota.js';

export interface RequestQueueOptions {
  /** Paces the starts. Left out: not throttled. */
  readonly bucket?: TokenBucket | undefined;
  /** Jobs that run at once: a whole number from 1 on, or Infinity. */
  readonly concurrency: number;
  /** A job that has waited for so many milliseconds goes before more important ones. Left out: none does. */
  readonly patience?: { readonly ms: number; readonly clock: Clock } | undefined;
  /** Takes the first rate that can't be meant, as it was named, and the rate that counts. */
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

/** Of the time that an answer took, against what was known: one slow answer says little. */
const newestShare = 0.2;

/** Requests a second beyond which a run never waits for the quota, and saves none. */
const unpacedRate = 100;

/** Whether slices are cut and opened by the quota, and pages kept for the next run. */
export function isWorthPacing(rate: number): boolean {
  return rate <= unpacedRate;
}

/**
 * Requests in the order of their importance, so many at once and no faster than the bucket allows: p-queue holds the
 * work, its order and its concurrency, the bucket paces the starts.
 *
 * A token is asked for only while a job waits and there is room for it to run, and the job is chosen at the instant at
 * which the token is there: whoever came meanwhile and is more important gets it. So p-queue sees the waiting jobs through
 * a gate, which a token opens for one. Nobody waits for ever: what a job asks with may have a life of its own.
 */
export class RequestQueue {
  readonly #queue: PQueue<Jobs>;
  readonly #gate: Gate;
  readonly #concurrency: number;
  readonly #bucket: TokenBucket | undefined;
  /** Ends the wait for the next token, while there is one. */
  #asking: AbortController | undefined;
  /** One for each job that waits, in the order of asking: aborting it takes the job out of p-queue. */
  readonly #waiting = new Map<AbortController, WaitingJob>();
  readonly #patience: RequestQueueOptions['patience'];
  #jobs = 0;
  #latency: number | undefined;
  #onUnfitRate: RequestQueueOptions['onUnfitRate'];

  /** @throws TypeError for a concurrency below 1 */
  constructor({ bucket, concurrency, patience, onUnfitRate }: RequestQueueOptions) {
    this.#bucket = bucket;
    this.#concurrency = concurrency;
    this.#onUnfitRate = onUnfitRate;
    this.#patience = patience;
    this.#gate = { places: bucket === undefined ? Infinity : 0 };
    this.#queue = new PQueue({ concurrency, queueClass: jobsBehind(this.#gate) });
    // A job has ended, or one that waited was given up.
    this.#queue.on('next', () => {
      this.#ask();
    });
  }

  /** The jobs' bucket, which has to know what the upstream says. */
  get bucket(): TokenBucket | undefined {
    return this.#bucket;
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
    const endWait = (): void => {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', giveUp);
    };
    const giveUp = (): void => {
      endWait();
      waiting.abort(signal.reason);
    };

    const id = String(this.#jobs++);
    this.#waiting.set(waiting, { id, since: this.#patience?.clock.now() });
    signal.addEventListener('abort', giveUp, { once: true });
    // p-queue gets the signal of the wait only: it would give away the place of a job that is still on its way to end.
    const result = this.#queue.add(
      () => {
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
    if (this.#waiting.size === 0) {
      this.#asking?.abort();
      this.#asking = undefined;
      return;
    }
    if (this.#asking !== undefined || this.#queue.pending >= this.#concurrency) return;
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
          const given = [...this.#waiting.keys()];
          this.#waiting.clear();
          for (const waiting of given) waiting.abort(error);
        },
      );
  }

  /** Starts the most important job that waits; false where none does any more. */
  #startBest(): boolean {
    this.#promoteImpatient();
    const before = this.#queue.pending;
    this.#gate.places = 1;
    // Setting it makes p-queue look for jobs that may start.
    this.#queue.concurrency = this.#concurrency;
    this.#gate.places = 0;
    return this.#queue.pending > before;
  }

  /** Puts the job that has waited longest before all others, if that was too long. */
  #promoteImpatient(): void {
    const [longest] = this.#waiting.values();
    if (this.#patience === undefined || longest?.since === undefined) return;
    if (this.#patience.clock.now() - longest.since >= this.#patience.ms) this.#queue.setPriority(longest.id, foremost);
  }
}

/** How many of the waiting jobs may start. */
interface Gate {
  places: number;
}

type Jobs = Queue<RunFunction, QueueAddOptions>;
type RunFunction = () => Promise<unknown>;

/** p-queue's own order of jobs, of which it sees as many as the gate has places. */
function jobsBehind(gate: Gate): new () => Jobs {
  return class implements Jobs {
    readonly #jobs = new PriorityQueue();

    get size(): number {
      return Math.min(gate.places, this.#jobs.size);
    }

    dequeue(): RunFunction | undefined {
      gate.places--;
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
  /** What the bucket held when the last run ended, and where this one's is kept. */
  readonly kept: KeptQuota | undefined;
  /** Takes what becomes of the bucket; undefined: nobody listens. */
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
  return new RequestQueue({ concurrency, bucket, patience: { ms: cursorLifeMs / 4, clock }, onUnfitRate });
}

/** Requests a second between which a rate that the service names is taken: one in 200 s is below all that it is known for. */
const least = 0.005;
const most = 10_000;

/** What a header that names a rate comes to. */
export interface NamedRate {
  /** Requests a second; undefined: none that can be told. */
  readonly rate: number | undefined;
  /** Whether it is the rate that was named. */
  readonly isFit: boolean;
}

/**
 * Reads the rate that an answer names. One that is too low would stop a run for years, one that is too high is no quota:
 * the nearest rate that is taken counts. What isn't a number above 0 changes nothing.
 */
export function readNamedRate(header: string): NamedRate {
  const named = header.trim() === '' ? NaN : Number(header);
  if (!(Number.isFinite(named) && named > 0)) return { rate: undefined, isFit: false };
  const rate = Math.min(most, Math.max(least, named));
  return { rate, isFit: rate === named };
}
