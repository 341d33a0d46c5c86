import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import { accessTokenHeader, type AccessTokens } from '../auth/access-token-cache.js';
import { Redaction } from '../auth/secret.js';
import { errorBytes, type HttpAnswer, type SlowAnswer, type Transport } from '../http/transport.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { ApiRefusal, excerpt, isHtml, WebPage, type Cause } from '../retry/api-refusal.js';
import { causeOf, type FailedAttempt, type RetryPolicy } from '../retry/retry-policy.js';
import type { RequestCounts } from '../run/pipeline.js';
import type { Answer, ApiPage, PagedApi, PageRequest, Query } from './paged-api.js';

/** Which page of a query is asked for. */
export interface PagePosition {
  /** Undefined: the first page. */
  readonly cursor?: string | undefined;
  /** Results a page. */
  readonly pageSize: number;
}

/** An answer that a page was read from; one that says that there is nothing has no body here. */
export interface ReceivedPage<P> extends Answer {
  readonly page: P;
  readonly requestId: string | undefined;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Place among the requests that wait: the lowest number is sent first. */
  readonly priority: number;
  /** Called right before the request is sent, when it has its token of the quota and its access token. */
  readonly onStart?: () => void;
  readonly onSlow?: (slow: SlowAnswer) => void;
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

/**
 * Sends one request, for one token of the quota.
 *
 * @throws LedgerlakeError:
 * - USAGE or MISSING_PARAMETER, before anything is sent, for a query that can't be sent
 * - UPSTREAM_UNREACHABLE where there is no whole answer, TOO_LARGE where it is larger than the limit for memory
 * - UPSTREAM_STATUS (an `ApiRefusal`) for another status than 200; with 401 and 403 the access token counts as refused
 * - JSON_SYNTAX or UPSTREAM_BODY for an answer that isn't a page (a `WebPage` for HTML), or repeats our secrets
 * - what signing in fails with
 *
 * or the signal's reason
 */
export type SendRequest<Q extends Query, P extends ApiPage> = (
  query: Q,
  position: PagePosition,
  options: SendOptions,
) => Promise<ReceivedPage<P>>;

export function apiClient<Q extends Query, P extends ApiPage>(options: ApiClientOptions<Q, P>): SendRequest<Q, P> {
  const { api, transport, queueOf, accessTokens, clock } = options;
  const { origin, headers, secrets, setting } = api.address;
  const { tokenHeader = { name: accessTokenHeader, before: '' } } = api.address;
  let signedWith: string | undefined;
  let redaction = new Redaction(secrets);

  const redacted = (answer: HttpAnswer, token: string | undefined): HttpAnswer => {
    if (token !== signedWith) [signedWith, redaction] = [token, new Redaction([token, ...secrets])];
    return { ...answer, headers: redaction.headers(answer.headers) };
  };

  const attempt = async (
    query: Q,
    position: PagePosition,
    asked: PageRequest,
    sent: SendOptions,
  ): Promise<ReceivedPage<P>> => {
    const { operation } = query;
    const { path, body } = asked;
    const token = await accessTokens?.current(sent.signal);
    sent.onStart?.();
    const signed = token === undefined ? {} : { [tokenHeader.name]: tokenHeader.before + token };
    const request = {
      ...{ origin, path, headers: { ...headers, ...asked.headers, ...signed } },
      ...{ addressOf: setting, signal: sent.signal, onSlow: sent.onSlow },
    };
    const send = body === undefined ? transport.get(request) : transport.post({ ...request, body });
    const answer = redacted(await send, token);
    const used = redaction;
    const id = answer.headers.get(api.requestIdHeader ?? '');
    const requestId = id === undefined ? undefined : excerpt(id);
    queueOf?.(operation).takeNamedRate(answer.headers.get(api.rateHeader ?? ''));
    if (answer.status !== 200) {
      const page = api.emptyPage?.(answer);
      if (page !== undefined) return { ...answer, body: new Uint8Array(), page, requestId };
      if (token !== undefined && (answer.status === 401 || answer.status === 403)) accessTokens?.refused(token);
      const now = clock.now();
      const theirs = Date.parse(answer.headers.get('date') ?? '');
      throw api.refusal(query, {
        ...answer,
        body: used.bytes(answer.body),
        path,
        method: body === undefined ? 'GET' : 'POST',
        requestId,
        hadCursor: position.cursor !== undefined,
        signedIn: token !== undefined,
        skewMs: Number.isNaN(theirs) ? undefined : theirs - now,
        receivedAt: Number.isNaN(theirs) ? now : theirs,
      });
    }
    if (isHtml(answer.body)) throw new WebPage(operation, used.bytes(answer.body.subarray(0, errorBytes)), setting);
    if (used.isIn(answer.body)) throw repeatedSecret(operation, setting);
    try {
      const page = api.readPage(query, answer, asked);
      refuseLongCursor(page.cursor ?? '');
      return { ...answer, page, requestId };
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || (error.code !== 'JSON_SYNTAX' && error.code !== 'UPSTREAM_BODY'))
        throw error;
      const details = `request id: ${requestId ?? 'none'}\n${answer.body.length} bytes received`;
      throw new LedgerlakeError(error.code, `${operation}: ${error.message}`, { cause: error, details });
    }
  };

  // Throws in the promise what can't be sent.
  return async (query, position, sent) => {
    const asked = api.request(query, position.cursor, position.pageSize);
    if (queueOf === undefined) return attempt(query, position, asked, sent);
    return queueOf(query.operation).run((signal) => attempt(query, position, asked, { ...sent, signal }), sent);
  };
}

/** Characters of a cursor beyond which servers refuse the request, and no API's comes near to. */
const longestCursor = 65_536;

/** Refuses a page whose cursor no request can hold: a fault of the answer, as it is the API's own. */
function refuseLongCursor({ length }: string): void {
  if (length <= longestCursor) return;
  throw new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected a cursor to the next page of at most ${longestCursor} characters, got ${length}`,
  );
}

/** Such a body would carry the secret into the lake. */
function repeatedSecret(operation: string, setting: string): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected a page from ${operation}, got an answer that contains our credentials, so it is not the API; check ${setting}`,
    { status: 200 },
  );
}

/** How a query's requests are sent. */
export interface Asking {
  /** Place among the requests that wait: the lowest number is sent first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
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
  position: PagePosition,
  asking: Asking,
) => Promise<ReceivedPage<P>>;

export interface PagedRequestOptions<Q extends Query, P extends ApiPage> extends ApiClientOptions<Q, P> {
  readonly policy: RetryPolicy;
  readonly onWait?: ((operation: string, failed: FailedAttempt) => void) | undefined;
}

/** Requests that the policy retries, counted and reported. */
export function pagedRequests<Q extends Query, P extends ApiPage>(
  options: PagedRequestOptions<Q, P>,
): RequestPage<Q, P> {
  const { policy, clock, queueOf, onWait } = options;
  const sendOnce = apiClient(options);
  return (query, position, { priority, signal, counts, emit, isGuess = false }) => {
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
      const onSlow = (slow: SlowAnswer): void => emit?.({ event: 'answer-slow', operation, ...slow });
      try {
        const received = await sendOnce(query, position, { priority, signal, onStart, onSlow });
        const seconds = Math.max(0, clock.now() - sentAt) / 1000;
        queue?.answered(seconds);
        const { body, requestId = null } = received;
        emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId });
        return received;
      } catch (error) {
        // The bucket hands out nothing before it knows what became of a request that follows a refusal.
        if (causeOf(error) !== 'throttled' || signal.aborted) queue?.failed();
        throw error;
      }
    };

    const failed = (attempt: FailedAttempt): void => {
      const { cause, error, isLast, pauseMs } = attempt;
      if (cause === 'throttled') {
        counts.throttled++;
        queue?.refused(pauseMs);
      }
      const status = error.status ?? null;
      const requestId = (error instanceof ApiRefusal ? error.requestId : undefined) ?? null;
      const waitSeconds = isLast ? 0 : pauseMs / 1000;
      emit?.({ event: 'request-failed', operation, cause, status, requestId, again: !isLast, waitSeconds });
      onWait?.(operation, attempt);
    };

    return policy.run({ operation, signal, isGuess, send, failed });
  };
}
