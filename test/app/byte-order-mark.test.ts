import { expect, test } from 'vitest';
import { runSql } from '../../src/cli/sql-shell/run-sql.js';
import type { Format } from '../../src/core/text/formats.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import { Kept } from '../core/text/streams.js';
import { servingLake } from '../serve/lake/served-lake.js';
import { imported, eventsBody, fileOf } from './import/imported.js';
import { clockAt, temporaryFolder } from './lake-run.js';
import { compacted } from './maintenance/kept-lake.js';
import { open } from './maintenance/small-lake.js';
import { verified } from './verify/verified.js';

const mark = '\ufeff';
const clock = clockAt('2025-06-01T00:00:00Z');

/** A shipment whose order, SKU and a key begin with a byte order mark, written as itself or as an escape. */
function shipment(day: string, written: string): string {
  const amount = '{"CurrencyCode":"USD","CurrencyAmount":2}';
  const charges = `[{"ChargeType":"Principal","ChargeAmount":${amount}}]`;
  const items = `[{"SellerSKU":"${written}SKU-1","ItemChargeList":${charges}}]`;
  return (
    `{"AmazonOrderId":"${written}O-1","PostedDate":"2025-05-${day}T00:00:00Z",` +
    `"${written}Bonus":${amount},"ShipmentItemList":${items}}`
  );
}

const events = [
  { list: 'ShipmentEventList', json: shipment('01', mark) },
  { list: `${mark}OddEventList`, json: shipment('02', '\\ufeff') },
];

/** A lake into which these events were imported, one file each. */
async function lakeWithMarks(): Promise<string> {
  const root = await temporaryFolder();
  for (const event of events) await importEvent(root, event);
  return root;
}

async function importEvent(root: string, event: { list: string; json: string }) {
  const file = await fileOf([eventsBody([event])]);
  return (await imported({ root, clock }, [file])).summary;
}

async function queried(root: string, query: string, format: Format): Promise<string> {
  const output = new Kept();
  const reader = await openLakeReader(root, clock, { scope: { lake: root } });
  const streams = { input: process.stdin, output, errorOutput: new Kept() };
  expect(await runSql({ ...reader, ...streams, query, format, scope: { lake: root } })).toBe(0);
  return output.text;
}

test('merged files keep the byte order marks that texts begin with, in rows and statistics, and verify agrees', async () => {
  const root = await lakeWithMarks();
  expect((await verified({ root, clock })).problems).toEqual([]);
  await compacted({ lake: root }, { clock });
  const [merged, ...others] = (await open(root, clock)).snapshot.files('entries');
  expect(others).toEqual([]);
  expect(merged?.columnStatistics('sku')).toMatchObject({ least: `${mark}SKU-1`, greatest: `${mark}SKU-1` });
  expect((await verified({ root, clock })).problems).toEqual([]);
});

test('sql writes them in every format, and takes them in a condition', async () => {
  const root = await lakeWithMarks();
  const query =
    `SELECT sku, [amazon_order_id] AS orders, min(path) AS path FROM entries ` +
    `WHERE amazon_order_id = '${mark}O-1' AND sku = '${mark}SKU-1' GROUP BY ALL`;
  const row = { sku: `${mark}SKU-1`, orders: [`${mark}O-1`], path: 'ShipmentItemList[].ItemChargeList[].ChargeAmount' };
  expect(JSON.parse(await queried(root, query, 'json'))).toEqual([row]);
  expect(JSON.parse(await queried(root, query, 'ndjson'))).toEqual(row);
  expect(await queried(root, query, 'csv')).toContain(`\n${mark}SKU-1,"[""${mark}O-1""]",`);
  expect(await queried(root, query, 'table')).toContain(' \\ufeffSKU-1 ');
  const paths = await queried(root, `SELECT DISTINCT path FROM entries WHERE sku IS NULL`, 'json');
  expect(JSON.parse(paths)).toEqual([{ path: `${mark}Bonus` }]);
});

test('import knows their events again, and a service over the lake finds and returns them', async () => {
  const root = await lakeWithMarks();
  for (const event of events) {
    expect((await importEvent(root, event)).imported).toMatchObject({ 'financial-events': { known: 1 } });
  }
  const url = await servingLake(root, clock);
  const answer = await fetch(`${url}/finances/v0/financialEvents?PostedAfter=2025-04-30T00:00:00Z`);
  const { payload } = JSON.parse(await answer.text()) as { payload: { FinancialEvents: object } };
  const lists = events.map(({ list, json }) => [list, [JSON.parse(json)]]);
  expect(payload.FinancialEvents).toMatchObject(Object.fromEntries(lists));
});
