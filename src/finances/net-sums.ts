import { decimalScale } from '../exact/decimal.js';
import { none, type SliceRows } from './rows.js';

const noCurrency = '';

/** Net sum per currency of the given events, exact, as decimal text: `{"USD":"1234.560000"}`. */
export function netSums(rows: SliceRows, chosen: readonly number[]): Record<string, string> {
  const { entries, events } = rows;
  const isNet = rows.amountPaths.map(({ role }) => role === 'net');
  const sums = new Map<number, bigint>();
  for (const event of chosen) {
    const end = rows.entriesEnd(event);
    for (let row = events.firstEntry.get(event); row < end; row++) {
      if (entries.exact[row] !== 1 || isNet[entries.path[row] ?? none] !== true) continue;
      const currency = entries.currency[row] ?? none;
      const amount = (BigInt(entries.high[row] ?? 0) << 32n) + BigInt((entries.low[row] ?? 0) >>> 0);
      sums.set(currency, (sums.get(currency) ?? 0n) + amount);
    }
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
