import { createHash } from 'node:crypto';
import { groupBy } from '../../core/group-by.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import type { JournalLine } from './journal-formats.js';

interface Booked {
  /** The last loaded day of each account, `YYYY-MM-DD`. */
  readonly lastDays: ReadonlyMap<string, string>;
  /** The version that the months were booked from. */
  readonly since: number;
}

/**
 * The journals that lead from lines that were booked to those of now: one for each account, month and currency in which a sum by
 * account of the ledger differs. They are dated on the last loaded day, and their memos name the month.
 */
export function adjustmentsOf(
  then: readonly JournalLine[],
  now: readonly JournalLine[],
  { lastDays, since }: Booked,
): JournalLine[] {
  const signed = [
    ...then.map((line) => ({ line, amount: millionths(line.debit) - millionths(line.credit) })),
    ...now.map((line) => ({ line, amount: millionths(line.credit) - millionths(line.debit) })),
  ];
  const adjusted = groupBy(signed, ({ line: { account, basis, month, currency, code } }) =>
    JSON.stringify([account, basis, currency, month, code]),
  );
  const lines = [...adjusted.values()].flatMap((changes) => {
    const credit = changes.reduce((sum, { amount }) => sum + amount, 0n);
    const line = changes.at(-1)?.line;
    if (line === undefined || credit === 0n) return [];
    const { account, basis, month, currency } = line;
    const date = lastDays.get(account) ?? line.date;
    const key = JSON.stringify([account, basis, month, currency, since]);
    return {
      ...line,
      journal: `A${month.replace('-', '')}-${createHash('md5').update(key).digest('hex').slice(0, 12)}`,
      date,
      month: date.slice(0, 7),
      settlement: null,
      debit: millionthsText(credit < 0n ? -credit : 0n),
      credit: millionthsText(credit > 0n ? credit : 0n),
      memo: `Adjustment of ${month} of ${account}, booked from version ${since}`,
    };
  });
  const keyOf = ({ account, currency, journal, code }: JournalLine): string =>
    [account, currency ?? '', journal.slice(0, 7), journal, code].join(' ');
  return lines.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}
