import { limits, type Operation, type OperationName, operations } from '../../sources/finances/api-v0/operations.js';
import { eventLists } from '../../sources/finances/model/records.js';
import { rangeOf, readEventRequest } from './event-requests.js';
import type { InstantRange, Ledger, LedgerItem, LedgerPage, LedgerQuery } from './ledger.js';
import { invalidInput, requestRefusal } from './outcome.js';
import type { PageContents, ServedOperation } from './served-operation.js';
import type { Chain } from './signed-tokens.js';

/** An empty range. */
const nothing: InstantRange = { from: 0, to: 0 };

type Ask = (ledger: Ledger, chain: Chain, query: LedgerQuery) => Promise<LedgerPage>;

/** The question for all groups or events in a chain's range of dates. */
function listed({ range }: { range: NonNullable<Operation['range']> }, table: 'groups' | 'events'): Ask {
  return async (ledger, chain, query) => {
    const asked = rangeOf(chain, range);
    return asked === undefined ? { items: [], next: undefined } : ledger[table](asked, query);
  };
}

async function found(page: Promise<LedgerPage | undefined>, parameter: string, subject: string): Promise<LedgerPage> {
  const known = await page;
  if (known === undefined) throw requestRefusal(404, `There is no resource with this ${parameter}.`, subject);
  return known;
}

/** The question to the ledger for each operation. */
const questions: Readonly<Record<OperationName, Ask>> = {
  ListFinancialEventGroups: listed(operations.ListFinancialEventGroups, 'groups'),
  ListFinancialEvents: listed(operations.ListFinancialEvents, 'events'),
  ListFinancialEventsByGroupId: (ledger, chain, query) => {
    const { subject = '' } = chain;
    const { pathParameter, range: rules } = operations.ListFinancialEventsByGroupId;
    // Without bounds it is the whole group, with events newer than the default upper bound.
    const range = chain.after === undefined ? undefined : (rangeOf(chain, rules) ?? nothing);
    return found(ledger.eventsOfGroup(subject, query, range), pathParameter.name, subject);
  },
  ListFinancialEventsByOrderId: (ledger, { subject = '' }, query) =>
    found(ledger.eventsOfOrder(subject, query), operations.ListFinancialEventsByOrderId.pathParameter.name, subject),
};

/** `{"list":[event,…],…}`: every list of the model in the model's order, then the lists unknown to it. */
function eventsJson(items: readonly LedgerItem[], more: readonly string[]): string {
  const lists = new Map<string, string[]>([...Object.keys(eventLists), ...more].map((list) => [list, []]));
  for (const { list, json } of items) {
    const events = lists.get(list);
    if (events === undefined) lists.set(list, [json]);
    else events.push(json);
  }
  return `{${[...lists].map(([list, events]) => `${JSON.stringify(list)}:[${events.join(',')}]`).join(',')}}`;
}

/**
 * The body of a page: `{"payload":{"NextToken"?,…}}`. Each item's JSON is sent as the ledger has it, byte for byte, in
 * the ledger's order. `more`: lists that a body of events has even when they are empty.
 */
export function pageBody(
  result: Operation['result'],
  items: readonly LedgerItem[],
  nextToken: string | undefined,
  more: readonly string[] = [],
): string {
  const token = nextToken === undefined ? '' : `"NextToken":${JSON.stringify(nextToken)},`;
  const results =
    result === 'FinancialEvents' ? eventsJson(items, more) : `[${items.map(({ json }) => json).join(',')}]`;
  return `{"payload":{${token}"${result}":${results}}}`;
}

/** The operations of Finances v0 (specification, sections 4 and 8). */
export const eventOperations: readonly ServedOperation[] = Object.values<Operation>(operations).map((operation) => ({
  name: operation.name,
  path: operation.path,
  tokenParameter: 'NextToken',
  sizeParameter: 'MaxResultsPerPage',
  pageSize: limits.pageSize,
  burst: limits.burst,
  read: (asked) => readEventRequest(operation, asked),
  pageOf: (ledger, { chain, cursor }) =>
    questions[operation.name](ledger, chain, { cursor, limit: chain.pageSize, asOf: chain.asOf }),
  bodyOf: ({ items = [], nextToken }: PageContents, lists) =>
    pageBody(operation.result, items, nextToken ?? undefined, lists),
  tooLarge: (results) =>
    invalidInput('The page exceeds 10 MB; ask for fewer results with MaxResultsPerPage.', `${results} results`),
}));
