import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { dispatch, type Handlers, type RunEvent, type Emit } from '../../core/events/run-event.js';
import type { Store } from '../../lake/store/store.js';
import type { SyncInTurns } from '../load/sync.js';
import { openSync, type AccountJob, type OpenSync, type PendingJob } from './account-jobs.js';
import type { Fleet } from './fleet.js';
import type { AfterTurn, Turn } from './turn-queue.js';
import { afterTurn, isTurnOver, turnLength, turnPriority, type TurnEnd } from './turns.js';
import { isoInstant } from '../../core/numeric/instant.js';

interface TurnOptions {
  /** Minimum length of the turn while others wait. */
  readonly turnMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly emit: Emit;
  /** Once it aborts, no slice is started. */
  readonly closing: AbortSignal;
  /** Once it aborts, open slices are aborted too. */
  readonly stop: AbortSignal;
  /** A secret of the account, for `openSync`. */
  readonly secret: string;
  /** Runs a job on a store that `fenced` returns. Throws the failure of the run. */
  readonly run: (job: AccountJob, fenced: (store: Store) => Store, context: TurnContext) => Promise<void>;
}

/** The signals, the listener and the sync of a turn's run. */
export interface TurnContext {
  readonly signal: AbortSignal;
  readonly closing: AbortSignal;
  readonly emit: Emit;
  /** The sync that the turn belongs to; undefined for a backfill. */
  readonly sync: SyncInTurns | undefined;
}

/** How often a turn checks whether it is over, and reports its progress. */
const watchMs = 5000;

/**
 * Runs an account's turn: its first job, until the job is done or the turn is over. `afterTurn` decides what follows.
 */
export async function runTurn(turn: Turn, fleet: Fleet, options: TurnOptions): Promise<AfterTurn> {
  const { clock, emit, random } = options;
  const { account } = turn;
  const [first] = await fleet.jobs.of(account);
  if (first === undefined) return { next: 'rest' };
  const { work: kind } = first.job;
  const fence = await acquireAccount(fleet, account);
  let standing = turn.standing;
  if (turn.wasInterrupted) {
    const after = afterTurn(standing, { end: 'transient', ranMs: 0, hasCommitted: false }, random);
    standing = after.standing;
    if (after.next === 'dead') {
      return { next: 'dead', reason: `its worker died in each of the last ${standing.failures} turns` };
    }
  }
  const started = { account, work: kind, turn: fence.turn };
  const began = clock.now();
  const meter = meterTurn(() => {
    if (meter.counts.slices === 1) void turn.committed().catch(() => undefined);
  });
  emit({ event: 'turn-started', ...started });
  try {
    return await runStartedTurn({ turn: { ...turn, standing }, first, fence, began, meter }, fleet, options);
  } catch (error) {
    const figures = turnFigures(meter, clock.now() - began);
    const reason = messageOf(error);
    emit({ event: 'turn-ended', ...started, end: 'transient', reason, next: null, delaySeconds: 0, ...figures });
    throw error;
  }
}

interface StartedTurn {
  readonly turn: Turn;
  /** What it works on. */
  readonly first: PendingJob;
  readonly fence: FencingToken;
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly meter: TurnMeter;
}

/** Runs a turn to its end, which it emits. */
async function runStartedTurn(started: StartedTurn, fleet: Fleet, options: TurnOptions): Promise<AfterTurn> {
  const { clock, emit, random } = options;
  const { turn, first, fence, began, meter } = started;
  const { account, standing } = turn;
  const { work: kind } = first.job;
  const warn = (message: string): void => {
    emit({ event: 'account-warned', account, message });
  };
  const opened = { account, requested: first, now: began, secret: options.secret, warn };
  const sync = kind === 'sync' ? await openSync(fleet.redis, fleet.keys, opened) : undefined;
  const { end, reason } = await runJob(started, sync, fleet, options);
  const ranMs = clock.now() - began;
  const ended = { account, work: kind, turn: fence.turn, end, reason, ...turnFigures(meter, ranMs) };
  if (end === 'lost') {
    emit({ event: 'turn-ended', ...ended, next: null, delaySeconds: 0 });
    return { next: 'lost' };
  }
  const after = afterTurn(standing, { end, ranMs, hasCommitted: meter.counts.slices > 0 }, random);
  if (end === 'done') {
    await sync?.clear();
    await fleet.jobs.remove(account, sync?.pending ?? first);
  }
  const [next] = await fleet.jobs.of(account);
  const outcome = next === undefined ? 'rest' : after.next;
  emit({
    event: 'turn-ended',
    ...ended,
    next: outcome,
    delaySeconds: after.next === 'again' ? after.delayMs / 1000 : 0,
  });
  if (next === undefined) return { next: 'rest' };
  if (after.next === 'dead') return { next: 'dead', reason: reason ?? '' };
  const dueAt = clock.now() + after.delayMs;
  const priority = turnPriority(next.job.work, after.standing, dueAt);
  return { next: 'again', dueAt, priority, standing: after.standing };
}

/** The figures of a turn of some milliseconds, for who reads its end. */
function turnFigures({ counts: { slices, pages, requests, throttled } }: TurnMeter, ranMs: number) {
  return { seconds: ranMs / 1000, slices, pages, requests, throttled };
}

/** Runs the first job of a turn, and watches whether the turn is over. */
async function runJob(
  started: StartedTurn,
  sync: OpenSync | undefined,
  fleet: Fleet,
  options: TurnOptions,
): Promise<Pick<Extract<RunEvent, { event: 'turn-ended' }>, 'end' | 'reason'>> {
  const { turn, first, fence, meter } = started;
  const { lost, fenced } = fence;
  const turnOver = new AbortController();
  const ended = new AbortController();
  const signal = AbortSignal.any([options.stop, turn.signal, lost]);
  const closing = AbortSignal.any([options.closing, turnOver.signal]);
  // The watch only shortens a turn, so its failure is ignored.
  const watching = watchTurn(started, { turnOver, ended: ended.signal }, fleet, options).catch(() => undefined);
  const emit: Emit = (event) => {
    meter.emit(event);
    if (event.event === 'account-warned') options.emit(event);
  };
  try {
    await options.run(first.job, fenced, { signal, closing, emit, sync }).finally(async () => {
      for (const [pipeline, slices] of meter.committed) await sync?.read(pipeline, slices);
    });
    return { end: 'done', reason: null };
  } catch (error) {
    if (lost.aborted || turn.signal.aborted)
      return { end: 'lost', reason: messageOf(lost.reason ?? turn.signal.reason) };
    if (signal.aborted || (closing.aborted && error === closing.reason))
      return { end: 'over', reason: messageOf(error) };
    return { end: turnFault(error), reason: messageOf(error) };
  } finally {
    ended.abort();
    await watching;
  }
}

/** Reports the progress of a turn at intervals, and aborts `turnOver` once another account has priority. Rejects once the job has ended. */
async function watchTurn(
  { turn, first: { job }, meter: { counts } }: StartedTurn,
  { turnOver, ended }: { readonly turnOver: AbortController; readonly ended: AbortSignal },
  fleet: Fleet,
  { clock, turnMs }: TurnOptions,
): Promise<never> {
  const { account, standing, dueAt } = turn;
  const began = clock.now();
  const waitedMs = began - dueAt;
  for (;;) {
    await clock.sleep(watchMs, ended);
    await turn.progress({ work: job.work, since: isoInstant(began), ...counts });
    const ranMs = clock.now() - began;
    // A turn that ended before its first request would never get anywhere.
    const hasBegun = counts.requests + counts.pages > 0;
    if (ranMs < turnLength(waitedMs, turnMs) || !hasBegun || turnOver.signal.aborted) continue;
    const firstWaiting = await fleet.queue.firstWaiting(clock.now());
    const isBackfill = job.work === 'backfill';
    const hasUrgentJob = isBackfill && (await fleet.jobs.of(account)).some((other) => other.job.work === 'sync');
    const running = { kind: job.work, standing, waitedMs, ranMs, firstWaiting, hasUrgentJob };
    if (isTurnOver(running, clock.now(), turnMs)) {
      turnOver.abort(new LedgerlakeError('STOPPED', 'another account has priority'));
    }
  }
}

/** The fencing token of a turn for its account. */
interface FencingToken {
  /** The number of the turn in the fleet, from 1. */
  readonly turn: number;
  /** Aborts once a commit has found that another turn has the account. */
  readonly lost: AbortSignal;
  /**
   * Wraps a store so that conditional creates, such as commits, first check that the turn still has the account. A takeover between
   * the check and the commit is harmless: the commit is conditional, and both turns replace the same windows.
   */
  readonly fenced: (store: Store) => Store;
}

const takeoverScript =
  "local turn = redis.call('INCR', KEYS[1]) redis.call('HSET', KEYS[2], ARGV[1], turn .. '-' .. ARGV[2]) return turn";

/**
 * Acquires an account for a turn, and revokes it from all earlier turns. A worker that was wrongly considered dead detects that with
 * its next commit.
 */
async function acquireAccount({ redis, keys }: Fleet, account: string): Promise<FencingToken> {
  // A Redis that has lost its last second repeats numbers, so a random suffix makes the token unique.
  const suffix = randomBytes(8).toString('hex');
  const turn = Number(await redis.eval(takeoverScript, 2, keys.turns, keys.holders, account, suffix));
  const lost = new AbortController();
  const check = async (): Promise<void> => {
    try {
      const holder = await redis.hget(keys.holders, account);
      if (holder === `${turn}-${suffix}`) return;
      const message = `another turn (${holder ?? 'none'}) has the account ${account}; this one commits nothing more`;
      throw new LedgerlakeError('STOPPED', message);
    } catch (error) {
      // An unreachable queue aborts the turn too, without a failure of the account.
      lost.abort(error);
      throw error;
    }
  };
  const fenced = (store: Store): Store => ({
    ...store,
    create: async (path, bytes, existing) => {
      await check();
      return store.create(path, bytes, existing);
    },
  });
  return { turn, lost: lost.signal, fenced };
}

/** The progress of a turn, from the events of its run. */
interface TurnCounts {
  slices: number;
  pages: number;
  requests: number;
  throttled: number;
  /** The remaining range of each pipeline, as it reported last. */
  readonly left: Record<string, string>;
}

interface TurnMeter {
  readonly counts: TurnCounts;
  /** The committed slices of each pipeline. */
  readonly committed: ReadonlyMap<string, readonly string[]>;
  readonly emit: Emit;
}

/** Counts the events of a run; `onCommit` is called for each committed slice. */
function meterTurn(onCommit: () => void): TurnMeter {
  const committed = new Map<string, string[]>();
  const counts: TurnCounts = { slices: 0, pages: 0, requests: 0, throttled: 0, left: {} };
  const counted: Handlers<void> = {
    'pipeline-planned': ({ pipeline, left }) => {
      counts.left[pipeline] = left;
    },
    'slice-committed': ({ pipeline, slice, left }) => {
      counts.slices++;
      counts.left[pipeline] = left;
      const slices = committed.get(pipeline) ?? [];
      slices.push(slice);
      committed.set(pipeline, slices);
      onCommit();
    },
    'page-read': () => {
      counts.pages++;
    },
    'request-sent': () => {
      counts.requests++;
    },
    'request-failed': ({ cause }) => {
      if (cause === 'throttled') counts.throttled++;
    },
  };
  return {
    counts,
    committed,
    emit: (event) => {
      dispatch(counted, event);
    },
  };
}

/** Classifies the failure of a turn. An unexpected error counts as transient, and leads to the dead letters after its retries. */
export function turnFault(error: unknown): Extract<TurnEnd, 'transient' | 'permanent'> {
  return error instanceof LedgerlakeError && error.isPermanent ? 'permanent' : 'transient';
}
