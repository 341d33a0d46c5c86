import { onTestFinished, expect, test } from 'vitest';
import type { Table } from '../../../src/core/columns/table.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { schemaChange } from '../../../src/lake/commit-files.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import {
  orderTransactions,
  payouts,
  settlementSummaries,
  transactions,
} from '../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { lakeFolder } from '../../core/duckdb/lake-fixture.js';
import { isObject, type JsonObject, parse, readAll, textOf } from '../../emulator/seller/reading.js';
import { handClock } from '../http/hand-clock.js';
import {
  day,
  identifier,
  idOf,
  iso,
  listIn,
  pages,
  paths,
  payloadOf,
  type Query,
  type SellerServer,
  start,
  startOver,
  statusOf,
} from '../transactions/seller-server.js';
import { clockAt, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { lakeBackend } from './served-lake.js';

const range = { start: start - 60 * day, end: start };
const month = { postedAfter: iso(range.start), postedBefore: iso(start - day) };

const quoted = (text: string | undefined) => (text === undefined ? 'NULL' : `'${text.replaceAll("'", "''")}'`);
const instant = (text: string | undefined) => `${quoted(text)}::TIMESTAMPTZ`;

function marketplaceOf({ marketplaceDetails, partnerMetadata }: JsonObject): string | undefined {
  const details = marketplaceDetails ?? partnerMetadata;
  return isObject(details) ? textOf(details['marketplaceId']) : undefined;
}

/** Rows as a pipeline would write them, as far as they are asked for. */
function transactionRow({ json }: BackendItem, position: number): string {
  const one = parse(json);
  const columns = {
    content_hash: quoted(idOf(one)),
    event_id: quoted(idOf(one)),
    transaction_id: quoted(idOf(one)),
    effective_at: instant(textOf(one['postedDate'])),
    status: quoted(statusOf(one)),
    marketplace_id: quoted(marketplaceOf(one)),
    amazon_order_id: quoted(identifier(one, 'ORDER_ID')),
    group_id: quoted(identifier(one, 'FINANCIAL_EVENT_GROUP_ID')),
    window_start: instant(iso(range.start)),
    position: `${position}::BIGINT`,
    raw: quoted(json),
  };
  return `SELECT ${Object.entries(columns)
    .map(([name, value]) => `${value} AS ${name}`)
    .join(', ')}`;
}

function payoutRow({ json }: BackendItem): string {
  const one = parse(json);
  return (
    `SELECT ${quoted(textOf(one['id']))} AS payout_id, 'Standard Orders' AS account_type, ${quoted(marketplaceOf(one))} AS ` +
    `marketplace_id, ${instant(textOf(one['creationDate']))} AS created_at, ${quoted(json)} AS raw, NULL::TIMESTAMPTZ AS window_start`
  );
}

function summaryRow({ json }: BackendItem): string {
  const one = parse(json);
  return (
    `SELECT ${quoted(identifier(one, 'SETTLEMENT_ID'))} AS settlement_id, 'Standard Orders' AS account_type, ` +
    `${quoted(marketplaceOf(one))} AS marketplace_id, ${instant(textOf(one['periodStart']))} AS period_start, 0::BIGINT AS position, ${quoted(json)} AS raw`
  );
}

/** A service over a lake that has a seller's transactions, payouts and summaries, and what it should answer. */
async function lakeOfTransactions() {
  const clock = handClock(start);
  const folder = lakeFolder();
  onTestFinished(() => {
    folder.remove();
  });
  const { byTransaction } = createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock);
  if (byTransaction === undefined) throw new Error('expected a seller with transactions');
  const everything = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  const accounts = { marketplaceIds: undefined, accountType: undefined };
  const read = (ask: Parameters<typeof readAll>[0]) => readAll(ask, { asOf: start });
  const all = await read((query) => byTransaction.transactions({ range, ...everything }, query));
  const paid = await read((query) => byTransaction.payouts({ range, payoutId: undefined, ...accounts }, query));
  const settlementId = all.map(({ json }) => identifier(parse(json), 'SETTLEMENT_ID')).find((id) => id !== undefined);
  const summaries = await read((query) =>
    byTransaction.summaries({ settlementId, days: undefined, ...accounts }, query),
  );

  const store = diskStore(folder.root);
  async function commit(schema: Table, name: string, rows: readonly string[]): Promise<void> {
    const path = `account=demo/month=2025-05/${name}.parquet`;
    await folder.write(`${schema.name}/${path}`, rows.join(' UNION ALL '));
    const lake = await Lake.open(store, [schema], clock);
    const partitionValues = { account: 'demo', month: '2025-05' };
    const add = { path, partitionValues, size: 1, modificationTime: 0, dataChange: true };
    const key = {
      account: 'demo',
      pipeline: schema.name,
      key: name,
      readAt: start,
      since: start,
      origin: 'api' as const,
    };
    await lake.commitChange('WRITE', (snapshot) => ({
      tables: { [schema.name]: { ...schemaChange(snapshot, schema, start), add: [add] } },
      keys: { set: [key] },
    }));
  }
  const rows = all.map(transactionRow);
  await commit(transactions, 'first', rows.slice(0, 200));
  await commit(transactions, 'second', rows.slice(200));
  await commit(payouts, 'payouts', paid.map(payoutRow));
  await commit(settlementSummaries, 'summaries', summaries.map(summaryRow));
  const server = await startOver(await lakeBackend(folder.root, clock), clock);
  return { server, all, paid, summaries, settlementId };
}

/** The results of all pages, byte for byte. */
async function resultsOf(server: SellerServer, query: Query): Promise<string[]> {
  const answers = await pages(server, paths.transactions, query);
  return answers.map(({ text }) => text);
}

test('a lake answers the operations from its stored bytes', async () => {
  const { server, all, paid, summaries, settlementId } = await lakeOfTransactions();
  const posted = ({ json }: BackendItem) => Date.parse(textOf(parse(json)['postedDate']));
  const expected = all.filter((item) => posted(item) < start - day);
  expect(expected.length).toBeGreaterThan(500);

  const check = async (query: Query, keeps: (one: JsonObject) => boolean) => {
    const texts = await resultsOf(server, query);
    const kept = expected.filter(({ json }) => keeps(parse(json)));
    expect(kept.length).toBeGreaterThan(0);
    expect(
      texts.reduce(
        (count, text) => count + listIn(payloadOf({ ...empty, body: parse(text) }), 'transactions').length,
        0,
      ),
    ).toBe(kept.length);
    for (const { json } of kept) expect(texts.some((text) => text.includes(json))).toBe(true);
  };
  await check(month, () => true);
  await check({ ...month, transactionStatus: 'DEFERRED_RELEASED' }, (one) => statusOf(one) === 'DEFERRED_RELEASED');
  await check(
    { ...month, marketplaceId: 'A1PA6795UKMFR9' },
    (one) => (marketplaceOf(one) ?? 'A1PA6795UKMFR9') === 'A1PA6795UKMFR9',
  );
  for (const name of ['ORDER_ID', 'FINANCIAL_EVENT_GROUP_ID']) {
    const relatedIdentifierValue = identifier(parse(expected[40]?.json ?? ''), name) ?? expect.fail(name);
    await check(
      { ...month, relatedIdentifierName: name, relatedIdentifierValue },
      (one) => identifier(one, name) === relatedIdentifierValue,
    );
  }

  expect(paid.length).toBeGreaterThan(10);
  const payoutsText = `{"payouts":[${paid.map(({ json }) => json).join(',')}]}`;
  expect((await server.get(paths.payouts, { createdAfter: iso(range.start) })).text).toBe(payoutsText);
  const byId = { relatedIdentifierName: 'SETTLEMENT_ID', relatedIdentifierValue: settlementId };
  expect((await server.get(paths.summary, byId)).text).toBe(`{"summaries":[${summaries[0]?.json ?? ''}]}`);
  expect((await server.get(paths.summary, { ...byId, relatedIdentifierValue: 'unknown' })).text).toBe(
    '{"summaries":[]}',
  );

  // No summary of a period is stored: to answer with none would say that nothing happened.
  for (const [period, details] of [
    [{ periodStart: '2025-05-01' }, '2025-05-01 to'],
    [{ periodStart: '2025-05-01', periodEnd: '2025-05-31' }, '2025-05-01 to 2025-05-31'],
  ] as const) {
    const { status, text } = await server.get(paths.summary, period);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ errors: [{ code: 'InvalidInput', details: `Received: ${details}` }] });
    expect(text).toContain('relatedIdentifierName=SETTLEMENT_ID');
  }
  expect((await server.get(paths.summary, { ...byId, periodStart: '2025-05-01' })).status).toBe(200);
});

test('a lake that is loaded from a lake over this API has the same rows, byte for byte', async () => {
  const clock = clockAt('2026-03-10T02:00:00Z');
  const seller = createSeller({ seed: 5, events: 1500, profile: 'edge-cases' }, clock);
  const load = async (backend: Backend, orders: readonly string[]): Promise<string> => {
    const lake = await temporaryFolder();
    const given = { lake, endpoint: await serving({ backend, clock }), account: 'shop', from: '2026-01-10' };
    const pipelines = ['transactions', 'payouts', 'settlement-summaries'];
    await ran({ ...given, pipelines }, { clock });
    const order = orders;
    await ran({ ...given, from: undefined, pipelines: ['order-transactions'], orders: order }, { clock });
    return lake;
  };
  const everything = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  const long = { start: Date.parse('2025-12-01'), end: Date.parse('2026-01-09') };
  const items = await readAll(
    (query) => seller.byTransaction?.transactions({ range: long, ...everything }, query) ?? expect.fail(),
    {
      asOf: clock.now(),
    },
  );
  // Those of an order that was never loaded by date, too.
  const orders = [...new Set(items.flatMap(({ json }) => identifier(parse(json), 'ORDER_ID') ?? []))].slice(0, 30);

  const lake = await load(seller, orders);
  const replica = await load(await lakeBackend(lake, clock), orders);
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  for (const { name } of [transactions, orderTransactions, settlementSummaries, payouts]) {
    const [from, to] = [lake, replica].map((root) => `SELECT raw FROM '${root}/${name}/*/*/*.parquet'`);
    const [row] = await database.rows(
      `SELECT (SELECT count(*) FROM (${from} EXCEPT ALL ${to})) AS missing, (SELECT count(*) FROM (${to} EXCEPT ALL ${from})) AS more, ` +
        `(SELECT count(*) FROM (${from})) AS rows`,
    );
    expect([name, Number(row?.['missing']), Number(row?.['more'])]).toEqual([name, 0, 0]);
    expect(Number(row?.['rows']), name).toBeGreaterThan(5);
  }
});

const empty = { status: 200, headers: new Headers(), text: '', message: undefined };
