import { operations } from '../../sources/finances/api-v0/operations.js';
import { type PageRequest, rangeOf } from './chain.js';
import type { Ledger, LedgerPage, LedgerQuery } from './ledger.js';
import { notFound } from './refusal.js';

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
      const page = await ledger.eventsOfGroup(subject, query);
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
