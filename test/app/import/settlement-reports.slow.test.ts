import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { forget } from '../../../src/app/forget/forget.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { readLastRuns } from '../../../src/lake/upkeep/last-run.js';
import { messageOf } from '../../../src/core/errors.js';
import {
  amountLine,
  reportColumns,
  reportHeader,
  reportLine,
  reportNames,
  reportText,
} from '../../sources/finances/settlement-reports/report-file.js';
import { verified } from '../verify/verified.js';
import { clockAt, database, fileHashes, temporaryFolder } from '../lake-run.js';
import { succeeded } from '../ended.js';
import { fileOf, imported, value, type Imported } from './imported.js';

const clock = clockAt('2026-04-01T00:00:00Z');
const pipeline = 'settlement-reports';

async function reportFile(text: string | Buffer, name = 'report.txt'): Promise<string> {
  return fileOf(Buffer.from(text), name);
}

/** Imports texts, one file each, into a new lake. */
async function importedTexts(...texts: readonly (string | Buffer)[]): Promise<Imported & { readonly root: string }> {
  const root = await temporaryFolder();
  const files: string[] = [];
  for (const [at, text] of texts.entries()) files.push(await reportFile(text, `report-${at + 1}.txt`));
  return { ...(await imported({ root, clock }, files)), root };
}

/** Rows of a query over a lake, each as its values. */
async function rowsOf(root: string, sql: string): Promise<unknown[][]> {
  const reader = await database(root, clock);
  return (await reader.rows(sql)).map((row) => Object.values(row));
}

const of = (id: string, ...amounts: readonly string[]) => amounts.map((amount) => amountLine(id, amount));

test('a report becomes rows with every field, and verify proves them', async () => {
  const header = reportHeader('11', '7.50');
  const line = reportLine({
    'settlement-id': '11',
    'transaction-type': 'Order',
    'order-id': '111-1',
    'merchant-order-id': 'mine-1',
    'adjustment-id': 'adj-1',
    'shipment-id': 'ship-1',
    'marketplace-name': 'Amazon.com',
    'amount-type': 'ItemPrice',
    'amount-description': 'Shipping',
    amount: '7.50',
    'fulfillment-id': 'AFN',
    'posted-date': '2026-03-03',
    'posted-date-time': '2026-03-03 01:02:03 UTC',
    'order-item-code': 'item-1',
    'merchant-order-item-id': 'my-item-1',
    'merchant-adjustment-item-id': 'my-adj-1',
    sku: 'SKU "1"',
    'quantity-purchased': '3',
    'promotion-id': 'promo-1',
  });
  const { root, summary, failure } = await importedTexts(reportText(header, line));
  expect(failure).toBeUndefined();
  expect(summary.pipelines[pipeline]).toMatchObject({
    slices: 1,
    requests: 0,
    rows: { settlement_lines: 1, settlement_reports: 1 },
  });
  const [lastRun] = (await readLastRuns(openStore(root))).values();
  expect([lastRun?.from, lastRun?.to]).toEqual(['2026-03-02T00:00:00.000Z', '2026-03-17T00:00:00.000Z']);
  expect(
    await rowsOf(
      root,
      'SELECT settlement_id, started_at::VARCHAR, ended_at::VARCHAR, deposit_at::VARCHAR, total_amount::VARCHAR, currency, lines, document, raw, account, month FROM settlement_reports',
    ),
  ).toEqual([
    [
      '11',
      '2026-03-02 07:11:20+00',
      '2026-03-16 07:11:20+00',
      '2026-03-18 07:11:20+00',
      '7.500000',
      'USD',
      1n,
      'report-1.txt',
      `${reportNames}\n${header}`,
      'demo',
      '2026-03',
    ],
  ]);
  const [[eventId, hash, ...others] = []] = await rowsOf(
    root,
    'SELECT event_id, content_hash, settlement_id, line, transaction_type, order_id, merchant_order_id, adjustment_id, shipment_id, marketplace, amount_type, ' +
      'amount_description, kind, name, amount::VARCHAR, amount_text, currency, fulfillment_id, posted_on::VARCHAR, posted_at::VARCHAR, order_item_id, ' +
      'merchant_order_item_id, merchant_adjustment_item_id, sku, quantity, promotion_id, raw FROM settlement_lines',
  );
  expect(
    await rowsOf(root, "SELECT substr(sha256('settlement_lines' || chr(0) || raw), 1, 32) FROM settlement_lines"),
  ).toEqual([[hash]]);
  expect(eventId).toBe(`11:${String(hash)}`);
  expect(others).toEqual([
    ...[
      '11',
      1n,
      'Order',
      '111-1',
      'mine-1',
      'adj-1',
      'ship-1',
      'Amazon.com',
      'ItemPrice',
      'Shipping',
      'charge',
      'ShippingCharge',
      '7.500000',
      null,
      'USD',
      'AFN',
    ],
    ...['2026-03-03', '2026-03-03 01:02:03+00', 'item-1', 'my-item-1', 'my-adj-1', 'SKU "1"', 3n, 'promo-1', line],
  ]);
  const { code, problems } = await verified({ root, clock });
  expect([code, problems]).toEqual([0, []]);
});

test('documents that overlap count each settlement once, and importing them again changes no file', async () => {
  const [a, b, c] = ['1', '2', '3'].map((id) => [reportHeader(id, '3.00'), ...of(id, '1.00', '1.00', '1.00')]);
  const texts = [
    reportText(...(a ?? [])),
    reportText(...(a ?? []), ...(b ?? [])),
    reportText(...(b ?? []), ...(c ?? []), ...(a ?? [])),
  ];
  const { root, summary } = await importedTexts(...texts);
  expect(summary.imported[pipeline]).toMatchObject({ known: 3, left_out: 0 });
  // Equal lines of a settlement are all genuine.
  expect(
    await rowsOf(
      root,
      'SELECT settlement_id, count(*), count(DISTINCT event_id), sum(amount)::VARCHAR FROM settlement_lines GROUP BY ALL ORDER BY ALL',
    ),
  ).toEqual([
    ['1', 3n, 3n, '3.000000'],
    ['2', 3n, 3n, '3.000000'],
    ['3', 3n, 3n, '3.000000'],
  ]);
  const before = await fileHashes(root);
  const files = await Promise.all(texts.map((text) => reportFile(text, 'another-name.txt')));
  const again = await imported({ root, clock }, files);
  expect(again.summary.imported[pipeline]).toMatchObject({ known: 6 });
  const data = (hashes: ReadonlyMap<string, string>) => [...hashes].filter(([path]) => path.startsWith('settlement_'));
  expect(data(await fileHashes(root))).toEqual(data(before));
});

test('a restated settlement replaces the one before, and the history has the difference', async () => {
  const others = [reportHeader('2', '1.00'), ...of('2', '1.00')];
  const { root, summary, printed } = await importedTexts(
    reportText(reportHeader('1', '3.00'), ...of('1', '1.00', '2.00'), ...others),
    reportText(reportHeader('1', '4.50'), ...of('1', '2.00', '1.00', '1.50'), ...others),
  );
  expect(summary.imported[pipeline]).toMatchObject({ known: 1 });
  expect(printed).toContain('settlement 1: 1 appeared, 0 vanished');
  expect(
    await rowsOf(root, 'SELECT settlement_id, total_amount::VARCHAR, lines FROM settlement_reports ORDER BY ALL'),
  ).toEqual([
    ['1', '4.500000', 3n],
    ['2', '1.000000', 1n],
  ]);
  expect(
    await rowsOf(root, "SELECT change, source, amazon_order_id, starts_with(event_id, '1:') FROM event_history"),
  ).toEqual([['appeared', 'settlement_lines', '111-0000000-0000001', true]]);
  const back = await imported({ root, clock }, [
    await reportFile(reportText(reportHeader('1', '1.00'), ...of('1', '1.00'))),
  ]);
  expect(back.failure).toBeUndefined();
  expect(
    await rowsOf(
      root,
      "SELECT attributes::JSON->>'amount' AS amount, effective_at::VARCHAR FROM event_history WHERE change = 'vanished' ORDER BY amount",
    ),
  ).toEqual([
    ['1.500000', '2026-03-16 07:11:20+00'],
    ['2.000000', '2026-03-16 07:11:20+00'],
  ]);
  const { code, problems } = await verified({ root, clock });
  expect([code, problems]).toEqual([0, []]);
});

test('order ids that are none, a blank marketplace and new labels stand as received', async () => {
  const { root } = await importedTexts(
    reportText(
      reportHeader('1', '-3.00'),
      amountLine('1', '-1.00', {
        'order-id': 'FBA15ABCDEF',
        'amount-type': 'other-transaction',
        'amount-description': 'FBAInboundTransportationFee',
      }),
      amountLine('1', '-1.00', {
        'order-id': '',
        'amount-type': 'other-transaction',
        'amount-description': 'StorageRenewalBilling',
      }),
      amountLine('1', '-1.00', { 'marketplace-name': '', 'amount-type': 'Mystery', 'amount-description': 'New label' }),
    ),
  );
  expect(await rowsOf(root, 'SELECT order_id, marketplace, kind, name FROM settlement_lines ORDER BY line')).toEqual([
    ['FBA15ABCDEF', 'Amazon.com', 'fee', 'FBAInboundTransportationFee'],
    [null, 'Amazon.com', 'fee', 'FBALongTermStorageFee'],
    ['111-0000000-0000001', null, null, null],
  ]);
});

test('columns in another order, and others than are known, are kept', async () => {
  const columns = [...reportColumns.toReversed(), 'new-column'];
  const line = (fields: Parameters<typeof reportLine>[0]) => reportLine(fields, columns);
  const text = [
    columns.join('\t'),
    line({
      'settlement-id': '1',
      'settlement-start-date': '2026-03-02 07:11:20 UTC',
      'total-amount': '2.00',
      currency: 'EUR',
    }),
    line({
      'settlement-id': '1',
      'amount-type': 'ItemFees',
      'amount-description': 'Commission',
      amount: '2.00',
      'new-column': 'kept',
    }),
  ].join('\r\n');
  const { root } = await importedTexts(`\ufeff${text}`);
  expect(
    await rowsOf(root, 'SELECT amount::VARCHAR, currency, name, split_part(raw, chr(9), 25) FROM settlement_lines'),
  ).toEqual([['2.000000', 'EUR', 'Commission', 'kept']]);
});

test('the form of amounts and dates is decided for each settlement', async () => {
  const comma = reportHeader('2', '1.139,00', {
    'settlement-start-date': '02.03.2026 07:11:20 UTC',
    'settlement-end-date': '16.03.2026 07:11:20 UTC',
    'deposit-date': '',
    currency: 'EUR',
  });
  const { root, failure } = await importedTexts(
    reportText(
      reportHeader('1', '1,179.00'),
      amountLine('1', '1,234', { 'posted-date': '03/04/26', 'posted-date-time': '' }),
      amountLine('1', '(55.00)'),
      comma,
      amountLine('2', '1.234', { 'posted-date': '04.03.2026', 'posted-date-time': '04.03.2026 05:06:07 UTC' }),
      amountLine('2', '-95,00'),
    ),
  );
  expect(failure).toBeUndefined();
  expect(
    await rowsOf(
      root,
      'SELECT settlement_id, amount::VARCHAR, posted_on::VARCHAR, posted_at::VARCHAR FROM settlement_lines ORDER BY settlement_id, line',
    ),
  ).toEqual([
    ['1', '1234.000000', '2026-03-04', null],
    ['1', '-55.000000', '2026-03-03', '2026-03-03 01:02:03+00'],
    ['2', '1234.000000', '2026-03-04', '2026-03-04 05:06:07+00'],
    ['2', '-95.000000', '2026-03-03', '2026-03-03 01:02:03+00'],
  ]);
  expect(
    await rowsOf(
      root,
      'SELECT total_amount::VARCHAR, deposit_at IS NULL FROM settlement_reports ORDER BY settlement_id',
    ),
  ).toEqual([
    ['1179.000000', false],
    ['1139.000000', true],
  ]);
});

test('a settlement whose amounts could be read in two ways is left out with both, and the others load', async () => {
  const { root, failure, summary } = await importedTexts(
    reportText(reportHeader('1', '1,234'), ...of('1', '1,234'), reportHeader('2', '1.00'), ...of('2', '1.00')),
  );
  expect(messageOf(failure)).toMatch(
    /left out 1 settlement: .*report-1\.txt, line 2: .*settlement 1 .*1,234, which is 1234 or 1\.234/,
  );
  expect(summary).toMatchObject({ status: 'failed', imported: { [pipeline]: { known: 0, left_out: 1 } } });
  expect(await rowsOf(root, 'SELECT settlement_id FROM settlement_reports')).toEqual([['2']]);
});

test('a line that can\u2019t be read is named, and stands there without an amount; the others load', async () => {
  const { root, failure, summary, printed } = await importedTexts(
    reportText(
      reportHeader('1', '3.00'),
      ...of('1', '1.00', 'n/a', '12345678901234.00'),
      amountLine('1', '1.00').slice(0, 30),
      ...of('1', '2.00'),
    ),
  );
  expect(failure).toBeUndefined();
  expect(await rowsOf(root, 'SELECT line, amount::VARCHAR, amount_text FROM settlement_lines ORDER BY line')).toEqual([
    [1n, '1.000000', null],
    [2n, null, 'n/a'],
    [3n, null, '12345678901234.00'],
    [4n, null, ''],
    [5n, '2.000000', null],
  ]);
  expect(printed).toMatch(
    /2 lines without an amount that can be read.*report-1\.txt, line 4: .*n\/a.*report-1\.txt, line 6/,
  );
  expect(summary.status).toBe('done');
});

test('a settlement without its first line is left out, and a file of another kind', async () => {
  const { root, failure } = await importedTexts(
    reportText(amountLine('9', '1.00'), reportHeader('2', '1.00'), ...of('2', '1.00')),
    'settlement-id\tprice-type\tprice-amount\n1\tPrincipal\t1.00\n',
  );
  expect(messageOf(failure)).toContain('left out 2 settlements');
  expect(await rowsOf(root, 'SELECT settlement_id FROM settlement_reports')).toEqual([['2']]);
});

test.each([
  ['UTF-8', (text: string) => Buffer.from(text), undefined],
  ['UTF-8 with a byte order mark', (text: string) => Buffer.from(`\ufeff${text}`), undefined],
  ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'), undefined],
  ['windows-1252', (text: string) => Buffer.from(text, 'latin1'), undefined],
  ['windows-1252 by name', (text: string) => Buffer.from(text, 'latin1'), 'windows-1252' as const],
  ['gzip', (text: string) => gzipSync(text), undefined],
])('%s', async (_, encode, encoding) => {
  const root = await temporaryFolder();
  const text = reportText(reportHeader('1', '1.00'), amountLine('1', '1.00', { sku: 'Größe é' }));
  const { failure } = await imported({ root, clock }, [await reportFile(encode(text))], { encoding });
  expect(failure).toBeUndefined();
  expect(
    await rowsOf(
      root,
      'SELECT sku, raw = $$' + amountLine('1', '1.00', { sku: 'Größe é' }) + '$$ FROM settlement_lines',
    ),
  ).toEqual([['Größe é', true]]);
});

test('Shift_JIS of the Japanese marketplace, and another encoding than that of --encoding', async () => {
  const [before = '', after = ''] = reportText(
    reportHeader('1', '100', { currency: 'JPY' }),
    amountLine('1', '100', { sku: '@' }),
  ).split('@');
  // テスト
  const bytes = Buffer.concat([Buffer.from(before), Buffer.of(0x83, 0x65, 0x83, 0x58, 0x83, 0x67), Buffer.from(after)]);
  const { root } = await importedTexts(bytes);
  expect(await rowsOf(root, 'SELECT sku, amount::VARCHAR FROM settlement_lines')).toEqual([['テスト', '100.000000']]);
  const { failure } = await imported({ root, clock }, [await reportFile(bytes)], { encoding: 'utf-8' });
  expect(messageOf(failure)).toMatch(/line 3: expected text in utf-8, got other bytes/);
});

test('verify names a settlement whose lines do not add up, and one without lines is whole', async () => {
  const { root } = await importedTexts(
    reportText(reportHeader('1', '3.00'), ...of('1', '1.00', '1.99'), reportHeader('2', '0.00')),
  );
  const { code, problems } = await verified({ root, clock });
  expect(code).toBe(1);
  expect(problems).toMatchObject([
    {
      check: 'report-totals',
      slice: 'settlement/1',
      problem: 'its lines are 2.990000 USD, its total 3.000000: -0.010000 apart',
    },
  ]);
});

test('compact merges settlements, one of them is replaced, and forget removes those that ended before', async () => {
  const root = await temporaryFolder();
  const march = ['1', '2', '3'].flatMap((id) => [reportHeader(id, '3.00'), ...of(id, '1.00', '2.00')]);
  const later = {
    'settlement-start-date': '2026-03-16 07:11:20 UTC',
    'settlement-end-date': '2026-03-30 07:11:20 UTC',
  };
  await imported({ root, clock }, [
    await reportFile(reportText(...march, reportHeader('4', '1.00', later), ...of('4', '1.00'))),
  ]);
  const context = { clock, signal: new AbortController().signal, emit: () => undefined };
  await succeeded(compact({ lake: root, pipelines: [], account: undefined }, context));
  expect(
    await value(
      await database(root, clock),
      "SELECT count(*) FROM glob('" + join(root, 'settlement_lines') + "/*/*/*.parquet')",
    ),
  ).toBe('1');
  const restated = await imported({ root, clock }, [
    await reportFile(reportText(reportHeader('2', '5.00'), ...of('2', '5.00'))),
  ]);
  expect(restated.failure).toBeUndefined();
  const totals = 'SELECT settlement_id, count(*), sum(amount)::VARCHAR FROM settlement_lines GROUP BY ALL ORDER BY ALL';
  expect(await rowsOf(root, totals)).toEqual([
    ['1', 2n, '3.000000'],
    ['2', 1n, '5.000000'],
    ['3', 2n, '3.000000'],
    ['4', 1n, '1.000000'],
  ]);
  const { code, problems } = await verified({ root, clock });
  expect([code, problems]).toEqual([0, []]);

  const options = { lake: root, account: 'demo', journal: undefined, export: [], yes: true };
  await succeeded(
    forget({ ...options, before: '2026-03-20' }, { ...context, emit: () => undefined, confirm: undefined }),
  );
  expect(await rowsOf(root, totals)).toEqual([['4', 1n, '1.000000']]);
  expect(await rowsOf(root, 'SELECT count(*) FROM event_history')).toEqual([[0n]]);
  const whole = await verified({ root, clock });
  expect([whole.code, whole.problems]).toEqual([0, []]);
  await succeeded(forget({ ...options, before: undefined }, { ...context, emit: () => undefined, confirm: undefined }));
  await writeFile(join(root, 'note.txt'), '');
  expect([...(await fileHashes(root)).keys()].filter((path) => path.endsWith('.parquet'))).toEqual([]);
});

test('an input may be a report, and another one saved pages', async () => {
  const root = await temporaryFolder();
  const pages = await fileOf([
    '{"payload":{"FinancialEvents":{"ServiceFeeEventList":[{"PostedDate":"2026-03-03T00:00:00Z"}]}}}',
  ]);
  const { summary, failure } = await imported({ root, clock }, [
    await reportFile(reportText(reportHeader('1', '1.00'), ...of('1', '1.00'))),
    pages,
  ]);
  expect(failure).toBeUndefined();
  expect(Object.keys(summary.pipelines).toSorted()).toEqual(['financial-events', pipeline]);
});
