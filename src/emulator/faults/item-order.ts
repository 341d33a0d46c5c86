import type { BackendItem, BackendPage, BackendQuery } from '../../serve/operation/backend-page.js';
import type { FaultInjector } from './fault-injector.js';

/** Items read at once. */
const mostItems = 500;

/** Another order of all items of a question than by instant. */
export type ItemOrder = (items: readonly BackendItem[]) => readonly BackendItem[];

/** The order that a fault gives to the items of a backend: the newest first, or shuffled; undefined: their own. */
export function itemOrder(injector: FaultInjector): ItemOrder | undefined {
  const kind = (['newest-first', 'shuffled'] as const).find((candidate) => injector.has(candidate));
  if (kind === undefined) return undefined;
  return (items) => {
    injector.count(kind);
    if (kind === 'newest-first') return items.toReversed();
    return items
      .map((item, at) => ({ item, rank: injector.chance('shuffled', item.list, item.json, at) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ item }) => item);
  };
}

/**
 * A page of a question in another order; its cursor is the number of items before it. It is cut from all items of the
 * question, which are the same for all pages of a chain.
 */
export async function reordered(
  order: ItemOrder,
  { cursor, limit, asOf }: BackendQuery,
  ask: (query: BackendQuery) => Promise<BackendPage>,
): Promise<BackendPage> {
  const items: BackendItem[] = [];
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
