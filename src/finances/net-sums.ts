import { decimalScale } from '../exact/decimal.js';
import type { SliceRows } from './rows.js';

const noCurrency = '';

/** Net sum per currency of the given events, exact, as decimal text: `{"USD":"1234.560000"}`. */
export function netSums(rows: SliceRows, events: readonly number[]): Record<string, string> {
  const { entries } = rows;
  const chosen = new Set(events);
  const isNet = rows.amountPaths.map(({ role }) => role === 'net');
  const sums = new Map<number, bigint>();
  for (let row = 0; row < entries.length; row++) {
    if (entries.exact.get(row) !== 1 || isNet[entries.path.get(row)] !== true || !chosen.has(entries.event.get(row)))
      continue;
    const currency = entries.currency.get(row);
    const amount = (BigInt(entries.high.get(row)) << 32n) + BigInt(entries.low.get(row) >>> 0);
    sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  }
  const named = [...sums].map(([currency, sum]): [string, string] => [
    currency < 0 ? noCurrency : rows.currencies.value(currency),
    decimalText(sum),
  ]);
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Millionths as decimal text with six places. */
export function decimalText(millionths: bigint): string {
  const digits = (millionths < 0n ? -millionths : millionths).toString().padStart(decimalScale + 1, '0');
  return `${millionths < 0n ? '-' : ''}${digits.slice(0, -decimalScale)}.${digits.slice(-decimalScale)}`;
}
