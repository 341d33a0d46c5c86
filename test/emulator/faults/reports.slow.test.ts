import { describe, expect, test } from 'vitest';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { fileOf, imported } from '../../app/import/imported.js';
import { clockAt, database, temporaryFolder } from '../../app/lake-run.js';
import { addressOf, documentOf, type ReadDocument, reportsOf, rowsOf } from '../../serve/reports/report-client.js';
import { day, iso, start, startSeller } from '../../serve/transactions/seller-server.js';
import { microsOf, textOf } from '../seller/reading.js';

type Row = ReadonlyMap<string, string>;

interface Report extends ReadDocument {
  readonly createdAt: number;
  readonly rows: readonly Row[];
}

const minute = 60_000;
/** A fixed number of the oldest reports: what the faults do to one, they do to all. */
const most = 14;

/** The documents of the oldest reports, by their creation. */
async function reports(
  faults: Faults | undefined,
  profile: 'plausible' | 'edge-cases' = 'edge-cases',
): Promise<readonly Report[]> {
  const server = await startSeller({ events: 1200, profile, faults });
  const found: Report[] = [];
  for (const report of (await reportsOf(server)).toReversed().slice(0, most)) {
    const document = await documentOf(server, report);
    found.push({ ...document, createdAt: Date.parse(textOf(report['createdTime'])), rows: rowsOf(document.text) });
  }
  return found;
}

const texts = (documents: readonly Report[]) => documents.map(({ text }) => text);
const field = (row: Row, name: string) => row.get(name) ?? '';
const isLine = (row: Row) => field(row, 'amount') !== '';

/** The rows of a lake that has imported these documents one after the other, without what repeats the bytes. */
async function lakeOf(documents: readonly Report[], columns = '* EXCLUDE (raw, event_id, content_hash)') {
  const clock = clockAt(iso(start));
  const root = await temporaryFolder();
  const files: string[] = [];
  for (const [at, { bytes }] of documents.entries()) files.push(await fileOf(bytes, `report-${at + 10}.txt`));
  const { failure, summary } = await imported({ root, clock }, files);
  expect(failure).toBeUndefined();
  const reader = await database(root, clock);
  const lines = await reader.rows(`SELECT ${columns} FROM settlement_lines ORDER BY ALL`);
  const totals = await reader.rows('SELECT settlement_id, total_amount, lines FROM settlement_reports ORDER BY ALL');
  return { reader, lines, totals, counts: summary.imported['settlement-reports'] };
}

/** The lines of documents with fields of each changed. */
function changed(documents: readonly Report[], names: readonly string[], change: (text: string, row: Row) => string) {
  return documents.map(({ rows }) =>
    rows.map((row) => new Map([...row].map(([name, text]) => [name, names.includes(name) ? change(text, row) : text]))),
  );
}

const linesOf = (documents: readonly Report[]) => documents.map(({ rows }) => rows);

/** Characters of windows-1252 that latin1 has elsewhere, and their bytes. */
const windows1252 = new Map([
  ['€', '\u0080'],
  ['„', '\u0084'],
  ['’', '\u0092'],
  ['“', '\u0093'],
  ['”', '\u0094'],
  ['–', '\u0096'],
]);

function inWindows1252(text: string): string {
  return text
    .replaceAll(/[\u3000-\u9fff\uff00-\uffef🎒]/gu, '?')
    .replaceAll(/[\u2000-\u20ff]/gu, (character) => windows1252.get(character) ?? 'none');
}

function inShiftJis(text: string): string {
  return text.replaceAll(/[\u00c0-\u00ff„–€🎒]/gu, '?');
}

describe('another form of the same settlement', () => {
  test('decimal-comma', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'decimal-comma': {} })];
    expect(linesOf(faulty)).toEqual(changed(plain, ['amount', 'total-amount'], (text) => text.replace('.', ',')));
    expect(faulty[0]?.text).toMatch(/\t-\d+,\d\d\t/);
    const [read, expected] = [await lakeOf(faulty), await lakeOf(plain)];
    expect(expected.lines.length).toBeGreaterThan(500);
    expect(read.lines).toEqual(expected.lines);
    expect(read.totals).toEqual(expected.totals);
  });

  test('dotted-dates', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'dotted-dates': {} })];
    expect(faulty[0]?.text).toMatch(/\t\d\d\.\d\d\.2025\t\d\d\.\d\d\.2025 \d\d:\d\d:\d\d UTC\t/);
    expect(faulty[0]?.text).not.toContain('2025-');
    const [read, expected] = [await lakeOf(faulty), await lakeOf(plain)];
    expect(read.lines).toEqual(expected.lines);
  });

  test('windows-1252', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'windows-1252': {} })];
    expect(new Set(faulty.map(({ charset }) => charset))).toEqual(new Set(['windows-1252', 'shift_jis']));
    for (const [at, { charset, bytes, text }] of faulty.entries()) {
      const original = plain[at]?.text ?? '';
      expect(text).toBe(charset === 'shift_jis' ? inShiftJis(original) : inWindows1252(original));
      expect(bytes.length).toBeLessThan(Buffer.byteLength(original));
    }
    const read = await lakeOf(faulty, 'sku');
    const skus = new Set(read.lines.map(({ sku }) => sku));
    expect([...skus]).toEqual(expect.arrayContaining(['GLÖCK-S', 'THÉ-M', '傘-L']));
  });
});

describe('other texts beside the same amounts', () => {
  test('labels-renamed', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'labels-renamed': {} })];
    const labels = new Map([
      ['Storage Fee', 'StorageRenewalBilling'],
      ['Subscription Fee', 'Monthly subscription fee'],
      ['FBAPerUnitFulfillmentFee', 'FBA fulfilment fee per unit'],
      ['WAREHOUSE_LOST', 'MISSING_FROM_INBOUND'],
    ]);
    expect(linesOf(faulty)).toEqual(changed(plain, ['amount-description'], (text) => labels.get(text) ?? text));
    const { lines } = await lakeOf(faulty, 'name, amount_description');
    for (const label of labels.values()) {
      expect(lines.some(({ amount_description: description }) => description === label)).toBe(true);
    }
    const renewed = lines.filter(({ amount_description: description }) => description === 'StorageRenewalBilling');
    expect(new Set(renewed.map(({ name }) => name))).toEqual(new Set(['FBALongTermStorageFee']));
  });

  test('shipment-as-order', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'shipment-as-order': {} })];
    const shipment = /^FBA15[0-9A-F]{7}$/;
    expect(linesOf(faulty).map((rows) => rows.map((row) => new Map([...row, ['order-id', '']])))).toEqual(
      changed(plain, ['order-id'], () => ''),
    );
    const named = faulty.flatMap(({ rows }) => rows.filter((row) => shipment.test(field(row, 'order-id'))));
    expect(named.length).toBeGreaterThan(20);
    const orders = faulty.flatMap(({ rows }) => rows.map((row) => field(row, 'order-id')));
    expect(orders.filter((id) => id !== '' && !/^\d{3}-\d{7}-\d{7}$/.test(id) && !shipment.test(id))).toEqual([]);
    const { lines } = await lakeOf(faulty, 'order_id');
    expect(lines.filter(({ order_id: id }) => shipment.test(String(id)))).toHaveLength(named.length);
  });

  test('marketplace-blank', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'marketplace-blank': {} })];
    expect(linesOf(faulty)).toEqual(
      changed(plain, ['marketplace-name'], (text, row) => (field(row, 'order-id') === '' ? text : '')),
    );
    const { lines } = await lakeOf(faulty, 'order_id, marketplace');
    expect(lines.filter((line) => line['order_id'] !== null && line['marketplace'] !== null)).toEqual([]);
    expect(lines.some((line) => line['marketplace'] !== null)).toBe(true);
  });

  test('fees-joined', async () => {
    const [plain, faulty] = [await reports(undefined, 'plausible'), await reports({ 'fees-joined': {} }, 'plausible')];
    /** The sums of all lines of an order, or of an instant. */
    const sums = (documents: readonly Report[]) => {
      const found = new Map<string, bigint>();
      for (const row of documents.flatMap(({ rows }) => rows.filter(isLine))) {
        const fee = `${field(row, 'amount-type')} ${field(row, 'transaction-type')}`.includes('Fees') ? 'fee' : 'other';
        const key = [fee, ...['settlement-id', 'order-id', 'posted-date-time'].map((name) => field(row, name))].join(
          ' ',
        );
        found.set(key, (found.get(key) ?? 0n) + microsOf(field(row, 'amount')));
      }
      return found;
    };
    expect(sums(faulty)).toEqual(sums(plain));
    const count = (documents: readonly Report[]) => documents.flatMap(({ rows }) => rows).length;
    expect(count(faulty)).toBeLessThan(count(plain) - 100);
    const [read, expected] = [await lakeOf(faulty, 'name'), await lakeOf(plain)];
    const sumsOf = ({ totals }: typeof read) => totals.map((row) => [row['settlement_id'], row['total_amount']]);
    expect(sumsOf(read)).toEqual(sumsOf(expected));
    expect(read.lines.filter(({ name }) => name === 'TransactionTotalAmount').length).toBeGreaterThan(50);
  });
});

describe('settlements in other documents', () => {
  test('reports-overlap: a document has settlements that others have, line for line', async () => {
    const [plain, faulty] = [await reports(undefined), await reports({ 'reports-overlap': { amount: 3 } })];
    const own = texts(plain).map((text) => text.slice(text.indexOf('\n') + 1));
    const [names = ''] = texts(plain)[0]?.split('\n') ?? [];
    for (let at = 2; at < most; at++) expect(texts(faulty)[at]).toBe(`${names}\n${own.slice(at - 2, at + 1).join('')}`);
    // The first two documents have settlements of reports that are no longer listed.
    for (const at of [0, 1]) expect(texts(faulty)[at]?.endsWith(own.slice(0, at + 1).join(''))).toBe(true);
    const [read, expected] = [await lakeOf(faulty.slice(2)), await lakeOf(plain)];
    expect(read.lines).toEqual(expected.lines);
    expect(read.totals).toEqual(expected.totals);
    expect(read.counts).toMatchObject({ known: 2 * (most - 3) });
  });

  test('report-restated: a later document has other lines of a settlement', async () => {
    const faults: Faults = { 'report-restated': { share: 1, amount: 5 } };
    const [plain, faulty] = [await reports(undefined), await reports(faults)];
    const of = (documents: readonly Report[]) => {
      const found = new Map<string, Report[]>();
      for (const report of documents) {
        const id = field(report.rows[0] ?? new Map(), 'settlement-id');
        found.set(id, [...(found.get(id) ?? []), report]);
      }
      return found;
    };
    const originals = of(plain);
    const twice = [...of(faulty)].filter(([, versions]) => versions.length === 2);
    expect(twice.length).toBeGreaterThan(3);
    for (const [id, [first, second]] of twice) {
      const original = originals.get(id)?.[0];
      expect((second?.createdAt ?? 0) - (first?.createdAt ?? 0)).toBe(5 * day);
      expect(second?.text).toBe(original?.text);
      expect(first?.rows).toHaveLength((original?.rows.length ?? 0) + 1);
      const sum = first?.rows.filter(isLine).reduce((total, row) => total + microsOf(field(row, 'amount')), 0n);
      expect(sum).toBe(microsOf(field(first?.rows[0] ?? new Map(), 'total-amount')));
    }
    const versions = twice.flatMap(([, both]) => both);
    const [read, expected] = [await lakeOf(versions), await lakeOf(twice.flatMap(([id]) => originals.get(id) ?? []))];
    expect(read.lines).toEqual(expected.lines);
    const [history] = await read.reader.rows('SELECT count(*) AS changes FROM event_history');
    expect(Number(history?.['changes'])).toBeGreaterThanOrEqual(3 * twice.length);
  });

  test('report-missing: a settlement with a negative balance has no report', async () => {
    const [plain, server] = [
      await startSeller({ events: 1200, profile: 'edge-cases' }),
      await startSeller({ events: 1200, profile: 'edge-cases', faults: { 'report-missing': {} } }),
    ];
    const listed = new Set((await reportsOf(server)).map(({ reportId }) => reportId));
    const all = await reportsOf(plain);
    for (const report of all) {
      const total = field(rowsOf((await documentOf(plain, report)).text)[0] ?? new Map(), 'total-amount');
      expect([report['reportId'], listed.has(report['reportId'])]).toEqual([
        report['reportId'],
        !total.startsWith('-'),
      ]);
    }
    expect(listed.size).toBeLessThan(all.length);
    expect(listed.size).toBeGreaterThan(5);
  });
});

describe('a download', () => {
  test('address-expired: an address is refused, and another one is not', async () => {
    const server = await startSeller({ events: 100, faults: { 'address-expired': { times: 1 } } });
    const [report] = (await reportsOf(server)).toReversed();
    if (report === undefined) throw new Error('expected a report');
    const refusal = await fetch(textOf((await addressOf(server, report))['url']));
    expect([refusal.status, await refusal.text()]).toEqual([
      403,
      expect.stringContaining('<Message>Request has expired'),
    ]);
    expect((await documentOf(server, report)).text).toContain('settlement-id\t');
    expect(server.server.counts.requests('Download')).toBe(2);
    expect(server.server.counts.faults('address-expired')).toBe(1);
  });

  test.each([
    ['server-error', 500, '<Code>InternalError</Code>'],
    ['unavailable', 503, '<Code>SlowDown</Code>'],
    ['html', 200, '<!DOCTYPE html>'],
  ] as const)('%s hits it as it does an operation', async (kind, status, text) => {
    const when = ({ operation }: { readonly operation: string }) => operation === 'Download';
    const server = await startSeller({ events: 100, faults: { [kind]: { when } } });
    const [report] = (await reportsOf(server)).toReversed();
    if (report === undefined) throw new Error('expected a report');
    const answer = await fetch(textOf((await addressOf(server, report))['url']));
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
  });

  test('all draws no fault of an operation, nor an empty page for a document', async () => {
    const server = await startSeller({
      events: 100,
      faults: { all: { share: 1 }, 'no-answer': { share: 0 }, 'no-body': { share: 0 } },
    });
    const kinds = new Set<number>();
    for (let sent = 0; sent < 60; sent++) {
      server.clock.move(minute);
      const answer = await fetch(`${server.server.url}/reports/2021-06-30/documents/none`).catch(() => undefined);
      if (answer !== undefined) kinds.add(answer.status);
    }
    expect([...kinds].sort()).toEqual(expect.arrayContaining([400, 404, 429, 500, 503]));
  });
});
