import { decimalScale, decimalText } from '../../core/numeric/decimal.js';
import { dayStart } from '../../core/windows.js';
import { importSpansOf, importSpansTag, loadKeysOf } from '../delta/file-tags.js';
import type { Add } from '../delta/actions.js';

type Tags = Readonly<Record<string, string>>;

/** Tags that a commit sets for each file anew. */
const own: ReadonlySet<string> = new Set(['units', 'rows', 'sha256', 'derived', 'main', 'net', 'groups']);

/** Sums by currency: `{"USD":"12.340000"}`. */
export type NetSums = Readonly<Record<string, string>>;

/** The tags of a file that holds the rows of several: load keys and groups united, sums added up exactly, the rest where all agree. */
export function mergedTags(adds: readonly Add[]): Record<string, string> {
  const tags = sharedTags(adds.map((add) => add.tags ?? {}));
  tags['units'] = JSON.stringify([...new Set(adds.flatMap(loadKeysOf))].toSorted());
  Object.assign(tags, importSpansTag(adds.flatMap(importSpansOf)));
  const nets = valuesOf(adds, 'net');
  if (nets.length > 0) tags['net'] = JSON.stringify(addNets(nets.map((net) => JSON.parse(net) as NetSums)));
  const groups = valuesOf(adds, 'groups');
  if (groups.length > 0) tags['groups'] = JSON.stringify(groups.flatMap((list) => JSON.parse(list) as unknown[]));
  return tags;
}

/**
 * Whether one file may hold the rows of both. Where spans of imports differ and share a day, the day of an event without a
 * date would no longer tell of which of them it is.
 */
export function mayShareFile(one: Add, other: Add): boolean {
  const spans = importSpansOf(other);
  return importSpansOf(one).every(({ first, last }) =>
    spans.every(
      (span) =>
        dayStart(span.first) > dayStart(last) ||
        dayStart(span.last) < dayStart(first) ||
        (span.first === first && span.last === last),
    ),
  );
}

/** How many rows the log says that the files have together. */
export function rowsInLog(adds: readonly Add[]): number {
  return adds.reduce((sum, { tags }) => sum + Number(tags?.['rows'] ?? 0), 0);
}

/** The tags that all have alike, without those that tell of one file. */
export function sharedTags(all: readonly Tags[]): Record<string, string> {
  const [first = {}, ...others] = all;
  const shared = Object.entries(first).filter(
    ([name, value]) => !own.has(name) && others.every((tags) => tags[name] === value),
  );
  return Object.fromEntries(shared);
}

/** Sums of decimal texts by currency, exact; currencies in order. */
export function addNets(nets: readonly NetSums[]): NetSums {
  const sums = new Map<string, bigint>();
  for (const [currency, text] of nets.flatMap((net) => Object.entries(net))) {
    sums.set(currency, (sums.get(currency) ?? 0n) + millionths(text));
  }
  const texts = [...sums].map(([currency, sum]): [string, string] => [currency, decimalText(sum, decimalScale)]);
  return Object.fromEntries(texts.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function millionths(text: string): bigint {
  const [, sign, whole, fraction] = /^(-?)(\d+)\.(\d{6})$/.exec(text) ?? [];
  if (whole === undefined || fraction === undefined)
    throw new Error(`expected an amount with six decimals, got ${text}`);
  const value = BigInt(whole + fraction);
  return sign === '-' ? -value : value;
}

function valuesOf(adds: readonly Add[], tag: string): string[] {
  return adds.flatMap(({ tags }) => tags?.[tag] ?? []);
}
