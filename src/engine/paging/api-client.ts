import type { Clock } from '../../core/clock.js';
import { excerpt, isHtml } from '../retry/excerpt.js';
import type { AccessTokens } from '../auth/access-token-cache.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { HttpAnswer, Transport } from '../http/transport.js';
import type { SlowAnswer } from '../http/whole-answer.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { Redaction } from '../auth/redaction.js';
import { errorBytes } from '../http/body.js';
import { readEndpoint } from '../../sources/finances/api-v0/endpoint.js';
import type { OperationName } from '../../sources/finances/api-v0/operations.js';
import { UpstreamRefusal, WebPage } from '../../sources/finances/api-v0/refusals.js';
import { requestPath, type ParametersOf, type RequestParameters } from '../../sources/finances/api-v0/request-path.js';

/** An answer with status 200. */
export interface Answer {
  readonly status: number;
  /** The body exactly as it came. */
  readonly body: Uint8Array;
  /** `x-amzn-RequestId`. */
  readonly requestId: string | undefined;
  /** `x-amzn-RateLimit-Limit`: requests a second, above 0. */
  readonly rateLimit: number | undefined;
  /**
   * How far the service's clock is ahead of ours, in milliseconds and good to about a second; undefined without a
   * readable `Date` header, or where the client has no clock.
   */
  readonly skewMs: number | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Place among the requests that wait: the lowest number goes first. */
  readonly priority?: number | undefined;
  /** Called right before the request is sent, once it has its turn under the quota and its access token. */
  readonly onStart?: (() => void) | undefined;
  /** Called while the answer takes long. */
  readonly onSlow?: ((slow: SlowAnswer) => void) | undefined;
}

export interface FinancesClientOptions {
  /** Base address; a path in it comes before that of the operations. */
  readonly endpoint: URL | string;
  readonly transport: Transport;
  /** The quota of each operation. Left out: not throttled. The rate that the service names is handed on to it. */
  readonly queues?: Readonly<Record<OperationName, RequestQueue>> | undefined;
  /** Where the service asks for them: the one that is current when a request is sent goes into `x-amz-access-token`. */
  readonly accessTokens?: AccessTokens | undefined;
  /** What the service's clock is held against; left out: it isn't. */
  readonly clock?: Clock | undefined;
}

type Call<N extends OperationName> = (parameters: ParametersOf<N>, options?: RequestOptions) => Promise<Answer>;

/**
 * The service's four operations (specification, section 4). Each sends one request and resolves with the answer of
 * status 200. All of them throw a LedgerlakeError:
 *
 * - MISSING_PARAMETER with status 400, before anything is sent, where the path parameter is missing or empty (section 7)
 * - USAGE, before anything is sent, for a parameter that isn't the operation's or can't be sent
 * - UPSTREAM_UNREACHABLE when there is no whole answer
 * - UPSTREAM_STATUS (an `UpstreamRefusal`) when the status isn't 200; with 401 and 403 the access token counts as refused
 * - UPSTREAM_BODY when the answer is a web page (a `WebPage`), is encoded, or repeats what we sign in with
 *
 * or what signing in has against it, or the signal's reason.
 */
export interface FinancesClient {
  /** Any of the four by its name. */
  request(name: OperationName, parameters: RequestParameters, options?: RequestOptions): Promise<Answer>;
  /** Section 4.1. */
  readonly listFinancialEventGroups: Call<'ListFinancialEventGroups'>;
  /** Section 4.2. */
  readonly listFinancialEvents: Call<'ListFinancialEvents'>;
  /** Section 4.3. */
  readonly listFinancialEventsByGroupId: Call<'ListFinancialEventsByGroupId'>;
  /** Section 4.4. */
  readonly listFinancialEventsByOrderId: Call<'ListFinancialEventsByOrderId'>;
}

/** @throws LedgerlakeError USAGE for an endpoint that isn't a base address */
export function createFinancesClient(options: FinancesClientOptions): FinancesClient {
  const { endpoint, transport, queues, accessTokens, clock } = options;
  const { origin, prefix, authorization, login } = readEndpoint(endpoint);
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  };

  let signedWith: string | undefined;
  let redaction = new Redaction(login);

  /** The one place where a request is sent: once for each call, for one token of the quota. */
  const attempt = async (
    name: OperationName,
    path: string,
    signal: AbortSignal,
    { onStart, onSlow }: RequestOptions,
  ): Promise<Answer> => {
    const token = await accessTokens?.current(signal);
    onStart?.();
    const signed = token === undefined ? headers : { ...headers, 'x-amz-access-token': token };
    const received = await transport.get({ origin, path, headers: signed, signal, onSlow });
    if (token !== signedWith) [signedWith, redaction] = [token, new Redaction([token, ...login])];
    const used = redaction;
    // Its own id and dates go into messages and logs.
    const told = { ...received, headers: used.headers(received.headers) };
    const answer = answerOf(told, clock?.now());
    queues?.[name].takeNamedRate(told.headers.get('x-amzn-ratelimit-limit'));
    const { status, requestId, rateLimit, skewMs } = answer;
    if (status !== 200) {
      if (token !== undefined && (status === 401 || status === 403)) accessTokens?.refused(token);
      const body = used.bytes(answer.body);
      throw new UpstreamRefusal({ ...answer, body, operation: name, path, signedIn: token !== undefined });
    }
    if (isHtml(answer.body)) throw new WebPage(name, used.bytes(answer.body.subarray(0, errorBytes)));
    if (used.isIn(answer.body)) throw repeated(name);
    return { status, body: answer.body, requestId, rateLimit, skewMs };
  };

  const request = async (
    name: OperationName,
    parameters: RequestParameters,
    { signal = new AbortController().signal, priority = 0, ...notices }: RequestOptions = {},
  ): Promise<Answer> => {
    const path = `${prefix}${requestPath(name, parameters)}`;
    if (queues === undefined) return attempt(name, path, signal, notices);
    return queues[name].run((started) => attempt(name, path, started, notices), { priority, signal });
  };

  return {
    request,
    listFinancialEventGroups: (parameters, options) => request('ListFinancialEventGroups', { ...parameters }, options),
    listFinancialEvents: (parameters, options) => request('ListFinancialEvents', { ...parameters }, options),
    listFinancialEventsByGroupId: (parameters, options) =>
      request('ListFinancialEventsByGroupId', { ...parameters }, options),
    listFinancialEventsByOrderId: (parameters, options) =>
      request('ListFinancialEventsByOrderId', { ...parameters }, options),
  };
}

type Received = Answer & { readonly retryAfter: string | undefined };

function answerOf({ status, headers, body }: HttpAnswer, now: number | undefined): Received {
  const rate = Number(headers.get('x-amzn-ratelimit-limit'));
  const requestId = headers.get('x-amzn-requestid');
  const theirs = Date.parse(headers.get('date') ?? '');
  return {
    status,
    body,
    requestId: requestId === undefined ? undefined : excerpt(requestId),
    rateLimit: Number.isFinite(rate) && rate > 0 ? rate : undefined,
    skewMs: now === undefined || Number.isNaN(theirs) ? undefined : theirs - now,
    retryAfter: headers.get('retry-after'),
  };
}

/** Such a body would carry the secret into the lake. */
function repeated(name: OperationName): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `Expected a page from ${name}, got an answer that repeats our own credentials: this is not the service. Please check --endpoint.`,
    { status: 200 },
  );
}
