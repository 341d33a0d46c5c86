import { expect, test } from 'vitest';
import { exportJournal } from '../../../src/app/journal/export-journal.js';
import { adjustmentsOf } from '../../../src/app/journal/adjustments.js';
import {
  journalColumns,
  journalFiles,
  journalFormats,
  rowOf,
  type JournalLine,
} from '../../../src/app/journal/journal-formats.js';
import { systemClock } from '../../../src/core/clock.js';

const line: JournalLine = {
  account: 'shop',
  journal: 'P202603-0123456789ab',
  date: '2026-03-07',
  basis: 'paid',
  settlement: '17',
  month: '2026-03',
  code: '4000',
  ledgerAccount: 'Income:Sales',
  taxRate: 'Tax Exempt',
  debit: '0.000000',
  credit: '1234.500000',
  currency: 'EUR',
  memo: 'Settlement 17',
};
const other = { ...line, code: '1100', ledgerAccount: 'Clearing', debit: '1234.505000', credit: '0.000000' };

test('each program has its columns, its form of dates, and its sides', () => {
  const shown = (name: keyof typeof journalFormats) => [
    journalColumns(journalFormats[name]).map((column) => column.name),
    ...[line, other].map((one) => rowOf(journalFormats[name], one)),
  ];
  expect(shown('generic').slice(1)).toEqual([
    [
      'shop',
      'P202603-0123456789ab',
      '2026-03-07',
      'paid',
      '17',
      '2026-03',
      '4000',
      'Income:Sales',
      '0.00',
      '1234.50',
      'EUR',
      'Settlement 17',
    ],
    [
      'shop',
      'P202603-0123456789ab',
      '2026-03-07',
      'paid',
      '17',
      '2026-03',
      '1100',
      'Clearing',
      '1234.505',
      '0.00',
      'EUR',
      'Settlement 17',
    ],
  ]);
  expect(shown('quickbooks')).toEqual([
    ['JournalNo', 'JournalDate', 'AccountName', 'Debits', 'Credits', 'Description', 'Name', 'Currency'],
    ['P202603-0123456789ab', '03/07/2026', 'Income:Sales', null, '1234.50', 'Settlement 17', null, 'EUR'],
    ['P202603-0123456789ab', '03/07/2026', 'Clearing', '1234.505', null, 'Settlement 17', null, 'EUR'],
  ]);
  expect(shown('xero')).toEqual([
    ['Narration', 'Date', 'Description', 'AccountCode', 'TaxRate', 'Amount'],
    ['Settlement 17, P202603-0123456789ab', '07/03/2026', 'Income:Sales', '4000', 'Tax Exempt', '-1234.50'],
    ['Settlement 17, P202603-0123456789ab', '07/03/2026', 'Clearing', '1100', 'Tax Exempt', '1234.505'],
  ]);
});

test('adjustments are what differs by account of the ledger, month and currency, whatever its journal', () => {
  const booked = { lastDays: new Map([['shop', '2026-05-02']]), since: 7 };
  const moved = { ...line, journal: 'P202603-ba9876543210', settlement: '18' };
  expect(adjustmentsOf([line, other], [moved, other], booked)).toEqual([]);
  // By hand: 1,234.50 was booked as income, it is 1,200.00 now, and 34.50 of it less open.
  const now = [
    { ...line, credit: '1200.000000' },
    { ...other, debit: '1200.005000' },
  ];
  const adjusted = adjustmentsOf([line, other], now, booked);
  expect(adjusted).toMatchObject([
    { code: '1100', debit: '0.000000', credit: '34.500000', date: '2026-05-02', month: '2026-05', settlement: null },
    {
      code: '4000',
      debit: '34.500000',
      credit: '0.000000',
      memo: 'Adjustment of 2026-03 of shop, booked from version 7',
    },
  ]);
  const [number] = new Set(adjusted.map(({ journal }) => journal));
  expect(number).toMatch(/^A202603-[0-9a-f]{12}$/);
  // Its number is that of the month, the version, the currency and the account: twice the same file has the same.
  expect(adjustmentsOf([line, other], now, booked)).toEqual(adjusted);
  expect(adjustmentsOf([line, other], now, { ...booked, since: 8 })[0]?.journal).not.toBe(number);
  // A line that is gone is reversed.
  expect(adjustmentsOf([line], [], booked)).toMatchObject([{ code: '4000', debit: '1234.500000' }]);
});

test('a file of Xero has one currency and at most 300 lines with its header, and no journal is cut', () => {
  const journal = (number: string, count: number, currency = 'EUR') =>
    Array.from({ length: count }, () => ({ ...line, journal: number, currency }));
  const lines = [...journal('a', 150), ...journal('b', 149), ...journal('c', 1), ...journal('d', 2, 'USD')];
  const shown = (name: keyof typeof journalFormats, path: string, of = lines) =>
    journalFiles(path, journalFormats[name], of).map((file) => [
      file.path,
      file.lines.length,
      [...new Set(file.lines.map((one) => one.journal))].join(''),
    ]);
  expect(shown('xero', 'out/march.csv')).toEqual([
    ['out/march-EUR-1.csv', 299, 'ab'],
    ['out/march-EUR-2.csv', 1, 'c'],
    ['out/march-USD-1.csv', 2, 'd'],
  ]);
  expect(shown('xero', 'march', [...journal('a', 1), ...journal('b', 500), ...journal('c', 1)])).toEqual([
    ['march-EUR-1.csv', 1, 'a'],
    ['march-EUR-2.csv', 500, 'b'],
    ['march-EUR-3.csv', 1, 'c'],
  ]);
  expect(shown('quickbooks', 'march.csv')).toEqual([['march.csv', 302, 'abcd']]);
});

test('journals are not written to a file that is no CSV by its name', async () => {
  const context = {
    clock: systemClock,
    signal: AbortSignal.timeout(1000),
    emit: () => undefined,
    output: process.stdout,
  };
  const options = { lake: 'none', month: '2026-10', basis: 'paid', for: 'generic', output: 'oct.xlsx' } as const;
  await expect(exportJournal(options, context)).rejects.toThrow(
    'expected --output to end with .csv, got oct.xlsx; no journal is written as .xlsx',
  );
});
