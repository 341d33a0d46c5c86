import {
  transactionLimits,
  type TransactionOperation,
  type TransactionOperationName,
  transactionOperations,
  parameters,
  transactionStatuses,
} from '../../sources/finances/api-2024-06-19/operations.js';
import { HttpRefusal } from '../../core/http-server/refusal.js';
import { dayMs, type Window } from '../../core/windows.js';
import type { BackendPage } from '../operation/backend-page.js';
import type { TransactionBackend, WithTransactionBackend } from './transaction-backend.js';
import { invalidInput, pageTooLarge } from '../operation/outcome.js';
import { type Bound, boundOf, queryValues } from '../operation/query-parameters.js';
import {
  type UncheckedRequest,
  type CheckedRequest,
  firstRequest,
  positionOf,
  type ReadPage,
  type ServedOperation,
} from '../operation/served-operation.js';
import type { Chain, ChainPosition } from '../operation/signed-tokens.js';

type QueryValues = ReadonlyMap<string, string>;

/** The query parameters of an operation besides the token. */
function parameterNames({ range, parameters: others }: TransactionOperation): readonly string[] {
  return [range.after, range.before, ...others];
}

/** A date as an instant: its midnight in UTC, as Amazon's SDK sends it. */
function dateOf(name: string, text: string | undefined): Bound | undefined {
  const bound = boundOf(name, text);
  if (bound === undefined || bound.at % dayMs === 0) return bound;
  throw invalidInput(`${name} must be an ISO 8601 date, such as 2025-01-31.`, bound.text);
}

/** @throws Refusal for a bound that is too late, and for bounds in the wrong order */
function checkBounds(
  { range }: TransactionOperation,
  after: Bound | undefined,
  before: Bound | undefined,
  now: number,
): void {
  const { marginMs } = range;
  for (const [name, bound] of [
    [range.after, after],
    [range.before, before],
  ] as const) {
    if (marginMs !== undefined && bound !== undefined && bound.at >= now - marginMs) {
      throw invalidInput(`${name} must be more than ${marginMs / 60_000} minutes before now.`, bound.text);
    }
  }
  if (after === undefined || before === undefined) return;
  if (range.bounds === 'dates' ? before.at >= after.at : before.at > after.at) return;
  const order = range.bounds === 'dates' ? 'must not be earlier than' : 'must be later than';
  throw invalidInput(`${range.before} ${order} ${range.after}.`, `${after.text} and ${before.text}`);
}

/** @throws Refusal for an invalid related identifier, and where neither an identifier nor a required range is given */
function checkSelection({ range, relatedIdentifiers }: TransactionOperation, values: QueryValues): void {
  if (relatedIdentifiers.length === 0) return;
  const { relatedIdentifierName, relatedIdentifierValue } = parameters;
  const name = values.get(relatedIdentifierName);
  const value = values.get(relatedIdentifierValue);
  if ((name === undefined) !== (value === undefined)) {
    throw invalidInput(`${relatedIdentifierName} and ${relatedIdentifierValue} go together.`, name ?? value ?? '');
  }
  if (name !== undefined && !relatedIdentifiers.includes(name)) {
    throw invalidInput(`${relatedIdentifierName} must be ${relatedIdentifiers.join(' or ')}.`, name);
  }
  if (name === undefined && !values.has(range.after)) {
    throw invalidInput(`Either ${range.after} or ${relatedIdentifierName} must be specified.`, '');
  }
}

function checkStatus(values: QueryValues): void {
  const status = values.get(parameters.transactionStatus);
  if (status === undefined || transactionStatuses.some((known) => known === status)) return;
  throw invalidInput(`${parameters.transactionStatus} must be one of ${transactionStatuses.join(', ')}.`, status);
}

/** The position of a token, which must be sent with exactly the parameters of the first request. */
function positionIn(
  token: string,
  operation: TransactionOperationName,
  values: QueryValues,
  { rules, now }: UncheckedRequest,
): ChainPosition {
  // A token with a `%` was encoded twice; the live service answers it with 500.
  if (token.includes('%')) throw new HttpRefusal(500, 'We encountered an internal error. Please try again.');
  const parameter = parameters.nextToken;
  const signed = token.replaceAll('+', '-').replaceAll('/', '_').replace(/=$/, '');
  const position = positionOf(signed, { parameter, operation, subject: undefined }, rules, now);
  if (tokenText(signed) !== token) throw invalidInput(`${parameter} must come unchanged.`, token);
  const first = position.chain.parameters ?? {};
  const [other, got = ''] = [...values].find(([name, value]) => name !== parameter && first[name] !== value) ?? [];
  if (other !== undefined) {
    throw invalidInput(`${parameter} must be sent with the same ${other} as the first request.`, got);
  }
  const missing = Object.keys(first).find((name) => !values.has(name));
  if (missing === undefined || rules.isTokenSufficient()) return position;
  const rule = `${parameter} must be sent with all parameters of the first request`;
  throw invalidInput(`${rule}: ${missing} is missing.`, token);
}

/** A token in the alphabet of this API, with at least one character that a client must encode. */
function tokenText(signed: string): string {
  return `${signed.replace(/=$/, '').replaceAll('-', '+').replaceAll('_', '/')}=`;
}

function readTransactionRequest(operation: TransactionOperation, request: UncheckedRequest): CheckedRequest {
  const { name, range } = operation;
  const values = queryValues(
    { operation: name, names: [...parameterNames(operation), parameters.nextToken] },
    request.query,
  );
  const token = values.get(parameters.nextToken);
  if (token !== undefined) return { ...positionIn(token, name, values, request), token };
  const bound = range.bounds === 'dates' ? dateOf : boundOf;
  const [after, before] = [range.after, range.before].map((parameter) => bound(parameter, values.get(parameter)));
  checkSelection(operation, values);
  checkStatus(values);
  checkBounds(operation, after, before, request.now);
  const chain: Chain = {
    operation: name,
    subject: undefined,
    after: after?.at,
    before: before?.at,
    pageSize: transactionLimits.pageSize,
    asOf: request.now,
    parameters: Object.fromEntries(values),
  };
  return firstRequest(chain);
}

/**
 * The range of instants of a chain; undefined where its bounds are too far apart, or where the default upper bound
 * isn't later than the lower one.
 */
function rangeOf({ after, before, asOf }: Chain, { range }: TransactionOperation): Window | undefined {
  const end = before ?? (range.beforeDefaultsToNow ? asOf - (range.marginMs ?? 0) : Infinity);
  const start = after ?? -Infinity;
  if (after !== undefined && end - after > range.maxSpanMs && end !== Infinity) return undefined;
  return start < end ? { start, end } : undefined;
}

const emptyPage: BackendPage = { items: [], next: undefined };

function accountsIn({ parameters: values = {} }: Chain) {
  return { marketplaceIds: values['marketplaceIds']?.split(','), accountType: values['accountType'] };
}

/** The question to the backend for each operation. */
const questions: Readonly<Record<TransactionOperationName, ReadPage<TransactionBackend>>> = {
  listTransactions: async (backend, chain, query) => {
    const { parameters: values = {} } = chain;
    const related = (name: (typeof transactionOperations.listTransactions.relatedIdentifiers)[number]) =>
      values[parameters.relatedIdentifierName] === name ? values[parameters.relatedIdentifierValue] : undefined;
    const range = rangeOf(chain, transactionOperations.listTransactions);
    if (range === undefined) return emptyPage;
    const question = {
      range,
      status: values[parameters.transactionStatus],
      marketplaceId: values['marketplaceId'],
      orderId: related('ORDER_ID'),
      groupId: related('FINANCIAL_EVENT_GROUP_ID'),
    };
    return backend.transactions(question, query);
  },
  listSummary: (backend, chain, query) => {
    const { parameters: values = {}, after, before } = chain;
    const dayOf = (midnight: number | undefined) => (midnight === undefined ? undefined : midnight / dayMs);
    const first = dayOf(after ?? before);
    const question = {
      ...accountsIn(chain),
      settlementId: values[parameters.relatedIdentifierValue],
      days: first === undefined ? undefined : { first, last: dayOf(before) },
    };
    return backend.summaries(question, query);
  },
  listPayouts: async (backend, chain, query) => {
    const range = rangeOf(chain, transactionOperations.listPayouts);
    if (range === undefined) return emptyPage;
    return backend.payouts({ ...accountsIn(chain), range, payoutId: chain.parameters?.['payoutId'] }, query);
  },
};

/** The operations of Finances 2024-06-19 and the listing of payouts. */
export const servedTransactionOperations: readonly ServedOperation<WithTransactionBackend>[] =
  Object.values<TransactionOperation>(transactionOperations).map((operation) => ({
    name: operation.name,
    path: operation.path,
    parameters: parameterNames(operation),
    tokenParameter: parameters.nextToken,
    rate: transactionLimits.rate,
    burst: transactionLimits.burst,
    read: (request) => readTransactionRequest(operation, request),
    pageOf: async ({ byTransaction: backend }, { chain, cursor }) => {
      const query = { cursor, limit: chain.pageSize, asOf: chain.asOf };
      return backend === undefined ? emptyPage : questions[operation.name](backend, chain, query);
    },
    bodyOf: ({ items, nextToken }) => {
      const list = items === undefined ? [] : [`"${operation.result}":[${items.map(({ json }) => json).join(',')}]`];
      const token = nextToken === undefined ? [] : [`"nextToken":${JSON.stringify(nextToken && tokenText(nextToken))}`];
      const page = `{${[...list, ...token].join(',')}}`;
      return operation.hasPayload ? `{"payload":${page}}` : page;
    },
    tooLarge: pageTooLarge,
  }));
