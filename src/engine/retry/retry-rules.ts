import type { Cause } from './cause.js';
import type { FailureKind } from './read-failure.js';

/** What is done about one cause. */
export interface AttemptRule {
  /** What the request fails with when no more attempts are made. */
  readonly kind: FailureKind;
  /** Attempts that follow the first one, at most. */
  readonly again: number;
  /** No attempt is made later than this many milliseconds after the cause was first met. */
  readonly withinMs: number;
  /** The longest pause before the second attempt; it doubles with each one that follows … */
  readonly firstPauseMs: number;
  /** … up to this. */
  readonly longestPauseMs: number;
}

export type AttemptTable = Readonly<Record<Exclude<Cause, 'other'> | 'never-there', AttemptRule>>;

const minute = 60_000;

function again(kind: FailureKind, times: number, withinMs: number, first: number, longest: number): AttemptRule {
  return { kind, again: times, withinMs, firstPauseMs: first, longestPauseMs: longest };
}

function notAgain(kind: FailureKind): AttemptRule {
  return again(kind, 0, 0, 0, 0);
}

/**
 * Which request is sent again, how often, for how long, and with which pauses. What isn't sent again here may still be
 * asked in another way: the chain of pages knows about expired NextTokens and pages that are too large.
 */
export const attemptTable: AttemptTable = {
  /** For minutes on end, without a reason that is given. */
  throttled: again('throttled', Infinity, 30 * minute, 2000, minute),
  fault: again('fault', 7, 20 * minute, 2000, minute),
  stranger: again('fault', 7, 20 * minute, 2000, minute),
  'no-connection': again('unreachable', 7, 20 * minute, 2000, minute),
  /** A stranger, or no connection, where the service hasn't answered once: then the address is probably wrong. */
  'never-there': again('unreachable', 2, minute, 1000, 2000),
  invalid: again('invalid', 3, 20 * minute, 1000, 4000),
  /** The pause lasts until the bound is fine by the service's clock, if that isn't later than this. */
  'bound-too-late': again('invalid', 5, 10 * minute, 10_000, 2 * minute),
  /** With another access token: at once, and where the service hasn't heard of that one yet, a little later. */
  'access-expired': again('denied', 3, 10 * minute, 2000, 8000),
  /** Once more, with another access token. */
  'access-refused': again('denied', 1, Infinity, 0, 0),
  denied: notAgain('denied'),
  'token-expired': notAgain('token-expired'),
  'too-large': notAgain('too-large'),
  'window-too-long': notAgain('window-too-long'),
  'unknown-subject': notAgain('unknown-subject'),
  mistake: notAgain('mistake'),
};
