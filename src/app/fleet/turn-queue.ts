import type { DelayedError, Job, JobType, Queue, UnrecoverableError, Worker } from 'bullmq';
import { fleetPackage, type FleetKeys, type RedisClient } from './redis.js';
import { z } from 'zod';
import { accountPattern } from '../configuration/account.js';
import { newcomer, turnPriority, type Standing, type JobKind } from './turns.js';

/** The latest instant of a date, in milliseconds since 1970. */
const latestInstant = 8.64e15;

/** `TurnData`, as Redis has it. */
const turnShape = z.object({
  account: z.string().regex(accountPattern),
  standing: z.object({ servedMs: z.number().min(0), failures: z.int().min(0) }),
  isOpen: z.boolean(),
  dueAt: z.number().min(0).max(latestInstant),
});

const nightShape = z.object({ account: z.string() });

/** The data of a job from Redis; undefined where it isn't a turn's: others may have written it. */
function turnDataOf(job: Pick<Job, 'id' | 'data'> | undefined): TurnData | undefined {
  const { data } = turnShape.safeParse(job?.data);
  return data !== undefined && job?.id === idOf(data.account) ? data : undefined;
}

/** The data of a job in the queue, which it keeps between turns. */
export interface TurnData {
  readonly account: string;
  readonly standing: Standing;
  /** Whether a turn is active that has committed nothing; if the next turn finds it set, the worker has died. */
  readonly isOpen: boolean;
  /** The earliest start of the next turn: milliseconds since 1970. */
  readonly dueAt: number;
}

/** An active turn of an account. */
export interface Turn extends Pick<TurnData, 'account' | 'standing' | 'dueAt'> {
  /** Whether the worker of the turn before died before it had committed anything. */
  readonly wasInterrupted: boolean;
  /** Aborts where the queue considers this worker dead. */
  readonly signal: AbortSignal;
  /** Notes that the turn has committed a slice. */
  committed(): Promise<void>;
  progress(value: object): Promise<void>;
}

/** The next state of an account after a turn. */
export type AfterTurn =
  /** It has no jobs left, and leaves the queue. */
  | { readonly next: 'rest' }
  | { readonly next: 'again'; readonly dueAt: number; readonly priority: number; readonly standing: Standing }
  | { readonly next: 'dead'; readonly reason: string }
  /** Another turn has the account: only this turn's lock is released, if it still has it. */
  | { readonly next: 'lost' };

/** An account in the queue. */
export interface QueuedAccount extends Pick<TurnData, 'account' | 'standing'> {
  readonly state: 'waiting' | 'delayed' | 'active' | 'dead';
  /** Why it is dead; null in other states. */
  readonly reason: string | null;
  /** The last progress of an active turn. */
  readonly progress: unknown;
  /** When it began to wait, when it became dead, or when it is retried: milliseconds since 1970. */
  readonly at: number | null;
}

/** BullMQ's names of the states of an account, in the order of display. */
const jobStates: Readonly<Record<QueuedAccount['state'], readonly JobType[]>> = {
  active: ['active'],
  waiting: ['waiting', 'prioritized'],
  delayed: ['delayed'],
  dead: ['failed'],
};

interface QueueWorkerOptions {
  /** Maximum number of concurrent turns. */
  readonly concurrency: number;
  /** How long a worker without a sign of life keeps its accounts. */
  readonly lockMs: number;
  /** Shown in the queue. */
  readonly name: string;
  readonly run: (turn: Turn) => Promise<AfterTurn>;
  /** Called after an account without jobs has left the queue. */
  readonly rested: (account: string) => Promise<void>;
  /** Called when an account's nightly sync is due. */
  readonly due: (account: string) => Promise<void>;
  /** Called for a failure of the queue itself. */
  readonly failed: (error: unknown) => void;
}

/** Disables BullMQ's limit on dead workers, which the standing of an account counts. */
const mostStalls = 1_000_000;

const idOf = (account: string): string => `account-${account}`;

const noTurn = (id: string): string =>
  `expected turns of accounts in the queue, got the job ${JSON.stringify(id.slice(0, 100))}, which is not run; delete it in Redis`;

/**
 * The one queue of a fleet: an account that has something to do is in it once.
 *
 * @throws LedgerlakeError USAGE without the package
 */
export async function openTurnQueue(
  connection: RedisClient,
  { prefix }: FleetKeys,
  warn: (reason: string) => void,
): Promise<TurnQueue> {
  const bull = await fleetPackage('bullmq', () => import('bullmq'));
  return new TurnQueue(
    new bull.Queue('turns', { connection, prefix }),
    new bull.Queue('nights', { connection, prefix }),
    warn,
  );
}

/** A fleet's accounts with jobs, each once, and the schedules of their nightly syncs. */
export class TurnQueue {
  readonly #turns: Queue<TurnData>;
  readonly #nights: Queue;
  readonly #warn: (reason: string) => void;

  /** `warn` is called for what is in the queue and is no turn. */
  constructor(turns: Queue<TurnData>, nights: Queue, warn: (reason: string) => void) {
    this.#turns = turns;
    this.#nights = nights;
    this.#warn = warn;
    // The connection reports its errors itself.
    for (const queue of [turns, nights]) queue.on('error', () => undefined);
  }

  /**
   * Adds an account to the queue for a job of this kind. An account in the queue moves forward where the kind has priority; one among
   * the dead letters leaves them.
   */
  async wake(account: string, kind: JobKind, now: number): Promise<void> {
    await this.#add(account, kind, now);
    const job = await this.#turns.getJob(idOf(account));
    if (job === undefined) return;
    const data = turnDataOf(job);
    if (data === undefined || (await job.isFailed())) {
      await job.remove();
      await this.#add(account, kind, now);
      return;
    }
    const priority = turnPriority(kind, data.standing, now);
    if (priority < job.priority && (await job.getState()) === 'prioritized') await job.changePriority({ priority });
  }

  async #add(account: string, kind: JobKind, now: number): Promise<void> {
    await this.#turns.add(
      'turn',
      { account, standing: newcomer, isOpen: false, dueAt: now },
      {
        jobId: idOf(account),
        priority: turnPriority(kind, newcomer, now),
        removeOnComplete: true,
        removeOnFail: false,
        // Retries are decided by `afterTurn`.
        attempts: 1,
      },
    );
  }

  /** Whether an account is in the queue, also among the dead letters. */
  async has(account: string): Promise<boolean> {
    return (await this.#turns.getJob(idOf(account))) !== undefined;
  }

  /** The lowest priority of the turns that could start now; undefined where none waits. */
  async firstWaiting(now: number): Promise<number | undefined> {
    const [stalled, [first], delayed] = await Promise.all([
      this.#turns.getWaitingCount(),
      this.#turns.getPrioritized(0, 0),
      this.#turns.getDelayed(0, 9),
    ]);
    // Turns of a dead worker precede all others.
    if (stalled > 0) return 1;
    const due = delayed.filter((job) => (turnDataOf(job)?.dueAt ?? Infinity) <= now);
    const priorities = [...(first === undefined ? [] : [first]), ...due].map(({ priority }) => priority);
    return priorities.length === 0 ? undefined : Math.min(...priorities);
  }

  /** The number of accounts in the queue, by state. */
  async counts(): Promise<Record<QueuedAccount['state'], number>> {
    const counts = await this.#turns.getJobCounts(...Object.values(jobStates).flat());
    const total = (state: QueuedAccount['state']) =>
      jobStates[state].reduce((sum, jobState) => sum + (counts[jobState] ?? 0), 0);
    return { waiting: total('waiting'), active: total('active'), delayed: total('delayed'), dead: total('dead') };
  }

  /** All accounts in the queue. */
  async accounts(now: number): Promise<readonly QueuedAccount[]> {
    const all = new Map<string, QueuedAccount>();
    const foreign = new Set<string>();
    // In the order of an account's cycle, and the first state twice, so that an account that moves on meanwhile is not missed.
    for (const state of ['delayed', 'waiting', 'active', 'delayed', 'dead'] as const) {
      for (const job of await this.#turns.getJobs([...jobStates[state]])) {
        const data = turnDataOf(job);
        if (data === undefined) foreign.add(job.id ?? '');
        else all.set(data.account, queuedAccount(job, data, state, now));
      }
    }
    for (const id of foreign) this.#warn(noTurn(id));
    const order = Object.keys(jobStates);
    return [...all.values()].toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  }

  /** When the next nightly sync is due, by account: milliseconds since 1970. Undefined: its job is lost, and none follows. */
  async nights(): Promise<ReadonlyMap<string, number | undefined>> {
    const found = await this.#nights.getJobSchedulers(0, -1);
    const nights = found.map(
      async ({ key, next }) => [key.replace(/^account-/, ''), await this.#due(key, next)] as const,
    );
    return new Map(await Promise.all(nights));
  }

  /** The instant of a schedule's next job; undefined where there is no such job. */
  async #due(key: string, next: number | undefined): Promise<number | undefined> {
    if (next !== undefined && (await this.#nights.getJob(`repeat:${key}:${next}`)) !== undefined) return next;
    // It may have run meanwhile.
    const later = (await this.#nights.getJobScheduler(key))?.next;
    return later === next ? undefined : later;
  }

  /** Schedules an account's nightly sync by a cron pattern, in UTC; undefined removes the schedule. */
  async setNight(account: string, pattern: string | undefined): Promise<void> {
    if (pattern === undefined) {
      await this.#nights.removeJobScheduler(idOf(account));
      return;
    }
    const backoff = { type: 'exponential', delay: 1000 };
    const opts = { removeOnComplete: true, removeOnFail: true, attempts: 5, backoff };
    const schedule = { pattern, tz: 'UTC' };
    await this.#nights.upsertJobScheduler(idOf(account), schedule, { name: 'sync', data: { account }, opts });
  }

  async close(): Promise<void> {
    await Promise.all([this.#turns.close(), this.#nights.close()]);
  }
}

function queuedAccount(
  job: Job<TurnData>,
  { account, standing, dueAt }: TurnData,
  state: QueuedAccount['state'],
  now: number,
): QueuedAccount {
  const reason = state === 'dead' ? job.failedReason : null;
  const at = state === 'dead' ? (job.finishedOn ?? null) : dueAt;
  // BullMQ keeps an account whose turn was over among the delayed ones until a worker asks for a job.
  const isWaiting = state === 'delayed' && dueAt <= now;
  return { account, state: isWaiting ? 'waiting' : state, standing, reason, progress: job.progress, at };
}

/**
 * Runs turns from the queue, several at once. `drain` stops taking new turns, and resolves once the active ones have ended.
 */
export async function startQueueWorker(
  connection: RedisClient,
  { prefix }: FleetKeys,
  { concurrency, lockMs, name, run, rested, due, failed }: QueueWorkerOptions,
): Promise<{ readonly drain: () => Promise<void> }> {
  const bull = await fleetPackage('bullmq', () => import('bullmq'));
  const play = async (job: Job<TurnData>, token?: string, signal?: AbortSignal): Promise<void> => {
    if (turnDataOf(job) === undefined) {
      failed(new Error(noTurn(job.id ?? '')));
      throw new bull.UnrecoverableError('it is no turn of an account');
    }
    const after = await playTurn(job, signal, run);
    await requeue(job, after, token, bull);
  };
  const shared = { connection, prefix, name };
  const lock = { lockDuration: lockMs, stalledInterval: lockMs, maxStalledCount: mostStalls };
  const worker: Worker<TurnData> = new bull.Worker('turns', play, { ...shared, ...lock, concurrency });
  const nights: Worker<{ account: string }> = new bull.Worker(
    'nights',
    async (job: Job<{ account: string }>) => {
      // Others may have written it.
      const { data } = nightShape.safeParse(job.data);
      if (data !== undefined) await due(data.account);
    },
    { ...shared, concurrency: 4 },
  );
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'the queue has given its turn to another worker');
  });
  worker.on('completed', (job) => {
    const data = turnDataOf(job);
    if (data !== undefined) rested(data.account).catch(failed);
  });
  for (const each of [worker, nights]) each.on('error', failed);
  return {
    drain: async () => {
      await Promise.all([worker.close(), nights.close()]);
    },
  };
}

/** Marks the turn of a job as active, and runs it. */
async function playTurn(
  job: Job<TurnData>,
  signal: AbortSignal | undefined,
  run: QueueWorkerOptions['run'],
): Promise<AfterTurn> {
  const { account, standing, isOpen, dueAt } = job.data;
  await job.updateData({ ...job.data, isOpen: true });
  return run({
    account,
    standing,
    dueAt,
    wasInterrupted: isOpen,
    signal: signal ?? new AbortController().signal,
    committed: () => job.updateData({ ...job.data, isOpen: false }),
    progress: (value) => job.updateProgress(value),
  });
}

/** Moves a job to its next state. Throws the errors by which BullMQ distinguishes delayed and dead jobs from completed ones. */
async function requeue(
  job: Job<TurnData>,
  after: AfterTurn,
  token: string | undefined,
  bull: { readonly DelayedError: typeof DelayedError; readonly UnrecoverableError: typeof UnrecoverableError },
): Promise<void> {
  const { account, dueAt } = job.data;
  if (after.next === 'rest') return;
  if (after.next === 'lost') {
    // Fails for a worker without the lock; the failure is reported and has no other effect.
    await job.moveToDelayed(Date.now(), token);
    throw new bull.DelayedError();
  }
  if (after.next === 'dead') {
    await job.updateData({ account, standing: newcomer, isOpen: false, dueAt });
    throw new bull.UnrecoverableError(after.reason);
  }
  await job.updateData({ account, standing: after.standing, isOpen: false, dueAt: after.dueAt });
  await job.changePriority({ priority: after.priority });
  await job.moveToDelayed(after.dueAt, token);
  throw new bull.DelayedError();
}
