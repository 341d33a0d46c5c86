import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { type HttpAnswer, answerHeaders, type Exchange, type HttpRequest } from '../../core/http-server/answer.js';
import { type Outcome, overQuota, refused, requestRefusal, type SidePage } from './outcome.js';
import { eventOperations } from './event-operations.js';
import { percentDecoded } from './query-parameters.js';
import { createRoutes, type Route, type ServedOperation } from './served-operation.js';
import { transactionOperations } from './transaction-operations.js';
import { type Counted, Tally } from './counts.js';
import {
  type FaultInjection,
  type FaultRequest,
  noFaults,
  type RequestFaults,
  withoutFaults,
  createLatency,
  type Latency,
} from './fault-injection.js';
import type { Ledger } from './ledger.js';
import { type Quota, Quotas } from './quota-meters.js';
import { serverFailure, HttpRefusal } from '../../core/http-server/refusal.js';
import { parseTarget } from '../../core/http-server/host-rule.js';
import { createSignIn, signInPath, type SignInOptions } from './sign-in.js';
import { NextTokens } from './signed-tokens.js';

/** Every operation of the service, grouped by API. */
const servedOperations: readonly ServedOperation[] = [...eventOperations, ...transactionOperations];

const operationNamed = new Map<FaultRequest['operation'], ServedOperation>(
  servedOperations.map((operation) => [operation.name, operation]),
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
  // `fromEntries` defines own members whatever their names; assigning to `__proto__` would lose one.
  return Object.fromEntries(pairs);
}

/** Numbers the requests of a service in the order of arrival. */
export class Arrivals {
  #number = 0;
  readonly #inOperation = new Map<FaultRequest['operation'], number>();

  /** Numbers and describes the next request. `query` is percent-encoded. */
  next(operation: FaultRequest['operation'], query: string): FaultRequest {
    const served = operationNamed.get(operation);
    const numberInOperation = (this.#inOperation.get(operation) ?? 0) + 1;
    this.#inOperation.set(operation, numberInOperation);
    this.#number += 1;
    const parameters = parametersOf(query);
    return {
      operation,
      number: this.#number,
      numberInOperation,
      hasToken: served !== undefined && Object.hasOwn(parameters, served.tokenParameter),
      pageSize: Number(parameters[served?.sizeParameter ?? ''] ?? served?.pageSize),
      parameters,
    };
  }
}

export interface AnswerOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The quota of each operation; undefined: no throttling, and no rate is announced. */
  readonly quota?: Quota | undefined;
  /** Whether callers share one quota or each account that signs in (each refresh token) has one; default: `account`. */
  readonly quotaOf?: 'service' | 'account' | undefined;
  /** Signs all tokens: a restarted service with the same key accepts its earlier tokens. Default: random. */
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

/** State of a request while it is answered. */
interface Visit {
  operation: Counted;
  faults: RequestFaults;
  /** Rate of its operation, requests a second; undefined: not throttled. */
  rate: number | undefined;
}

/** An exchange without headers and body. */
function bare(): Exchange {
  return { headers: {}, body: () => Promise.resolve(Buffer.alloc(0)), signal: new AbortController().signal };
}

/**
 * The Financial Events Service without sockets: answers a method and a request target (specification, sections 4 and
 * 8), with no headers and an empty body unless `exchange` has them. `tally` counts requests and answers. The promise
 * never rejects; an error of the ledger is answered with 500. Every request of an authorised caller to an operation
 * uses the quota, even if it is invalid or meets a fault; a throttled request uses none.
 *
 * @throws LedgerlakeError USAGE for options that are invalid
 */
export function createAnswers(
  options: AnswerOptions,
  tally = new Tally(),
): (method: string, target: string, exchange?: Exchange) => Promise<HttpAnswer> {
  const { tokenLifeMs, onFault, sidePages, quotaOf = 'account', seed = 1 } = options;
  if (tokenLifeMs !== undefined && !(tokenLifeMs > 0)) {
    throw usageError(`expected cursors to live longer than 0 ms, got ${tokenLifeMs}`);
  }
  const quotas = new Quotas(options.quota);
  const signIn = options.signIn && createSignIn(options.signIn, options.clock, options.tokenKey);
  const hit = tally.hit.bind(tally);
  const { injectFaults = withoutFaults } = options;
  const faults = injectFaults({ ...options, seed, hit, signIn: signIn !== undefined });
  const { clock, ledger } = faults;
  const wait = createLatency(options.latencyMs ?? 0, seed, clock);
  const arrivals = new Arrivals();
  const tokens = new NextTokens(options.tokenKey);

  function enter(visit: Visit, request: HttpRequest, operation: FaultRequest['operation'], query: string): number {
    const { 'x-amz-access-token': accessToken } = request.headers;
    const arrival = arrivals.next(operation, query);
    visit.operation = operation;
    visit.faults = faults.request(arrival, {
      target: request.target,
      accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    });
    return arrival.number;
  }

  /** The outcome that replaces a page, decided before the query is read; undefined: none. */
  function turnedAway(visit: Visit, request: HttpRequest, { operation }: Route, now: number): Outcome | undefined {
    const unknown = signIn?.refusal(request, now);
    if (unknown !== undefined) return refused(unknown);
    const throttled = visit.faults.throttled();
    if (throttled !== undefined) return throttled;
    visit.rate = visit.faults.rate() ?? quotas.rate;
    if (!quotas.admit(operation, now, visit.rate, quotaOf === 'account' ? signIn?.accountOf(request) : undefined))
      return refused(overQuota());
    return visit.faults.instead();
  }

  async function page(visit: Visit, route: Route, query: string, now: number): Promise<Outcome> {
    const { operation, rawSubject } = route;
    const rules = { tokens, tokenLifeMs, isTokenEnough: () => visit.faults.isTokenEnough() };
    const request = operation.read({ rawSubject, query, rules, now });
    visit.faults.check(request);
    const shown = visit.faults.page(request, await operation.pageOf(ledger, request));
    const { items, next, lastToken, hasList = true } = shown;
    const issue = (cursor: string | undefined) => {
      const position = { pages: request.pages + 1, results: request.results + items.length, issuedAt: clock.now() };
      return tokens.issue({ chain: request.chain, cursor, ...position });
    };
    const nextToken = next === undefined ? lastToken : 'token' in next ? next.token : issue(next.cursor);
    const body = operation.bodyOf({ items: hasList ? items : undefined, nextToken }, faults.lists);
    visit.faults.checkBody(body);
    // A single result can't be split into smaller pages: it is sent whatever its size.
    if (items.length > 1 && Buffer.byteLength(body) > mostBytes) throw operation.tooLarge(items.length);
    return { status: 200, body };
  }

  async function outcomeOf(visit: Visit, request: HttpRequest): Promise<Outcome> {
    const now = clock.now();
    const { path, query } = parseTarget(request.target);
    if (signIn !== undefined && path === signInPath) {
      await wait(enter(visit, request, 'SignIn', query), request.signal);
      return visit.faults.instead() ?? signIn.answer(request, clock.now());
    }
    const sidePage = sidePages?.get(path);
    if (sidePage !== undefined) {
      visit.rate = undefined;
      if (['GET', 'HEAD'].includes(request.method)) return sidePage();
      return refused(requestRefusal(405, 'This resource takes GET and HEAD.', request.method), 'GET, HEAD');
    }
    const route = routeOf(request.method, path);
    const number = enter(visit, request, route.operation.name, query);
    // The quota counts a request when it arrives, not when its answer is sent.
    const early = turnedAway(visit, request, route, now);
    await wait(number, request.signal);
    return early ?? page(visit, route, query, now);
  }

  return async (method, target, exchange = bare()) => {
    const requestId = randomUUID();
    const visit: Visit = { operation: 'none', faults: noFaults, rate: quotas.rate };
    const outcome = await outcomeOf(visit, { ...exchange, method, target }).catch((error: unknown) => {
      if (error instanceof HttpRefusal) return refused(error);
      onFault?.(error, requestId);
      return refused(serverFailure());
    });
    const { status, body, headers, delivery = 'whole' } = outcome;
    const hasRate = visit.rate !== undefined && visit.operation !== 'SignIn' && [200, 400, 404].includes(status);
    tally.answered(visit.operation, status);
    return visit.faults.finish({
      status,
      body,
      delivery,
      headers: {
        ...answerHeaders(body, requestId, clock.now()),
        ...headers,
        ...(hasRate && { 'x-amzn-RateLimit-Limit': String(visit.rate) }),
      },
    });
  };
}
