import { backOff } from '../../engine/retry/retry-policy.js';

/**
 * The order and length of turns, as pure functions of the queue's state, which the worker and the simulation of a fleet share. All
 * durations are milliseconds, all instants milliseconds since 1970.
 *
 * A _turn_ is a time slice of one account's jobs. An account has one worker at a time, and its jobs take as many turns as they need.
 */

/** The kind of a job. A sync keeps the lake current, a backfill may take days. */
export type JobKind = 'sync' | 'backfill';

/** The state of an account between its turns. */
export interface Standing {
  /** Total duration of its turns since it entered the queue. */
  readonly servedMs: number;
  /** Consecutive failed turns without a commit. */
  readonly failures: number;
}

/** The standing of an account that enters the queue. */
export const newcomer: Standing = { servedMs: 0, failures: 0 };

const minute = 60_000;
const hour = 60 * minute;

/** What the order and the length of turns depend on. */
export const turnRules = {
  /**
   * Minimum length of a turn while an account with priority waits, unless the worker has another. A full token bucket is spent within
   * seconds; after that a turn sends a request every two seconds. The buckets of waiting accounts fill meanwhile, so that a change of
   * turns costs a second or two (docs/scale.md).
   */
  turnMs: minute,
  /**
   * Share of an account's waiting time that its turn lasts at least, up to `longestShareMs`: ten minutes after a wait of four hours. It
   * bounds the overhead of short turns in a busy fleet.
   */
  shareOfWait: 1 / 24,
  longestShareMs: 10 * minute,
  /** How much later a backfill counts as requested than a sync. */
  headStartMs: 4 * hour,
  /** The maximum by which `servedMs` delays an account: it bounds the waiting time. */
  longestHandicapMs: 4 * hour,
  /**
   * Consecutive failed turns after which the account goes to the dead letters: about nine hours with these pauses, so that an outage of a
   * night leaves none.
   */
  maxFailures: 16,
  /** The pauses between failed turns. */
  pauses: { firstPauseMs: minute, longestPauseMs: 2 * hour },
} as const;

const { shareOfWait, longestShareMs, headStartMs, longestHandicapMs, maxFailures, pauses } = turnRules;

/** The greatest priority of BullMQ. Priorities are integers from 1, and the lowest goes first. */
export const lastPriority = 2 ** 21;

/**
 * The resolution of priorities: with a coarser one, a turn of a minute would not change an account's priority. The numbers last for
 * four years and then start from 1 (next on 23 October 2029). Accounts that wait at that instant are behind all later ones, until a
 * worker is free or their nightly sync changes the priority.
 */
const grainMs = minute;

/**
 * The priority of an account's next turn, which it keeps while it waits. The lowest goes first, and among equal ones the one that was
 * requested first.
 *
 * The least served account goes first: a turn counts as requested later by the time that the account has been served, up to
 * `longestHandicapMs` (`headStartMs` more for a backfill). The bound guarantees that the largest account gets its turn.
 *
 * @param requestedAt when the account began to wait for this turn
 */
export function turnPriority(kind: JobKind, { servedMs }: Standing, requestedAt: number): number {
  const handicap = Math.min(Math.max(0, servedMs), longestHandicapMs) + (kind === 'backfill' ? headStartMs : 0);
  return 1 + (Math.floor((requestedAt + handicap) / grainMs) % lastPriority);
}

/** The minimum length of a turn after a wait; `turnMs`: that of the worker. */
export function turnLength(waitedMs: number, turnMs: number = turnRules.turnMs): number {
  return Math.max(turnMs, Math.min(waitedMs * shareOfWait, longestShareMs));
}

/** An active turn. */
interface RunningTurn {
  readonly kind: JobKind;
  /** The standing at the start of the turn. */
  readonly standing: Standing;
  /** How long the account had waited for it. */
  readonly waitedMs: number;
  readonly ranMs: number;
  /** The lowest priority of the turns that could start now; undefined where none waits. */
  readonly firstWaiting: number | undefined;
  /** Whether the account itself has a job with priority: a sync, while this is a backfill. */
  readonly hasUrgentJob: boolean;
}

/**
 * Whether a turn is to end: it has its minimum length, and a job with priority waits. Otherwise it continues, because a restart costs
 * time. Called every few seconds.
 */
export function isTurnOver(turn: RunningTurn, now: number, turnMs?: number): boolean {
  const { kind, standing, waitedMs, ranMs, firstWaiting, hasUrgentJob } = turn;
  if (ranMs < turnLength(waitedMs, turnMs)) return false;
  if (hasUrgentJob) return true;
  if (firstWaiting === undefined) return false;
  return firstWaiting <= turnPriority(kind, withServed(standing, ranMs), now);
}

/**
 * How a turn ended:
 *
 * - `done`: its job is complete
 * - `over`: the job continues in another turn, because the time was up or the worker stops
 * - `transient`: it failed, and a retry may succeed
 * - `permanent`: it failed, and fails until somebody fixes the cause, such as denied access
 */
export type TurnEnd = 'done' | 'over' | 'transient' | 'permanent';

/** What follows a turn, if the account has jobs left. */
export type NextTurn =
  /** Another turn, no earlier than `delayMs` from now. */
  | { readonly next: 'again'; readonly delayMs: number; readonly standing: Standing }
  /** The dead letters, until another job or a retry is requested. */
  | { readonly next: 'dead'; readonly standing: Standing };

/**
 * What follows a turn. The priority of the next turn is `turnPriority` with this standing, requested once the delay is over. An
 * account without jobs leaves the queue, and enters it with the standing `newcomer`.
 *
 * @param ranMs the duration of the turn
 * @param hasCommitted whether the turn committed a slice, which resets the count of failures
 * @param random from 0 to 1, for jitter
 */
export function afterTurn(
  before: Standing,
  { end, ranMs, hasCommitted }: { readonly end: TurnEnd; readonly ranMs: number; readonly hasCommitted: boolean },
  random: () => number,
): NextTurn {
  const { servedMs } = withServed(before, ranMs);
  if (end === 'done' || end === 'over') {
    const failures = end === 'done' || hasCommitted ? 0 : before.failures;
    return { next: 'again', delayMs: 0, standing: { servedMs, failures } };
  }
  const failures = hasCommitted ? 1 : before.failures + 1;
  const standing = { servedMs, failures };
  if (end === 'permanent' || failures >= maxFailures) return { next: 'dead', standing };
  return { next: 'again', delayMs: backOff(pauses, failures - 1, random), standing };
}

function withServed(before: Standing, ranMs: number): Standing {
  return { ...before, servedMs: before.servedMs + Math.max(0, ranMs) };
}
