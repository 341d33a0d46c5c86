import type { Job, JobType, Queue, Worker } from 'bullmq';
import { fleetPackage, type FleetKeys, type RedisClient } from './redis.js';
import { newcomer, turnPriority, type Standing, type JobKind } from './turns.js';

/** What a job carries from one turn to the next. */
interface TurnData {
  readonly account: string;
  readonly standing: Standing;
  /** A turn is under way that has brought nothing yet: found so by the next one, its worker died. */
  readonly isOpen: boolean;
  /** Before it the next turn doesn't begin: milliseconds since 1970. */
  readonly dueAt: number;
}

/** An account's turn, in a worker's hands. */
export interface Turn {
  readonly account: string;
  readonly standing: Standing;
  /** Since when it waited: milliseconds since 1970. */
  readonly dueAt: number;
  /** Whether the turn before this one ended with its worker's death, and had brought nothing. */
  readonly wasInterrupted: boolean;
  /** Aborts where the queue takes this worker for dead. */
  readonly signal: AbortSignal;
  /** Called once the turn has committed something. */
  committed(): Promise<void>;
  progress(value: object): Promise<void>;
}

/** What becomes of an account once its turn has ended. */
export type AfterTurn =
  /** It has nothing left to do, and leaves the queue. */
  | { readonly next: 'rest' }
  | { readonly next: 'again'; readonly dueAt: number; readonly priority: number; readonly standing: Standing }
  | { readonly next: 'dead'; readonly reason: string }
  /** Another turn has the account: the queue is left as it is, but for a place that is still this turn's. */
  | { readonly next: 'lost' };

/** An account in the queue. */
export interface QueuedAccount {
  readonly account: string;
  readonly state: 'waiting' | 'delayed' | 'active' | 'dead';
  readonly standing: Standing;
  /** Why it is dead; null for any other. */
  readonly reason: string | null;
  /** What an active one reported last. */
  readonly progress: unknown;
  /** Since when it waits for its turn; when it died; when it comes again after a failure. Milliseconds since 1970. */
  readonly at: number | null;
}

/** What BullMQ calls the states of an account, in the order in which they are shown. */
const jobStates: Readonly<Record<QueuedAccount['state'], readonly JobType[]>> = {
  active: ['active'],
  waiting: ['waiting', 'prioritized'],
  delayed: ['delayed'],
  dead: ['failed'],
};

interface QueueWorkerOptions {
  /** Turns at once. */
  readonly concurrency: number;
  /** How long a worker that isn't heard of keeps its accounts. */
  readonly lockMs: number;
  /** For people who look at the queue. */
  readonly name: string;
  readonly run: (turn: Turn) => Promise<AfterTurn>;
  /** Told behind a turn after which an account rests, and has left the queue. */
  readonly rested: (account: string) => Promise<void>;
  /** An account's nightly sync is due. */
  readonly due: (account: string) => Promise<void>;
  /** Something is wrong with the queue itself. */
  readonly failed: (error: unknown) => void;
}

/** As long as a dead worker is no reason to give an account up: that is counted in its standing. */
const mostStalls = 1_000_000;

const idOf = (account: string): string => `account-${account}`;

/**
 * The one queue of a fleet: an account that has something to do is in it once.
 *
 * @throws LedgerlakeError USAGE without the package
 */
export async function openTurnQueue(connection: RedisClient, { prefix }: FleetKeys) {
  const bull = await fleetPackage('bullmq', () => import('bullmq'));
  const turns: Queue<TurnData> = new bull.Queue('turns', { connection, prefix });
  const nights: Queue = new bull.Queue('nights', { connection, prefix });
  // The connection itself reports them.
  for (const queue of [turns, nights]) queue.on('error', () => undefined);

  const add = async (account: string, kind: JobKind, now: number): Promise<void> => {
    await turns.add(
      'turn',
      { account, standing: newcomer, isOpen: false, dueAt: now },
      {
        jobId: idOf(account),
        priority: turnPriority(kind, newcomer, now),
        removeOnComplete: true,
        removeOnFail: false,
        // Nothing is tried again but as `afterTurn` says.
        attempts: 1,
      },
    );
  };
  return {
    /**
     * Adds an account to the queue, for a job of this kind. One that is there already moves forward where the kind goes
     * first; one among the dead letters leaves them.
     */
    wake: async (account: string, kind: JobKind, now: number): Promise<void> => {
      await add(account, kind, now);
      const job = await turns.getJob(idOf(account));
      if (job === undefined) return;
      if (await job.isFailed()) {
        await job.remove();
        await add(account, kind, now);
        return;
      }
      const priority = turnPriority(kind, job.data.standing, now);
      if (priority < job.priority && (await job.getState()) === 'prioritized') await job.changePriority({ priority });
    },
    /** Whether an account is in the queue, also among the dead letters. */
    has: async (account: string) => (await turns.getJob(idOf(account))) !== undefined,
    /** The lowest priority of those that could have their turn at once; undefined: nobody waits. */
    firstWaiting: async (now: number): Promise<number | undefined> => {
      const [stalled, [first], delayed] = await Promise.all([
        turns.getWaitingCount(),
        turns.getPrioritized(0, 0),
        turns.getDelayed(0, 9),
      ]);
      // What a dead worker has left goes before all others.
      if (stalled > 0) return 1;
      const due = delayed.filter(({ data }) => data.dueAt <= now);
      const priorities = [...(first === undefined ? [] : [first]), ...due].map(({ priority }) => priority);
      return priorities.length === 0 ? undefined : Math.min(...priorities);
    },
    /** How many accounts are in it, by state. */
    counts: async () => {
      const counts = await turns.getJobCounts(...Object.values(jobStates).flat());
      const total = (state: QueuedAccount['state']) =>
        jobStates[state].reduce((sum, jobState) => sum + (counts[jobState] ?? 0), 0);
      return { waiting: total('waiting'), active: total('active'), delayed: total('delayed'), dead: total('dead') };
    },
    /** Every account in it. */
    accounts: async (now: number): Promise<readonly QueuedAccount[]> => {
      const all = new Map<string, QueuedAccount>();
      // As accounts go round, and the first state once more: one that moves on in the meantime is seen all the same.
      for (const state of ['delayed', 'waiting', 'active', 'delayed', 'dead'] as const) {
        for (const job of await turns.getJobs([...jobStates[state]]))
          all.set(job.data.account, queued(job, state, now));
      }
      const order = Object.keys(jobStates);
      return [...all.values()].toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
    },
    /** When each account's nightly sync is due next, by account: milliseconds since 1970. */
    nights: async (): Promise<ReadonlyMap<string, number>> => {
      const found = await nights.getJobSchedulers(0, -1);
      return new Map(found.map(({ key, next }) => [key.replace(/^account-/, ''), next ?? 0]));
    },
    /** Has an account synced by a cron pattern, in UTC; undefined: not any more. */
    setNight: async (account: string, pattern: string | undefined): Promise<void> => {
      if (pattern === undefined) {
        await nights.removeJobScheduler(idOf(account));
        return;
      }
      const backoff = { type: 'exponential', delay: 1000 };
      const opts = { removeOnComplete: true, removeOnFail: true, attempts: 5, backoff };
      await nights.upsertJobScheduler(idOf(account), { pattern, tz: 'UTC' }, { name: 'sync', data: { account }, opts });
    },
    close: async (): Promise<void> => {
      await Promise.all([turns.close(), nights.close()]);
    },
  };
}

function queued(job: Job<TurnData>, state: QueuedAccount['state'], now: number): QueuedAccount {
  const { account, standing, dueAt } = job.data;
  const reason = state === 'dead' ? job.failedReason : null;
  const at = state === 'dead' ? (job.finishedOn ?? null) : dueAt;
  // The queue keeps one whose turn was over where it keeps those that have failed, until somebody looks for work.
  const isWaiting = state === 'delayed' && dueAt <= now;
  return { account, state: isWaiting ? 'waiting' : state, standing, reason, progress: job.progress, at };
}

/**
 * Takes turns out of the queue and plays them, several at once. `drain` takes nothing new any more, and resolves once the
 * turns under way have ended.
 */
export async function startQueueWorker(
  connection: RedisClient,
  { prefix }: FleetKeys,
  { concurrency, lockMs, name, run, rested, due, failed }: QueueWorkerOptions,
): Promise<{ readonly drain: () => Promise<void> }> {
  const bull = await fleetPackage('bullmq', () => import('bullmq'));
  const play = async (job: Job<TurnData>, token?: string, signal?: AbortSignal): Promise<void> => {
    const { account, standing, isOpen, dueAt } = job.data;
    await job.updateData({ ...job.data, isOpen: true });
    const after = await run({
      ...{ account, standing, dueAt, wasInterrupted: isOpen },
      signal: signal ?? new AbortController().signal,
      committed: () => job.updateData({ ...job.data, isOpen: false }),
      progress: (value) => job.updateProgress(value),
    });
    if (after.next === 'rest') return;
    if (after.next === 'lost') {
      // Only the worker with the lock can do that: any other gets an error, which is reported and has no other effect.
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
  };
  const shared = { connection, prefix, name };
  const lock = { lockDuration: lockMs, stalledInterval: lockMs, maxStalledCount: mostStalls };
  const worker: Worker<TurnData> = new bull.Worker('turns', play, { ...shared, ...lock, concurrency });
  const nights: Worker<{ account: string }> = new bull.Worker(
    'nights',
    async (job: Job<{ account: string }>) => {
      await due(job.data.account);
    },
    { ...shared, concurrency: 4 },
  );
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'the queue has given its turn to another worker');
  });
  worker.on('completed', ({ data: { account } }) => {
    rested(account).catch(failed);
  });
  for (const each of [worker, nights]) each.on('error', failed);
  return {
    drain: async () => {
      await Promise.all([worker.close(), nights.close()]);
    },
  };
}
