import fc from 'fast-check';
import { expect, test } from 'vitest';
import { millionths, millionthsText } from '../../../src/core/numeric/decimal.js';
import { viewTables, type Values, type ViewTables } from './view-tables.js';

const period = { started_at: '2026-03-02T07:11:20Z', ended_at: '2026-03-16T07:11:20Z' };
const march = (day: number): string => `2026-03-${String(day).padStart(2, '0')}`;
const at = (day: number): string => `${march(day)}T10:00:00Z`;

/** An amount on a day of March. */
interface Amount {
  readonly amount: string;
  readonly name: string;
  readonly day?: number;
  readonly order?: string;
  readonly more?: Values;
}

function sumOf(amounts: readonly Amount[]): string {
  return millionthsText(amounts.reduce((sum, { amount }) => sum + millionths(amount), 0n));
}

/** A lake with the report `11`, whose lines are as given, and a closed group `G` with the same header. */
async function lakeWith(lines: readonly Amount[], group: Values = {}) {
  const tables = await viewTables();
  const total = sumOf(lines);
  await tables.insert('settlement_reports', [
    { settlement_id: '11', ...period, total_amount: total, currency: 'USD', lines: lines.length },
  ]);
  await tables.insert('settlement_lines', lines.map(lineOf));
  const closed = { processing_status: 'Closed', original_total: total, original_currency: 'USD' };
  await tables.insert('groups', [{ group_id: 'G', ...period, ...closed, ...group }]);
  return tables;
}

function lineOf({ amount, name, day, order, more }: Amount, at_: number): Values {
  return {
    settlement_id: '11',
    line: at_ + 1,
    kind: 'fee',
    name,
    amount,
    currency: 'USD',
    ...(day === undefined ? {} : { posted_on: march(day), posted_at: at(day) }),
    ...(order === undefined ? {} : { order_id: order }),
    ...more,
  };
}

/** The events of the group, each with its amounts. */
async function addEvents({ insert }: ViewTables, events: readonly (readonly Amount[])[]): Promise<void> {
  await insert(
    'group_events',
    events.map((_, position) => ({
      event_id: `v${position + 1}`,
      group_id: 'G',
      position,
      window_end: period.ended_at,
    })),
  );
  const entries = events.flatMap((amounts, event) =>
    amounts.map(({ amount, name, day, order, more }, entry) => ({
      event_id: `v${event + 1}`,
      entry,
      group_id: 'G',
      event_list: 'ServiceFeeEventList',
      path: 'FeeList[].FeeAmount',
      kind: 'fee',
      name,
      role: 'net',
      amount,
      currency: 'USD',
      ...(day === undefined ? {} : { posted_at: at(day) }),
      ...(order === undefined ? {} : { amazon_order_id: order }),
      ...more,
    })),
  );
  await insert('group_entries', entries);
}

/** Paid transactions, which name the settlement; their window is all of March. */
async function addTransactions(
  { insert }: ViewTables,
  transactions: readonly (readonly Amount[])[],
  names: Values = { settlement_id: '11' },
): Promise<void> {
  const shared = (number: number, day = 3) => ({
    event_id: `t${number + 1}`,
    transaction_id: `t${number + 1}`,
    transaction_type: 'ServiceFee',
    status: 'RELEASED',
    posted_at: at(day),
    effective_at: at(day),
  });
  await insert(
    'transactions',
    transactions.map(([first], number) => ({
      ...shared(number, first?.day),
      window_start: '2026-03-01',
      window_end: '2026-04-01',
      ...names,
    })),
  );
  const entries = transactions.flatMap((amounts, number) =>
    amounts.map(({ amount, name, day, order, more }, entry) => ({
      ...shared(number, day),
      entry,
      path: 'breakdowns[]',
      breakdown: name,
      kind: 'fee',
      name: name.replace(/^.*\//, ''),
      role: 'net',
      amount,
      currency: 'USD',
      ...(order === undefined ? {} : { amazon_order_id: order }),
      ...more,
    })),
  );
  await insert('transaction_entries', entries);
}

/** The rows of the view: what differs, both sums, the reason and what they are of. */
async function differences({ database }: ViewTables): Promise<unknown[][]> {
  const rows = await database.rows(
    'SELECT source, order_id, posted_on::VARCHAR AS posted_on, name, report_amount::VARCHAR AS report, lake_amount::VARCHAR AS lake, reason, ' +
      "array_to_string(report_lines, ' ') AS lines, array_to_string(lake_entries, ' ') AS entries FROM settlement_differences",
  );
  return rows.map((row) => Object.values(row));
}

const fee = (amount: string, day?: number, more: Partial<Amount> = {}): Amount => ({
  amount,
  name: 'Commission',
  ...more,
  ...(day !== undefined && { day }),
});

test('the columns of the view', async () => {
  const { database } = await viewTables();
  const described = await database.rows('DESCRIBE settlement_differences');
  expect(described.map((row) => [row['column_name'], row['column_type']])).toEqual([
    ['account', 'VARCHAR'],
    ['settlement_id', 'VARCHAR'],
    ['group_id', 'VARCHAR'],
    ['source', 'VARCHAR'],
    ['order_id', 'VARCHAR'],
    ['posted_on', 'DATE'],
    ['kind', 'VARCHAR'],
    ['name', 'VARCHAR'],
    ['report_amount', 'DECIMAL(38,6)'],
    ['lake_amount', 'DECIMAL(38,6)'],
    ['difference', 'DECIMAL(38,6)'],
    ['reason', 'VARCHAR'],
    ['currency', 'VARCHAR'],
    ['report_lines', 'BIGINT[]'],
    ['lake_entries', 'VARCHAR[]'],
  ]);
});

test('equal amounts are no difference, whichever of both has no day, no order or the id of a shipment', async () => {
  const lines = [
    fee('-1.00', 3, { order: 'o-1' }),
    fee('-1.00', 3, { order: 'o-1' }),
    fee('-2.00', 4, { order: 'FBA15ABC' }),
    fee('-3.00', 5),
    fee('-4.00', 6),
    { amount: '9.00', name: 'ReserveCredit' },
    fee('0.00', 7),
  ];
  const lake = await lakeWith(lines, { beginning_balance: '9.00', beginning_currency: 'USD' });
  const amounts = [
    fee('-1.00', 3, { order: 'o-1' }),
    fee('-1.00', 3, { order: 'o-1', more: { sku: 'S' } }),
    fee('-2.00', 4),
    fee('-3.00'),
  ];
  // The order is one of the report.
  const reversal = fee('-4.00', 6, { order: 'o-1' });
  await addEvents(
    lake,
    [...amounts, reversal, fee('0.00', 9)].map((one) => [one]),
  );
  expect(await differences(lake)).toEqual([]);
  await addTransactions(
    lake,
    [...amounts.slice(0, 3), fee('-3.00', 5), reversal].map((one) => [one]),
  );
  expect(await differences(lake)).toEqual([]);
});

test('base, tax and promotion of a transaction are the gross fee of the report and of v0', async () => {
  const lake = await lakeWith([
    fee('-5.00', 3, { order: 'o-1' }),
    fee('-2.00', 3, { order: 'o-1', name: 'FBAPerUnitFulfillmentFee' }),
  ]);
  await addTransactions(lake, [
    [
      fee('-4.00', 3, { order: 'o-1', name: 'AmazonFees/Commission/Base' }),
      fee('-1.20', 3, { order: 'o-1', name: 'AmazonFees/Commission/Tax' }),
      fee('0.20', 3, { order: 'o-1', name: 'AmazonFees/Commission/Promo' }),
      fee('-1.60', 3, { order: 'o-1', name: 'AmazonFees/FBAPerUnitFulfillmentFee/Base' }),
      fee('-0.40', 3, { order: 'o-1', name: 'AmazonFees/FBAPerUnitFulfillmentFee/Tax' }),
    ],
  ]);
  expect(await differences(lake)).toEqual([]);
});

test('what is joined or split otherwise has the reason split, and differs by 0', async () => {
  const fba = { transaction_type: 'FBAFees', amount_type: 'FBAInboundConvenienceFee' };
  const lake = await lakeWith([
    // Advertising: one total.
    { amount: '-11.90', name: 'ProductAdsPayment', day: 3 },
    { amount: '-5.95', name: 'ProductAdsPayment', day: 3 },
    // Base, tax and discount: two on a day.
    ...['-4.00', '-1.00', '0.50', '-8.00', '-2.00'].map((amount, part) =>
      fee(amount, part < 3 ? 5 : 6, { name: 'FBAInboundConvenienceFee', more: fba }),
    ),
  ]);
  const ads = (amount: string, path: string) =>
    fee(amount, 3, { name: 'charge', more: { event_list: 'ProductAdsPaymentEventList', path } });
  await addEvents(lake, [
    [ads('-10.00', 'baseValue'), ads('-1.90', 'taxValue')],
    [ads('-5.00', 'baseValue'), ads('-0.95', 'taxValue')],
    // Fees of services have no date.
    [fee('-4.50', undefined, { name: 'FBAInboundConvenienceFee' })],
    [fee('-10.00', undefined, { name: 'FBAInboundConvenienceFee' })],
  ]);
  expect(await differences(lake)).toEqual([
    ['v0', null, '2026-03-03', 'ProductAdsPayment', '-17.850000', '-17.850000', 'split', '1 2', 'v1 v2'],
    ['v0', null, null, 'FBAInboundConvenienceFee', '-14.500000', '-14.500000', 'split', '3 4 5 6 7', 'v3 v4'],
  ]);
});

test('an event is the line that has its sum, even where others of the day are not explained', async () => {
  const lake = await lakeWith([
    { amount: '-3.30', name: 'CouponRedemptionFee', day: 3 },
    { amount: '-0.07', name: 'CouponRedemptionFee', day: 3 },
  ]);
  await addEvents(lake, [
    [fee('-3.00', 3, { name: 'CouponRedemptionFee' }), fee('-0.30', 3, { name: 'Tax' })],
    [fee('-0.06', 3, { name: 'CouponRedemptionFee' })],
  ]);
  expect(await differences(lake)).toEqual([
    ['v0', null, '2026-03-03', 'CouponRedemptionFee', '-3.300000', '-3.300000', 'split', '1', 'v1'],
    ['v0', null, '2026-03-03', 'CouponRedemptionFee', '-0.070000', '-0.060000', 'unexplained', '2', 'v2'],
  ]);
});

test('another label is renamed, another day is said, and tax that is withheld at once is split', async () => {
  const tax = (amount: string, name: string): Amount => ({ amount, name, day: 9, order: 'o-2' });
  const lake = await lakeWith([
    fee('-7.00', 3, { more: { kind: '', name: '', amount_description: 'Monthly charge' } }),
    fee('-8.00', 4, { order: 'o-2' }),
    tax('1.90', 'Tax'),
    tax('-1.90', 'MarketplaceFacilitatorTax-Principal'),
  ]);
  await lake.database.execute("UPDATE settlement_lines SET kind = NULL, name = NULL WHERE kind = ''");
  await addTransactions(lake, [[fee('-7.00', 3, { name: 'Subscription' })], [fee('-8.00', 6, { order: 'o-2' })]]);
  expect(await differences(lake)).toEqual([
    ['2024-06-19', null, '2026-03-03', 'Subscription', '-7.000000', '-7.000000', 'renamed', '1', 't1'],
    ['2024-06-19', 'o-2', '2026-03-04', 'Commission', '-8.000000', '-8.000000', 'other day', '2', 't2'],
    ['2024-06-19', 'o-2', '2026-03-09', null, '0.000000', '0.000000', 'split', '3 4', ''],
  ]);
});

test('what v0 lacks, and what nothing explains, keeps its difference', async () => {
  const lake = await lakeWith([
    { amount: '-6.00', name: 'FBARemovalFee', day: 3 },
    { amount: '-500.00', name: 'ReserveDebit', day: 16 },
    fee('-1.00', 4, { order: 'o-1' }),
    fee('-2.00', 4, { order: 'o-1' }),
    fee('-3.00', 5),
    fee('-4.00', 5, { order: 'FBA1' }),
    fee('0', 6, { more: { amount_text: '12,3x' } }),
  ]);
  await lake.database.execute('UPDATE settlement_lines SET amount = NULL WHERE amount_text IS NOT NULL');
  await addEvents(lake, [[fee('-2.50', 4, { order: 'o-1' })], [fee('-9.00', 4, { order: 'o-9' })], [fee('-0.01', 8)]]);
  expect(await differences(lake)).toEqual([
    ['v0', null, '2026-03-03', 'FBARemovalFee', '-6.000000', '0.000000', 'not in v0', '1', ''],
    ['v0', 'o-1', '2026-03-04', 'Commission', '-3.000000', '-2.500000', 'unexplained', '3 4', 'v1'],
    ['v0', 'o-9', '2026-03-04', 'Commission', '0.000000', '-9.000000', 'unexplained', '', 'v2'],
    ['v0', 'FBA1', '2026-03-05', 'Commission', '-4.000000', '0.000000', 'unexplained', '6', ''],
    ['v0', null, '2026-03-05', 'Commission', '-3.000000', '0.000000', 'unexplained', '5', ''],
    ['v0', null, '2026-03-06', 'Commission', '0.000000', '0.000000', 'unexplained', '7', ''],
    ['v0', null, '2026-03-08', 'Commission', '0.000000', '-0.010000', 'unexplained', '', 'v3'],
    ['v0', null, '2026-03-16', 'ReserveDebit', '-500.000000', '0.000000', 'not in v0', '2', ''],
  ]);
});

test('what is not loaded is said by day, of each source that the account has', async () => {
  const lines = [fee('-1.00', 3), fee('-2.00', 3), fee('-4.00', 20)];
  const notLoaded = (source: string, days: readonly (readonly [number, string, string])[]) =>
    days.map(([day, amount, numbers]) => [
      ...[source, null, march(day), 'Commission', amount, '0.000000', 'not loaded', numbers, ''],
    ]);
  const all = [
    [3, '-3.000000', '1 2'],
    [20, '-4.000000', '3'],
  ] as const;
  const lake = await lakeWith(lines);
  expect(await differences(lake)).toEqual([...notLoaded('2024-06-19', all), ...notLoaded('v0', all)]);

  // Transactions until the 10th.
  await addTransactions(lake, [[fee('-1.00', 3)], [fee('-2.00', 3)]]);
  await lake.database.execute("UPDATE transactions SET window_end = TIMESTAMPTZ '2026-03-10T00:00:00Z'");
  expect(await differences(lake)).toEqual(notLoaded('2024-06-19', [[20, '-4.000000', '3']]));

  // Of v0 another settlement, then this one while it was open, then without an event that was forgotten.
  await lake.insert('group_events', [{ event_id: 'other', group_id: 'H', position: 0, window_end: at(9) }]);
  expect((await differences(lake)).slice(1)).toEqual(notLoaded('v0', all));
  await addEvents(
    lake,
    lines.slice(0, 2).map((one) => [one]),
  );
  await lake.database.execute("UPDATE group_events SET window_end = NULL WHERE group_id = 'G'");
  expect((await differences(lake)).slice(1)).toEqual(notLoaded('v0', [[20, '-4.000000', '3']]));
  await lake.database.execute(
    `UPDATE group_events SET window_end = '${period.ended_at}', position = position + 1 WHERE group_id = 'G'`,
  );
  expect((await differences(lake)).slice(1)).toEqual(notLoaded('v0', [[20, '-4.000000', '3']]));
  await lake.database.execute("UPDATE group_events SET position = position - 1 WHERE group_id = 'G'");
  expect((await differences(lake)).slice(1)).toEqual([
    ['v0', null, '2026-03-20', 'Commission', '-4.000000', '0.000000', 'unexplained', '3', ''],
  ]);
});

test('of a settlement that is loaded in part, what has no order may be on a day that is not', async () => {
  const ofOrder = { name: 'FixedClosingFee', order: '902-1845936-5435065' };
  const tables = await lakeWith([fee('-2', 3), fee('-1', 4, ofOrder), fee('-5', 12)]);
  await addTransactions(tables, [[fee('-6.5', 5)]], { settlement_id: '11', window_end: '2026-03-10' });
  expect(await differences(tables)).toEqual([
    ['2024-06-19', null, '2026-03-03', 'Commission', '-2.000000', '0.000000', 'not loaded', '1', ''],
    ['2024-06-19', ofOrder.order, '2026-03-04', ofOrder.name, '-1.000000', '0.000000', 'unexplained', '2', ''],
    ['2024-06-19', null, '2026-03-05', 'Commission', '0.000000', '-6.500000', 'not loaded', '', 't1'],
    ['2024-06-19', null, '2026-03-12', 'Commission', '-5.000000', '0.000000', 'not loaded', '3', ''],
  ]);
});

test('groups and reports with equal headers are not matched by them, but by transactions that name both', async () => {
  const lake = await lakeWith([fee('-1.00', 3), fee('1.00', 4)]);
  await lake.insert('groups', [
    { group_id: 'H', ...period, processing_status: 'Closed', original_total: '0', original_currency: 'USD' },
  ]);
  await addEvents(lake, [[fee('-1.00', 3)], [fee('1.00', 4)]]);
  const groups = async () =>
    (await lake.database.rows('SELECT DISTINCT group_id, reason FROM settlement_differences')).map((row) =>
      Object.values(row),
    );
  expect(await groups()).toEqual([[null, 'not loaded']]);
  // Only the group is named by the second one.
  await addTransactions(lake, [[fee('-1.00', 3)], [fee('1.00', 4)]], { settlement_id: '11', group_id: 'G' });
  await lake.database.execute("UPDATE transactions SET settlement_id = NULL WHERE event_id = 't2'");
  expect(await groups()).toEqual([]);
});

test('a group that is paid in another currency is compared in that of the report', async () => {
  const paid = { converted_total: '-11.05', converted_currency: 'EUR' };
  const tables = await lakeWith([fee('-9', 3), fee('-3', 4)], paid);
  await addEvents(tables, [[fee('-9', 3)], [fee('-2', 4)]]);
  expect(await differences(tables)).toEqual([
    ['v0', null, '2026-03-04', 'Commission', '-3.000000', '-2.000000', 'unexplained', '2', 'v2'],
  ]);
  const [{ currency } = {}] = await tables.database.rows('SELECT currency FROM settlement_differences');
  expect(currency).toBe('USD');
});

/** What becomes of an event in the report, or in the lake. */
const changes = ['same', 'other label', 'joined', 'cut', 'next day', 'undated', 'odd order'] as const;
const losses = ['not in the lake', 'not in the report', 'a cent more'] as const;

interface MadeEvent {
  readonly order: number | undefined;
  readonly day: number;
  readonly amounts: readonly { readonly amount: bigint; readonly label: number }[];
  readonly change: (typeof changes)[number] | (typeof losses)[number];
}

/** Events of settlements; `amountOf` makes the amount with a number. */
function madeSettlements(amountOf: (number: number, drawn: number) => bigint, kinds: readonly MadeEvent['change'][]) {
  const event = fc.record({
    order: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    day: fc.integer({ min: 2, max: 12 }),
    amounts: fc.array(fc.record({ drawn: fc.integer({ min: -3, max: 3 }), label: fc.integer({ min: 1, max: 4 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    change: fc.constantFrom(...kinds),
  });
  return fc.array(fc.array(event, { maxLength: 8 }), { minLength: 10, maxLength: 25 }).map((settlements) =>
    settlements.map((events) => {
      let number = 0;
      return events.map((made): MadeEvent => ({
        ...made,
        amounts: made.amounts.map(({ drawn, label }) => ({ amount: amountOf(number++, drawn), label })),
      }));
    }),
  );
}

/** The lines and the entries of an event. */
function sidesOf({ order, day, amounts, change }: MadeEvent) {
  const shared = order === undefined ? {} : { order: `o-${order}` };
  const side = (dayOf: number | undefined, made: MadeEvent['amounts'], suffix = ''): Amount[] =>
    made.map(({ amount, label }) => ({
      amount: millionthsText(amount),
      name: `Fee${label}${suffix}`,
      ...shared,
      ...(dayOf !== undefined && { day: dayOf }),
    }));
  const total = amounts.reduce((sum, { amount }) => sum + amount, 0n);
  const [first = { amount: 0n, label: 1 }, ...others] = amounts;
  const cut = [{ ...first, amount: first.amount - 1_000_000n }, { ...first, amount: 1_000_000n }, ...others];
  const lines: Record<MadeEvent['change'], () => Amount[]> = {
    same: () => side(day, amounts),
    'other label': () => side(day, amounts, ' of the report'),
    joined: () => side(day, [{ amount: total, label: first.label }], ' in total'),
    cut: () => side(day, cut),
    'next day': () => side(day + 1, amounts),
    undated: () => side(day, amounts),
    'odd order': () => side(day, amounts).map((line) => ({ ...line, order: 'FBA15' })),
    'not in the lake': () => side(day, amounts),
    'not in the report': () => [],
    'a cent more': () => side(day, [{ ...first, amount: first.amount + 10_000n }, ...others]),
  };
  const entries = change === 'not in the lake' ? [] : side(change === 'undated' ? undefined : day, amounts);
  return { lines: lines[change](), entries };
}

interface ComparedRow {
  readonly settlement: string;
  readonly source: string;
  readonly reason: string;
  readonly report: bigint;
  readonly lake: bigint;
  readonly lines: readonly number[];
}

/** The rows for made settlements, which v0 and transactions have alike. */
async function compared({ database, insert }: ViewTables, settlements: readonly (readonly MadeEvent[])[]) {
  for (const table of [
    'settlement_reports',
    'settlement_lines',
    'groups',
    'group_events',
    'group_entries',
    'transactions',
    'transaction_entries',
  ])
    await database.execute(`DELETE FROM ${table}`);
  const sides = settlements.map((events) => events.map(sidesOf));
  const rows: Record<string, Values[]> = {};
  const add = (table: string, values: Values) => (rows[table] ??= []).push(values);
  // An event that no settlement has, so that the account has both sources.
  const window = { window_start: '2026-03-01', window_end: '2026-04-01' };
  add('group_events', { event_id: 'other', group_id: 'other', position: 0, window_end: period.ended_at });
  add('transactions', { event_id: 'other', settlement_id: 'other', effective_at: at(3), ...window });
  for (const [number, events] of sides.entries()) {
    const settlement = { settlement_id: `s${number}`, currency: 'USD' };
    const lines = events.flatMap((event) => event.lines);
    add('settlement_reports', { ...settlement, ...period, total_amount: sumOf(lines), lines: lines.length });
    for (const [line, one] of lines.entries()) add('settlement_lines', { ...lineOf(one, line), ...settlement });
    add('groups', { group_id: `s${number}`, ...period, processing_status: 'Closed' });
    const loaded = events.filter(({ entries }) => entries.length > 0);
    for (const [position, { entries }] of loaded.entries()) {
      const id = `s${number}-${position}`;
      add('group_events', { event_id: id, group_id: `s${number}`, position, window_end: period.ended_at });
      add('transactions', { event_id: id, group_id: `s${number}`, effective_at: at(entries[0]?.day ?? 3), ...window });
      for (const [entry, { amount, name, day, order }] of entries.entries()) {
        const shared = {
          event_id: id,
          entry,
          role: 'net',
          kind: 'fee',
          name,
          amount,
          currency: 'USD',
          group_id: `s${number}`,
          ...(order !== undefined && { amazon_order_id: order }),
          ...(day !== undefined && { posted_at: at(day), effective_at: at(day) }),
        };
        add('group_entries', { ...shared, event_list: 'ServiceFeeEventList', path: 'FeeList[].FeeAmount' });
        const dated = { posted_at: at(day ?? 3), effective_at: at(day ?? 3) };
        add('transaction_entries', { ...shared, ...dated, status: 'RELEASED', breakdown: name, path: 'breakdowns[]' });
      }
    }
  }
  for (const [table, values] of Object.entries(rows)) await insert(table, values);
  const found = await database.rows(
    'SELECT settlement_id, source, reason, report_amount::VARCHAR AS report, lake_amount::VARCHAR AS lake, difference::VARCHAR AS difference, ' +
      'report_lines FROM settlement_differences',
  );
  const answered = found.map((row): ComparedRow => {
    const [report, lake] = [millionths(String(row['report'])), millionths(String(row['lake']))];
    expect(millionths(String(row['difference']))).toBe(report - lake);
    return {
      settlement: String(row['settlement_id']),
      source: String(row['source']),
      reason: String(row['reason']),
      report,
      lake,
      lines: JSON.parse(String(row['report_lines'])) as number[],
    };
  });
  return { sides, rows: answered };
}

const explained = ['split', 'renamed', 'other day'];
const millionthsOf = (amounts: readonly Amount[]) => amounts.reduce((sum, { amount }) => sum + millionths(amount), 0n);

test('whatever happens to lines and entries, rows have all that differs, and each line at most once', async () => {
  const tables = await viewTables();
  const small = (_: number, drawn: number) => BigInt(drawn) * 500_000n;
  await fc.assert(
    fc.asyncProperty(madeSettlements(small, [...changes, ...losses]), async (settlements) => {
      const { sides, rows } = await compared(tables, settlements);
      for (const [number, events] of sides.entries()) {
        const [lines, entries] = [events.flatMap((event) => event.lines), events.flatMap((event) => event.entries)];
        for (const source of ['v0', '2024-06-19']) {
          const own = rows.filter((row) => row.settlement === `s${number}` && row.source === source);
          const apart = own.reduce((sum, { report, lake }) => sum + report - lake, 0n);
          expect(apart).toBe(millionthsOf(lines) - millionthsOf(entries));
          for (const { reason, report, lake, lines: of } of own) {
            expect(report).toBe(millionthsOf(of.map((line) => lines[line - 1] ?? fee('0'))));
            if (explained.includes(reason)) expect(report).toBe(lake);
          }
          const listed = own.flatMap((row) => row.lines);
          expect(new Set(listed).size).toBe(listed.length);
          // A line in no row has an entry of its own with the same label and amount.
          const left = entries.map(({ name, amount }) => `${name} ${amount}`);
          for (const [at_, { name, amount }] of lines.entries()) {
            if (listed.includes(at_ + 1) || millionths(amount) === 0n) continue;
            const entry = left.indexOf(`${name} ${amount}`);
            expect(entry).not.toBe(-1);
            left.splice(entry, 1);
          }
        }
      }
    }),
    { numRuns: 5 },
  );
});

test('what is only joined, cut, renamed, undated or on another day is explained', async () => {
  const tables = await viewTables();
  // No sum of some of them is that of others.
  const distinct = (number: number) => 40_000n * 4n ** BigInt(number);
  await fc.assert(
    fc.asyncProperty(madeSettlements(distinct, changes), async (settlements) => {
      const { rows } = await compared(tables, settlements);
      expect(rows.filter(({ reason, report, lake }) => !explained.includes(reason) || report !== lake)).toEqual([]);
    }),
    { numRuns: 5 },
  );
});
