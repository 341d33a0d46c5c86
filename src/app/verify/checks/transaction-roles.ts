import { millionths } from '../../../core/numeric/decimal.js';
import { breakdownKind } from '../../../sources/finances/api-2024-06-19/breakdown-kinds.js';
import { isObject, type Fields } from '../../../lake/delta/actions.js';
import type { EntryRow } from './money-walk.js';

/** What the value of a key in a transaction is. */
type Level = 'transaction' | 'items' | 'breakdowns' | 'other';

/** The value of an amount or of a tree; null where it can't be computed exactly. */
interface Worth {
  readonly value: bigint | null;
  readonly currency: string | null;
}

/** A node of a tree of amounts: its own amount, undefined where it has none, and the nodes below it. */
interface Tree {
  readonly amount: Worth | undefined;
  readonly children: readonly Tree[];
}

/** What an entry of a transaction has by its place. */
export interface TransactionRole {
  readonly role: 'net' | 'memo';
  readonly kind: string;
  readonly breakdown: string | null;
}

/**
 * Returns what is wrong with the breakdown, kind or role of a transaction's entries, or undefined.
 *
 * @param transaction as JSON.parse gives it
 * @param entries in the order of its amounts
 */
export function transactionRolesFault(transaction: unknown, entries: readonly EntryRow[]): string | undefined {
  for (const [index, { role, kind, breakdown }] of transactionRoles(transaction, entries).entries()) {
    const row = entries[index];
    if (row === undefined) return `expected entry ${index}, found none`;
    const expected = `${role} ${kind} ${breakdown ?? 'total'}`;
    const stored = `${row.role} ${row.kind} ${row.breakdown ?? 'total'}`;
    if (stored !== expected) return `${row.path}: expected ${expected}, found ${stored}`;
  }
  return undefined;
}

/**
 * The role, kind and breakdown of each amount of a transaction. Applies the cut rule by plain recursion, independently of the
 * reader that wrote the entries.
 *
 * @param amounts in the order of the text, as decimals
 */
export function transactionRoles(
  transaction: unknown,
  amounts: readonly Pick<EntryRow, 'amount' | 'currency'>[],
): readonly TransactionRole[] {
  const type = isObject(transaction) ? textOrNull(transaction['transactionType']) : null;
  const found = amountsOf(transaction);
  const worths = new Map<Fields, Worth>();
  for (const [index, { money }] of found.entries()) {
    const at = amounts[index];
    if (at === undefined) continue;
    worths.set(money, { value: at.amount === null ? null : millionths(at.amount), currency: at.currency });
  }
  const net = type === 'Transfer' ? new Set<Worth>() : netOf(transaction, worths);
  return found.map(({ money, types }) => {
    const worth = worths.get(money);
    return {
      role: worth !== undefined && net.has(worth) ? 'net' : 'memo',
      kind: breakdownKind(type ?? '', types),
      breakdown: types.length === 0 ? null : types.join('/'),
    };
  });
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
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (typeof member === 'object') visit(member, levelOf(level, key), types);
    }
  };
  visit(transaction, 'transaction', []);
  return found;
}

function levelOf(level: Level, key: string): Level {
  if (key === 'items' && (level === 'transaction' || level === 'items')) return 'items';
  return key === 'breakdowns' && level !== 'other' ? 'breakdowns' : 'other';
}

type Worths = ReadonlyMap<Fields, Worth>;

/** The amounts that are net: those of the items, else those of the transaction's breakdowns, else its total. */
function netOf(transaction: unknown, worths: Worths): ReadonlySet<Worth> {
  if (!isObject(transaction)) return new Set();
  const total = amountOf(transaction['totalAmount'], worths);
  if (total === undefined) return new Set();
  const items = treesOf(transaction['items'], (item) => itemTree(item, worths));
  const byItems = cutOfForest(items, total);
  const byBreakdowns = (): Worth[] | undefined => cutOfForest(breakdownTrees(transaction['breakdowns'], worths), total);
  // The only item has no breakdowns: it takes the transaction's.
  const [only, ...others] = itemsIn(transaction['items']);
  const isBare = only !== undefined && others.length === 0 && worthOfAll(itemTree(only, worths).children) === undefined;
  return new Set(
    (isBare && byItems !== undefined ? (byBreakdowns() ?? byItems) : (byItems ?? byBreakdowns())) ?? [total],
  );
}

function amountOf(value: unknown, worths: Worths): Worth | undefined {
  return isMoney(value) ? worths.get(value) : undefined;
}

/** The outermost objects of a list, as trees; some answers have one object instead of a list. */
function treesOf(list: unknown, treeOf: (node: Fields) => Tree): Tree[] {
  if (Array.isArray(list)) return list.flatMap((each) => treesOf(each, treeOf));
  return isObject(list) ? [treeOf(list)] : [];
}

function breakdownTrees(list: unknown, worths: Worths): Tree[] {
  return treesOf(list, (node) => ({
    amount: amountOf(node['breakdownAmount'], worths),
    children: breakdownTrees(node['breakdowns'], worths),
  }));
}

function itemTree(node: Fields, worths: Worths): Tree {
  const inner = treesOf(node['items'], (item) => itemTree(item, worths));
  return {
    amount: amountOf(node['totalAmount'], worths),
    children: [...inner, ...breakdownTrees(node['breakdowns'], worths)],
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
  return amount ?? worthOfAll(children);
}

function worthOfAll(trees: readonly Tree[]): Worth | undefined {
  let first: Worth | undefined;
  let sum: bigint | null = 0n;
  for (const tree of trees) {
    const worth = worthOf(tree);
    if (worth === undefined) continue;
    first ??= worth;
    sum = sum === null || worth.value === null || worth.currency !== first.currency ? null : sum + worth.value;
  }
  return first === undefined ? undefined : { value: sum, currency: first.currency };
}

/** Undefined where the trees don't add up to the amount. */
function cutOfForest(trees: readonly Tree[], { value, currency }: Worth): Worth[] | undefined {
  const worth = worthOfAll(trees);
  if (worth === undefined || worth.value === null) return undefined;
  return worth.value === value && worth.currency === currency ? trees.flatMap(cutOf) : undefined;
}

function cutOf({ amount, children }: Tree): Worth[] {
  // A node without an amount has the sum of its children.
  if (amount === undefined) return children.flatMap(cutOf);
  return cutOfForest(children, amount) ?? [amount];
}
