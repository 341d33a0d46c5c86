import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { CertificateBuilder, type CheckContext } from '../../../src/app/verify/common/check.js';
import { checkEvents } from '../../../src/app/verify/event-entries.js';
import type { CheckedFile } from '../../../src/app/verify/common/checked-files.js';
import type { Table } from '../../../src/core/columns/table.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodeFile } from '../../../src/core/parquet/encode-file.js';
import { readResultsPage } from '../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import { transactionEntries, transactions } from '../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { transactionsPage } from '../../reference/transaction-pages.js';
import { temporaryFolder } from '../lake-run.js';

const start = Date.parse('2024-03-01T00:00:00Z');
const subject = {
  windowStart: start,
  windowEnd: start + 86_400_000,
  fallback: start,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
};
const usd = (amount: string): string => `{"currencyCode":"USD","currencyAmount":${amount}}`;
const sale =
  `{"transactionType":"Shipment","postedDate":"2024-03-01T05:00:00Z","totalAmount":${usd('7')},` +
  `"relatedIdentifiers":[{"relatedIdentifierName":"FINANCIAL_EVENT_GROUP_ID","relatedIdentifierValue":"G"}],` +
  `"breakdowns":[{"breakdownType":"Sales","breakdownAmount":${usd('9')}},{"breakdownType":"Fees","breakdownAmount":${usd('-2')}}]}`;

/** Problems that are found in the files of a page's rows, the entries changed as a query in SQL says. */
async function problems(page: string, change?: string): Promise<string[]> {
  const folder = await temporaryFolder();
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const collector = transactionCollector({ events: transactions, entries: transactionEntries }, () => '2024-03');
  collector.add({ page: readResultsPage('listTransactions', Buffer.from(page)), subject });
  const readable = (table: Table, path: string): CheckedFile => {
    const location = { table: table.name, file: `${table.name}.parquet`, loadKey: '' };
    return { ...location, schema: table, loadKeys: [], path } as unknown as CheckedFile;
  };
  const files = new Map<Table, CheckedFile>();
  for (const batch of collector.finish()) {
    const { table } = batch;
    const path = join(folder, `${table.name}.parquet`);
    await writeFile(path, (await encodeFile(batch, new Map())).bytes);
    files.set(table, readable(table, path));
  }
  const stored = files.get(transactionEntries);
  if (change !== undefined && stored !== undefined) {
    const path = join(folder, 'changed.parquet');
    await database.execute(`COPY (SELECT * ${change} FROM '${stored.path}') TO '${path}' (FORMAT parquet)`);
    files.set(transactionEntries, readable(transactionEntries, path));
  }
  const certificate = new CertificateBuilder();
  const context = { certificate, database } as unknown as CheckContext;
  const of = (table: Table): CheckedFile[] => [...files].flatMap(([key, file]) => (key === table ? [file] : []));
  const [main] = of(transactions);
  await checkEvents(main === undefined ? [] : [{ main, derived: of(transactionEntries) }], context);
  return certificate.problems().map(({ check, problem }) => `${check.name}: ${problem}`);
}

test('stored transactions are found to be what their bytes say, whatever is in them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (draw) => {
      expect(await problems(transactionsPage(draw))).toEqual([]);
    }),
    { numRuns: 25 },
  );
});

test.each([
  ["REPLACE (CASE WHEN entry = 1 THEN 'memo' ELSE role END AS role)", 'add up to -2.000000, the total is 7.000000'],
  ["REPLACE ('net' AS role)", 'add up to 14.000000'],
  ["REPLACE ('unknown' AS role)", 'expected net or memo, found unknown'],
  ['REPLACE (CASE WHEN entry = 2 THEN 3 ELSE amount END AS amount)', 'amounts: 1 event'],
  ["REPLACE ('EUR' AS currency)", 'currency USD, entry EUR'],
  ["REPLACE (CASE WHEN entry = 0 THEN 'net' ELSE 'memo' END AS role)", 'expected memo unknown total, found net'],
  ["REPLACE (CASE WHEN entry = 2 THEN 'charge' ELSE kind END AS kind)", 'expected net fee Fees, found net charge Fees'],
  ["REPLACE (CASE WHEN entry = 2 THEN 'Sales' ELSE breakdown END AS breakdown)", 'Fees, found net fee Sales'],
])('entries that were changed are found: %s', async (change, problem) => {
  const found = await problems(`{"payload":{"transactions":[${sale}]}}`, change);
  expect(found.join('\n')).toContain(problem);
});

test('a transfer to the bank has no net amount', async () => {
  const transfer = `{"payload":{"transactions":[{"transactionType":"Transfer","totalAmount":${usd('-7')}}]}}`;
  expect(await problems(transfer)).toEqual([]);
  expect((await problems(transfer, "REPLACE ('net' AS role)")).join()).toContain('expected no net amount, found 1');
});
