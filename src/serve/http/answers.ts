import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { type HttpAnswer, answerHeaders, type HttpRequest } from '../../core/http-server/answer.js';
import { type Outcome, overQuota, refused, requestRefusal, type SidePage } from '../operation/outcome.js';
import { percentDecoded } from '../operation/query-parameters.js';
import { type CheckedRequest, createRoutes, type Route } from '../operation/served-operation.js';
import { type CountKey, RequestTally } from './counts.js';
import {
  createLatency,
  type FaultInjection,
  type FaultRequest,
  type Latency,
  noFaults,
  type RequestFaults,
  type SentPage,
  type ServerFaults,
  withoutFaults,
} from './fault-injection.js';
import { servedOperations, type Backend } from '../served-apis.js';
import { type ServerQuota, Quotas } from './quota-meters.js';
import { serverFailure, HttpRefusal } from '../../core/http-server/refusal.js';
import { parseTarget } from '../../core/http-server/host-rule.js';
import { AuthorizationServer, signInPath, type SignInOptions } from './sign-in.js';
import { NextTokens } from '../operation/signed-tokens.js';
import { DocumentAddresses } from '../reports-2021-06-30/document-addresses.js';

/** The token parameter of each operation. */
const tokenParameters = new Map<FaultRequest['operation'], string>(
  servedOperations.map(({ name, tokenParameter }) => [name, tokenParameter]),
);

const routeOf = createRoutes(servedOperations);

function parametersOf(query: string): Record<string, string> {
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const [name = '', ...value] = pair.split('=').map((text) => percentDecoded(text) ?? text);
      return [name, value.join('=')];
    });
  // `fromEntries` defines a member of any name; an assignment to `__proto__` would define none.
  return Object.fromEntries(pairs);
}

/** Describes the request with a number in the order of arrival. `query` is percent-encoded. */
export function faultRequest(operation: FaultRequest['operation'], number: number, query: string): FaultRequest {
  const parameters = parametersOf(query);
  const tokenParameter = tokenParameters.get(operation);
  const hasToken = tokenParameter !== undefined && Object.hasOwn(parameters, tokenParameter);
  return { operation, number, hasToken, parameters };
}

export interface AnswerOptions {
  readonly backend: Backend;
  readonly clock: Clock;
  /** The quota of each operation; undefined: no throttling, and no rate is announced. */
  readonly quota?: ServerQuota | undefined;
  /** Whether callers share one quota or each account that signs in (each refresh token) has one; default: `account`. */
  readonly quotaOf?: 'server' | 'account' | undefined;
  /** Signs all tokens: a restarted server with the same key accepts its earlier tokens. Default: random. */
  readonly tokenKey?: string | Uint8Array | undefined;
  /** How long a NextToken is valid, milliseconds; undefined: without limit. */
  readonly tokenLifeMs?: number | undefined;
  /** Credentials of the clients; undefined: no sign-in, and every request is allowed. */
  readonly signIn?: SignInOptions | undefined;
  /** Deviations from the specification; undefined: none. */
  readonly injectFaults?: FaultInjection | undefined;
  /** Latency of answers by `clock`, milliseconds; default: none. */
  readonly latencyMs?: Latency | undefined;
  /** Seed of all random faults and latencies; default 1. */
  readonly seed?: number | undefined;
  /** Pages besides the operations, by path. */
  readonly sidePages?: ReadonlyMap<string, SidePage> | undefined;
  /** Receives each internal error, whose answer is a 500 without details. */
  readonly onFault?: ((fault: unknown, requestId: string) => void) | undefined;
}

/** Largest page in bytes: for larger ones the public model has InvalidInput. */
const mostBytes = 10_000_000;

/** The request and what is decided about it while it is answered. */
interface RequestState {
  readonly request: HttpRequest;
  operation: CountKey;
  faults: RequestFaults;
  /** Rate of its operation, requests a second; undefined: not throttled. */
  rate: number | undefined;
}

/**
 * The Financial Events Service without sockets: answers requests (specification, sections 4 and 8). `tally` counts requests and
 * answers. The promise never rejects; an error of the backend is answered with 500. Every request of an authorised caller to an
 * operation uses the quota, even if it is invalid or meets a fault; a throttled request uses none.
 *
 * @throws LedgerlakeError USAGE for options that are invalid
 */
export function createAnswers(
  options: AnswerOptions,
  tally = new RequestTally(),
): (request: HttpRequest) => Promise<HttpAnswer> {
  const handler = new RequestHandler(options, tally);
  return (request) => handler.answer(request);
}

class RequestHandler {
  readonly #options: AnswerOptions;
  readonly #tally: RequestTally;
  readonly #quotas: Quotas;
  readonly #signIn: AuthorizationServer | undefined;
  readonly #faults: ServerFaults;
  readonly #latency: (number: number, signal: AbortSignal) => Promise<void>;
  /** Requests so far. */
  #arrived = 0;
  readonly #tokens: NextTokens;
  readonly #documents: DocumentAddresses;

  constructor(options: AnswerOptions, tally: RequestTally) {
    const { tokenLifeMs, tokenKey, latencyMs = 0, injectFaults = withoutFaults, seed = 1 } = options;
    if (tokenLifeMs !== undefined && !(tokenLifeMs > 0)) {
      throw usageError(`expected cursors to live longer than 0 ms, got ${tokenLifeMs}`);
    }
    this.#options = options;
    this.#tally = tally;
    this.#quotas = new Quotas(options.quota);
    this.#signIn = options.signIn && new AuthorizationServer(options.signIn, options.clock, tokenKey);
    const hit = tally.hit.bind(tally);
    this.#faults = injectFaults({ ...options, seed, hit, signIn: this.#signIn !== undefined });
    this.#latency = createLatency(latencyMs, seed, this.#faults.clock);
    this.#tokens = new NextTokens(tokenKey);
    this.#documents = new DocumentAddresses(tokenKey);
  }

  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const requestId = randomUUID();
    const state: RequestState = { request, operation: 'none', faults: noFaults, rate: this.#quotas.rate };
    const outcome = await this.#outcomeOf(state).catch((error: unknown) => {
      if (error instanceof HttpRefusal) return refused(error);
      this.#options.onFault?.(error, requestId);
      return refused(serverFailure());
    });
    this.#tally.answered(state.operation, outcome.status);
    return state.faults.finish(this.#answerOf(outcome, state, requestId));
  }

  async #outcomeOf(state: RequestState): Promise<Outcome> {
    const { request } = state;
    const now = this.#faults.clock.now();
    const { path, query } = parseTarget(request.target);
    if (this.#signIn !== undefined && path === signInPath) return this.#signInOutcome(this.#signIn, state, query);
    const sidePage = this.#options.sidePages?.get(path);
    if (sidePage !== undefined) {
      state.rate = undefined;
      if (['GET', 'HEAD'].includes(request.method)) return sidePage();
      return refused(requestRefusal(405, 'This resource takes GET and HEAD.', request.method), 'GET, HEAD');
    }
    if (this.#documents.isDocument(path)) return this.#documentOutcome(state, path, query, now);
    const route = routeOf(request.method, path);
    const number = this.#arrive(state, route.operation.name, query);
    // The quota counts a request when it arrives, not when its answer is sent.
    const early = this.#outcomeBeforeRead(state, route, now);
    await this.#latency(number, request.signal);
    return early ?? this.#page(state, route, query, now);
  }

  async #signInOutcome(signIn: AuthorizationServer, state: RequestState, query: string): Promise<Outcome> {
    const number = this.#arrive(state, 'SignIn', query);
    await this.#latency(number, state.request.signal);
    return state.faults.replacement() ?? signIn.answer(state.request, this.#faults.clock.now());
  }

  async #documentOutcome(state: RequestState, path: string, query: string, now: number): Promise<Outcome> {
    const { request } = state;
    state.rate = undefined;
    const number = this.#arrive(state, 'Download', query);
    await this.#latency(number, request.signal);
    const { byReport } = this.#faults.backend;
    return state.faults.replacement() ?? this.#documents.answer({ request, path, query, now }, byReport);
  }

  /** Numbers the request and draws its faults. Returns the number. */
  #arrive(state: RequestState, operation: FaultRequest['operation'], query: string): number {
    const { target, headers } = state.request;
    const { 'x-amz-access-token': accessToken } = headers;
    this.#arrived += 1;
    const number = this.#arrived;
    state.operation = operation;
    state.faults = this.#faults.request(faultRequest(operation, number, query), {
      target,
      accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    });
    return number;
  }

  /** The outcome that replaces a page, decided before the query is read; undefined: none. */
  #outcomeBeforeRead(state: RequestState, { operation }: Route<Backend>, now: number): Outcome | undefined {
    const { request, faults } = state;
    const unauthorised = this.#signIn?.refusal(request, now);
    if (unauthorised !== undefined) return refused(unauthorised);
    const throttled = faults.throttled();
    if (throttled !== undefined) return throttled;
    state.rate = faults.rate() ?? this.#quotas.rateOf(operation);
    const account = this.#options.quotaOf === 'server' ? undefined : this.#signIn?.accountOf(request);
    if (!this.#quotas.admit(operation, now, state.rate, account)) return refused(overQuota());
    return faults.replacement();
  }

  async #page(
    { request: exchange, faults }: RequestState,
    route: Route<Backend>,
    query: string,
    now: number,
  ): Promise<Outcome> {
    const { operation, rawSubject } = route;
    const { tokenLifeMs } = this.#options;
    const rules = { tokens: this.#tokens, tokenLifeMs, isTokenSufficient: () => faults.isTokenSufficient() };
    const request = operation.read({ rawSubject, query, rules, now });
    faults.check(request);
    const page = faults.page(request, await operation.pageOf(this.#faults.backend, request));
    const { items, hasList = true } = page;
    const nextToken = this.#nextToken(request, page);
    const body = operation.bodyOf(
      { items: hasList ? items : undefined, nextToken },
      {
        lists: this.#faults.lists,
        addressOf: (documentId) => this.#documents.addressOf(exchange, documentId, now),
      },
    );
    faults.checkBody(body);
    // A single result can't be split into smaller pages: it is sent whatever its size.
    if (items.length > 1 && Buffer.byteLength(body) > mostBytes) throw operation.tooLarge(items.length);
    return { status: 200, body };
  }

  #nextToken(request: CheckedRequest, { items, next, lastToken }: SentPage): string | null | undefined {
    if (next === undefined) return lastToken;
    if ('token' in next) return next.token;
    return this.#tokens.issue({
      chain: request.chain,
      cursor: next.cursor,
      pages: request.pages + 1,
      results: request.results + items.length,
      issuedAt: this.#faults.clock.now(),
    });
  }

  #answerOf(outcome: Outcome, { operation, rate }: RequestState, requestId: string): HttpAnswer {
    const { status, body, headers, delivery = 'whole' } = outcome;
    const hasRate = rate !== undefined && operation !== 'SignIn' && [200, 400, 404].includes(status);
    return {
      status,
      body,
      delivery,
      headers: {
        ...answerHeaders(body, requestId, this.#faults.clock.now()),
        ...headers,
        ...(hasRate && { 'x-amzn-RateLimit-Limit': String(rate) }),
      },
    };
  }
}
