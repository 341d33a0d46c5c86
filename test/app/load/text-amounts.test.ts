import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startApiServer } from '../../../src/serve/http/server.js';
import { HandClock } from '../../core/clock.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { arrayTransactions } from '../../serve/http/array-transactions.js';
import { database, ran, temporaryFolder } from '../lake-run.js';
import { clockStart, range, settlement, shipment } from '../verify/small-backend.js';
import { found, verified } from '../verify/verified.js';

/** Strings that are numbers of JSON, each with the amount that it is. */
const numbers = [
  ['10.00', '10.000000'],
  ['-1e2', '-100.000000'],
  ['0.000001', '0.000001'],
  ['-999999999999.999999', '-999999999999.999999'],
  ['25E-1', '2.500000'],
] as const;
/** Strings that are none. */
const others = ['+1', '01', ' 1', '1 ', '1,00', '0x1', '', '1.', '.5', '--1', 'NaN'];
const texts = [...numbers, ...others.map((text) => [text, null] as const)];

const start = Date.parse('2025-02-20T00:00:00Z');

test('amounts as text are the numbers that they are, in every table of both APIs', { timeout: 60_000 }, async () => {
  const clock = new HandClock(clockStart);
  const items = texts.flatMap(([text], at) => {
    const from = new Date(start + at * 7_200_000).toISOString();
    const total = JSON.stringify(text);
    // With white space the event is read by the scanner, else directly from its bytes.
    const more = at % 2 === 0 ? '' : ', "Extra":1';
    return [
      settlement({ id: `G${at}`, start: from, end: clockStart, beginning: total, total }),
      shipment(from, String(at), total, total, `G${at}`, more),
    ];
  });
  const sales = texts.map(([text], at) => ({
    at: start + at * 7_200_000,
    order: `O-${at}`,
    settlement: `S-${at}`,
    sku: `SKU-${at}`,
    amount: text,
  }));
  const server = await startApiServer({
    backend: { ...arrayBackend(items), byTransaction: arrayTransactions(sales) },
    clock,
  });
  onTestFinished(() => server.close());
  const lake = join(await temporaryFolder(), 'lake');
  const pipelines = ['financial-event-groups', 'financial-events', 'transactions', 'settlement-summaries', 'payouts'];
  const { printed, summary } = await ran(
    { pipelines, lake, account: 'shop', endpoint: server.url, ...range },
    { clock },
  );

  const opened = await database(lake, clock);
  const amounts = async (column: string, table: string, order: string) => {
    const rows = await opened.rows(`SELECT ${column}::VARCHAR AS amount FROM ${table} ORDER BY ${order}`);
    return rows.map(({ amount }) => amount);
  };
  const expected = texts.map(([, amount]) => amount);
  const twice = expected.flatMap((amount) => [amount, amount]);
  expect(await amounts('amount', 'entries', 'effective_at, entry')).toEqual(twice);
  expect(await amounts('original_total', 'groups', 'started_at')).toEqual(expected);
  expect(await amounts('beginning_balance', 'groups', 'started_at')).toEqual(expected);
  expect(await amounts('total_amount', 'transactions', 'effective_at')).toEqual(expected);
  expect(await amounts('amount', 'transaction_entries', 'effective_at, entry')).toEqual(twice);
  expect(await amounts('net_proceeds', 'settlement_summaries', 'period_start')).toEqual(expected);
  expect(await amounts('amount', 'payouts', 'created_at')).toEqual(expected);

  const counted = Object.entries(summary.pipelines).map(([pipeline, { warnings }]) => [pipeline, warnings]);
  const [read, odd] = [numbers.length, others.length];
  const item = 'ShipmentEventList: ShipmentItemList[]';
  const both = (kind: string, times: number) => ({
    [`${item}.ItemChargeList[].ChargeAmount${kind}`]: times,
    [`${item}.ItemFeeList[].FeeAmount${kind}`]: times,
  });
  const group = (times: number) => ({
    'FinancialEventGroupList: OriginalTotal': times,
    'FinancialEventGroupList: BeginningBalance': times,
  });
  expect(Object.fromEntries(counted)).toMatchObject({
    'financial-event-groups': { textAmounts: group(read), oddFields: group(odd) },
    'financial-events': { textAmounts: both('', read), oddFields: both('.CurrencyAmount', odd) },
    transactions: { textAmounts: { 'transactions: totalAmount': read, 'transactions: items[].totalAmount': read } },
    'settlement-summaries': { textAmounts: { 'settlement_summaries.net_proceeds': read } },
    payouts: { textAmounts: { 'payouts.amount': read }, oddFields: { 'payouts.amount': odd } },
  });
  expect(printed).toContain('amounts that came as text (each counts as the number that it is)');

  const certificate = await verified({ root: lake, clock });
  expect([certificate.code, certificate.checks.filter(({ result }) => result === 'failed')]).toEqual([0, []]);
  expect(found(certificate)).not.toContain('amounts failed');
});
