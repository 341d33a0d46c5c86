import type { Ledger, LedgerItem, LedgerPage, LedgerQuery } from '../../serve/http/ledger.js';
import type { FaultInjector } from './fault-injector.js';

/** Items read at once. */
const mostItems = 500;

type Order = (items: readonly LedgerItem[]) => readonly LedgerItem[];

/**
 * A ledger that lists in another order than by instant: the newest first, or shuffled. Each page is cut from all items of
 * its question, which are the same for all pages of a chain.
 */
export function reorderedLedger(ledger: Ledger, injector: FaultInjector): Ledger {
  const kind = (['newest-first', 'shuffled'] as const).find((candidate) => injector.has(candidate));
  if (kind === undefined) return ledger;
  const order: Order = (items) => {
    injector.count(kind);
    if (kind === 'newest-first') return items.toReversed();
    return items
      .map((item, at) => ({ item, rank: injector.chance('shuffled', item.list, item.json, at) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ item }) => item);
  };
  const { byTransaction } = ledger;
  return {
    groups: (range, query) => reordered(order, query, (each) => ledger.groups(range, each)),
    events: (range, query) => reordered(order, query, (each) => ledger.events(range, each)),
    eventsOfGroup: async (groupId, query, range) => {
      const first = await ledger.eventsOfGroup(groupId, { ...query, cursor: undefined }, range);
      const ask = async (each: LedgerQuery) => (await ledger.eventsOfGroup(groupId, each, range)) ?? empty;
      return first && reordered(order, query, ask);
    },
    eventsOfOrder: async (orderId, query) => {
      const first = await ledger.eventsOfOrder(orderId, { ...query, cursor: undefined });
      return first && reordered(order, query, async (each) => (await ledger.eventsOfOrder(orderId, each)) ?? empty);
    },
    byTransaction: byTransaction && {
      transactions: (question, query) => reordered(order, query, (each) => byTransaction.transactions(question, each)),
      summaries: (question, query) => reordered(order, query, (each) => byTransaction.summaries(question, each)),
      payouts: (question, query) => reordered(order, query, (each) => byTransaction.payouts(question, each)),
    },
  };
}

const empty: LedgerPage = { items: [], next: undefined };

/** A page of a question in another order; its cursor is the number of items before it. */
async function reordered(
  order: Order,
  { cursor, limit, asOf }: LedgerQuery,
  ask: (query: LedgerQuery) => Promise<LedgerPage>,
): Promise<LedgerPage> {
  const items: LedgerItem[] = [];
  let next: string | undefined;
  do {
    const page = await ask({ cursor: next, limit: mostItems, asOf });
    items.push(...page.items);
    next = page.next;
  } while (next !== undefined);
  const start = Number(cursor ?? 0);
  const end = start + limit;
  return { items: order(items).slice(start, end), next: end < items.length ? String(end) : undefined };
}
