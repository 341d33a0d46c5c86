import { breakdownKind } from '../../../sources/finances/api-2024-06-19/breakdown-kinds.js';
import { isObject } from '../../../lake/delta/actions.js';
import type { Place } from './money-places.js';
import type { EntryRow, WalkedNode } from './money-walk.js';

/** An amount as it counts. */
export interface Worth {
  /** Millionths; null where it can't be computed exactly. */
  readonly value: bigint | null;
  readonly currency: string | null;
}

/** The type of a transaction; empty where it has none. @param transaction as JSON.parse gives it */
export function transactionType(transaction: unknown): string {
  const type = isObject(transaction) ? transaction['transactionType'] : undefined;
  return typeof type === 'string' ? type.toWellFormed() : '';
}

/** What an amount of a transaction has by its place. */
export function transactionRole(
  { owner, types }: Place,
  isNet: boolean,
): Pick<EntryRow, 'role' | 'kind' | 'breakdown'> {
  const breakdown = types.length === 0 ? null : types.join('/');
  return { role: isNet ? 'net' : 'memo', kind: breakdownKind(owner, types), breakdown };
}

/**
 * The indices of the net amounts of a transaction: those of its items, else those of its breakdowns, else its total. Applies the cut
 * rule independently of the reader that wrote the entries.
 *
 * @param nodes outer before inner
 * @param worths of its amounts
 */
export function netAmounts(nodes: readonly WalkedNode[], worths: readonly Worth[]): ReadonlySet<number> {
  const [root] = nodes;
  const total = root === undefined ? undefined : worths[root.amount];
  if (root === undefined || total === undefined || transactionType(root.object) === 'Transfer') return new Set();
  // What the nodes below each node add up to; those of the transaction by their level.
  const below: (Worth | undefined)[] = [];
  const forests: { items?: Worth; breakdowns?: Worth } = {};
  for (let at = nodes.length - 1; at > 0; at--) {
    const { level, parent, amount } = nodes[at] ?? root;
    const worth = worths[amount] ?? below[at];
    if (worth === undefined) continue;
    if (parent > 0) below[parent] = added(below[parent], worth);
    else if (level === 'items') forests.items = added(forests.items, worth);
    else forests.breakdowns = added(forests.breakdowns, worth);
  }
  const isWhole = (sum: Worth | undefined, of: Worth): boolean =>
    sum !== undefined && sum.value !== null && sum.value === of.value && sum.currency === of.currency;

  const [byItems, byBreakdowns] = [isWhole(forests.items, total), isWhole(forests.breakdowns, total)];
  if (!byItems && !byBreakdowns) return new Set([root.amount]);
  const chosen = byItems && !(byBreakdowns && hasBareItem(nodes, below)) ? 'items' : 'breakdowns';
  const net = new Set<number>();
  // Whether the nodes below a node are what counts.
  const isOpen: boolean[] = [];
  for (const [at, { level, parent, amount }] of nodes.entries()) {
    if (at === 0 || !(parent === 0 ? level === chosen : isOpen[parent])) continue;
    const worth = worths[amount];
    // A node without an amount has the sum of those below it.
    if (worth === undefined || isWhole(below[at], worth)) isOpen[at] = true;
    else net.add(amount);
  }
  return net;
}

/** Whether the only item has no breakdowns: it takes the transaction's. An object instead of the list of items is no item. */
function hasBareItem(nodes: readonly WalkedNode[], below: readonly (Worth | undefined)[]): boolean {
  const isItem = ({ level, object }: WalkedNode) => level === 'items' && (object['items'] ?? null) === null;
  const at = nodes.findIndex(isItem);
  return at !== -1 && below[at] === undefined && nodes.findLastIndex(isItem) === at;
}

function added(sum: Worth | undefined, more: Worth): Worth {
  if (sum === undefined) return more;
  const isExact = sum.value !== null && more.value !== null && sum.currency === more.currency;
  return { value: isExact ? sum.value + more.value : null, currency: sum.currency };
}
