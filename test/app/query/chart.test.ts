import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { chartQuery, parseChart, readChart } from '../../../src/app/query/chart.js';
import { viewStatements, viewTexts } from '../../../src/app/query/views.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { temporaryFolder } from '../lake-run.js';
import { chunksOf, csvText } from '../../../src/core/text/formats.js';

function parsed(text: string) {
  return parseChart(text, 'chart.csv');
}

const head = 'kind,name,ledger_code,ledger_account,taxRate\n';
const needed = 'clearing,,1,Clearing,\nbank,,2,Bank,\nsuspense,,9,Suspense,\n';

async function opened() {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  return database;
}

test('the default chart as a CSV file is a chart, and the same rows', async () => {
  const database = await opened();
  const { columns, chunks } = await database.query(viewTexts().get('chart_of_accounts') ?? '');
  let csv = '';
  for await (const piece of csvText(columns, chunks)) csv += piece;
  expect(csv).toMatch(/^kind,name,ledger_code,ledger_account,taxRate\nbank,,1000,Bank,Tax Exempt\n/);
  const rows = parsed(csv);
  expect(rows.length).toBeGreaterThan(50);
  const statement = viewStatements([], { chart: rows }).get('chart_of_accounts') ?? '';
  expect(statement).not.toBe(viewStatements([]).get('chart_of_accounts'));
  await database.execute(statement);
  expect(await database.rows('FROM chart_of_accounts')).toEqual(
    await database.rows(viewTexts().get('chart_of_accounts') ?? ''),
  );
  // An account for each group of figures that accountants ask for.
  expect(rows.map(({ account }) => account)).toEqual(
    expect.arrayContaining([
      ...['Sales', 'Refunds', 'Shipping income', 'Promotions', 'Referral fees', 'Fulfilment fees', 'Storage fees'],
      ...['Advertising fees', 'Sales tax collected', 'Sales tax remitted by Amazon', 'Amazon reimbursements'],
      ...['Amazon loans', 'Amazon reserve', 'Amazon clearing', 'Bank', 'Suspense'],
    ]),
  );
});

test('docs/journals.md lists the default chart', async () => {
  const database = await opened();
  const rows = await database.rows(viewTexts().get('chart_of_accounts') ?? '');
  const page = await readFile('docs/journals.md', 'utf8');
  const documented = [...page.matchAll(/^\| (\d{4}) +\| (.+?) +\| (.+?) +\|$/gm)].flatMap(
    ([, code, account, amounts = '']) =>
      amounts.split('; ').flatMap((of) => {
        const [kind = '', ...names] = [...of.matchAll(/`([^`]+)`/g)].map(([, word]) => word);
        return (names.length === 0 ? [null] : names).map((name) => [kind, name, code, account].join(' '));
      }),
  );
  const listed = rows.map((row) =>
    ['kind', 'name', 'ledger_code', 'ledger_account'].map((column) => row[column] ?? '').join(' '),
  );
  expect(documented.toSorted()).toEqual(listed.toSorted());
});

test('quotes, line ends, white space, another order of columns and no tax rate are read', () => {
  expect(parsed(`${head}${needed}`)[0]).toEqual({
    kind: 'clearing',
    name: undefined,
    code: '1',
    account: 'Clearing',
    taxRate: 'Tax Exempt',
  });
  const rows = parsed(
    'ledger_account,ledger_code,kind,name\r\n"Fees, ""all""",5,fee,"a\nb"\r\n' +
      '\r\n Clearing , 1,clearing,\r\nBank,2,bank,\r\nSuspense,9,suspense,',
  );
  expect(rows.map(({ kind, name, account }) => [kind, name, account])).toEqual([
    ['fee', 'a\nb', 'Fees, "all"'],
    ['clearing', undefined, 'Clearing'],
    ['bank', undefined, 'Bank'],
    ['suspense', undefined, 'Suspense'],
  ]);
});

test.each([
  ['', 'line 1, column 1: expected the column kind'],
  ['kind,nam,ledger_code\n', 'line 1, column 6: expected a column of kind, name, ledger_code, ledger_account, taxRate'],
  ['kind,kind\n', 'line 1, column 6: expected each column once, got kind again'],
  ['kind,name,ledger_code\n', 'line 1, column 1: expected the column ledger_account, got only kind, name, ledger_code'],
  [`${head}fee,,5\n`, 'line 2, column 1: expected 5 fields, got 3'],
  [
    `${head}${needed}fees,,5,Fees,\nfeee,,5,Fees,\n`,
    /line 6, column 1: expected a kind .*, got "feee"; did you mean fee/,
  ],
  [
    `${head}${needed}fee,"a",5,Fees,\nfee,a,6,Other,`,
    'line 6, column 1: expected each kind and name once, got those of line 5',
  ],
  [`${head}${needed}fee,,,Fees,\n`, 'line 5, column 6: expected a text, got an empty field'],
  [`${head}${needed}fee,,5,,\n`, 'line 5, column 8: expected a text, got an empty field'],
  [`${head}${needed}fee,,9,Fees,\n`, 'line 5, column 8: expected Suspense, as 9 has on line 4, got Fees'],
  [`${head}${needed}fee,,9,Suspense,20%\n`, 'line 5, column 17: expected Tax Exempt, as 9 has on line 4, got 20%'],
  [`${head}fee,"x"y,5,Fees,\n`, 'line 2, column 5: expected a field, between quotes where it has a quote'],
  [`${head}"fee\n,,5,Fees,\n`, 'line 2, column 1: expected a field'],
  [`${head}clearing,,1,Clearing,\nbank,,2,Bank,\n`, 'expected a row of the kind suspense without a name, got none'],
])('a fault names its line and column: %j', (text, message) => {
  expect(() => parsed(text)).toThrow(message);
});

test('a file may have a BOM, and bytes that are no UTF-8 are refused', async () => {
  const file = join(await temporaryFolder(), 'chart.csv');
  await writeFile(file, `\uFEFF${head}${needed}`);
  expect(await readChart(file)).toEqual(parsed(head + needed));
  await writeFile(file, Buffer.from([0x6b, 0xff]));
  await expect(readChart(file)).rejects.toThrow(/^expected .*chart\.csv to be UTF-8/);
  await expect(readChart(`${file}.no`)).rejects.toThrow(/^expected a chart of accounts in .*, got ENOENT/);
});

test('any names, codes and accounts are read from CSV as they were, and reach DuckDB', async () => {
  const database = await opened();
  // Not white space at the ends, which the fields of a person's file lose.
  const field = fc.string({ minLength: 1, unit: 'grapheme' }).map((text) => text.replaceAll('\0', '').trim() || 'x');
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.tuple(field, field, field), { selector: ([name]) => name }), async (given) => {
      const rows = given.map(([name, code, account], at) => ['fee', name, `${at} ${code}`, account, 'None'] as const);
      const columns = ['kind', 'name', 'ledger_code', 'ledger_account', 'taxRate'];
      let csv = '';
      const typed = columns.map((name) => ({ name, kind: 'text' as const }));
      for await (const piece of csvText(typed, chunksOf(rows))) csv += piece;
      const chart = parsed(csv + needed.replaceAll(/,(\d),/g, ',needed $1,'));
      expect(chart.slice(0, given.length).map(({ name, code, account }) => [name, code, account])).toEqual(
        rows.map(([, name, code, account]) => [name, code, account]),
      );
      const read = await database.rows(chartQuery(chart));
      expect(read.map((row) => row['ledger_account'])).toEqual(chart.map(({ account }) => account));
    }),
    { numRuns: 60 },
  );
});
