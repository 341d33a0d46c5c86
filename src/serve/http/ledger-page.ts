import { operations } from '../../sources/finances/api-v0/operations.js';
import { type PageRequest, rangeOf } from './chain.js';
import type { InstantRange, Ledger, LedgerPage, LedgerQuery } from './ledger.js';
import { notFound } from './refusal.js';

/** A range that no event lies in. */
const nothing: InstantRange = { from: 0, to: 0 };

/** The ledger's page for a checked request. Throws a Refusal (404) for a group or an order that the ledger hasn't. */
export async function ledgerPage(ledger: Ledger, { chain, cursor }: PageRequest): Promise<LedgerPage> {
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
      // Without a bound it is all of the group, its newest events too.
      const isBounded = chain.after !== undefined;
      const range = isBounded ? (rangeOf(chain, operations[chain.operation].range) ?? nothing) : undefined;
      const page = await ledger.eventsOfGroup(subject, query, range);
      if (page === undefined) throw notFound('There is no resource with this eventGroupId.', subject);
      return page;
    }
    case 'ListFinancialEventsByOrderId': {
      const page = await ledger.eventsOfOrder(subject, query);
      if (page === undefined) throw notFound('There is no resource with this orderId.', subject);
      return page;
    }
  }
}
