import { decimalScale, decimalText } from '../../../core/numeric/decimal.js';
import { none, type SliceRows } from './slice-rows.js';

const noCurrency = '';

/** The sums of the low and of the high halves: whole numbers below 2^53, so that adding makes no object and loses nothing. */
interface Sum {
  low: number;
  high: number;
}

const two32 = 0x1_0000_0000;

/** A high half is below 2^28, as DECIMAL(18,6) has it: 2^25 amounts, more than memory holds of a slice, stay below 2^53. */
function add(sum: Sum, low: number, high: number): void {
  sum.high += high;
  sum.low += low >>> 0;
  if (sum.low < two32) return;
  sum.low -= two32;
  sum.high++;
}

/** Net sum per currency of the given events, exact, as decimal text: `{"USD":"1234.560000"}`. */
export function netSums(rows: SliceRows, chosen: readonly number[]): Record<string, string> {
  const { entries, events } = rows;
  const isNet = rows.amountPaths.map(({ role }) => role === 'net');
  const sums = new Map<number, Sum>();
  for (const event of chosen) {
    const end = rows.entriesEnd(event);
    for (let row = events.firstEntry.get(event); row < end; row++) {
      if (entries.exact[row] !== 1 || isNet[entries.path[row] ?? none] !== true) continue;
      const currency = entries.currency[row] ?? none;
      let sum = sums.get(currency);
      if (sum === undefined) sums.set(currency, (sum = { low: 0, high: 0 }));
      add(sum, entries.low[row] ?? 0, entries.high[row] ?? 0);
    }
  }
  const named = [...sums].map(([currency, sum]): [string, string] => [
    currency < 0 ? noCurrency : rows.currencies.value(currency),
    decimalText((BigInt(sum.high) << 32n) + BigInt(sum.low), decimalScale),
  ]);
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
