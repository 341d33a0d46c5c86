import { millionths } from '../../../core/numeric/decimal.js';
import { breakdownKind } from '../../../sources/finances/api-2024-06-19/breakdown-kinds.js';
import { isObject, type Fields } from '../../../lake/delta/actions.js';
import type { EntryRow } from './money-walk.js';

/** What the value of a key in a transaction is. */
type Level = 'transaction' | 'items' | 'breakdowns' | 'other';

/** A node of a tree of amounts: its own amount, undefined where it has none, and the nodes below it. */
interface Tree {
  readonly amount: EntryRow | undefined;
  readonly children: readonly Tree[];
}

/** The value of a tree; null where it can't be computed exactly. */
interface Worth {
  readonly value: bigint | null;
  readonly currency: string | null;
}

/**
 * Returns what is wrong with the breakdown, kind or role of a transaction's entries, or undefined. Applies the cut rule
 * by plain recursion, independently of the reader that wrote the entries.
 *
 * @param transaction as JSON.parse gives it
 * @param entries in the order of its amounts
 */
export function transactionRolesFault(transaction: unknown, entries: readonly EntryRow[]): string | undefined {
  const type = isObject(transaction) ? textOrNull(transaction['transactionType']) : null;
  const found = amountsOf(transaction);
  const rows = new Map(found.map(({ money }, index) => [money, entries[index]]));
  const net = type === 'Transfer' ? new Set<EntryRow>() : netOf(transaction, rows);
  for (const [index, { types }] of found.entries()) {
    const row = entries[index];
    if (row === undefined) return `expected entry ${index}, found none`;
    const breakdown = types.length === 0 ? null : types.join('/');
    const expected = `${net.has(row) ? 'net' : 'memo'} ${breakdownKind(type ?? '', types)} ${breakdown ?? 'total'}`;
    const stored = `${row.role} ${row.kind} ${row.breakdown ?? 'total'}`;
    if (stored !== expected) return `${row.path}: expected ${expected}, found ${stored}`;
  }
  return undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value.toWellFormed() : null;
}

function isMoney(value: unknown): value is Fields {
  return isObject(value) && Object.hasOwn(value, 'currencyCode') && Object.hasOwn(value, 'currencyAmount');
}

/** Every amount with the types of its breakdown, outer before inner, in the order of the text. */
function amountsOf(transaction: unknown): { readonly money: Fields; readonly types: readonly string[] }[] {
  const found: { money: Fields; types: readonly string[] }[] = [];
  const visit = (value: unknown, level: Level, above: readonly string[]): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each, level === 'transaction' ? 'other' : level, above);
    }
    if (!isObject(value)) return;
    const type = level === 'breakdowns' ? textOrNull(value['breakdownType']) : null;
    const types = type === null ? above : [...above, type];
    if (isMoney(value)) found.push({ money: value, types });
    for (const [key, member] of Object.entries(value)) visit(member, levelOf(level, key), types);
  };
  visit(transaction, 'transaction', []);
  return found;
}

function levelOf(level: Level, key: string): Level {
  if (key === 'items' && (level === 'transaction' || level === 'items')) return 'items';
  return key === 'breakdowns' && level !== 'other' ? 'breakdowns' : 'other';
}

type Rows = ReadonlyMap<Fields, EntryRow | undefined>;

/** The entries that are net: those of the items, else those of the transaction's breakdowns, else its total. */
function netOf(transaction: unknown, rows: Rows): ReadonlySet<EntryRow> {
  if (!isObject(transaction)) return new Set();
  const total = rowOf(transaction['totalAmount'], rows);
  if (total === undefined) return new Set();
  const items = treesOf(transaction['items'], (item) => itemTree(item, rows));
  const byItems = cutOfForest(items, total);
  const byBreakdowns = cutOfForest(breakdownTrees(transaction['breakdowns'], rows), total);
  // The only item has no breakdowns: it takes the transaction's.
  const [only, ...others] = itemsIn(transaction['items']);
  const isBare = only !== undefined && others.length === 0 && worthOfAll(itemTree(only, rows).children) === undefined;
  return new Set((isBare && byItems !== undefined ? (byBreakdowns ?? byItems) : (byItems ?? byBreakdowns)) ?? [total]);
}

function rowOf(value: unknown, rows: Rows): EntryRow | undefined {
  return isMoney(value) ? rows.get(value) : undefined;
}

/** The outermost objects of a list, as trees; some answers have one object instead of a list. */
function treesOf(list: unknown, treeOf: (node: Fields) => Tree): Tree[] {
  if (Array.isArray(list)) return list.flatMap((each) => treesOf(each, treeOf));
  return isObject(list) ? [treeOf(list)] : [];
}

function breakdownTrees(list: unknown, rows: Rows): Tree[] {
  return treesOf(list, (node) => ({
    amount: rowOf(node['breakdownAmount'], rows),
    children: breakdownTrees(node['breakdowns'], rows),
  }));
}

function itemTree(node: Fields, rows: Rows): Tree {
  const inner = treesOf(node['items'], (item) => itemTree(item, rows));
  return {
    amount: rowOf(node['totalAmount'], rows),
    children: [...inner, ...breakdownTrees(node['breakdowns'], rows)],
  };
}

/** An object instead of the list of items is no item. */
function itemsIn(list: unknown): Fields[] {
  if (Array.isArray(list)) return list.flatMap(itemsIn);
  if (!isObject(list)) return [];
  return (list['items'] ?? null) === null ? [list] : itemsIn(list['items']);
}

/** Undefined for a tree without any amount. */
function worthOf({ amount, children }: Tree): Worth | undefined {
  if (amount === undefined) return worthOfAll(children);
  return { value: amount.amount === null ? null : millionths(amount.amount), currency: amount.currency };
}

function worthOfAll(trees: readonly Tree[]): Worth | undefined {
  const worths = trees.map(worthOf).filter((worth) => worth !== undefined);
  const [first] = worths;
  if (first === undefined) return undefined;
  const isExact = worths.every(({ value, currency }) => value !== null && currency === first.currency);
  const sum = worths.reduce((added, { value }) => added + (value ?? 0n), 0n);
  return { value: isExact ? sum : null, currency: first.currency };
}

/** Undefined where the trees don't add up to the amount. */
function cutOfForest(trees: readonly Tree[], { amount, currency }: EntryRow): EntryRow[] | undefined {
  const worth = worthOfAll(trees);
  if (worth === undefined || worth.value === null || amount === null) return undefined;
  return worth.value === millionths(amount) && worth.currency === currency ? trees.flatMap(cutOf) : undefined;
}

function cutOf({ amount, children }: Tree): EntryRow[] {
  // A node without an amount has the sum of its children.
  if (amount === undefined) return children.flatMap(cutOf);
  return cutOfForest(children, amount) ?? [amount];
}
