import { type RetryRule, backOff } from '../../engine/retry/retry-policy.js';

/**
 * When whose turn it is. Pure functions of what the queue knows: the worker and the simulation of a fleet go by the same
 * ones. All durations are milliseconds, all instants milliseconds since 1970.
 *
 * A _turn_ is a stretch of work on one account: at any time an account is in one worker's hands at most, and its work is
 * done in as many turns as it takes.
 */

/** What an account's turn is for. A sync keeps the lake current, a backfill may take days. */
export type JobKind = 'sync' | 'backfill';

/** What the queue keeps of an account between its turns. */
export interface Standing {
  /** How long it was worked on since it last had nothing to do. */
  readonly servedMs: number;
  /** Turns in a row that failed and brought nothing. */
  readonly failures: number;
}

/** Of an account that had nothing to do. */
export const newcomer: Standing = { servedMs: 0, failures: 0 };

export interface TurnRules {
  /** How long a turn goes on at least while somebody else waits who is to go first. */
  readonly turnMs: number;
  /**
   * The part of what an account has waited for its turn that the turn goes on in any case, and how long that gets: so it
   * has its part of a place that is never free, however short turns are.
   */
  readonly shareOfWait: number;
  readonly longestShareMs: number;
  /** How far a sync goes ahead of a backfill that was asked for at the same instant. */
  readonly headStartMs: number;
  /** How far an account falls back at most for having been worked on already: the bound of what it waits for others. */
  readonly longestHandicapMs: number;
  /** Failed turns in a row after which the account goes to the dead letters. */
  readonly maxFailures: number;
  /** The pauses between failed turns. */
  readonly pauses: Pick<RetryRule, 'firstPauseMs' | 'longestPauseMs'>;
}

const minute = 60_000;
const hour = 60 * minute;

export const turnRules: TurnRules = {
  // A rested bucket is spent within seconds; after that a place is held for a request every two. Buckets of those who wait
  // fill meanwhile, so that what a change of turns costs is a second or two of the place (docs/scale.md).
  turnMs: minute,
  // Ten minutes for who has waited four hours.
  shareOfWait: 1 / 24,
  longestShareMs: 10 * minute,
  headStartMs: 4 * hour,
  longestHandicapMs: 4 * hour,
  // With these pauses about nine hours, so that an outage of a night leaves no dead letters behind.
  maxFailures: 16,
  pauses: { firstPauseMs: minute, longestPauseMs: 2 * hour },
};

/** Priorities are whole numbers from 1 to this, and the lowest goes first: as far as BullMQ tells them apart. */
export const lastPriority = 2 ** 21;

/**
 * A priority counts instants in minutes: with a coarser unit a turn of a minute would put nobody behind. There are
 * enough of them for four years, then they are counted from 1 again (next on 23 October 2029). Who waits at that instant is
 * behind all that ask then, until a place is free or its nightly sync gives it another priority.
 */
const grainMs = minute;

/**
 * The priority of an account's next turn, to be given to it when it asks and kept while it waits: the lowest goes first,
 * and among equal ones who asked first.
 *
 * Who was worked on least goes first: a turn counts as asked for as much later as the account was worked on already. That
 * has a bound, and time goes by for all, so that the largest account's turn comes as well: behind it go all that ask more
 * than `longestHandicapMs` (a backfill: `headStartMs` more) later than it did.
 *
 * @param requestedAt when the account began to wait for this turn
 */
export function turnPriority(
  kind: JobKind,
  { servedMs }: Standing,
  requestedAt: number,
  { headStartMs, longestHandicapMs }: TurnRules = turnRules,
): number {
  const handicap = Math.min(Math.max(0, servedMs), longestHandicapMs) + (kind === 'backfill' ? headStartMs : 0);
  return 1 + (Math.floor((requestedAt + handicap) / grainMs) % lastPriority);
}

/** How long a turn goes on at least that an account has waited for so long. */
export function turnLength(waitedMs: number, { turnMs, shareOfWait, longestShareMs }: TurnRules = turnRules): number {
  return Math.max(turnMs, Math.min(waitedMs * shareOfWait, longestShareMs));
}

/** A turn under way. */
export interface RunningTurn {
  readonly kind: JobKind;
  /** As it was when the turn began. */
  readonly standing: Standing;
  /** How long the account had waited for it. */
  readonly waitedMs: number;
  readonly ranMs: number;
  /** The lowest priority of those that could begin at once if a place were free; undefined: nobody waits. */
  readonly firstWaiting: number | undefined;
  /** Whether the account itself has been asked for work that goes first: a sync, while this is a backfill. */
  readonly hasUrgentJob: boolean;
}

/**
 * Whether a turn is to end: it has lasted long enough, and the place is needed for somebody who would go first.
 * Otherwise it goes on, since to begin again costs time. To be asked every few seconds.
 */
export function isTurnOver(turn: RunningTurn, now: number, rules: TurnRules = turnRules): boolean {
  const { kind, standing, waitedMs, ranMs, firstWaiting, hasUrgentJob } = turn;
  if (ranMs < turnLength(waitedMs, rules)) return false;
  if (hasUrgentJob) return true;
  if (firstWaiting === undefined) return false;
  return firstWaiting <= turnPriority(kind, withServed(standing, ranMs), now, rules);
}

/**
 * How a turn ended:
 *
 * - `done`: nothing of its work is left
 * - `over`: in good order with work left, because its time was up or the worker is to end
 * - `transient`: of a fault that may be gone later
 * - `permanent`: of something that stays until somebody mends it, such as access that is denied
 */
export type TurnEnd = 'done' | 'over' | 'transient' | 'permanent';

/** What comes after a turn, for work of the account that is left. */
export type Next =
  /** Another turn, no earlier than `delayMs` from now. */
  | { readonly next: 'again'; readonly delayMs: number; readonly standing: Standing }
  /** The dead letters, until somebody asks for the account again. */
  | { readonly next: 'dead'; readonly standing: Standing };

/**
 * What comes after a turn. The priority of the next one is `turnPriority` with this standing, asked for once the delay is
 * over. An account that has nothing left to do leaves the queue, and is a newcomer the next time.
 *
 * @param ranMs how long the turn lasted
 * @param hasCommitted whether something came into the lake: then failures before it don't count any more
 * @param random from 0 to 1, for pauses that don't all end together
 */
export function afterTurn(
  before: Standing,
  { end, ranMs, hasCommitted }: { readonly end: TurnEnd; readonly ranMs: number; readonly hasCommitted: boolean },
  random: () => number,
  rules: TurnRules = turnRules,
): Next {
  const { servedMs } = withServed(before, ranMs);
  if (end === 'done' || end === 'over') {
    const failures = end === 'done' || hasCommitted ? 0 : before.failures;
    return { next: 'again', delayMs: 0, standing: { servedMs, failures } };
  }
  const failures = hasCommitted ? 1 : before.failures + 1;
  const standing = { servedMs, failures };
  if (end === 'permanent' || failures >= rules.maxFailures) return { next: 'dead', standing };
  return { next: 'again', delayMs: backOff(rules.pauses, failures - 1, random), standing };
}

function withServed(before: Standing, ranMs: number): Standing {
  return { ...before, servedMs: before.servedMs + Math.max(0, ranMs) };
}
