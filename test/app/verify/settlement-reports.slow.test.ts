import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { amountLine } from '../../sources/finances/settlement-reports/report-file.js';
import { fileOf, imported } from '../import/imported.js';
import { database } from '../lake-run.js';
import { smallReport } from './small-report.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { found, verified } from './verified.js';

/** A lake whose settlement GROUP-1 is loaded by group: 14 sales, 2 fees without a date, and a beginning balance. */
async function smallLake(): Promise<LoadedLake> {
  const lake = await loadedLake();
  onTestFinished(() => {
    lake.remove();
  });
  return lake;
}

async function verifiedWith(lake: LoadedLake, text: string, strict = false) {
  const { failure } = await imported(lake, [await fileOf(Buffer.from(text), 'report.txt')], { account: 'shop' });
  expect(failure).toBeUndefined();
  return verified(lake, strict);
}

const counts = ({ checks }: Awaited<ReturnType<typeof verified>>) =>
  checks
    .filter(({ check }) => check.startsWith('report-'))
    .map(({ check, checked, result }) => [check, checked, result]);

test('a report whose lines and total are those of its settlement is proven', async () => {
  const lake = await smallLake();
  const result = await verifiedWith(lake, smallReport(), true);
  expect(counts(result)).toEqual([
    ['report-totals', 1, 'ok'],
    ['report-amounts', 1, 'ok'],
    ['report-lines', 1, 'ok'],
  ]);
  expect([result.code, result.problems]).toEqual([0, []]);
  expect(await (await database(lake.root, lake.clock)).rows('FROM settlement_differences')).toEqual([]);
});

test('damaged lines are what `repair` takes out, as nothing derives them', async () => {
  const lake = await smallLake();
  await verifiedWith(lake, smallReport());
  const [{ file } = {}] = await (
    await database(lake.root, lake.clock)
  ).rows('SELECT filename AS file FROM read_parquet($files, filename = true) LIMIT 1', {
    parameters: { files: join(lake.root, 'settlement_lines/**/*.parquet') },
  });
  await writeFile(String(file), 'no Parquet');
  const { problems } = await verified(lake);
  expect(problems.filter(({ table }) => table === 'settlement_lines')).toMatchObject([
    { check: 'file-bytes', command: expect.stringMatching(/ledgerlake repair --lake /) as string },
  ]);
});

test('an order that v0 lacks is a finding with its amount, and so is another total', async () => {
  const lake = await smallLake();
  const lines = [
    amountLine('900', '1.25', { 'order-id': '111-0000000-0000099', 'posted-date-time': '2025-02-21 00:00:00 UTC' }),
  ];
  const result = await verifiedWith(lake, smallReport({ total: '229.96', lines }), true);
  expect(found(result)).toEqual(['report-amounts finding']);
  expect(result.problems.map(({ problem }) => problem)).toEqual([
    'its total is 229.960000 USD, that of its group 228.710000 USD',
  ]);
  expect(result.code).toBe(1);
  // A report that names the group is compared with it, whatever its total.
  const named = await verifiedWith(
    lake,
    smallReport({ total: '229.96', lines }).replaceAll('900\t', 'GROUP-1\t'),
    true,
  );
  expect(found(named)).toEqual(['report-amounts finding', 'report-lines finding']);
  expect(named.problems.find(({ check }) => check === 'report-lines')).toMatchObject({
    table: 'settlement_reports',
    slice: 'settlement/GROUP-1',
    problem: '1 difference from v0 that nothing explains, 1.250000 USD in all: settlement_differences has the lines',
  });
});

test('a report of another currency or time, whose events are not loaded, is nothing wrong', async () => {
  const lake = await smallLake();
  const others = [{ currency: 'EUR' }, { 'settlement-end-date': '2025-03-07 00:00:00 UTC' }];
  for (const [number, header] of others.entries()) {
    const text = smallReport({ header }).replaceAll('900\t', `90${number}\t`);
    const result = await verifiedWith(lake, text, true);
    expect([result.code, result.problems]).toEqual([0, []]);
    expect(counts(result)).toEqual([
      ['report-totals', number + 1, 'ok'],
      ['report-amounts', 0, 'none'],
      ['report-lines', 0, 'none'],
    ]);
  }
});
