import { type Cause, ApiRefusal, WebPage } from './api-refusal.js';
import { type FailureKind, failureFrom } from './read-failure.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import { neverConnected } from '../http/transport-failure.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant } from '../../core/numeric/instant.js';

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

export interface RetryPolicyOptions {
  readonly clock: Clock;
  /** From 0 up to 1: spreads the attempts. */
  readonly random: () => number;
  readonly rules?: RetryRules | undefined;
}

/** A request that may take several attempts. */
export interface RetriedRequest<T> {
  readonly operation: string;
  readonly signal: AbortSignal;
  /** Another way to ask for what was refused without a reason: such a refusal is not retried, as yet another way is left. */
  readonly isGuess: boolean;
  /** Makes one attempt; `attempt` counts from 1, `after` is what the one before failed of. */
  send(attempt: number, after: Cause | null): Promise<T>;
  /** Takes each attempt that failed, before the pause. */
  failed(attempt: FailedAttempt): void;
}

export interface FailedAttempt {
  readonly cause: Cause;
  readonly error: LedgerlakeError;
  /** When this request first met the cause: milliseconds since 1970. */
  readonly since: number;
  /** Whether the request is given up; else it is sent again after `pauseMs`. */
  readonly isLast: boolean;
  readonly pauseMs: number;
}

/** Pauses of an operation's throttled requests; those at the same time count once. */
interface Spell {
  readonly pauses: number;
  readonly until: number;
}

/**
 * Sends requests of one API again, by cause, as the rules say: each attempt is a request of its own, for a token of the quota.
 * Between two attempts a request holds no place in the queue.
 */
export class RetryPolicy {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #rules: RetryRules;
  /** Whether the API itself has ever answered: it exists, and what can't be reached then will come back. */
  #hasAnswered = false;
  /** By operation, as long as it is throttled. */
  readonly #spells = new Map<string, Spell>();

  constructor({ clock, random, rules = retryRules }: RetryPolicyOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#rules = rules;
  }

  /**
   * @returns what the first attempt that succeeds gives
   * @throws ReadFailure where no further attempt is made; the signal's reason, at once; any error that isn't the API's, as it is
   */
  async run<T>(request: RetriedRequest<T>): Promise<T> {
    const { operation, signal, isGuess } = request;
    const met = new Map<RetryRule, { times: number; readonly since: number }>();
    let after: Cause | null = null;
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await request.send(attempt, after);
        this.#hasAnswered = true;
        this.#spells.delete(operation);
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        const cause = causeOf(error);
        if (cause === 'other' || !(error instanceof LedgerlakeError)) throw error;
        if (error instanceof ApiRefusal && cause !== 'stranger' && !error.isWebPage) this.#hasAnswered = true;
        const rule = this.#ruleFor(cause);
        const now = this.#clock.now();
        const { times, since } = met.get(rule) ?? { times: 0, since: now };
        met.set(rule, { times: times + 1, since });
        const pauseMs = this.#pauseFor(operation, cause, times, error);
        const retries = isGuess && cause === 'invalid' ? 0 : rule.retries;
        const isLast = times >= retries || now + pauseMs > since + rule.withinMs;
        request.failed({ cause, error, since, isLast, pauseMs });
        if (isLast) throw failureFrom(rule.kind, error, attempt, adviceFor(cause, error));
        after = cause;
        await this.#clock.sleep(pauseMs, signal);
      }
    }
  }

  #ruleFor(cause: Exclude<Cause, 'other'>): RetryRule {
    const isNowhere = !this.#hasAnswered && (cause === 'stranger' || cause === 'no-connection');
    return this.#rules[isNowhere ? 'never-there' : cause];
  }

  #pauseFor(operation: string, cause: Exclude<Cause, 'other'>, before: number, error: LedgerlakeError): number {
    const rule = this.#ruleFor(cause);
    if (cause === 'throttled') return this.#throttledPause(operation, rule, before, error);
    if (rule.isImmediate === true && before === 0) return 0;
    const pauseMs = this.#askedPause(rule, error) ?? backOff(rule, before, this.#random);
    return error instanceof ApiRefusal ? Math.max(pauseMs, error.leastPauseMs) : pauseMs;
  }

  /** Which request finds out that the quota is used up is chance: the longer that lasts, the longer all of them wait. */
  #throttledPause(operation: string, rule: RetryRule, before: number, error: LedgerlakeError): number {
    const now = this.#clock.now();
    const { pauses, until } = this.#spells.get(operation) ?? { pauses: 0, until: now };
    const pauseMs = this.#askedPause(rule, error) ?? backOff(rule, Math.max(before, pauses), this.#random);
    this.#spells.set(operation, {
      pauses: pauses + (now >= until ? 1 : 0),
      until: Math.max(until, now + pauseMs),
    });
    return pauseMs;
  }

  /** The pause that the API asks for, and a random part, as others were given the same one. */
  #askedPause({ firstPauseMs }: RetryRule, error: LedgerlakeError): number | undefined {
    if (!(error instanceof ApiRefusal) || error.retryAfterMs === undefined) return undefined;
    return error.retryAfterMs + Math.floor(this.#random() * firstPauseMs);
  }
}

/** The cause of anything that an attempt can throw. Never throws. */
export function causeOf(error: unknown): Cause {
  if (error instanceof ApiRefusal) return error.stands;
  if (error instanceof WebPage) return 'stranger';
  if (!(error instanceof LedgerlakeError)) return 'other';
  if (error.code === 'UPSTREAM_UNREACHABLE') return neverConnected(error) ? 'no-connection' : 'fault';
  if (error.code === 'TOO_LARGE') return 'too-large';
  return error.code === 'UPSTREAM_BODY' || error.code === 'JSON_SYNTAX' ? 'fault' : 'other';
}

/** A sentence that the failure's message ends with; often empty. */
function adviceFor(cause: Cause, error: LedgerlakeError): string {
  if (cause === 'throttled') return 'The API has throttled this operation for a long time.';
  if (cause === 'mistake' || cause === 'invalid')
    return `The request was: ${error.details?.split('\n')[0] ?? 'unknown'}`;
  return error instanceof ApiRefusal ? error.advice : '';
}

/**
 * The pause before an attempt, in whole milliseconds: random, so that requests which failed together aren't sent again
 * together, between half the first pause and a limit that doubles. `before`: pauses made so far.
 */
export function backOff(
  { firstPauseMs, longestPauseMs }: Pick<RetryRule, 'firstPauseMs' | 'longestPauseMs'>,
  before: number,
  random: () => number,
): number {
  const least = firstPauseMs / 2;
  const most = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(before, 30));
  return Math.floor(least + random() * Math.max(0, most - least));
}

/** Takes an operation's attempt that failed. */
export type WaitWarning = (operation: string, failed: FailedAttempt) => void;

/** Milliseconds from which on a wait is reported. */
const longWaitMs = 30_000;

/** Milliseconds between two reports, at least. */
const leastBetweenMs = 60_000;

/** Reports long waits for an API, at most once a minute: a run that waits says why and until when. */
export function waitWarning(clock: Clock, emit: Emit): WaitWarning {
  let last = -Infinity;
  return (operation, { cause, error, since, isLast, pauseMs }) => {
    const now = clock.now();
    const until = now + pauseMs;
    if (isLast || until - since < longWaitMs || now - last < leastBetweenMs) return;
    last = now;
    const reason = error.message;
    emit({ event: 'service-awaited', operation, cause, reason, until: isoInstant(until) });
  };
}
