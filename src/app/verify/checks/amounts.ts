import unsummedAmounts from '../statements/unsummed-amounts.sql';
import { compare } from '../../../core/compare.js';
import { groupBy } from '../../../core/group-by.js';
import { formatCount } from '../../../core/text/amounts.js';
import { derivedRowsRemedy } from '../../coverage/damaged-rows.js';
import { unsummedText } from '../../unsummed-amounts.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { fitsDecimal, normalised, type EntryRow, type Walked, type WalkedAmount } from '../common/money-walk.js';

export const amountsCheck: CheckDefinition = {
  name: 'amounts',
  about: 'each money object of raw is one entry, to the digit',
  counts: 'amounts',
  verdict: 'amount',
  remedy: derivedRowsRemedy,
  event: ({ eventId, file, walked, isProved, entries, amounts }, { certificate }) => {
    certificate.count(amountsCheck, amounts);
    if (isProved) return;
    const fault = typeof walked === 'string' ? walked : entriesFault(walked, entries);
    certificate.addRow(amountsCheck, file, 'event', fault && `${eventId} ${fault}`);
  },
  across: noteUnsummed,
};

/**
 * Returns what is wrong with the entries of an event, or undefined: each money object of `raw` must be one entry, to
 * the digit.
 */
function entriesFault({ amounts, isOrdered, numbers }: Walked, entries: readonly EntryRow[]): string | undefined {
  if (amounts.length !== entries.length) return `raw has ${amounts.length} amounts, entries ${entries.length}`;
  const odd = entries.findIndex(({ entry }, index) => entry !== index);
  if (odd >= 0) return `expected entry ${odd}, found ${entries[odd]?.entry ?? 'none'}`;
  const inText = isOrdered ? amounts : amounts.toSorted((a, b) => compare(walkedKey(a), walkedKey(b)));
  const inTable = isOrdered ? entries : entries.toSorted((a, b) => compare(rowKey(a), rowKey(b)));
  for (const [index, amount] of inText.entries()) {
    const fault = amountFault(amount, inTable[index]);
    if (fault !== undefined) return `${amount.place.path}: ${fault}`;
  }
  const stored = entries.flatMap(({ amount, amountText }) => amount ?? amountText ?? []).map(normalised);
  if (numbers !== undefined && numbers.join() !== stored.toSorted().join()) return 'amounts differ in digits from raw';
  return undefined;
}

function amountFault(amount: WalkedAmount, row: EntryRow | undefined): string | undefined {
  if (row === undefined) return 'no entry';
  if (row.path !== amount.place.path) return `the entry has ${row.path}`;
  if (row.currency !== amount.currency) return `currency ${String(amount.currency)}, entry ${String(row.currency)}`;
  if (amount.amount === null) {
    return row.amount === null && row.amountText === null ? undefined : `no number, entry ${String(row.amount)}`;
  }
  if (row.amount !== null && row.amountText !== null) return `${row.amount} and amount_text ${row.amountText}`;
  const text = row.amount ?? row.amountText;
  if (text === null) return `${amount.amount}, entry without an amount`;
  if (Number(text) !== amount.amount) return `${amount.amount}, entry ${text}`;
  if (row.amountText !== null && fitsDecimal(row.amountText))
    return `amount_text ${row.amountText}, which amount holds`;
  return undefined;
}

function walkedKey({ place, amount, currency }: WalkedAmount): string {
  return amountKey(place.path, amount, currency);
}

function rowKey({ path, amount, amountText, currency }: EntryRow): string {
  const text = amount ?? amountText;
  return amountKey(path, text === null ? null : Number(text), currency);
}

function amountKey(path: string, amount: number | null, currency: string | null): string {
  return JSON.stringify([path, amount === null ? null : String(amount + 0), currency]);
}

/** Adds a note for each table with amounts that no sum has: how many, and of which currency. */
async function noteUnsummed({ database, certificate }: Comparison): Promise<void> {
  const rows = await database.rows(unsummedAmounts);
  for (const [table, amounts] of groupBy(rows, ({ tab }) => String(tab))) {
    const counts = amounts.map(
      ({ currency, amounts: times }) => `${formatCount(Number(times))} in ${String(currency) || 'no currency'}`,
    );
    const total = amounts.reduce((sum, { amounts: times }) => sum + Number(times), 0);
    certificate.add(
      amountsCheck,
      'note',
      { table, file: '', loadKey: '' },
      `${unsummedText(total)}: ${counts.join(', ')}`,
    );
  }
}
