import { isObject } from '../../../lake/delta/actions.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import type { Table } from '../../../core/columns/table.js';
import type { ApiName } from '../../../sources/finances/api-names.js';
import { financesApis } from '../../../sources/finances/finances-apis.js';
import { recordOf } from '../../../sources/finances/api-v0/event-records.js';
import type { Place } from './money-places.js';
import { eventMoney, laterMoney, type Decimal, type EntryRow, type MoneyRules, type Walked } from './money-walk.js';
import { rawEventColumns, rawTransactionColumns, type RawColumns } from './raw-column-rules.js';
import { netAmounts, transactionRole, transactionType } from './transaction-roles.js';

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
  readonly columns: RawColumns;
  /** What roles and kinds follow from besides the place: the list of an event, or the type of a transaction. */
  readonly owner: (list: string, value: unknown) => string;
  /** The indices of the amounts that are net by what the amounts of the event are. */
  readonly nets: (walked: Walked, decimals: readonly Decimal[]) => ReadonlySet<number>;
  /** The role, kind and breakdown of an amount, by the event alone: whatever the entries are. */
  readonly role: (place: Place, isNet: boolean) => EntryRole;
  /** What is wrong with the role or kind of the entries, or undefined. */
  readonly rolesFault: (list: string, walked: Walked, entries: readonly EntryRow[]) => string | undefined;
}

const events: EventRules = {
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

const transactions: EventRules = {
  list: "'transactions'",
  group: 'NULL',
  breakdown: 'breakdown',
  money: laterMoney,
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

const rules: Readonly<Record<ApiName, EventRules>> = { v0: events, '2024-06-19': transactions };

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
