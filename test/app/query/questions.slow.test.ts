import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { askedQuestion } from '../../../src/app/query/ask.js';
import { LakeDatabase } from '../../../src/app/query/lake-database.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { questions } from '../../../src/app/query/questions.js';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import {
  amountsIn,
  isObject,
  microsOf,
  parse,
  readAll,
  textOf,
  type Json,
  type JsonObject,
} from '../../emulator/seller/reading.js';
import { hidingBackend, lot, setClock, synced, type Hides } from '../load/synced.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { reported } from '../report/reported-lake.js';

const clock = setClock('2026-03-10T02:00:00Z');
const from = '2025-12-01';
/** A whole month, which is the newest one too. */
const month = '2026-02';

/** What the seller's own events of the month have of a SKU in a currency: units, and millionths. */
interface Figures {
  units: bigint;
  refunded: bigint;
  net: bigint;
  cost: bigint;
}

const refundLists = ['RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList'];

/** Unit costs in millionths, the newest first. */
const dollars = [
  { since: '2026-02-14', cost: 4_123_457n },
  { since: '0001-01-01', cost: 3_500_000n },
];

/** A whole number of an event; 0 where it has none. */
function countOf(value: Json | undefined): bigint {
  return typeof value === 'number' ? BigInt(value) : 0n;
}

/** The amounts of each SKU of an event: those of its items, and those of the event itself. */
function* partsOf(event: JsonObject): Generator<{ sku: string; quantity: bigint; part: JsonObject }> {
  const skuIn = (value: JsonObject): Json | undefined => value['SellerSKU'] ?? value['SKU'];
  const others: Record<string, Json> = {};
  for (const [key, value] of Object.entries(event)) {
    const items = Array.isArray(value) ? (value as Json[]).filter(isObject) : [];
    if (!items.some((item) => skuIn(item) !== undefined)) others[key] = value;
    else
      for (const item of items) {
        const quantity = countOf(item['QuantityShipped'] ?? item['Quantity']);
        yield { sku: textOf(skuIn(item)), quantity, part: { [key]: [item] } };
      }
  }
  const sku = skuIn(event);
  if (sku !== undefined) yield { sku: textOf(sku), quantity: 0n, part: others };
}

async function figuresOf(seller: Seller): Promise<ReadonlyMap<string, Figures>> {
  const range = { start: Date.parse(`${month}-01`), end: Date.parse('2026-03-01') };
  const all = new Map<string, Figures>();
  for (const { list, json } of await readAll((query) => seller.events(range, query), { asOf: clock.now() })) {
    const event = parse(json);
    for (const { sku, quantity, part } of partsOf(event)) {
      const net = amountsIn(list, part).filter(({ role }) => role === 'net');
      const currency = net[0]?.currency;
      if (currency === undefined) continue;
      const key = `${textOf(currency)} ${sku}`;
      const figures = all.get(key) ?? { units: 0n, refunded: 0n, net: 0n, cost: 0n };
      all.set(key, figures);
      figures.net += net.reduce((sum, { micros }) => sum + micros, 0n);
      if (refundLists.includes(list)) figures.refunded += quantity;
      if (list !== 'ShipmentEventList') continue;
      figures.units += quantity;
      const day = textOf(event['PostedDate']).slice(0, 10);
      figures.cost -= quantity * (dollars.find(({ since }) => since <= day)?.cost ?? 0n);
    }
  }
  return all;
}

/** The same of transactions: units of released shipments. */
async function releasedUnits(seller: Seller): Promise<ReadonlyMap<string, bigint>> {
  const range = { start: Date.parse(`${month}-01`), end: Date.parse('2026-03-01') };
  const everything = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  const { byTransaction } = seller;
  const items = await readAll(
    (query) => byTransaction?.transactions({ range, ...everything }, query) ?? expect.fail(),
    {
      asOf: clock.now(),
    },
  );
  const all = new Map<string, bigint>();
  for (const { json } of items) {
    const { transactionType, transactionStatus, totalAmount, items: sold = [] } = parse(json);
    if (transactionType !== 'Shipment' || transactionStatus !== 'RELEASED' || !isObject(totalAmount)) continue;
    for (const item of (sold as Json[]).filter(isObject))
      for (const context of (item['contexts'] as Json[]).filter(isObject)) {
        if (context['sku'] === undefined) continue;
        const key = `${textOf(totalAmount['currencyCode'])} ${textOf(context['sku'])}`;
        all.set(key, (all.get(key) ?? 0n) + countOf(context['quantityShipped']));
      }
  }
  return all;
}

/** The answers of questions over a lake. */
async function askerOf(location: string, costs?: string) {
  const reader = await openLakeReader(location, clock, { costs });
  const lake = await LakeDatabase.open(reader);
  onTestFinished(() => {
    lake.close();
  });
  await lake.refresh();
  const ask = async (name: string, parameters: Readonly<Record<string, string>> = {}) => {
    const { query, notes } = askedQuestion(reader.lake, { name, parameters, now: clock.now() });
    const { columns } = await lake.query(query);
    return { rows: await lake.rows(query), columns, notes: [...notes, ...reader.notesOn(query)] };
  };
  return ask;
}

/** Costs of one SKU as it is, and of others that match none: by case, by currency, and of no seller. */
async function expectCostsToCheck(lake: string, figures: readonly (readonly [string, Figures])[]): Promise<void> {
  const sold = figures.flatMap(([key, { units }]) => (key.startsWith('USD ') && units > 0n ? [key.slice(4)] : []));
  const [right = '', lower = '', other = ''] = sold;
  const typed = lower.toLowerCase().replaceAll('-', ' ');
  const costs = join(await temporaryFolder(), 'costs.csv');
  const lines = [`${right},,1,USD`, `${typed},,1,USD`, `${other},,1,ISK`, 'nobody,,1,USD'];
  await writeFile(costs, ['sku,from,unit_cost,currency', ...lines].join('\n'));
  const { rows } = await (await askerOf(lake, costs))('costs-to-check');
  const cells = rows.map((row) => ['account', 'sku', 'currency', 'problem', 'similar'].map((name) => row[name]));
  expect(cells).toContainEqual([null, 'nobody', 'USD', 'no units of this SKU', null]);
  expect(cells).toContainEqual([null, typed, 'USD', 'no units of this SKU', lower]);
  const unused: unknown = expect.stringMatching(/^units in (.*, )?USD(, .*)? only$/);
  expect(cells).toContainEqual([null, other, 'ISK', unused, null]);
  expect(cells).toContainEqual(['shop', lower, 'USD', 'cost: none of this SKU', typed]);
  expect(cells).toContainEqual(['shop', other, 'USD', 'cost: in ISK only', null]);
  expect(cells.filter(([, sku, currency]) => sku === right && currency === 'USD')).toEqual([]);
  const lacking = new Set(
    cells.flatMap(([account, sku, currency]) => (account !== null && currency === 'USD' ? [sku] : [])),
  );
  for (const sku of sold.slice(1)) expect(lacking).toContain(sku);
}

/** Questions that may have no answer over a lake of one load without faults. */
const mayBeEmpty = new Set([
  ...['late-events', 'changed-months', 'unknown-amounts', 'unprofitable-skus', 'days-not-loaded', 'costs-to-check'],
]);

test.each(['v0', '2024-06-19', 'both'] as const)('every question has an answer over a lake of %s', async (api) => {
  const seller = createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock);
  const costs = join(await temporaryFolder(), 'costs.csv');
  const skus = [...(await figuresOf(seller)).keys()].map((key) => key.slice(4));
  const lines = [...new Set(skus)].flatMap((sku) =>
    dollars.map(({ since, cost }) => `${sku},${since},${String(cost).replace(/(\d{6})$/, '.$1')},USD`),
  );
  await writeFile(costs, ['sku,from,unit_cost,currency', ...lines].join('\n'));
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from, api }, { clock });
  const ask = await askerOf(lake, costs);

  for (const { name } of questions) {
    const { rows, columns } = await ask(name, name === 'refund-rate' ? { orders: '1' } : {});
    if (!mayBeEmpty.has(name)) expect(rows.length, name).toBeGreaterThan(0);
    // An amount is shown with its currency.
    const names = columns.map((column) => column.name);
    if (columns.some(({ isAmount }) => isAmount === true)) expect(names, name).toContain('currency');
    expect(names[0]).toBe('account');
    expect(columns.filter(({ type }) => type === 'DOUBLE')).toEqual([]);
  }

  await expectCostsToCheck(lake, [...(await figuresOf(seller))]);

  // By SKU, against the seller's own events.
  const { rows, notes } = await ask('profit-by-sku', { limit: '1000' });
  expect(notes).toEqual([]);
  const found = new Map(rows.map((row) => [`${String(row['currency'])} ${String(row['sku'])}`, row]));
  if (api === 'v0') {
    const expected = [...(await figuresOf(seller))];
    expect(expected.length).toBeGreaterThan(50);
    for (const [key, { units, refunded, net, cost }] of expected) {
      const row = found.get(key);
      expect([row?.['units'], row?.['refunded_units']], key).toEqual([units, refunded]);
      expect(microsOf(String(row?.['earned'])), key).toBe(net);
      // The costs are in dollars.
      const isKnown = key.startsWith('USD') || units === 0n;
      expect(row?.['missing_cost'], key).toBe(isKnown ? null : 'in USD only');
      if (isKnown) {
        const isDollars = key.startsWith('USD');
        expect(microsOf(String(row?.['cost'])), key).toBe(isDollars ? cost : 0n);
        expect(microsOf(String(row?.['net_margin'])), key).toBe(net + (isDollars ? cost : 0n));
      } else expect([row?.['cost'], row?.['net_margin'], row?.['margin']], key).toEqual([null, null, null]);
    }
    expect(found.size).toBeLessThanOrEqual(expected.length + 6);
    await expectNotes(lake);

    // The report counts the orders with claims and chargebacks, too.
    const { sheets } = await reported({ root: lake, clock });
    const sheet = sheets.find((of) => of.name === 'refunds')?.rows ?? [];
    const byMonth = (await ask('refunds-by-month', { from: '2025-12' })).rows;
    expect(byMonth.filter((row) => String(row['guarantee_claims']) !== '0.000000').length).toBeGreaterThan(0);
    const key = (cells: readonly unknown[]) => cells.map(String).join(' ');
    expect(
      sheet
        .filter(([, , of]) => of !== 'all')
        .map((cells) => key(cells.slice(1, 5)))
        .toSorted(),
    ).toEqual(byMonth.map((row) => key([row['currency'], row['month'], row['shipped'], row['refunded']])).toSorted());
  } else {
    const expected = [...(await releasedUnits(seller))];
    expect(expected.length).toBeGreaterThan(50);
    for (const [key, units] of expected) expect([key, found.get(key)?.['units']]).toEqual([key, units]);
  }

  // The lines of a month are those of its profit, and the categories of all SKUs add up to it.
  const compared = (await ask('month-comparison')).rows;
  const months = (await ask('profit-by-month')).rows.filter((row) => row['month'] === month);
  for (const row of months) {
    const line = (name: string) =>
      compared.find((of) => of['currency'] === row['currency'] && of['line'] === name)?.['this_month'];
    for (const name of ['sales', 'fees', 'earned', 'net_proceeds']) expect(line(name)).toBe(row[name]);
    const ofSkus = rows.filter((of) => of['currency'] === row['currency']);
    const sum = (name: string) => ofSkus.reduce((total, of) => total + microsOf(String(of[name])), 0n);
    expect(sum('earned')).toBe(microsOf(String(row['earned'])));
    expect(sum('sales')).toBe(microsOf(String(row['sales'])));
  }
  expect(months.length).toBeGreaterThan(3);
});

test('orders not paid at a date are those that a lake of that date has', async () => {
  const date = '2026-02-12';
  clock.set(`${date}T00:05:00Z`);
  onTestFinished(() => {
    clock.set('2026-03-10T02:00:00Z');
  });
  const seller = createSeller({ seed: 7, events: 1500, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const answers: (readonly Readonly<Record<string, unknown>>[])[] = [];
  for (const now of [`${date}T00:05:00Z`, '2026-03-10T02:00:00Z']) {
    clock.set(now);
    const lake = await temporaryFolder();
    await ran({ lake, endpoint, account: 'shop', from, api: 'both' }, { clock });
    const { rows } = await (await askerOf(lake))('orders-not-paid', { at: date, limit: '100000' });
    answers.push(rows);
  }
  // That lake could not have what the seller posted later with an earlier date, or without a date.
  const range = { start: Date.parse(from), end: clock.now() };
  const eventsAt = async (asOf: number) =>
    (await readAll((query) => seller.events(range, query), { asOf })).map(({ json }) => json);
  const known = new Set(await eventsAt(Date.parse(date)));
  const isOfThen = (json: string) => (textOf(parse(json)['PostedDate'] ?? '') || date) <= `${date}T`;
  const late = (await eventsAt(clock.now())).filter((json) => !known.has(json) && isOfThen(json)).join();
  const [then = [], later = []] = answers.map((rows) =>
    rows
      .filter((row) => !late.includes(String(row['amazon_order_id'])))
      .map((row) => ['amazon_order_id', 'currency', 'state', 'amount', 'since'].map((name) => row[name]).join(' ')),
  );
  expect(then.length).toBeGreaterThan(100);
  expect(later).toEqual(then);
  for (const state of ['deferred', 'settlement open']) expect(then.join()).toContain(state);
});

/** What is not loaded to its end, and what needs costs or other tables. */
async function expectNotes(lake: string): Promise<void> {
  const ask = await askerOf(lake);
  expect((await ask('profit-by-month')).notes).toEqual([
    'WARNING: shop has only a part of 2026-03: loaded is 2025-12-01 to 2026-03-10T01:55:00Z',
  ]);
  expect((await ask('fee-rate', { from: '2026-04' })).notes).toEqual([
    expect.stringContaining('WARNING: shop has nothing of 2026-04: loaded is '),
  ]);
  expect((await ask('largest-fees')).notes).toEqual([]);
  expect((await ask('month-comparison')).notes).toEqual([
    expect.stringContaining('WARNING: shop has nothing of 2025-02: loaded is '),
  ]);
  expect((await ask('profit-by-sku')).notes).toEqual([
    expect.stringContaining('WARNING: sku_profit: no unit costs are given'),
  ]);
  expect((await ask('orders-not-paid')).notes).toEqual([
    expect.stringContaining('WARNING: outstanding_at: no transactions of shop are loaded'),
  ]);
  expect((await ask('days-not-loaded', { until: '2026-03-12' })).rows.map(({ days }) => days)).toEqual(['1.9']);
}

test('months without a load are named as far as the lake reaches, before the first one where they are asked for', async () => {
  const clock = setClock('2026-03-10T02:00:00Z');
  const seller = createSeller({ seed: 7, events: 200, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  const load = (account: string, from: string, to: string) => ran({ lake, endpoint, account, from, to }, { clock });
  await load('holed', '2025-11-01', '2025-12-01');
  await load('holed', '2026-01-01', '2026-02-01');
  await load('whole', '2025-12-01', '2026-03-01');
  const ask = await askerOf(lake);
  const holed = 'loaded is 2025-11-01 to 2025-12-01, 2026-01-01 to 2026-02-01';
  const notes = async (from?: string) => (await ask('fee-rate', from === undefined ? {} : { from })).notes;
  expect(await notes()).toEqual([`WARNING: holed has nothing of 2025-12, 2026-02: ${holed}`]);
  expect(await notes('2025-10')).toEqual([
    `WARNING: holed has nothing of 2025-10, 2025-12, 2026-02: ${holed}`,
    'WARNING: whole has nothing of 2025-10 to 2025-11: loaded is 2025-12-01 to 2026-03-01',
  ]);
  expect(await notes('2026-01')).toEqual([`WARNING: holed has nothing of 2026-02: ${holed}`]);
});

test('what late events changed in net_proceeds is the difference of pnl_by_month before and after', async () => {
  const clock = setClock('2026-03-10T02:00:00Z');
  const late = Date.parse('2026-03-11T00:00:00Z');
  const seller = createSeller({ seed: 6, events: 900, profile: 'plausible' }, clock);
  const hides: Hides = (item, asOf) => asOf < late && lot(item, 7) === 0;
  const endpoint = await serving({ backend: hidingBackend(seller, hides), clock });
  const lake = await temporaryFolder();
  const of = { lake, endpoint, account: 'shop', api: 'both' } as const;
  const profit = async () => {
    const rows = await (
      await database(lake, clock)
    ).rows("SELECT currency, net_proceeds FROM pnl_by_month WHERE month = '2026-02'");
    return new Map(rows.map(({ currency, net_proceeds }) => [String(currency), microsOf(String(net_proceeds))]));
  };
  // Months of v0 alone, and of both.
  await ran({ ...of, from: '2026-02-15' }, { clock });
  await ran({ ...of, from: '2026-01-20', to: '2026-02-15', api: 'v0' }, { clock });
  const before = await profit();
  clock.set('2026-03-11T02:00:00Z');
  await synced({ ...of, lookBack: 50 }, { clock });
  const after = await profit();
  const changed = new Map<string, bigint>();
  const ask = await askerOf(lake);
  for (const { month, currency, source, net_proceeds } of (await ask('changed-months', { since: '2026-03-01' })).rows) {
    if (month !== '2026-02' || typeof currency !== 'string') continue;
    changed.set(currency, (changed.get(currency) ?? 0n) + microsOf(String(net_proceeds)));
    if (source === 'group_events') expect(microsOf(String(net_proceeds))).toBe(0n);
  }
  expect(changed.size).toBeGreaterThan(1);
  for (const [currency, micros] of changed) {
    expect([currency, micros]).toEqual([currency, (after.get(currency) ?? 0n) - (before.get(currency) ?? 0n)]);
  }
  // An event that several tables have is one row.
  const { rows } = await ask('late-events', { since: '2026-03-01', limit: '5000' });
  expect(rows.some(({ sources }) => sources === 'events, group_events')).toBe(true);

  // Sums by settlement are those of v0, which ends earlier now.
  const notes = async () => (await openLakeReader(lake, clock)).notesOn('FROM reconciliation_by_month');
  expect(await notes()).toEqual([]);
  clock.set('2026-03-11T05:00:00Z');
  await synced({ ...of, api: '2024-06-19' }, { clock });
  expect(await notes()).toEqual([
    expect.stringMatching(
      /^WARNING: reconciliation_by_month: shop is loaded from v0 up to .* and 2024-06-19 up to .*`ledgerlake sync --account shop --api both`/,
    ),
  ]);
});
