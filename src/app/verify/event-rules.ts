import { hasColumn } from '../../lake/files/sorted-file.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import type { Table } from '../../core/columns/table.js';
import { recordOf } from '../../sources/finances/model/records.js';
import { eventMoney, type MoneyKeys } from './money-walk.js';

/** A row of an entries table. */
export interface EntryRow {
  readonly entry: number;
  readonly path: string;
  readonly role: string;
  readonly kind: string;
  /** Decimal text. */
  readonly amount: string | null;
  readonly amountText: string | null;
  readonly currency: string | null;
}

/** What an API's stored rows are checked by. */
export interface EventRules {
  /** In SQL: the name of the list that ids are hashes of. */
  readonly list: string;
  /** In SQL: the settlement that was asked for, which ids begin with. */
  readonly group: string;
  readonly money: MoneyKeys;
  /** What is wrong with the role or kind of the entries, or undefined. */
  readonly rolesFault: (list: string, raw: string, entries: readonly EntryRow[]) => string | undefined;
}

const events: EventRules = { list: 'event_list', group: 'group_id', money: eventMoney, rolesFault: eventRolesFault };

const transactions: EventRules = {
  list: "'transactions'",
  group: 'NULL',
  money: { code: 'currencyCode', amount: 'currencyAmount' },
  rolesFault: netFault,
};

/** The rules of a main table with entries: only events of Finances v0 come in lists. */
export function rulesOf(main: Table): EventRules {
  return hasColumn(main, 'event_list') ? events : transactions;
}

function eventRolesFault(list: string, _raw: string, entries: readonly EntryRow[]): string | undefined {
  const known = recordOf(list)?.amounts;
  for (const { path, role, kind } of entries) {
    const place = known?.find((amount) => amount.path === path);
    const expected = `${place?.role ?? 'unknown'} ${place?.kind ?? 'unknown'}`;
    if (`${role} ${kind}` !== expected) return `${list} ${path}: expected ${expected}, found ${role} ${kind}`;
  }
  return undefined;
}

/** The net amounts of a transaction add up to its total; a transfer to the bank, and one without a total, has none. */
function netFault(_list: string, raw: string, entries: readonly EntryRow[]): string | undefined {
  const odd = entries.find(({ role }) => role !== 'net' && role !== 'memo');
  if (odd !== undefined) return `${odd.path}: expected net or memo, found ${odd.role}`;
  const net = entries.filter(({ role }) => role === 'net');
  const total = isTransfer(raw) ? undefined : entries.find(({ path }) => path === 'totalAmount');
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

function isTransfer(raw: string): boolean {
  try {
    const parsed: unknown = JSON.parse(raw);
    return parsed instanceof Object && 'transactionType' in parsed && parsed.transactionType === 'Transfer';
  } catch {
    // What is no JSON is a fault of its amounts.
    return false;
  }
}
