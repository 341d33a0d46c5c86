import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { report, type ReportOptions } from '../../../src/app/report/report.js';
import { reportMark } from '../../../src/app/report/report-page.js';
import { database as lakeDatabase, temporaryFolder } from '../lake-run.js';
import { Kept } from '../../core/text/streams.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';

let lake: LoadedLake;
beforeAll(async () => {
  lake = await loadedLake();
});
afterAll(() => {
  lake.remove();
});

/** What the command wrote to standard output. */
async function run(options: Partial<ReportOptions>, signal = new AbortController().signal): Promise<string> {
  const output = new Kept();
  const defaults = { lake: lake.root, account: undefined, from: undefined, to: undefined, output: '-' };
  await report({ ...defaults, ...options }, { clock: lake.clock, signal, output, emit: () => undefined });
  return output.text;
}

test('writes a file and says what is in it, and replaces an earlier report', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'my report.html');
  expect(await run({ output: file })).toMatch(/my report\.html: shop, 1 currency, 2 settlements, \d+\.\d kB\n$/);
  const first = readFileSync(file, 'utf8');
  expect(first).toContain(reportMark);
  await run({ output: file, from: '2025-03-01' });
  expect(readFileSync(file, 'utf8')).not.toBe(first);
  expect(readdirSync(folder)).toEqual(['my report.html']);
});

test('- is standard output, and the same page', async () => {
  const file = join(await temporaryFolder(), 'report.html');
  await run({ output: file });
  expect(await run({})).toBe(readFileSync(file, 'utf8'));
});

test('leaves alone what is no report, and says so before anything is read', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'letter.html');
  writeFileSync(file, '<!doctype html><p>Dear accountant');
  const nowhere = { lake: 's3://' };
  await expect(run({ output: file, ...nowhere })).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  expect(readFileSync(file, 'utf8')).toBe('<!doctype html><p>Dear accountant');
  mkdirSync(join(folder, 'sub'));
  await expect(run({ output: join(folder, 'sub'), ...nowhere })).rejects.toMatchObject({
    message: expect.stringContaining(', which is a folder; choose another name') as string,
  });
  await expect(run({ output: join(folder, 'none', 'report.html'), ...nowhere })).rejects.toMatchObject({
    message: expect.stringContaining('create the folder first') as string,
  });
  writeFileSync(file, '');
  await run({ output: file });
  expect(readFileSync(file, 'utf8')).toContain(reportMark);
});

test('its tables are a workbook or a folder of CSV files, which replace earlier ones and nothing else', async () => {
  const folder = await temporaryFolder();
  const book = join(folder, 'report.xlsx');
  await run({ format: 'xlsx', output: book });
  const bytes = readFileSync(book);
  await run({ format: 'xlsx', output: book });
  expect(readFileSync(book)).toEqual(bytes);
  writeFileSync(book, bytes.subarray(0, bytes.length - 20));
  await expect(run({ format: 'xlsx', output: book })).rejects.toMatchObject({ code: 'USAGE' });

  const tables = join(folder, 'tables');
  expect(await run({ format: 'csv', output: tables })).toContain('tables: shop, 1 currency');
  await run({ format: 'csv', output: tables });
  expect(readdirSync(tables).toSorted()).toEqual(
    [
      'earned',
      'fees',
      'notes',
      'reconciliation',
      'refunds',
      'settlement_lines',
      'settlement_reports',
      'settlements',
      'skus',
    ].map((name) => `${name}.csv`),
  );
  const [head = '', ...rows] = readFileSync(join(tables, 'earned.csv'), 'utf8').trimEnd().split('\n');
  const database = await lakeDatabase(lake.root, lake.clock);
  const described = (await database.rows('DESCRIBE pnl_by_month')).map((row) => String(row['column_name']));
  expect(head.split(',').toSorted()).toEqual(described.toSorted());
  const sums = await database.rows(
    "SELECT month, sum(amount)::VARCHAR AS net FROM entries WHERE role = 'net' GROUP BY ALL ORDER BY ALL",
  );
  expect(rows.map((row) => [row.split(',')[2], row.split(',').at(-1)])).toEqual(
    sums.map(({ month, net }) => [month, net]),
  );
  writeFileSync(join(tables, 'mine.csv'), 'x');
  await expect(run({ format: 'csv', output: tables })).rejects.toMatchObject({
    message: expect.stringContaining('which contains mine.csv') as string,
  });
  await expect(run({ format: 'csv' })).rejects.toMatchObject({ code: 'USAGE' });
});

test('what is wrong with the question writes nothing', async () => {
  const folder = await temporaryFolder();
  const output = join(folder, 'report.html');
  for (const options of [
    { account: 'nobody' },
    { from: 'yesterday' },
    { to: '2025' },
    { to: '2025', lake: folder },
    { from: '2025-03-02', to: '2025-03-01' },
  ]) {
    await expect(run({ output, ...options })).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  }
  const stopped = new AbortController();
  stopped.abort();
  await expect(run({ output }, stopped.signal)).rejects.toMatchObject({ code: 'STOPPED' });
  expect(readdirSync(folder)).toEqual([]);
});

test('an empty lake is a report too', async () => {
  const folder = await temporaryFolder();
  const output = join(folder, 'report.html');
  mkdirSync(join(folder, 'lake'));
  expect(await run({ lake: join(folder, 'lake'), output })).toContain('a report of an empty lake');
  expect(readdirSync(folder)).toEqual(['lake', 'report.html']);
  await expect(run({ lake: join(folder, 'none'), output })).rejects.toMatchObject({ code: 'USAGE' });
});

test('the ending of the name chooses the format, and one that contradicts the format is refused', async () => {
  const folder = await temporaryFolder();
  await run({ output: join(folder, 'year.XLSX') });
  expect(readFileSync(join(folder, 'year.XLSX')).subarray(0, 2).toString()).toBe('PK');
  await run({ output: join(folder, 'year.htm') });
  expect(readFileSync(join(folder, 'year.htm'), 'utf8')).toContain(reportMark);
  const refused: [string, ReportOptions['format'], string][] = [
    ['new.xlsx', 'html', 'a file that ends with .html for --format html'],
    ['new.html', 'xlsx', 'a file that ends with .xlsx for --format xlsx'],
    ['new.xlsx', 'csv', 'a folder for --format csv'],
    ['new.csv', 'xlsx', '--format csv writes a folder'],
    ['new.csv', undefined, '--format csv writes a folder'],
    ['new.pdf', undefined, 'to end with .html or .xlsx, or to be a folder with --format csv'],
    ['new.PDF', 'html', 'no report is written as .pdf'],
    ['new.ods', 'xlsx', 'no report is written as .ods'],
  ];
  for (const [name, format, message] of refused) {
    await expect(run({ output: join(folder, name), format })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message) as string,
    });
  }
  expect(readdirSync(folder).toSorted()).toEqual(['year.XLSX', 'year.htm']);
});
