import type { Clock } from '../../core/clock.js';
import { isCertificateFault } from '../../core/connections/connection-fault.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { neverConnected } from '../http/transport-failure.js';
import { Refusal, WebPage } from './api-refusal.js';
import { causeRules, type Cause, type CauseRule } from './causes.js';
import { failureFrom } from './read-failure.js';

export interface RetryPolicyOptions {
  readonly clock: Clock;
  /** From 0 up to 1: spreads the attempts. */
  readonly random: () => number;
  /** Milliseconds for all attempts at one request, where that is less than its rule has; left out: the rule decides. */
  readonly withinMs?: number | undefined;
  /** Whether the API has answered an earlier run; left out: it may not exist. */
  readonly hasAnswered?: boolean | undefined;
}

/** A request that may take several attempts. */
interface RetriedRequest<T> {
  readonly operation: string;
  readonly signal: AbortSignal;
  /** Whether it is another form of a request that was refused without a reason, or whose page wasn't JSON: a second failure is not retried. */
  readonly isGuess: boolean;
  /** Makes one attempt; `attempt` counts from 1, `after` is the cause of the previous failure. */
  send(attempt: number, after: Cause | null): Promise<T>;
  /** Called after each failed attempt, before the pause. */
  failed(attempt: FailedAttempt): void;
}

export interface FailedAttempt {
  readonly cause: Cause;
  readonly error: LedgerlakeError;
  /** First occurrence of the cause for this request: milliseconds since 1970. */
  readonly since: number;
  /** Whether it was the last attempt; otherwise the next one follows after `pauseMs`. */
  readonly isLast: boolean;
  readonly pauseMs: number;
}

/**
 * Retries the requests to one API or token endpoint by `causeRules`. Each attempt is a separate request, for a token of the quota. Between two
 * attempts a request occupies no slot in the queue.
 */
export class RetryPolicy {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #withinMs: number;
  /** Whether the API has answered once: then it exists, and connection failures are transient. */
  #hasAnswered: boolean;
  /** By throttled operation: the pauses so far, where simultaneous ones count once. */
  readonly #spells = new Map<string, { readonly pauses: number; readonly until: number }>();

  constructor({ clock, random, withinMs = Infinity, hasAnswered = false }: RetryPolicyOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#withinMs = withinMs;
    this.#hasAnswered = hasAnswered;
  }

  /**
   * @returns the result of the first successful attempt
   * @throws ReadFailure after the last attempt; the signal's reason, at once; other errors unchanged
   */
  async run<T>(request: RetriedRequest<T>): Promise<T> {
    const { operation, signal, isGuess } = request;
    const occurrences = new Map<CauseRule, { times: number; readonly since: number }>();
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
        const isOther = cause === 'not-the-api' || cause === 'no-connection';
        if (error instanceof Refusal && !isOther && !error.isWebPage) this.#hasAnswered = true;
        const isNowhere = !this.#hasAnswered && isOther;
        const rule = causeRules[isNowhere ? 'never-there' : cause];
        const now = this.#clock.now();
        const { times, since } = occurrences.get(rule) ?? { times: 0, since: now };
        occurrences.set(rule, { times: times + 1, since });
        const pauseMs = this.#pauseFor(rule, times, error, cause === 'throttled' ? operation : undefined);
        const isUnreadable = error.code === 'JSON_SYNTAX';
        const retries = isGuess && (cause === 'invalid' || isUnreadable) ? 0 : rule.retries;
        const isLast = times >= retries || now + pauseMs > since + Math.min(rule.withinMs, this.#withinMs);
        request.failed({ cause, error, since, isLast, pauseMs });
        const { failure = cause } = rule;
        if (isLast) throw failureFrom(isUnreadable ? 'unreadable' : failure, error, attempt, adviceFor(cause, error));
        after = cause;
        await this.#clock.sleep(pauseMs, signal);
      }
    }
  }

  /**
   * Milliseconds before the next attempt. Throttling hits the requests of an operation at random: the longer it lasts, the
   * longer all of them wait.
   */
  #pauseFor(rule: CauseRule, before: number, error: LedgerlakeError, throttled: string | undefined): number {
    const { retryAfterMs, leastPauseMs = 0 } = error instanceof Refusal ? error : {};
    const now = this.#clock.now();
    const spell = this.#spells.get(throttled ?? '') ?? { pauses: 0, until: now };
    const pauses = throttled === undefined ? before : Math.max(before, spell.pauses);
    if (rule.isImmediate === true && before === 0) return 0;
    const asked =
      // A random addition, as other clients got the same pause.
      retryAfterMs === undefined ? undefined : retryAfterMs + Math.floor(this.#random() * rule.firstPauseMs);
    const pauseMs = Math.max(asked ?? backOff(rule, pauses, this.#random), leastPauseMs);
    if (throttled !== undefined) {
      const until = Math.max(spell.until, now + pauseMs);
      this.#spells.set(throttled, { pauses: spell.pauses + (now >= spell.until ? 1 : 0), until });
    }
    return pauseMs;
  }
}

/** The cause of an attempt's error. Never throws. */
export function causeOf(error: unknown): Cause {
  if (error instanceof Refusal) return error.refusalCause;
  if (error instanceof WebPage) return 'not-the-api';
  if (!(error instanceof LedgerlakeError)) return 'other';
  if (error.code === 'UPSTREAM_UNREACHABLE') {
    if (isCertificateFault(error.cause)) return 'certificate';
    return neverConnected(error) ? 'no-connection' : 'fault';
  }
  if (error.code === 'TOO_LARGE') return 'too-large';
  return error.code === 'UPSTREAM_BODY' || error.code === 'JSON_SYNTAX' ? 'fault' : 'other';
}

/** The last sentence of the failure's message; often empty. */
function adviceFor(cause: Cause, error: LedgerlakeError): string {
  if (cause === 'throttled') return 'The API has throttled this operation for a long time.';
  if (cause === 'mistake' || cause === 'invalid')
    return `The request was: ${error.details?.split('\n')[0] ?? 'unknown'}`;
  return error instanceof Refusal ? error.advice : '';
}

/**
 * The pause before an attempt, in whole milliseconds: random between half the first pause and a limit that doubles, so that
 * requests which failed together aren't retried together. `before`: pauses so far.
 */
export function backOff(
  { firstPauseMs, longestPauseMs }: Pick<CauseRule, 'firstPauseMs' | 'longestPauseMs'>,
  before: number,
  random: () => number,
): number {
  const least = firstPauseMs / 2;
  const most = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(before, 30));
  return Math.floor(least + random() * Math.max(0, most - least));
}

/** A smaller difference of clocks is within the margin by which ranges end before the present. */
const leastSkewMs = 5 * 60_000;

/** Reports once where this machine's clock differs from the API's. */
export function clockWarning(emit: Emit): (skewMs: number) => void {
  let isReported = false;
  return (skewMs) => {
    if (isReported || Math.abs(skewMs) < leastSkewMs) return;
    isReported = true;
    emit({ event: 'clock-differs', seconds: Math.round(skewMs / 1000) });
  };
}

/** Milliseconds of the shortest reported wait, and between two reports. */
const waits = { longMs: 30_000, betweenMs: 60_000 };

/** Reports long waits for an API with reason and end, at most once a minute. */
export function waitWarning(clock: Clock, emit: Emit): (operation: string, failed: FailedAttempt) => void {
  let last = -Infinity;
  return (operation, { cause, error, since, isLast, pauseMs }) => {
    const now = clock.now();
    const until = now + pauseMs;
    if (isLast || until - since < waits.longMs || now - last < waits.betweenMs) return;
    last = now;
    emit({ event: 'service-awaited', operation, cause, reason: error.message, until: isoInstant(until) });
  };
}
