import { LedgerlakeError } from '../errors.js';
import type { HttpAnswer, Transport } from '../http/agent.js';
import type { RequestQueue } from '../quota/queue.js';
import { readEndpoint } from './endpoint.js';
import type { OperationName } from './operations.js';
import { excerpt, isHtml, UpstreamRefusal } from './refused.js';
import { requestPath, type ParametersOf, type RequestParameters } from './request-path.js';

/** An answer with status 200. */
export interface Answer {
  readonly status: number;
  /** The body exactly as it came. */
  readonly body: Uint8Array;
  /** `x-amzn-RequestId`. */
  readonly requestId: string | undefined;
  /** `x-amzn-RateLimit-Limit`: requests a second, above 0. */
  readonly rateLimit: number | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Place among the requests that wait: the lowest number goes first. */
  readonly priority?: number | undefined;
}

export interface FinancesClientOptions {
  /** Base address; a path in it comes before that of the operations. */
  readonly endpoint: URL | string;
  readonly transport: Transport;
  /** The quota of each operation. Left out: not throttled. The rate that the service names is handed on to it. */
  readonly queues?: Readonly<Record<OperationName, RequestQueue>> | undefined;
}

type Call<N extends OperationName> = (parameters: ParametersOf<N>, options?: RequestOptions) => Promise<Answer>;

/**
 * The service's four operations (specification, section 4). Each sends one request and resolves with the answer of
 * status 200. All of them throw a LedgerlakeError:
 *
 * - MISSING_PARAMETER with status 400, before anything is sent, where the path parameter is missing or empty (section 7)
 * - USAGE, before anything is sent, for a parameter that isn't the operation's or can't be sent
 * - UPSTREAM_UNREACHABLE when there is no whole answer
 * - UPSTREAM_STATUS (an `UpstreamRefusal`) when the status isn't 200
 * - UPSTREAM_BODY when the answer is a web page, or encoded
 *
 * or the signal's reason.
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
export function createFinancesClient({ endpoint, transport, queues }: FinancesClientOptions): FinancesClient {
  const { origin, prefix, authorization } = readEndpoint(endpoint);
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  };

  /** The one place where a request is sent: once for each call, for one token. */
  const attempt = async (name: OperationName, path: string, signal: AbortSignal): Promise<Answer> => {
    const answer = answerOf(await transport.get({ origin, path, headers, signal }));
    if (answer.rateLimit !== undefined) queues?.[name].setRate(answer.rateLimit);
    if (answer.status !== 200) throw new UpstreamRefusal({ ...answer, operation: name, path });
    if (isHtml(answer.body)) throw webPage(name, answer.body);
    const { status, body, requestId, rateLimit } = answer;
    return { status, body, requestId, rateLimit };
  };

  const request = async (
    name: OperationName,
    parameters: RequestParameters,
    { signal = new AbortController().signal, priority = 0 }: RequestOptions = {},
  ): Promise<Answer> => {
    const path = `${prefix}${requestPath(name, parameters)}`;
    if (queues === undefined) return attempt(name, path, signal);
    return queues[name].run((started) => attempt(name, path, started), { priority, signal });
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

function answerOf({ status, headers, body }: HttpAnswer): Answer & { readonly retryAfter: string | undefined } {
  const rate = Number(headers.get('x-amzn-ratelimit-limit'));
  return {
    status,
    body,
    requestId: headers.get('x-amzn-requestid'),
    rateLimit: Number.isFinite(rate) && rate > 0 ? rate : undefined,
    retryAfter: headers.get('retry-after'),
  };
}

function webPage(name: OperationName, body: Uint8Array): LedgerlakeError {
  const found = excerpt(new TextDecoder().decode(body.subarray(0, 2048)));
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `Expected JSON from ${name}, got a web page (HTML): ${found}. Please check --endpoint, and for a proxy in between.`,
    { status: 200 },
  );
}
