import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { SlowAnswer } from '../http/whole-answer.js';
import type { RequestCounts } from '../run/pipeline.js';
import { attemptTable, type AttemptRule, type AttemptTable } from '../retry/retry-rules.js';
import type { Cause } from '../retry/cause.js';
import { backOff, retryAfterMs } from '../retry/backoff.js';
import { requestFailed } from '../retry/request-failed.js';
import { requestText, retried } from '../retry/retry-policy.js';
import type { WaitWarning } from '../retry/wait-warning.js';
import { causeOf } from '../../sources/finances/api-v0/causes.js';
import type { FinancesClient } from './api-client.js';
import { operations, type OperationName } from '../../sources/finances/api-v0/operations.js';
import { resultsOf } from '../../sources/finances/api-v0/page-results.js';
import { scanPage, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { untilBoundsAreFine } from '../../sources/finances/api-v0/pauses.js';
import { UpstreamRefusal } from '../../sources/finances/api-v0/refusals.js';
import type { RequestParameters } from '../../sources/finances/api-v0/request-path.js';

/** How a question's requests are sent. */
export interface Asking {
  /** Place among the requests that wait: the lowest number goes first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
  /** Takes what becomes of each request; left out: nobody listens. */
  readonly emit?: ((event: UpstreamEvent) => void) | undefined;
  /** Another way to ask for what was refused without a reason: where it is refused too, yet another is tried at once. */
  readonly isGuess?: boolean;
}

/** A page with the bytes that it was scanned from. */
export interface ReceivedPage {
  readonly page: ScannedPage;
  readonly body: Uint8Array;
  readonly requestId: string | undefined;
}

/**
 * Asks for one page until it is there, or there is no use in asking again.
 *
 * @throws ReadFailure then; the signal's reason, at once, whatever is waited for; and what signing in has against it
 */
export type RequestPage = (
  operation: OperationName,
  parameters: RequestParameters,
  asking: Asking,
) => Promise<ReceivedPage>;

export interface AttemptOptions {
  /** Sends one request for each call, in its turn under the quota. */
  readonly client: FinancesClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly table?: AttemptTable;
  /** The service throttled this operation, and its request comes again after so many milliseconds. */
  readonly onThrottled?: (operation: OperationName, waitMs: number) => void;
  /** A page came, so many seconds after the request was sent. */
  readonly onAnswer?: (operation: OperationName, seconds: number) => void;
  /** A request came to neither. */
  readonly onFailed?: (operation: OperationName) => void;
  /** Told of every attempt that failed. */
  readonly onWait?: WaitWarning | undefined;
}

/**
 * Requests that are sent again by cause, as `attempt-table.ts` says: each attempt is a request of its own, for a token
 * of the quota. Between two attempts the request holds no place in the queue.
 */
export function createAttempts({
  client,
  clock,
  random,
  table = attemptTable,
  onThrottled,
  onAnswer,
  onFailed,
  onWait,
}: AttemptOptions): RequestPage {
  /** Whether the service itself has ever answered: what then isn't there will come back. */
  let answered = false;
  /** Of operations that are throttled: waits of all their requests so far, those at the same time counted once. */
  const spells = new Map<OperationName, { readonly times: number; readonly until: number }>();

  const attempt = async (
    operation: OperationName,
    parameters: RequestParameters,
    { priority, signal, counts, emit }: Asking,
    tries: number,
    after: Cause | null,
  ): Promise<ReceivedPage> => {
    let sentAt = clock.now();
    const onStart = (): void => {
      counts.requests++;
      if (tries > 1) counts.retries++;
      emit?.({ event: 'request-sent', operation, attempt: tries, cause: after });
      sentAt = clock.now();
    };
    const onSlow = (slow: SlowAnswer): void => {
      emit?.({ event: 'answer-slow', operation, ...slow });
    };
    const asked = { priority, signal, onStart, onSlow };
    const { body, requestId } = await client.request(operation, parameters, asked);
    const seconds = Math.max(0, clock.now() - sentAt) / 1000;
    const page = pageOf(operation, body, requestId);
    onAnswer?.(operation, seconds);
    emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId: requestId ?? null });
    return { page, body, requestId };
  };

  return async (operation, parameters, asking) => {
    const { signal, counts } = asking;
    const send = async (tries: number, after: Cause | null): Promise<ReceivedPage> => {
      try {
        const received = await attempt(operation, parameters, asking, tries, after);
        answered = true;
        spells.delete(operation);
        return received;
      } catch (error) {
        if (causeOf(error) !== 'throttled' || signal.aborted) onFailed?.(operation);
        throw error;
      }
    };
    return retried(send, {
      clock,
      signal,
      table,
      causeOf,
      isKnown: () => answered,
      cameFrom: (cause, error) => {
        if (error instanceof UpstreamRefusal && cause !== 'stranger' && !error.isWebPage) answered = true;
      },
      pauseFor: (cause, rule, before, error) => {
        // Which request finds out is chance: the longer it goes on, the longer all of them wait.
        const spell = cause === 'throttled' ? (spells.get(operation)?.times ?? 0) : 0;
        return pauseFor(cause, rule, Math.max(before, spell), error, operation, parameters);
      },
      met: (cause, pause) => {
        if (cause !== 'throttled') return;
        counts.throttled++;
        const now = clock.now();
        const spell = spells.get(operation);
        const isNew = spell === undefined || now >= spell.until;
        const until = Math.max(spell?.until ?? 0, now + pause);
        spells.set(operation, { times: (spell?.times ?? 0) + (isNew ? 1 : 0), until });
        onThrottled?.(operation, pause);
      },
      again: (cause, rule) => (cause === 'invalid' && asking.isGuess === true ? 0 : rule.again),
      decided: (failed) => {
        const { error } = failed;
        const requestId = error instanceof UpstreamRefusal ? error.requestId : undefined;
        asking.emit?.(requestFailed(operation, failed, requestId));
        onWait?.(operation, failed);
      },
      more: moreAbout,
    });
  };

  function pauseFor(
    cause: Cause,
    rule: AttemptRule,
    before: number,
    error: LedgerlakeError,
    operation: OperationName,
    parameters: RequestParameters,
  ): number {
    if (cause === 'access-expired' && before === 0) return 0;
    const pause = backOff(rule, before, random);
    const skewMs = error instanceof UpstreamRefusal ? (error.skewMs ?? 0) : 0;
    const theirs = clock.now() + skewMs;
    if (cause === 'throttled' && error instanceof UpstreamRefusal) {
      const asked = retryAfterMs(error.retryAfter, theirs);
      // Not all at the same instant, which is what everyone else was told too.
      return asked === undefined ? pause : asked + Math.floor(random() * rule.firstPauseMs);
    }
    if (cause !== 'bound-too-late') return pause;
    return Math.max(pause, untilBoundsAreFine(operation, parameters, theirs));
  }
}

/**
 * The page of a body. Its results are looked at here, so that a page which isn't the model's is asked for again.
 *
 * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY, with the operation and the id of the request
 */
function pageOf(operation: OperationName, body: Uint8Array, requestId: string | undefined): ScannedPage {
  try {
    const page = scanPage(body);
    resultsOf(page, operations[operation].result);
    return page;
  } catch (error) {
    if (!(error instanceof LedgerlakeError)) throw error;
    const details = `request id: ${requestId ?? 'none'}\n${body.length} bytes received`;
    throw new LedgerlakeError(error.code, `${operation}: ${error.message}.`, { cause: error, details });
  }
}

/** What a failure's message goes on with. */
function moreAbout(cause: Cause, error: LedgerlakeError, pause: number): string {
  if (cause === 'throttled') return 'The service has throttled this operation for a long time.';
  if (cause === 'access-expired') {
    return (
      'Access tokens that the sign-in has only just issued are refused as well: please check that it and --endpoint belong ' +
      "together (region, sandbox), and that the seller's authorization still holds."
    );
  }
  if (cause === 'mistake' || cause === 'invalid') {
    return requestText(error);
  }
  if (cause !== 'bound-too-late') return '';
  const skewMs = error instanceof UpstreamRefusal ? error.skewMs : undefined;
  const skew = skewMs === undefined ? '' : `: the service's clock is ${secondsOff(skewMs)} of this machine's`;
  return `The date bounds are fine in ${Math.ceil(pause / 60_000)} minutes at the earliest: please check --to, and the clocks${skew}.`;
}

function secondsOff(skewMs: number): string {
  return `${Math.abs(Math.round(skewMs / 1000))} s ${skewMs < 0 ? 'behind' : 'ahead'}`;
}
