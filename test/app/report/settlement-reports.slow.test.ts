import { expect, onTestFinished, test } from 'vitest';
import { amountLine } from '../../sources/finances/settlement-reports/report-file.js';
import { fileOf, imported } from '../import/imported.js';
import { loadedLake } from '../verify/loaded-lake.js';
import { smallReport } from '../verify/small-report.js';
import { reported } from './reported-lake.js';

test('settlement reports have a section of each with its differences, where one is loaded', async () => {
  const lake = await loadedLake();
  onTestFinished(() => {
    lake.remove();
  });
  const none = await reported(lake);
  expect(none.page.texts('h4').filter((text) => text.startsWith('Settlement reports'))).toEqual([]);
  expect(none.sheets.find(({ name }) => name === 'settlement_reports')?.rows).toEqual([]);

  const lacking = { 'order-id': '111-0000000-0000099', 'posted-date-time': '2025-02-21 00:00:00 UTC' };
  const text = smallReport({ total: '229.96', lines: [amountLine('900', '1.25', lacking)] }).replaceAll(
    '900\t',
    'GROUP-1\t',
  );
  await imported(lake, [await fileOf(Buffer.from(text), 'report.txt')], { account: 'shop' });
  const { page, sheets } = await reported(lake);
  const section = `${page.chapter('USD')}-reports`;
  expect(page.table(section)).toEqual([
    {
      Settlement: 'GROUP-1 2025-02-20 to 2025-03-06',
      Source: 'v0',
      Report: '229.96',
      Lake: '228.71',
      Difference: '1.25',
      Compared: '✗ 1 not explained',
      Explained: '0',
    },
  ]);
  expect(page.table(section, 1)).toEqual([
    {
      Settlement: 'GROUP-1',
      Source: 'v0',
      'Order or day': '111-0000000-0000099',
      Name: 'Principal',
      Lines: '32',
      Report: '1.25',
      Lake: '0.00',
      Difference: '1.25',
    },
  ]);
  expect(page.texts('a')).toContain('1 settlement report in USD');
  const sheet = sheets.find(({ name }) => name === 'settlement_reports');
  expect(sheet?.rows).toEqual([
    [
      ...['shop', 'USD', 'GROUP-1', '2025-02-20T00:00:00Z', '2025-03-06T00:00:00Z', 'v0'],
      ...['229.960000', '228.710000', '1.250000', 0, 0, 0, 1, '1.250000'],
    ],
  ]);

  // A range in which no settlement of a report lies.
  const { page: later } = await reported(lake, { from: '2025-03-07' });
  expect(later.texts('h4').filter((title) => title.startsWith('Settlement reports'))).toEqual([]);
});
