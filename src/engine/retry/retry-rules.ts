import type { Cause } from './cause.js';
import type { FailureKind } from './read-failure.js';

/** How a request that failed for one cause is retried. */
export interface RetryRule {
  /** What the request fails with when no more attempts are made. */
  readonly kind: FailureKind;
  /** Attempts after the first one, at most. */
  readonly retries: number;
  /** No attempt is made later than this many milliseconds after the cause was first met. */
  readonly withinMs: number;
  /** The longest pause before the second attempt; it doubles with each further one … */
  readonly firstPauseMs: number;
  /** … up to this. */
  readonly longestPauseMs: number;
  /** The second attempt is made at once. */
  readonly isImmediate?: true;
}

export type RetryRules = Readonly<Record<Exclude<Cause, 'other'> | 'never-there', RetryRule>>;

const minute = 60_000;

function retry(kind: FailureKind, retries: number, withinMs: number, first: number, longest: number): RetryRule {
  return { kind, retries, withinMs, firstPauseMs: first, longestPauseMs: longest };
}

function permanent(kind: FailureKind): RetryRule {
  return retry(kind, 0, 0, 0, 0);
}

/**
 * Which request is sent again, how often, for how long, and with which pauses. What is permanent here may still be asked in
 * another way: the paginator handles expired cursors and pages that are too large.
 */
export const retryRules: RetryRules = {
  /** For minutes on end, without a reason that is given. */
  throttled: retry('throttled', Infinity, 30 * minute, 2000, minute),
  fault: retry('fault', 7, 20 * minute, 2000, minute),
  stranger: retry('fault', 7, 20 * minute, 2000, minute),
  'no-connection': retry('unreachable', 7, 20 * minute, 2000, minute),
  /** A stranger, or no connection, where the API hasn't answered once: the address is probably wrong. */
  'never-there': retry('unreachable', 2, minute, 1000, 2000),
  invalid: retry('invalid', 3, 20 * minute, 1000, 4000),
  /** The pause lasts until the API's clock accepts the bound, if that isn't later than this. */
  'bound-too-late': retry('invalid', 5, 10 * minute, 10_000, 2 * minute),
  /** With another access token; a little later where the API doesn't know that one yet. */
  'access-expired': { ...retry('denied', 3, 10 * minute, 2000, 8000), isImmediate: true },
  /** Once more, with another access token. */
  'access-refused': retry('denied', 1, Infinity, 0, 0),
  denied: permanent('denied'),
  'cursor-expired': permanent('cursor-expired'),
  'too-large': permanent('too-large'),
  'window-too-long': permanent('window-too-long'),
  'unknown-subject': permanent('unknown-subject'),
  mistake: permanent('mistake'),
};
