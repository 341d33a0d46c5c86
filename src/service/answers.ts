import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.js';
import { usageError } from '../errors.js';
import { type OperationName, operations } from '../finances/operations.js';
import { pageBody } from './bodies.js';
import { type PageRequest, rangeOf, readRequest, type TokenRules } from './chain.js';
import type { Ledger, LedgerPage, LedgerQuery } from './ledger.js';
import { Meter, type Quota } from './meter.js';
import { Refusal } from './refusal.js';
import { routeOf, targetOf } from './routes.js';
import { Tokens } from './tokens.js';

export interface AnswerOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The quota of each operation; undefined: not throttled, and no rate is announced. */
  readonly quota?: Quota | undefined;
  /** Signs the NextTokens; a service that starts again with the same key takes its earlier tokens. Default: random. */
  readonly tokenKey?: string | Uint8Array | undefined;
  /** How long a NextToken is taken, milliseconds; undefined: for ever. */
  readonly tokenLifeMs?: number | undefined;
  /** Told of every fault that was answered with 500, whose answer says nothing of it. */
  readonly onFault?: ((fault: unknown, requestId: string) => void) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** The headers that every answer carries. */
export function answerHeaders(body: string, requestId: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'x-amzn-RequestId': requestId,
  };
}

function notFound(name: string, subject: string): Refusal {
  return new Refusal(404, `There is no resource with this ${name}.`, subject);
}

/** The ledger's page for a checked request. Throws a Refusal (404) for a group or an order that the ledger hasn't. */
async function pageOf(ledger: Ledger, { chain, cursor }: PageRequest): Promise<LedgerPage> {
  const query: LedgerQuery = { cursor, limit: chain.pageSize, asOf: chain.asOf };
  const { subject = '' } = chain;
  switch (chain.operation) {
    case 'ListFinancialEventGroups':
    case 'ListFinancialEvents': {
      const { name, range: rules } = operations[chain.operation];
      const range = rangeOf(chain, rules);
      if (range === undefined) return { items: [], next: undefined };
      return name === 'ListFinancialEvents' ? ledger.events(range, query) : ledger.groups(range, query);
    }
    case 'ListFinancialEventsByGroupId': {
      const page = await ledger.eventsOfGroup(subject, query);
      if (page === undefined) throw notFound('eventGroupId', subject);
      return page;
    }
    case 'ListFinancialEventsByOrderId': {
      const page = await ledger.eventsOfOrder(subject, query);
      if (page === undefined) throw notFound('orderId', subject);
      return page;
    }
  }
}

/**
 * The Financial Events Service without its sockets: what is answered to a method and a request target (specification,
 * sections 4 and 8). The answers never reject; a ledger that fails is answered with 500.
 * Throws a USAGE error for a quota or a token life that can't be.
 */
export function createAnswers(options: AnswerOptions): (method: string, target: string) => Promise<Answer> {
  const { ledger, clock, quota, tokenLifeMs, onFault } = options;
  if (tokenLifeMs !== undefined && !(tokenLifeMs > 0)) {
    throw usageError(`The life of tokens must be above 0 milliseconds, not ${tokenLifeMs}`);
  }
  const rules: TokenRules = { tokens: new Tokens(options.tokenKey), tokenLifeMs };
  const meters = new Map<OperationName, Meter>();
  if (quota !== undefined) for (const { name } of Object.values(operations)) meters.set(name, new Meter(quota));

  async function page(method: string, target: string): Promise<string> {
    const now = clock.now();
    const { path, query } = targetOf(target);
    const route = routeOf(method, path);
    // Before the checks: a request that turns out to be wrong has used the quota all the same.
    if (meters.get(route.operation.name)?.admit(now) === false) {
      throw new Refusal(429, 'You exceeded your quota for the requested resource.');
    }
    const request = readRequest(route, query, rules, now);
    const { items, next } = await pageOf(ledger, request);
    const token =
      next === undefined
        ? undefined
        : rules.tokens.issue({ chain: request.chain, cursor: next, issuedAt: clock.now() });
    return pageBody(route.operation.result, items, token);
  }

  return async (method, target) => {
    const requestId = randomUUID();
    const answer = (status: number, body: string): Answer => ({
      status,
      body,
      headers: {
        ...answerHeaders(body, requestId),
        ...(status === 405 && { Allow: 'GET' }),
        ...(quota !== undefined &&
          [200, 400, 404].includes(status) && { 'x-amzn-RateLimit-Limit': String(quota.rate) }),
      },
    });
    try {
      return answer(200, await page(method, target));
    } catch (error) {
      if (error instanceof Refusal) return answer(error.status, error.body);
      onFault?.(error, requestId);
      return answer(500, new Refusal(500, 'The service failed; the same request may succeed later.').body);
    }
  };
}
