import type { Clock } from '../../core/clock.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { ApiRefusal, type Cause, WebPage, excerpt, isHtml } from '../retry/api-refusal.js';
import { causeOf, type FailedAttempt, type RetryPolicy, type WaitWarning } from '../retry/retry-policy.js';
import type { RequestCounts } from '../run/pipeline.js';
import type { ApiPage, Query, Answer, PagedApi } from './paged-api.js';
import { LedgerlakeError } from '../../core/errors.js';
import { accessTokenHeader, type AccessTokens } from '../auth/access-token-cache.js';
import { Redaction } from '../auth/secret.js';
import { errorBytes, type HttpAnswer, type Transport, type SlowAnswer } from '../http/transport.js';

/** How a query's requests are sent. */
export interface Asking {
  /** Place among the requests that wait: the lowest number is sent first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
  /** Takes what becomes of each request; left out: nobody listens. */
  readonly emit?: ((event: UpstreamEvent) => void) | undefined;
  /** Another way to ask for what was refused without a reason: where it is refused too, yet another one is tried at once. */
  readonly isGuess?: boolean;
}

/**
 * Asks for one page until it comes, or no further attempt is made.
 *
 * @throws ReadFailure then; the signal's reason, at once; what signing in fails with
 */
export type RequestPage<Q extends Query, P extends ApiPage> = (
  query: Q,
  place: PagePlace,
  asking: Asking,
) => Promise<ReceivedPage<P>>;

export interface PageRequestOptions<Q extends Query, P extends ApiPage> {
  readonly client: ApiClient<Q, P>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** The queue of an operation: its bucket has to know what became of each request. Left out: not throttled. */
  readonly queueOf?: ((operation: string) => RequestQueue) | undefined;
  /** Takes every attempt that failed; undefined: nobody listens. */
  readonly onWait?: WaitWarning | undefined;
}

/** Requests that are retried by the policy, counted and reported. */
export function pageRequests<Q extends Query, P extends ApiPage>({
  client,
  policy,
  clock,
  queueOf,
  onWait,
}: PageRequestOptions<Q, P>): RequestPage<Q, P> {
  return (query, place, { priority, signal, counts, emit, isGuess = false }) => {
    const { operation } = query;
    const queue = queueOf?.(operation);

    const send = async (attempt: number, after: Cause | null): Promise<ReceivedPage<P>> => {
      let sentAt = clock.now();
      const onStart = (): void => {
        counts.requests++;
        if (attempt > 1) counts.retries++;
        emit?.({ event: 'request-sent', operation, attempt, cause: after });
        sentAt = clock.now();
      };
      try {
        const received = await client.send(query, place, {
          priority,
          signal,
          onStart,
          onSlow: (slow) => emit?.({ event: 'answer-slow', operation, ...slow }),
        });
        const seconds = Math.max(0, clock.now() - sentAt) / 1000;
        queue?.answered(seconds);
        const { body, requestId = null } = received;
        emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId });
        return received;
      } catch (error) {
        // The bucket hands out nothing before it knows what became of a request that follows a refusal.
        if (causeOf(error) !== 'throttled' || signal.aborted) queue?.bucket?.failed();
        throw error;
      }
    };

    const failed = (attempt: FailedAttempt): void => {
      const { cause, error, isLast, pauseMs } = attempt;
      if (cause === 'throttled') {
        counts.throttled++;
        queue?.bucket?.refused(pauseMs);
      }
      emit?.({
        event: 'request-failed',
        operation,
        cause,
        status: error.status ?? null,
        requestId: (error instanceof ApiRefusal ? error.requestId : undefined) ?? null,
        again: !isLast,
        waitSeconds: isLast ? 0 : pauseMs / 1000,
      });
      onWait?.(operation, attempt);
    };

    return policy.run({ operation, signal, isGuess, send, failed });
  };
}

/** Which page of a query is asked for. */
export interface PagePlace {
  /** Undefined: the first page. */
  readonly cursor?: string | undefined;
  /** Results a page. */
  readonly pageSize: number;
}

/** An answer that a page was read from. */
export interface ReceivedPage<P> extends Answer {
  readonly page: P;
  readonly requestId: string | undefined;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Place among the requests that wait: the lowest number is sent first. */
  readonly priority: number;
  /** Called right before the request is sent, when it has its token of the quota and its access token. */
  readonly onStart?: (() => void) | undefined;
  /** Called while the answer takes long. */
  readonly onSlow?: ((slow: SlowAnswer) => void) | undefined;
}

export interface ApiClientOptions<Q extends Query, P extends ApiPage> {
  readonly api: PagedApi<Q, P>;
  readonly transport: Transport;
  /** The queue of an operation, which paces its requests and follows the rate that the API names; left out: not throttled. */
  readonly queueOf?: ((operation: string) => RequestQueue) | undefined;
  /** Where the API asks for them: the one that is current when a request is sent goes with it. */
  readonly accessTokens?: AccessTokens | undefined;
  readonly clock: Clock;
}

/** Sends an API's requests: one for each call, for one token of the quota. */
export interface ApiClient<Q extends Query, P extends ApiPage> {
  /**
   * @throws LedgerlakeError:
   * - USAGE or MISSING_PARAMETER, before anything is sent, for a query that can't be sent
   * - UPSTREAM_UNREACHABLE where there is no whole answer, TOO_LARGE where it is larger than is held in memory
   * - UPSTREAM_STATUS (an `ApiRefusal`) for another status than 200; with 401 and 403 the access token counts as refused
   * - JSON_SYNTAX or UPSTREAM_BODY for an answer that isn't a page (a `WebPage` for HTML), or repeats our secrets
   * - what signing in fails with
   *
   * or the signal's reason
   */
  send(query: Q, place: PagePlace, options: SendOptions): Promise<ReceivedPage<P>>;
}

export function createApiClient<Q extends Query, P extends ApiPage>({
  api,
  transport,
  queueOf,
  accessTokens,
  clock,
}: ApiClientOptions<Q, P>): ApiClient<Q, P> {
  const { origin, headers, secrets, setting } = api.address;
  let signedWith: string | undefined;
  let redaction = new Redaction(secrets);

  const redacted = (answer: HttpAnswer, token: string | undefined): HttpAnswer => {
    if (token !== signedWith) [signedWith, redaction] = [token, new Redaction([token, ...secrets])];
    return { ...answer, headers: redaction.headers(answer.headers) };
  };

  const attempt = async (query: Q, place: PagePlace, path: string, options: SendOptions): Promise<ReceivedPage<P>> => {
    const { signal, onStart, onSlow } = options;
    const { operation } = query;
    const token = await accessTokens?.current(signal);
    onStart?.();
    const signed = token === undefined ? headers : { ...headers, [accessTokenHeader]: token };
    const request = { origin, path, headers: signed, addressOf: setting, signal, onSlow };
    const answer = redacted(await transport.get(request), token);
    const used = redaction;
    const requestId = answer.headers.get(api.requestIdHeader ?? '');
    const told = requestId === undefined ? undefined : excerpt(requestId);
    queueOf?.(operation).takeNamedRate(answer.headers.get(api.rateHeader ?? ''));
    if (answer.status !== 200) {
      if (token !== undefined && (answer.status === 401 || answer.status === 403)) accessTokens?.refused(token);
      const now = clock.now();
      const theirs = Date.parse(answer.headers.get('date') ?? '');
      throw api.refusal(query, {
        ...answer,
        body: used.bytes(answer.body),
        path,
        requestId: told,
        hadCursor: place.cursor !== undefined,
        signedIn: token !== undefined,
        skewMs: Number.isNaN(theirs) ? undefined : theirs - now,
        receivedAt: Number.isNaN(theirs) ? now : theirs,
      });
    }
    if (isHtml(answer.body)) throw new WebPage(operation, used.bytes(answer.body.subarray(0, errorBytes)), setting);
    if (used.isIn(answer.body)) throw repeatedSecret(operation, setting);
    return { ...answer, page: readPage(api, query, answer, path, told), requestId: told };
  };

  return {
    send: async (query, place, options) => {
      const path = api.requestPath(query, place.cursor, place.pageSize);
      if (queueOf === undefined) return attempt(query, place, path, options);
      const start = (signal: AbortSignal) => attempt(query, place, path, { ...options, signal });
      return queueOf(query.operation).run(start, options);
    },
  };
}

/** What isn't a page is reported with its operation, and the id of its request. */
function readPage<Q extends Query, P extends ApiPage>(
  api: PagedApi<Q, P>,
  query: Q,
  answer: Answer,
  path: string,
  requestId: string | undefined,
): P {
  try {
    return api.readPage(query, answer, path);
  } catch (error) {
    if (!(error instanceof LedgerlakeError) || (error.code !== 'JSON_SYNTAX' && error.code !== 'UPSTREAM_BODY'))
      throw error;
    const details = `request id: ${requestId ?? 'none'}\n${answer.body.length} bytes received`;
    throw new LedgerlakeError(error.code, `${query.operation}: ${error.message}.`, { cause: error, details });
  }
}

/** Such a body would carry the secret into the lake. */
function repeatedSecret(operation: string, setting: string): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `Expected a page from ${operation}, got an answer that repeats our own credentials: this is not the API. Check ${setting}.`,
    { status: 200 },
  );
}
