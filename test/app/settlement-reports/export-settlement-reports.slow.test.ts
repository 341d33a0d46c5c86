import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  exportSettlementReports,
  type SettlementReportOptions,
} from '../../../src/app/settlement-reports/export-settlement-reports.js';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Api } from '../../../src/sources/finances/api-names.js';
import { sellerReports } from '../../emulator/seller/report-of.js';
import { imported } from '../import/imported.js';
import { clockAt, database, defaults, ran, serving, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const clock = clockAt('2025-03-20T00:00:00Z');

/** Exports the reports of a lake into a folder of their own. */
async function exported(lake: string, options: Partial<SettlementReportOptions> = {}) {
  const dir = join(await temporaryFolder(), 'reports');
  const notes: string[] = [];
  const context = { clock, signal: new AbortController().signal, emit: plainLog((line) => notes.push(line)) };
  const none = { account: undefined, from: undefined, to: undefined, settlements: [] };
  const result = await exportSettlementReports({ ...none, lake, dir, ...options }, context);
  const names = (await readdir(dir)).toSorted();
  const summary = result.summary as {
    readonly settlements: number;
    readonly lines: number;
    readonly not_written: readonly { readonly settlement: string; readonly reason: string }[];
  };
  return { dir, names, notes, summary, text: result.text, exitCode: result.exitCode };
}

/** Imports the files of a folder into a lake of their own. */
async function readBack({ dir, names }: { readonly dir: string; readonly names: readonly string[] }) {
  const root = await temporaryFolder();
  const result = await imported(
    { root, clock },
    names.map((name) => join(dir, name)),
  );
  return { root, ...result };
}

/** A lake of a seller. */
async function lakeOf(profile: 'plausible' | 'edge-cases', api: Api) {
  const backend = createSeller({ seed: 5, events: 3000, profile, days: 60 }, clock);
  const lake = await temporaryFolder();
  const endpoint = await serving({ backend, clock });
  await ran({ ...defaults, lake, endpoint, account: 'demo', from: '2025-01-01', api }, { clock });
  return { lake, backend };
}

/** Rows as texts, in their order. */
async function sorted(db: Database, query: string): Promise<string[]> {
  const rows = await db.rows(query);
  return rows
    .map((row) => JSON.stringify(Object.values(row).map((cell) => (cell === null ? null : String(cell)))))
    .toSorted();
}

const headers =
  'SELECT started_at, ended_at, fund_transfer_at, original_total, original_currency FROM groups ' +
  "WHERE processing_status = 'Closed'";
const readHeaders = 'SELECT started_at, ended_at, deposit_at, total_amount, currency FROM settlement_reports';
const balances =
  "SELECT original_total, 'adjustment', 'ReserveCredit', beginning_balance, beginning_currency, started_at FROM groups " +
  "WHERE processing_status = 'Closed' AND beginning_balance <> 0";
const isBalance = "(name = 'ReserveCredit' AND line = 1)";
const readBalances =
  'SELECT total_amount, kind, name, amount, line_.currency, posted_at FROM settlement_lines AS line_ ' +
  `JOIN settlement_reports USING (settlement_id) WHERE ${isBalance}`;

const closed = "SELECT group_id FROM groups WHERE processing_status = 'Closed'";
const readLines = (columns: string) => `SELECT ${columns} FROM settlement_lines WHERE NOT ${isBalance}`;

/** Exports the reports of a seller's lake and imports them into another, which has the same headers and beginning balances. */
async function roundTrip(profile: 'plausible' | 'edge-cases', api: Api) {
  const { lake } = await lakeOf(profile, api);
  const result = await exported(lake);
  expect([result.exitCode, result.summary.not_written]).toEqual([0, []]);
  const own = await database(lake, clock);
  const { failure, root } = await readBack(result);
  expect(failure).toBeUndefined();
  const read = await database(root, clock);
  expect(await sorted(read, readHeaders)).toEqual(await sorted(own, headers));
  expect(await sorted(read, readBalances)).toEqual(await sorted(own, balances));
  return { own, read, root, names: result.names };
}

test.each(['plausible', 'edge-cases'] as const)(
  'each closed settlement of v0 (%s) is read back with every amount, kind, name, order, item and instant',
  async (profile) => {
    const { own, read, root, names } = await roundTrip(profile, 'v0');
    expect(names.length).toBeGreaterThan(10);

    const lines =
      "SELECT kind, amount_name(entry_.event_list, coalesce(name, regexp_extract(path, '[^.]*$'))), amount, currency, entry_.amazon_order_id, " +
      'seller_order_id, order_item_id, sku, entry_.marketplace, entry_.posted_at FROM group_entries AS entry_ JOIN group_events ' +
      `USING (group_id, event_id) WHERE role = 'net' AND group_id IN (${closed})`;
    const found = await sorted(
      read,
      readLines(
        'kind, name, amount, currency, order_id, merchant_order_id, order_item_id, sku, marketplace, posted_at',
      ),
    );
    expect(found.length).toBeGreaterThan(5000);
    expect(found).toEqual(await sorted(own, lines));
    const { code, problems } = await verified({ root, clock });
    expect([code, problems]).toEqual([0, []]);
  },
);

test.each(['plausible', 'edge-cases'] as const)(
  'each closed settlement of transactions (%s) is read back with its orders, amounts and instants',
  async (profile) => {
    const { own, read, root } = await roundTrip(profile, '2024-06-19');

    // What has several amounts in transactions may be one line.
    const ofEvent = 'currency, order_id, adjustment_id, shipment_id, marketplace, posted_at';
    const lines =
      'SELECT sum(entry_.amount), entry_.currency, entry_.amazon_order_id, refund_id, shipment_id, transaction_.marketplace, entry_.posted_at ' +
      'FROM transaction_entries AS entry_ JOIN transactions AS transaction_ USING (event_id) ' +
      `WHERE role = 'net' AND entry_.status = 'RELEASED' AND entry_.group_id IN (${closed}) GROUP BY ALL HAVING sum(entry_.amount) <> 0`;
    const found = await sorted(read, `${readLines(`sum(amount), ${ofEvent}`)} GROUP BY ALL HAVING sum(amount) <> 0`);
    expect(found.length).toBeGreaterThan(1000);
    expect(found).toEqual(await sorted(own, lines));
    expect(await sorted(read, 'SELECT count(*) FROM settlement_lines WHERE kind IS NULL OR name IS NULL')).toEqual([
      '["0"]',
    ]);
    const { code, problems } = await verified({ root, clock });
    expect([code, problems]).toEqual([0, []]);
  },
);

/** Lines of reports as rows of their fields, without the names and the headers. */
function linesIn(text: string): Readonly<Record<string, string>>[] {
  const [names = '', , ...lines] = text.trimEnd().split('\n');
  const columns = names.split('\t');
  return lines.map((line) => {
    const fields = line.split('\t');
    return Object.fromEntries(columns.map((name, position) => [name, fields[position] ?? '']));
  });
}

test('reports written from transactions have the lines of the reports that the seller writes', async () => {
  const { lake, backend } = await lakeOf('plausible', '2024-06-19');
  const { dir, names } = await exported(lake);
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')));
  const reports = (await sellerReports(backend)).map((text) => linesIn(text));
  const written = texts.map((text) => linesIn(text));
  const all = [
    'settlement-id',
    'order-id',
    'adjustment-id',
    'shipment-id',
    'marketplace-name',
    'posted-date',
    'posted-date-time',
    'amount',
    'quantity-purchased',
  ];
  const rows = (of: typeof reports, columns: readonly string[]) =>
    of.flatMap((lines) => lines.map((line) => columns.map((name) => line[name] ?? '').join('\t'))).toSorted();
  expect(rows(reports, all).length).toBeGreaterThan(10_000);
  expect(rows(written, all)).toEqual(rows(reports, all));

  // Orders and refunds have their labels and items too. Transactions don't tell claims and chargebacks from refunds.
  const ofOrders = (of: typeof reports) =>
    of.map((lines) =>
      lines.flatMap((line) => {
        if (line['shipment-id'] === '' && line['adjustment-id'] === '') return [];
        const type = line['transaction-type']?.replace(/^(?:A-to-z Guarantee|Chargeback) /, '') ?? '';
        return [{ ...line, 'transaction-type': type }];
      }),
    );
  const more = [...all, 'transaction-type', 'amount-type', 'amount-description', 'sku', 'fulfillment-id'];
  expect(rows(ofOrders(reports), more).length).toBeGreaterThan(10_000);
  expect(rows(ofOrders(written), more)).toEqual(rows(ofOrders(reports), more));
});

const at = Date.parse('2025-02-01T00:00:00Z');
const day = 86_400_000;

interface GroupFacts {
  readonly id: string;
  readonly total: string;
  readonly start?: number;
  readonly more?: string;
}

/** A closed settlement of a week. */
function closedGroup({ id, total, start = at, more = '' }: GroupFacts): DatedItem {
  const [from, to] = [start, start + 7 * day].map((ms) => JSON.stringify(new Date(ms).toISOString()));
  const money = (amount: string) => `{"CurrencyCode":"USD","CurrencyAmount":${amount}}`;
  const json =
    `{"FinancialEventGroupId":${JSON.stringify(id)},"ProcessingStatus":"Closed","FinancialEventGroupStart":${from ?? ''},` +
    `"FinancialEventGroupEnd":${to ?? ''},"OriginalTotal":${money(total)}${more}}`;
  return { at: start, list: '', group: id, json };
}

/** A fee of a settlement. */
function fee(group: string, amount: string, more = '', start = at): DatedItem {
  const posted = `"PostedDate":${JSON.stringify(new Date(start + day).toISOString())}`;
  const money = `{"CurrencyCode":"USD","CurrencyAmount":${amount}}`;
  const json = `{${posted},"AdjustmentType":"PostageBilling","AdjustmentAmount":${money}${more}}`;
  return { at: start + day, list: 'AdjustmentEventList', group, json };
}

/** A lake of these items; `pipelines` are loaded one after the other, up to a day. */
async function lakeWith(
  items: readonly DatedItem[],
  to = '2025-03-15',
  pipelines = ['financial-event-groups', 'group-events'],
) {
  const lake = await temporaryFolder();
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  await ran({ ...defaults, lake, endpoint, account: 'shop', from: '2025-02-01', to, pipelines }, { clock });
  return { lake, endpoint };
}

test('a settlement that is not whole is named, and its file is not written: the others are', async () => {
  const items = [
    closedGroup({ id: 'whole', total: '-3.50' }),
    fee('whole', '-3.50'),
    closedGroup({ id: 'empty', total: '0', start: at + 7 * day }),
    closedGroup({ id: 'off', total: '-3.50', start: at + 7 * day }),
    fee('off', '-3.49', '', at + 7 * day),
    closedGroup({ id: 'later', total: '-3.50', start: at + 21 * day }),
    fee('later', '-3.50', '', at + 21 * day),
  ];
  const { lake, endpoint } = await lakeWith(items, '2025-02-10');
  const groups = ['financial-event-groups'];
  await ran(
    { ...defaults, lake, endpoint, account: 'shop', from: '2025-02-10', to: '2025-03-15', pipelines: groups },
    { clock },
  );
  const { names, exitCode, notes, summary, text } = await exported(lake);
  expect(names).toEqual(['shop-empty.txt', 'shop-whole.txt']);
  expect([exitCode, summary.settlements, summary.lines]).toEqual([1, 2, 1]);
  expect(summary.not_written.map(({ settlement }) => settlement)).toEqual(['off', 'later']);
  expect(notes.filter((note) => note.startsWith('not written:'))).toEqual([
    'not written: the settlement off of shop (2025-02-08 to 2025-02-15): net is -3.490000 USD, total less beginning balance -3.500000: 0.010000 apart',
    "not written: the settlement later of shop (2025-02-22 to 2025-03-01): the lake doesn't hold it whole; " +
      '`ledgerlake backfill group-events --account shop --from 2025-02-22 --to 2025-02-22T00:00:01Z` loads its events',
  ]);
  expect(text).toContain('2 settlement reports of');

  // Those that are named, or in a range.
  expect((await exported(lake, { settlements: ['empty'] })).names).toEqual(['shop-empty.txt']);
  expect((await exported(lake, { from: '2025-02-01', to: '2025-02-08' })).names).toEqual(['shop-whole.txt']);
  expect((await exported(lake, { from: '2025-02-01', to: '2025-02-08' })).exitCode).toBe(0);
  await expect(exported(lake, { settlements: ['none'] })).rejects.toThrow(
    /^expected --settlement to be a settlement of .*, got "none"/,
  );
  await expect(exported(lake, { from: '2025-02-08', to: '2025-02-01' })).rejects.toThrow(
    /^expected --from to be earlier/,
  );
  await expect(exported(lake, { account: 'shp' })).rejects.toThrow(/got "shp"; did you mean shop\?/);
});

test('a settlement has its number where transactions tell it, and is named by either id', async () => {
  const { lake } = await lakeOf('plausible', 'both');
  const own = await database(lake, clock);
  const [first] = await own.rows(
    "SELECT group_id, settlement_id FROM settlement_ids JOIN groups USING (group_id) WHERE processing_status = 'Closed' LIMIT 1",
  );
  const [group, id] = [String(first?.['group_id']), String(first?.['settlement_id'])];
  const byGroup = await exported(lake, { settlements: [group] });
  const byNumber = await exported(lake, { settlements: [id] });
  expect(byGroup.names).toEqual([`demo-${id}.txt`]);
  expect(byNumber.names).toEqual(byGroup.names);
  const [text, same] = await Promise.all(
    [byGroup, byNumber].map(({ dir }) => readFile(join(dir, `demo-${id}.txt`), 'utf8')),
  );
  expect(text).toBe(same);
  expect(text?.split('\n')[1]).toMatch(new RegExp(`^${id}\t`));
});

test('hostile ids and texts stay in their fields, and amounts have all their digits', async () => {
  const skus = ['a\tb', 'line\nend', '"quoted"', 'settlement-id', ' blank ', '\u202eright', '../..', "O'Neil", 'ü😀'];
  const sku = (text: string) =>
    `,"AdjustmentItemList":[{"SellerSKU":${JSON.stringify(text)}}],"SellerSKU":${JSON.stringify(text)}`;
  const items = [
    closedGroup({ id: '../../etc/passwd\tA', total: '-0.000009' }),
    ...skus.map((text) => fee('../../etc/passwd\tA', '-0.000001', sku(text))),
    closedGroup({
      id: '../../etc/passwd\ta',
      total: '1',
      more: ',"BeginningBalance":{"CurrencyCode":"USD","CurrencyAmount":1.234}',
    }),
    fee('../../etc/passwd\ta', '12345678901234567890.125'),
    fee('../../etc/passwd\ta', '-0.234'),
  ];
  const { lake } = await lakeWith(items);
  const result = await exported(lake);
  expect(result.exitCode).toBe(0);
  expect(result.names).toHaveLength(2);
  for (const name of result.names) expect(name).toMatch(/^shop--etc-passwd-a-[0-9a-f]{16}\.txt$/);
  expect(result.notes).toContain(
    "1 amount beyond DECIMAL(18,6), written as received: such settlements aren't compared with their totals",
  );
  expect(result.notes.join('\n')).toMatch(/fields with a tab, a line end or blanks around it/);
  const back = await readBack(result);
  const read = await database(back.root, clock);
  const amounts = await read.rows('SELECT sku, amount, amount_text FROM settlement_lines ORDER BY settlement_id, line');
  expect(amounts.slice(0, 9)).toEqual(
    skus.map((text) => ({ sku: text.replace(/[\t\n]/g, ' ').trim(), amount: '-0.000001', amount_text: null })),
  );
  expect(amounts.slice(9).map(({ amount, amount_text: text }) => [amount, text])).toEqual([
    ['1.234000', null],
    [null, '12345678901234567890.125'],
    ['-0.234000', null],
  ]);
});
