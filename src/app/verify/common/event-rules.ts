import { isObject } from '../../../lake/delta/actions.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import type { Table } from '../../../core/columns/table.js';
import type { ApiName } from '../../../sources/finances/api-names.js';
import { breakdownKind } from '../../../sources/finances/api-2024-06-19/breakdown-kinds.js';
import { financesApis } from '../../../sources/finances/finances-apis.js';
import { recordOf } from '../../../sources/finances/api-v0/event-records.js';
import {
  eventMoney,
  transactionMoney,
  type Decimal,
  type EntryRow,
  type MoneyRules,
  type Place,
  type Walked,
  type WalkedNode,
} from './money-walk.js';
import { rawEventColumns, rawTransactionColumns, type RawColumn } from './raw-column-rules.js';

/** What an entry has by its place in the event. */
type EntryRole = Pick<EntryRow, 'role' | 'kind' | 'breakdown'>;

/** How the stored rows of an API are checked. */
export interface EventRules {
  /** In SQL: the name of the list that ids are hashes of. */
  readonly list: string;
  /** In SQL: the requested settlement; ids begin with it. */
  readonly group: string;
  /** In SQL: the breakdown types of an entry. */
  readonly breakdown: string;
  readonly money: MoneyRules;
  /** The columns that follow from `raw`. */
  readonly columns: readonly RawColumn[];
  /** What roles and kinds follow from besides the place: the list of an event, or the type of a transaction. */
  readonly owner: (list: string, value: unknown) => string;
  /** The indices of the amounts that are net by what the amounts of the event are. */
  readonly nets: (walked: Walked, decimals: readonly Decimal[]) => ReadonlySet<number>;
  /** The role, kind and breakdown of an amount, by the event alone: whatever the entries are. */
  readonly role: (place: Place, isNet: boolean) => EntryRole;
  /** What is wrong with the role or kind of the entries, or undefined. */
  readonly rolesFault: (list: string, walked: Walked, entries: readonly EntryRow[]) => string | undefined;
}

const eventRules: EventRules = {
  list: 'event_list',
  group: 'group_id',
  breakdown: 'NULL',
  money: eventMoney,
  columns: rawEventColumns,
  owner: (list) => list,
  nets: () => new Set(),
  role: ({ owner, path }) => eventRole(owner, path),
  rolesFault: eventRolesFault,
};

const transactionRules: EventRules = {
  list: "'transactions'",
  group: 'NULL',
  breakdown: 'breakdown',
  money: transactionMoney,
  columns: rawTransactionColumns,
  owner: (_list, transaction) => transactionType(transaction),
  nets: ({ nodes, amounts }, decimals) =>
    netAmounts(
      nodes,
      amounts.map(({ currency }, at) => ({ value: decimals[at]?.millionths ?? null, currency })),
    ),
  role: transactionRole,
  rolesFault: transactionFault,
};

const rules: Readonly<Record<ApiName, EventRules>> = { v0: eventRules, '2024-06-19': transactionRules };

/** The rules of a main table with entries: those of the API that fills it. */
export function rulesOf(main: Pick<Table, 'name'>): EventRules {
  const api = financesApis.find(({ tables }) => tables.some(({ name }) => name === main.name));
  if (api === undefined) throw new Error(`expected a table of an API, got ${main.name}`);
  return rules[api.name];
}

function eventRole(list: string, path: string): EntryRole {
  const known = recordOf(list)?.amounts.find((candidate) => candidate.path === path);
  return { role: known?.role ?? 'unknown', kind: known?.kind ?? 'unknown', breakdown: null };
}

function eventRolesFault(list: string, _walked: Walked, entries: readonly EntryRow[]): string | undefined {
  for (const { path, role, kind } of entries) {
    const expected = eventRole(list, path);
    if (role !== expected.role || kind !== expected.kind)
      return `${list} ${path}: expected ${expected.role} ${expected.kind}, found ${role} ${kind}`;
  }
  return undefined;
}

function transactionFault(_list: string, walked: Walked, entries: readonly EntryRow[]): string | undefined {
  // An amount without an entry is a problem of the check `amounts`. Where an object has a key twice, or keys that are
  // numbers, the order of the entries does not say which amount is whose: only their sum is checked.
  if (walked.amounts.length !== entries.length) return undefined;
  return netFault(walked.value, entries) ?? (walked.isOrdered ? rolesFault(walked, entries) : undefined);
}

function rolesFault({ amounts, nodes }: Walked, entries: readonly EntryRow[]): string | undefined {
  const worths = entries.map(({ amount, currency }) => ({
    value: amount === null ? null : millionths(amount),
    currency,
  }));
  const net = netAmounts(nodes, worths);
  for (const [index, row] of entries.entries()) {
    const place = amounts[index]?.place;
    if (place === undefined) continue;
    const expected = roleText(transactionRole(place, net.has(index)));
    if (roleText(row) !== expected) return `${row.path}: expected ${expected}, found ${roleText(row)}`;
  }
  return undefined;
}

function roleText({ role, kind, breakdown }: EntryRole): string {
  return `${role} ${kind} ${breakdown ?? 'total'}`;
}

/**
 * Whether the net amounts of a transaction add up to its total; a transfer to the bank, and one without a total, has
 * none.
 */
function netFault(transaction: unknown, entries: readonly EntryRow[]): string | undefined {
  const unexpected = entries.find(({ role }) => role !== 'net' && role !== 'memo');
  if (unexpected !== undefined) return `${unexpected.path}: expected net or memo, found ${unexpected.role}`;
  const net = entries.filter(({ role }) => role === 'net');
  const isTransfer = isObject(transaction) && transaction['transactionType'] === 'Transfer';
  const total = isTransfer ? undefined : entries.find(({ path }) => path === 'totalAmount');
  if (total === undefined) return net.length === 0 ? undefined : `expected no net amount, found ${net.length}`;
  if (total.amount === null) {
    return net.length === 1 && net[0] === total ? undefined : 'expected the total alone to be net';
  }
  const other = net.find(({ currency }) => currency !== total.currency);
  if (other !== undefined)
    return `${other.path}: net in ${String(other.currency)}, the total in ${String(total.currency)}`;
  const sum = net.reduce((added, { amount }) => added + millionths(amount ?? '0'), 0n);
  return sum === millionths(total.amount)
    ? undefined
    : `net amounts add up to ${millionthsText(sum)}, the total is ${total.amount}`;
}

/** An amount as it counts. */
interface Worth {
  /** Millionths; null where it can't be computed exactly. */
  readonly value: bigint | null;
  readonly currency: string | null;
}

/** The type of a transaction; empty where it has none. @param transaction as JSON.parse gives it */
function transactionType(transaction: unknown): string {
  const type = isObject(transaction) ? transaction['transactionType'] : undefined;
  return typeof type === 'string' ? type.toWellFormed() : '';
}

/** What an amount of a transaction has by its place. */
function transactionRole({ owner, types }: Place, isNet: boolean): EntryRole {
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
function netAmounts(nodes: readonly WalkedNode[], worths: readonly Worth[]): ReadonlySet<number> {
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
