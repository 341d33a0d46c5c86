import { extname } from 'node:path';
import { groupBy } from '../../core/group-by.js';
import { millionths } from '../../core/numeric/decimal.js';
import type { CellKind, ResultCell, ResultColumn } from '../../core/text/rows.js';

/** A line of a journal, as `journal_lines` has it; amounts are decimal texts, and one of the two is 0. */
export interface JournalLine {
  readonly account: string;
  readonly journal: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly basis: string;
  readonly settlement: string | null;
  readonly month: string;
  readonly code: string;
  readonly ledgerAccount: string;
  readonly taxRate: string;
  readonly debit: string;
  readonly credit: string;
  readonly currency: string | null;
  readonly memo: string;
}

/** How an accounting program reads journals. */
export interface JournalFormat {
  readonly columns: readonly (readonly [name: string, kind: CellKind, cell: (line: JournalLine) => ResultCell])[];
  /** Whether a file has one currency, and at most this many lines with its header; journals are not cut. */
  readonly mostLines?: number;
}

export type JournalFormatName = 'generic' | 'quickbooks' | 'xero';

/** The values of `--for`. */
export const journalFormats: Readonly<Record<JournalFormatName, JournalFormat>> = {
  generic: {
    columns: [
      ['account', 'text', (line) => line.account],
      ['journal', 'text', (line) => line.journal],
      ['date', 'text', (line) => line.date],
      ['basis', 'text', (line) => line.basis],
      ['settlement_id', 'text', (line) => line.settlement],
      ['month', 'text', (line) => line.month],
      ['ledger_code', 'text', (line) => line.code],
      ['ledger_account', 'text', (line) => line.ledgerAccount],
      ['debit', 'number', (line) => amountText(line.debit)],
      ['credit', 'number', (line) => amountText(line.credit)],
      ['currency', 'text', (line) => line.currency],
      ['memo', 'text', (line) => line.memo],
    ],
  },
  // QuickBooks Online, "Import journal entries". Lines with one JournalNo are one journal.
  quickbooks: {
    columns: [
      ['JournalNo', 'text', (line) => line.journal],
      ['JournalDate', 'text', ({ date }) => `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)}`],
      ['AccountName', 'text', (line) => line.ledgerAccount],
      ['Debits', 'number', (line) => sideText(line.debit)],
      ['Credits', 'number', (line) => sideText(line.credit)],
      ['Description', 'text', (line) => line.memo],
      ['Name', 'text', () => null],
      ['Currency', 'text', (line) => line.currency],
    ],
  },
  // Xero, "Manual journals". Lines with one Narration and Date are one journal.
  xero: {
    columns: [
      ['Narration', 'text', (line) => `${line.memo}, ${line.journal}`],
      ['Date', 'text', ({ date }) => `${date.slice(8)}/${date.slice(5, 7)}/${date.slice(0, 4)}`],
      ['Description', 'text', (line) => line.ledgerAccount],
      ['AccountCode', 'text', (line) => line.code],
      ['TaxRate', 'text', (line) => line.taxRate],
      ['Amount', 'number', ({ debit, credit }) => (isZero(credit) ? amountText(debit) : `-${amountText(credit)}`)],
    ],
    mostLines: 300,
  },
};

export const journalFormatNames = Object.keys(journalFormats).filter((name) => isJournalFormat(name));

export function isJournalFormat(text: string): text is JournalFormatName {
  return Object.hasOwn(journalFormats, text);
}

export function journalColumns({ columns }: JournalFormat): readonly ResultColumn[] {
  return columns.map(([name, kind]) => ({ name, kind }));
}

export function rowOf({ columns }: JournalFormat, line: JournalLine): readonly ResultCell[] {
  return columns.map(([, , cell]) => cell(line));
}

/** An amount with two decimals, or more where it has more. */
export function amountText(amount: string): string {
  return amount.replace(/(\.\d\d\d*?)0+$/, '$1');
}

function sideText(amount: string): string | null {
  return isZero(amount) ? null : amountText(amount);
}

function isZero(amount: string): boolean {
  return millionths(amount) === 0n;
}

export interface JournalFile {
  readonly path: string;
  readonly lines: readonly JournalLine[];
}

/** The files of a format: one, or some for each currency, `NAME-CURRENCY-N.csv`, which journals don't cross. */
export function journalFiles(
  path: string,
  { mostLines }: JournalFormat,
  lines: readonly JournalLine[],
): readonly JournalFile[] {
  if (mostLines === undefined) return [{ path, lines }];
  const ending = extname(path);
  const name = ending === '' ? path : path.slice(0, -ending.length);
  return [...groupBy(lines, ({ currency }) => currency)].flatMap(([currency, linesOfCurrency]) => {
    const parts: JournalLine[][] = [];
    for (const journal of groupBy(linesOfCurrency, (line) => line.journal).values()) {
      const last = parts.at(-1);
      // With its header.
      if (last !== undefined && last.length + journal.length < mostLines) last.push(...journal);
      else parts.push(journal);
    }
    return parts.map((part, at) => ({ path: `${name}-${currency ?? 'none'}-${at + 1}.csv`, lines: part }));
  });
}
