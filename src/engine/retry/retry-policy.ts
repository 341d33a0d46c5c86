import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { AttemptRule, AttemptTable } from './retry-rules.js';
import type { Cause } from './cause.js';
import { failureFrom } from './read-failure.js';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly table: AttemptTable;
  readonly causeOf: (error: unknown) => Cause;
  /** Whether the service itself has ever answered: what then isn't there will come back. */
  readonly isKnown: () => boolean;
  /** Told of each failure first. */
  readonly cameFrom: (cause: Cause, error: LedgerlakeError) => void;
  /** Milliseconds until the next attempt; `before`: pauses made so far for the same cause. */
  readonly pauseFor: (cause: Cause, rule: AttemptRule, before: number, error: LedgerlakeError) => number;
  /** Told of each cause that was met, and how long is waited. */
  readonly met: (cause: Cause, pause: number) => void;
  /** Attempts that follow the first one, at most. */
  readonly again: (cause: Cause, rule: AttemptRule) => number;
  /** Told of what becomes of each failed attempt; left out: nobody listens. */
  readonly decided?: (failed: FailedAttempt) => void;
  /** A sentence that the failure's message goes on with; often empty. */
  readonly more: (cause: Cause, error: LedgerlakeError, pause: number) => string;
}

export interface FailedAttempt {
  readonly cause: Cause;
  readonly error: LedgerlakeError;
  /** When this request first met its cause: milliseconds since 1970. */
  readonly since: number;
  /** Whether the request is given up; if not, it comes again after `pause` milliseconds. */
  readonly isLast: boolean;
  readonly pause: number;
}

/** How often a cause was met by one request, and when first. */
interface Met {
  times: number;
  readonly since: number;
}

/**
 * Sends a request again by cause, as the table says: each attempt is a request of its own, for a token of the quota.
 * Between two attempts the request holds no place in the queue.
 *
 * @param send one attempt; `tries` counts from 1, `after` is what the one before met
 * @throws ReadFailure where there is no use in asking again; the signal's reason, at once; what isn't the service's as it is
 */
export async function retried<T>(
  send: (tries: number, after: Cause | null) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { clock, signal, table, causeOf, isKnown, cameFrom, pauseFor, met: told, again, decided, more } = options;
  const ruleOf = (cause: Exclude<Cause, 'other'>): AttemptRule =>
    table[!isKnown() && (cause === 'stranger' || cause === 'no-connection') ? 'never-there' : cause];
  const met = new Map<AttemptRule, Met>();
  let after: Cause | null = null;
  for (let tries = 1; ; tries++) {
    try {
      return await send(tries, after);
    } catch (error) {
      signal.throwIfAborted();
      const cause = causeOf(error);
      if (cause === 'other' || !(error instanceof LedgerlakeError)) throw error;
      cameFrom(cause, error);
      const rule = ruleOf(cause);
      const now = clock.now();
      const seen = met.get(rule) ?? { times: 0, since: now };
      met.set(rule, seen);
      const pause = pauseFor(cause, rule, seen.times, error);
      seen.times++;
      told(cause, pause);
      const isLast = seen.times > again(cause, rule) || now + pause > seen.since + rule.withinMs;
      decided?.({ cause, error, since: seen.since, isLast, pause });
      if (isLast) throw failureFrom(rule.kind, error, { tries }, more(cause, error, pause));
      after = cause;
      await clock.sleep(pause, signal);
    }
  }
}

/** The request that an error's details begin with, as a sentence. */
export function requestText({ details }: LedgerlakeError): string {
  return `The request was: ${details?.split('\n')[0] ?? 'unknown'}`;
}
