import { type Operation } from '../../sources/finances/api-v0/operations.js';
import { eventLists } from '../../sources/finances/model/records.js';
import type { LedgerItem } from './ledger.js';

/** `{"list":[event,…],…}`: every list of the model in its order, then the lists that it doesn't know. */
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
 * The body of a page: `{"payload":{"NextToken"?,…}}`. Each item's JSON goes out as the ledger has it, byte for byte, in
 * the ledger's order. `more`: lists that stand in the body of events even when they are empty.
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
