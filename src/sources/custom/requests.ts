import { attemptTable } from '../../engine/retry/retry-rules.js';
import type { Cause } from '../../engine/retry/cause.js';
import { isHtml } from '../../engine/retry/excerpt.js';
import { backOff, retryAfterMs } from '../../engine/retry/backoff.js';
import { requestFailed } from '../../engine/retry/request-failed.js';
import { requestText, retried } from '../../engine/retry/retry-policy.js';
import { transportCause } from '../../engine/retry/transport-cause.js';
import type { WaitWarning } from '../../engine/retry/wait-warning.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { SlowAnswer } from '../../engine/http/whole-answer.js';
import { createTransport } from '../../engine/http/transport.js';
import { latencyAfter } from '../../engine/rate-limit/latency.js';
import type { RequestQueue } from '../../engine/rate-limit/request-queue.js';
import { isWorthPacing } from '../../engine/rate-limit/worth-pacing.js';
import type { Pace, Reading } from '../../engine/run/pipeline.js';
import { Secret } from '../../engine/auth/secret.js';
import { Redaction } from '../../engine/auth/redaction.js';
import { ApiRefusal, apiRefusal } from './api-refusal.js';
import type { ApiAddress } from './api-address.js';
import type { AskedWindow } from './definition.js';
import type { LoadedDefinition } from './load-definitions.js';
import { receivedPage, type Received } from './received-page.js';

export interface OwnRequestsOptions {
  readonly address: ApiAddress;
  readonly queue: RequestQueue;
  readonly clock: Clock;
  /** From 0 up to 1: spreads what is tried again. */
  readonly random: () => number;
  /** Told of every attempt that failed; undefined: nobody listens. */
  readonly waiting: WaitWarning | undefined;
}

/** The requests to a user's API. */
export interface OwnRequests {
  /**
   * Asks for a page until it is there, or there is no use in asking again.
   *
   * @param request path and query
   * @throws ReadFailure then; the signal's reason, at once, whatever is waited for
   */
  ask(request: string, window: AskedWindow, reading: Reading<unknown>): Promise<Received>;
  pace(): Pace | undefined;
  close(): Promise<void>;
}

/** Requests that are sent again by cause, each attempt for a token of its own. */
export function ownRequests(
  loaded: LoadedDefinition,
  { address, queue, clock, random, waiting }: OwnRequestsOptions,
): OwnRequests {
  const { name, api } = loaded.definition;
  const { quota, timeoutSeconds = 60 } = api;
  const timeout = timeoutSeconds * 1000;
  const transport = createTransport({
    headersTimeoutMs: timeout,
    bodyTimeoutMs: timeout,
    answerTimeoutMs: Math.max(300_000, 2 * timeout),
    clock,
  });
  const headers = Object.fromEntries(
    [...address.headers].map(([of, value]) => [of, value instanceof Secret ? value.reveal() : value]),
  );
  const redaction = new Redaction(address.secrets.map((secret) => secret.reveal()));
  let latency: number | undefined;
  let answered = false;

  const attempt = async (
    request: string,
    window: AskedWindow,
    reading: Reading<unknown>,
    tries: number,
    after: Cause | null,
  ): Promise<Received> => {
    const { counts, priority, signal } = reading;
    let sentAt = clock.now();
    const received = await queue.run(
      (started) => {
        counts.requests++;
        if (tries > 1) counts.retries++;
        reading.emit({ event: 'request-sent', operation: name, attempt: tries, cause: after });
        sentAt = clock.now();
        const onSlow = (slow: SlowAnswer): void => {
          reading.emit({ event: 'answer-slow', operation: name, ...slow });
        };
        return transport.get({ origin: address.origin, path: request, headers, signal: started, onSlow });
      },
      { priority, signal },
    );
    const answer = { ...received, headers: redaction.headers(received.headers) };
    const { body } = answer;
    if (quota?.rateHeader !== undefined) queue.takeNamedRate(answer.headers.get(quota.rateHeader.toLowerCase()));
    if (answer.status !== 200) throw apiRefusal(loaded, answer, redaction.bytes(body), request);
    if (redaction.isIn(body)) throw bodyError(name, 'a page, got an answer that repeats our own credentials');
    if (isHtml(body)) throw new ApiRefusal('stranger', undefined, webPage(name), 200, `GET ${request}`);
    const page = receivedPage(loaded, request, window, body, answer.headers);
    const seconds = Math.max(0, clock.now() - sentAt) / 1000;
    latency = latencyAfter(latency, seconds);
    queue.bucket?.granted();
    answered = true;
    reading.emit({ event: 'request-answered', operation: name, seconds, bytes: body.length, requestId: null });
    return page;
  };

  return {
    ask: (request, window, reading) => {
      const { signal } = reading;
      const send = async (tries: number, after: Cause | null): Promise<Received> => {
        try {
          return await attempt(request, window, reading, tries, after);
        } catch (error) {
          // The bucket hands out nothing before it knows what became of a request that follows a refusal.
          if (causeOf(error) !== 'throttled' || signal.aborted) queue.bucket?.failed();
          throw error;
        }
      };
      return retried(send, {
        clock,
        signal,
        table: attemptTable,
        causeOf,
        isKnown: () => answered,
        cameFrom: (cause, error) => {
          if (error instanceof ApiRefusal && cause !== 'stranger') answered = true;
        },
        pauseFor: (_cause, rule, before, error) => {
          const pause = backOff(rule, before, random);
          const after = error instanceof ApiRefusal ? retryAfterMs(error.retryAfter, clock.now()) : undefined;
          return after === undefined ? pause : after + Math.floor(random() * rule.firstPauseMs);
        },
        met: (cause, pause) => {
          if (cause !== 'throttled') return;
          reading.counts.throttled++;
          queue.bucket?.refused(pause);
        },
        again: (_cause, rule) => rule.again,
        decided: (failed) => {
          reading.emit(requestFailed(name, failed, undefined));
          waiting?.(name, failed);
        },
        more: (cause, error) => (cause === 'mistake' || cause === 'invalid' ? requestText(error) : ''),
      });
    },
    pace: () => {
      const { bucket } = queue;
      if (bucket === undefined || !isWorthPacing(bucket.rate)) return undefined;
      return { rate: bucket.rate, burst: bucket.burst, level: bucket.level(), latency };
    },
    close: () => transport.close(),
  };
}

function causeOf(error: unknown): Cause {
  return error instanceof ApiRefusal ? error.standsFor : transportCause(error);
}

function webPage(name: string): string {
  return `Expected JSON for ${name}, got a web page (HTML). Check api.address, and for a proxy in between.`;
}

function bodyError(name: string, what: string): LedgerlakeError {
  return new LedgerlakeError('UPSTREAM_BODY', `${name}: expected ${what}: check api.address`, { status: 200 });
}
