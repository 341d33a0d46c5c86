import type { Clock } from '../../core/clock.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import { LedgerlakeError } from '../../core/errors.js';
import { accessTokenHeader, type AccessTokens } from '../auth/access-token-cache.js';
import { Redaction } from '../auth/secret.js';
import { errorBytes, type HttpResponse, type SlowAnswer, type Transport } from '../http/transport.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { ApiRefusal, excerpt, isHtml, WebPage } from '../retry/api-refusal.js';
import type { Cause } from '../retry/causes.js';
import { causeOf, type FailedAttempt, type RetryPolicy } from '../retry/retry-policy.js';
import type { RequestCounts } from '../run/pipeline.js';
import type { Answer, ApiPage, PagedApi, PageRequest, Query } from './paged-api.js';

/** Which page of a query is requested. */
export interface PagePosition {
  /** Undefined: the first page. */
  readonly cursor?: string | undefined;
  /** Results a page. */
  readonly pageSize: number;
}

/** An answer and its page. The body is empty where the answer only states that there are no results. */
export interface ReceivedPage<P> extends Answer {
  readonly page: P;
  readonly requestId: string | undefined;
}

interface SendOptions {
  readonly signal: AbortSignal;
  /** Among the waiting requests: the lowest number is sent first. */
  readonly priority: number;
  /** Called right before the request is sent, when it has its token of the quota and its access token. */
  readonly onStart?: () => void;
  readonly onSlow?: (slow: SlowAnswer) => void;
}

export interface ApiClientOptions<Q extends Query, P extends ApiPage> {
  readonly api: PagedApi<Q, P>;
  readonly transport: Transport;
  /** The queue of an operation, which paces its requests and follows the rate that the API states; left out: not throttled. */
  readonly queueOf?: ((operation: string) => RequestQueue) | undefined;
  /** For an API that requires them: each request carries the current one. */
  readonly accessTokens?: AccessTokens | undefined;
  readonly clock: Clock;
  /** Called with each answer that has a date: the API's clock minus ours, in milliseconds, exact to about a second. */
  readonly onClock?: ((skewMs: number) => void) | undefined;
}

/** One attempt: what it requests, and what its answer is read with. */
interface PageAttempt<Q> {
  readonly query: Q;
  readonly hadCursor: boolean;
  readonly request: PageRequest;
  readonly token: string | undefined;
  /** Removes this attempt's secrets. */
  readonly redaction: Redaction;
}

/** Sends the requests of one API. */
export class ApiClient<Q extends Query, P extends ApiPage> {
  readonly #options: ApiClientOptions<Q, P>;
  #redaction: { readonly token: string | undefined; readonly redaction: Redaction } | undefined;

  constructor(options: ApiClientOptions<Q, P>) {
    this.#options = options;
  }

  /**
   * Sends one request, for one token of the quota.
   *
   * @throws LedgerlakeError:
   * - USAGE or MISSING_PARAMETER, before anything is sent, for an invalid query
   * - UPSTREAM_UNREACHABLE without a complete answer, TOO_LARGE where it exceeds the limit for memory
   * - UPSTREAM_STATUS (an `ApiRefusal`) for a status other than 200; 401 and 403 invalidate the access token
   * - JSON_SYNTAX or UPSTREAM_BODY for an answer that isn't a page (a `WebPage` for HTML), or contains our secrets
   * - the errors of signing in
   *
   * or the signal's reason
   */
  async send(query: Q, position: PagePosition, options: SendOptions): Promise<ReceivedPage<P>> {
    const { api, queueOf, accessTokens } = this.#options;
    const request = api.request(query, position.cursor, position.pageSize);
    for (;;) {
      // Before the quota: while it signs in the service's bucket is full already, and ours would count a refill that isn't one.
      const token = await accessTokens?.current(options.signal);
      const attempt = (signal: AbortSignal) =>
        this.#attempt(query, position, { request, token }, { ...options, signal });
      if (queueOf === undefined) return attempt(options.signal);
      // A token may expire while its request waits in the queue: all of these would wait for the same sign-in, and then be sent at once.
      const mayStart = () => token === undefined || accessTokens?.isCurrent(token) === true;
      const received = await queueOf(query.operation).run(attempt, { ...options, mayStart });
      if (received !== undefined) return received;
    }
  }

  async #attempt(
    query: Q,
    { cursor }: PagePosition,
    { request, token }: Pick<PageAttempt<Q>, 'request' | 'token'>,
    options: SendOptions,
  ): Promise<ReceivedPage<P>> {
    const { api, queueOf } = this.#options;
    options.onStart?.();
    const received = await this.#exchange(request, token, options);
    const redaction = this.#redactionFor(token);
    const answer = { ...received, headers: redaction.headers(received.headers) };
    const skewMs = this.#skewOf(answer);
    if (skewMs !== undefined) this.#options.onClock?.(skewMs);
    queueOf?.(query.operation).takeNamedRate(answer.headers.get(api.rateHeader ?? ''));
    const attempt = { query, hadCursor: cursor !== undefined, request, token, redaction };
    return answer.status === 200 ? this.#readPage(attempt, answer) : this.#emptyPage(attempt, answer);
  }

  #exchange(
    { path, shownPath, headers, body }: PageRequest,
    token: string | undefined,
    options: SendOptions,
  ): Promise<HttpResponse> {
    const { api, transport } = this.#options;
    const { address, mostBytes } = api;
    const { origin, setting, tokenHeader = { name: accessTokenHeader, before: '' } } = address;
    const signed = token === undefined ? {} : { [tokenHeader.name]: tokenHeader.before + token };
    return transport.send({
      origin,
      path,
      shownPath,
      headers: { ...address.headers, ...headers, ...signed },
      body,
      addressOf: setting,
      mostBytes,
      signal: options.signal,
      onSlow: options.onSlow,
    });
  }

  /** The redaction of a token and the address's secrets; that of the last token is kept. */
  #redactionFor(token: string | undefined): Redaction {
    if (this.#redaction === undefined || this.#redaction.token !== token) {
      this.#redaction = { token, redaction: new Redaction([token, ...this.#options.api.address.secrets]) };
    }
    return this.#redaction.redaction;
  }

  /** @throws LedgerlakeError for an answer with status 200 that isn't a page */
  #readPage({ query, request, redaction }: PageAttempt<Q>, answer: HttpResponse): ReceivedPage<P> {
    const { api } = this.#options;
    const { operation } = query;
    const { setting } = api.address;
    const { body } = answer;
    if (isHtml(body)) throw new WebPage(operation, redaction.bytes(body).subarray(0, errorBytes), setting);
    if (redaction.isIn(body)) throw repeatedSecret(operation, setting);
    const requestId = this.#requestIdOf(answer);
    try {
      const page = api.readPage(query, answer, request);
      refuseLongCursor(page.cursor ?? '');
      return { ...answer, page, requestId };
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || (error.code !== 'JSON_SYNTAX' && error.code !== 'UPSTREAM_BODY'))
        throw error;
      const details = `request id: ${requestId ?? 'none'}\n${body.length} bytes received`;
      // Smaller pages don't help against nothing at all, so it isn't called a page with bad JSON.
      const code = body.length === 0 ? 'UPSTREAM_BODY' : error.code;
      throw new LedgerlakeError(code, `${operation}: ${error.message}`, { cause: error, details });
    }
  }

  /** @throws ApiRefusal for an answer with another status that doesn't mean an empty page */
  #emptyPage(attempt: PageAttempt<Q>, answer: HttpResponse): ReceivedPage<P> {
    const { api, accessTokens } = this.#options;
    const { token } = attempt;
    const page = api.emptyPage?.(answer);
    if (page !== undefined) return { ...answer, body: new Uint8Array(), page, requestId: this.#requestIdOf(answer) };
    if (token !== undefined && (answer.status === 401 || answer.status === 403)) accessTokens?.refused(token);
    throw this.#refusal(attempt, answer);
  }

  #refusal({ query, hadCursor, request, token, redaction }: PageAttempt<Q>, answer: HttpResponse): ApiRefusal {
    const { api, clock } = this.#options;
    const skewMs = this.#skewOf(answer);
    return api.refusal(query, {
      ...answer,
      body: redaction.bytes(answer.body),
      path: request.shownPath ?? request.path,
      method: request.body === undefined ? 'GET' : 'POST',
      requestId: this.#requestIdOf(answer),
      hadCursor,
      signedIn: token !== undefined,
      skewMs,
      receivedAt: clock.now() + (skewMs ?? 0),
    });
  }

  #skewOf({ headers }: HttpResponse): number | undefined {
    const date = Date.parse(headers.get('date') ?? '');
    return Number.isNaN(date) ? undefined : date - this.#options.clock.now();
  }

  #requestIdOf({ headers }: HttpResponse): string | undefined {
    const id = headers.get(this.#options.api.requestIdHeader ?? '');
    return id === undefined ? undefined : excerpt(id);
  }
}

/** Characters of the longest cursor: servers refuse longer requests, and no API's cursor comes near. */
const longestCursor = 65_536;

/** Refuses a page whose cursor fits no request. The answer is faulty, since the API issued the cursor. */
function refuseLongCursor({ length }: string): void {
  if (length <= longestCursor) return;
  throw new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected a cursor to the next page of at most ${longestCursor} characters, got ${length}`,
  );
}

/** Refuses a body that would store a secret in the lake. */
function repeatedSecret(operation: string, setting: string): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected a page from ${operation}, got an answer that contains our credentials, so it is not the API; check ${setting}`,
    { status: 200 },
  );
}

/** How the requests of a query are sent. */
export interface RequestOptions {
  /** Among the waiting requests: the lowest number is sent first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly counts: RequestCounts;
  readonly emit?: ((event: UpstreamEvent) => void) | undefined;
  /** Whether it is another form of a request that was refused without a reason: a second refusal is not retried. */
  readonly isGuess?: boolean;
}

/**
 * Requests one page, with retries.
 *
 * @throws ReadFailure after the last attempt; the signal's reason, at once; the errors of signing in
 */
export type RequestPage<Q extends Query, P extends ApiPage> = (
  query: Q,
  position: PagePosition,
  options: RequestOptions,
) => Promise<ReceivedPage<P>>;

interface PagedRequestOptions<Q extends Query, P extends ApiPage> extends ApiClientOptions<Q, P> {
  readonly policy: RetryPolicy;
  readonly onWait?: ((operation: string, failed: FailedAttempt) => void) | undefined;
}

/** Requests that the policy retries, counted and reported. */
export function pagedRequests<Q extends Query, P extends ApiPage>(
  options: PagedRequestOptions<Q, P>,
): RequestPage<Q, P> {
  const { policy, clock, queueOf, onWait } = options;
  const client = new ApiClient(options);
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
        const received = await client.send(query, position, { priority, signal, onStart, onSlow });
        const seconds = Math.max(0, clock.now() - sentAt) / 1000;
        queue?.answered(seconds);
        const { body, requestId = null } = received;
        emit?.({ event: 'request-answered', operation, seconds, bytes: body.length, requestId });
        return received;
      } catch (error) {
        // After a refusal the bucket waits for the outcome of one request.
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
