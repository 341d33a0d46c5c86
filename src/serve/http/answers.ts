import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { type Answer, answerHeaders, type Exchange, type HttpRequest } from '../../core/http-server/answer.js';
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
import { failure, Refusal } from '../../core/http-server/refusal.js';
import { targetOf } from '../../core/http-server/host-rule.js';
import { createSignIn, signInPath, type SignInOptions } from './sign-in.js';
import { NextTokens } from './signed-tokens.js';

/** Every operation of the service, API by API. */
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
  // Own members whatever they are called: `__proto__` would be lost by assignment.
  return Object.fromEntries(pairs);
}

/** Numbers the requests of a service as they come in. */
export class Arrivals {
  #number = 0;
  readonly #inOperation = new Map<FaultRequest['operation'], number>();

  /** The next request. `query`: percent-encoded. */
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
  /** The quota of each operation; undefined: not throttled, and no rate is announced. */
  readonly quota?: Quota | undefined;
  /**
   * Whose quota it is: of the whole service, or of each account that signs in (each refresh token is one). Default: of each
   * account.
   */
  readonly quotaOf?: 'service' | 'account' | undefined;
  /** Signs all tokens; a service that starts again with the same key takes its earlier ones. Default: random. */
  readonly tokenKey?: string | Uint8Array | undefined;
  /** How long a NextToken is taken, milliseconds; undefined: for ever. */
  readonly tokenLifeMs?: number | undefined;
  /** Who may ask; undefined: everybody, and there is no sign-in. */
  readonly signIn?: SignInOptions | undefined;
  /** How the service falls short of its specification; undefined: nowhere. */
  readonly injectFaults?: FaultInjection | undefined;
  /** How long answers take, by the clock; default: no time. */
  readonly latencyMs?: Latency | undefined;
  /** Decides every chance of faults and latencies; default 1. */
  readonly seed?: number | undefined;
  /** Resources beside the operations, by path. */
  readonly sidePages?: ReadonlyMap<string, SidePage> | undefined;
  /** Told of every fault of its own that was answered with 500, whose answer says nothing of it. */
  readonly onFault?: ((fault: unknown, requestId: string) => void) | undefined;
}

/** Bytes of a page: beyond 10 MB the public model has InvalidInput. */
const mostBytes = 10_000_000;

/** What is known of a request while it is answered. */
interface Visit {
  operation: Counted;
  faults: RequestFaults;
  /** The rate that its operation runs at; undefined: not throttled. */
  rate: number | undefined;
}

/** A request of nothing but its line. */
function bare(): Exchange {
  return { headers: {}, body: () => Promise.resolve(Buffer.alloc(0)), signal: new AbortController().signal };
}

/**
 * The Financial Events Service without its sockets: what is answered to a method and a request target (specification,
 * sections 4 and 8), without headers and a body unless they are handed in. `tally` counts what comes. The answers never reject; a ledger that fails is answered with 500. A request counts for the quota when it came to
 * an operation by a caller who may ask, also when it turns out to be wrong or meets a fault; one that is throttled
 * costs nothing.
 *
 * Throws a USAGE error for options that can't be.
 */
export function createAnswers(
  options: AnswerOptions,
  tally = new Tally(),
): (method: string, target: string, exchange?: Exchange) => Promise<Answer> {
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

  /** What comes instead of a page, before anything of the request is read. */
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
    // One result can't be asked for in smaller pages: it goes out whatever its size.
    if (items.length > 1 && Buffer.byteLength(body) > mostBytes) throw operation.tooLarge(items.length);
    return { status: 200, body };
  }

  async function outcomeOf(visit: Visit, request: HttpRequest): Promise<Outcome> {
    const now = clock.now();
    const { path, query } = targetOf(request.target);
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
    // The quota counts when a request comes, not when its answer goes.
    const early = turnedAway(visit, request, route, now);
    await wait(number, request.signal);
    return early ?? page(visit, route, query, now);
  }

  return async (method, target, exchange = bare()) => {
    const requestId = randomUUID();
    const visit: Visit = { operation: 'none', faults: noFaults, rate: quotas.rate };
    const outcome = await outcomeOf(visit, { ...exchange, method, target }).catch((error: unknown) => {
      if (error instanceof Refusal) return refused(error);
      onFault?.(error, requestId);
      return refused(failure());
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
