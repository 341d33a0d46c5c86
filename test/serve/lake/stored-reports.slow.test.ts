import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { fileOf, imported } from '../../app/import/imported.js';
import { clockAt, database, temporaryFolder } from '../../app/lake-run.js';
import { textOf } from '../../emulator/seller/reading.js';
import { sellerReports } from '../../emulator/seller/report-of.js';
import { handClock } from '../http/hand-clock.js';
import { addressOf, documentOf, reportsOf, rowsOf } from '../reports/report-client.js';
import { startOver } from '../transactions/seller-server.js';
import { lakeBackend } from './served-lake.js';

const now = '2025-03-20T00:00:00Z';
const clock = clockAt(now);

test('a lake serves the settlement reports that it has read, line for line', async () => {
  const seller = createSeller({ seed: 5, events: 1500, profile: 'edge-cases', days: 60 }, clock);
  const texts = await sellerReports(seller);
  const root = await temporaryFolder();
  const files = await Promise.all(texts.map((text, at) => fileOf(Buffer.from(text), `report-${at}.txt`)));
  expect((await imported({ root, clock }, files)).failure).toBeUndefined();

  const server = await startOver(await lakeBackend(root, clock), handClock(now));
  const reports = await reportsOf(server);
  expect(reports).toHaveLength(texts.length);
  const read = [];
  for (const report of reports) read.push((await documentOf(server, report)).text);
  expect(read.toSorted()).toEqual(texts.toSorted());
  const ends = reports.map(({ dataEndTime }) => textOf(dataEndTime));
  expect(ends).toEqual(ends.toSorted().toReversed());

  // What it serves can be imported again.
  const again = await temporaryFolder();
  const copies = await Promise.all(read.map((text, at) => fileOf(Buffer.from(text), `copy-${at}.txt`)));
  await imported({ root: again, clock }, copies);
  const [first, second] = [await database(root, clock), await database(again, clock)];
  const lines = 'SELECT * FROM settlement_lines ORDER BY ALL';
  expect(await second.rows(lines)).toEqual(await first.rows(lines));

  // A report leaves the list after 90 days, and its document stays.
  const [oldest] = reports.toReversed();
  if (oldest === undefined) throw new Error('expected a report');
  server.clock.move(89 * 86_400_000);
  expect((await reportsOf(server)).map(({ reportId }) => reportId)).not.toContain(oldest['reportId']);
  expect(await addressOf(server, oldest)).not.toHaveProperty('compressionAlgorithm');
  expect(rowsOf((await documentOf(server, oldest)).text).length).toBeGreaterThan(1);
});

test('a lake without settlement reports lists none', async () => {
  const root = await temporaryFolder();
  const event = '{"payload":{"FinancialEvents":{"RetrochargeEventList":[{"PostedDate":"2025-03-01T00:00:00Z"}]}}}';
  await imported({ root, clock }, [await fileOf([event])]);
  const server = await startOver(await lakeBackend(root, clock), handClock(now));
  expect(await reportsOf(server)).toEqual([]);
  const answer = await server.get('/reports/2021-06-30/documents/1');
  expect(answer.status).toBe(404);
});
