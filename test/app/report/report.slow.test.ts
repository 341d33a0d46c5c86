import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { lakeName } from '../../../src/app/report/html.js';
import { database } from '../lake-run.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';
import { settlement, shipment, smallBackend } from '../verify/small-backend.js';
import { decimalSum } from '../../../src/app/report/figure-texts.js';
import { hostile, longSku, read, reported, reportedItems, shown, type Reported } from './reported-lake.js';

let lake: LoadedLake;
let report: Reported;

beforeAll(async () => {
  lake = await loadedLake(smallBackend(reportedItems()));
  report = await reported(lake);
});
afterAll(() => {
  lake.remove();
});

const duckdb = (): Promise<Database> => database(lake.root, lake.clock);

test('what was earned by month and its parts are those of SQL, rounded half to even', async () => {
  const rows = await (
    await duckdb()
  ).rows(
    // The adjustment is of a type that nobody knows.
    "SELECT currency, month, sum(amount) FILTER (kind NOT IN ('loan', 'adjustment'))::VARCHAR AS earned, coalesce(sum(amount) FILTER (kind = 'fee' AND event_list <> " +
      "'RefundEventList'), 0)::DECIMAL(18,6)::VARCHAR AS fees, coalesce(sum(amount) FILTER (event_list = 'RefundEventList'), " +
      "0)::DECIMAL(18,6)::VARCHAR AS refunds FROM entries WHERE role = 'net' GROUP BY ALL ORDER BY ALL",
  );
  expect(rows).toHaveLength(4);
  for (const { currency, month, earned, fees, refunds } of rows) {
    const months = report.page.table(`${report.page.chapter(String(currency))}-months`);
    const row = months.find((cells) => cells['Month'] === month);
    expect(row?.['Earned']).toBe(shown(earned, String(currency)));
    expect(row?.['Fees']).toBe(shown(fees, String(currency)));
    expect(row?.['Refunds'] ?? shown('0', String(currency))).toBe(shown(refunds, String(currency)));
  }
  const usd = report.page.table(`${report.page.chapter('USD')}-months`);
  expect(usd.map((row) => row['Month'])).toEqual(['2025-02', '2025-03', 'All']);
  // 16 × (25.10 − 3.765) − 2 × 39.99 − 1 − 2 × 25.10 + 3.765 = 213.945; what doesn't fit a decimal is left out.
  expect([usd[2]?.['Earned'], usd[2]?.['Loans and transfers']]).toEqual(['213.94', '1,000,000.50']);
  expect(report.html).toContain('<span class="rounded" title="213.945">213.94</span>');
});

test('where each 100 goes leaves loans out, and a line leads from what was earned to each total', () => {
  const section = `${report.page.chapter('USD')}-hundred`;
  const rows = report.page.table(section);
  expect(rows.map((row) => [row[''], row['Amount'], row['Of each 100']])).toEqual([
    ['Sales', '401.60', '100.00'],
    ['Fees', '-141.22', '-35.16'],
    ['Refunds', '-46.44', '-11.56'],
    ['Earned', '213.94', '53.27'],
  ]);
  const totals = report.page.table(`${report.page.chapter('USD')}-months`, 1);
  expect(totals.map((row) => [row['Total'], row['Amount']])).toEqual([
    ['Earned, paid basis', '213.94'],
    ['Earned, earned basis', '213.94'],
    ['Net proceeds', '1,000,214.44'],
    ['Paid out', '0.00'],
  ]);
  expect(totals[2]?.['How it follows']).toMatch(
    /with 1,000,000\.50 of loans and transfers and 0\.00 of unknown amounts/,
  );
});

test('each settlement is held against its total, and its entries stand behind it', () => {
  const verdicts = ['USD', 'JPY', 'EUR'].map((currency) =>
    report.page.texts(`#${report.page.chapter(currency)}-settlements .verdict`),
  );
  expect(verdicts).toEqual([['○ still open', '✓ to the cent'], ['✓ to the cent'], ['✗ does not add up, 0.01 apart']]);
  expect(report).toMatchObject({ settlements: 4, differing: 1 });

  const euro = `${report.page.chapter('EUR')}-settlements`;
  expect(report.page.texts(`#${euro} .fault`)).toEqual([
    'It doesn’t add up: net is -21.095000 EUR, total less beginning balance -21.085000: -0.010000 apart.',
  ]);
  const lines = report.page.table(euro, 2);
  expect(lines.map((row) => [row['Kind'], row['Times'], row['Amount']])).toEqual([
    ['adjustment', '1', '-30.00'],
    ['charge', '1', '10.00'],
    ['fee', '1', '-1.10'],
    ['', '', '-21.10'],
  ]);
  expect(report.page.table(euro, 3).map((row) => row['Amount'])).toEqual(['-30.00', '10.00', '-1.10']);
});

test('the sum by date is reconciled with the bank, currency by currency, as the view has it', async () => {
  const rows = await (
    await duckdb()
  ).rows('SELECT account, currency, line, amount::VARCHAR AS amount FROM reconciliation');
  const view = rows.map((row) => Object.values(row));
  expect(view).toHaveLength(27);
  const sheet = report.sheets.find(({ name }) => name === 'reconciliation');
  expect(sheet?.columns.map(({ name }) => name)).toEqual(['account', 'currency', 'line', 'amount']);
  expect(sheet?.rows).toEqual(view);

  const bank = (currency: string) => `${report.page.chapter(currency)}-bank`;
  for (const currency of ['USD', 'JPY', 'EUR']) {
    const lines = rows.filter((row) => row['currency'] === currency);
    const shownLines = report.page.table(bank(currency)).map((row) => [row['Line'], row['Amount']]);
    expect(shownLines.map(([, amount]) => amount)).toEqual(lines.map(({ amount }) => shown(amount, currency)));
  }
  expect(report.page.table(bank('JPY')).map((row) => `${row['Line']} ${row['Amount']}`)).toEqual([
    ...['By date 4,999', 'In no loaded settlement 0', 'In a settlement, not by date 0', 'In open settlements 0'],
    ...['Beginning balances 0', 'Settlements without events 0', 'Closed, not paid out -4,999', 'Not explained 0'],
    'At the bank 0',
  ]);
  // The settlement that does not add up.
  expect(report.page.table(bank('EUR')).at(-2)?.['Amount']).toBe('0.01');
  expect(report.page.texts(`#${bank('EUR')} .fault`)).toEqual([
    '0.01 is not explained: a closed settlement does not add up.',
  ]);
  expect(report.page.texts(`#${bank('USD')} .fault`)).toEqual([]);
});

test.each([
  [{ from: '2025-03-01' }, ['4,999', '0', '0', '4,999']],
  [{ to: '2025-03-01' }, ['0', '4,999', '0', '4,999']],
] as const)(
  'a part of the lake rolls forward from what was open to what is open, with the settlements that overlap it: %j',
  async (range, [begin, byDate, paid, end]) => {
    const { page, sheets } = await reported(lake, { account: 'shop', ...range });
    const bank = page.table(`${page.chapter('JPY')}-bank`).map((row) => [row['Line'], row['Amount']]);
    expect(bank.filter(([line]) => /^Open|^By date|^Paid/.test(line ?? ''))).toEqual([
      ['Open at the beginning', begin],
      ['By date', byDate],
      ['Paid out', paid],
      ['Open at the end', end],
    ]);
    const rows = sheets.find(({ name }) => name === 'reconciliation')?.rows ?? [];
    const currencies = new Set(rows.map(([, currency]) => currency));
    expect(currencies.size).toBeGreaterThan(1);
    for (const currency of currencies) {
      const amounts = rows.filter(([, of]) => of === currency).map((row) => Number(row[3]));
      expect(amounts).toHaveLength(10);
      expect(amounts.slice(0, -1).reduce((sum, amount) => sum + amount, 0)).toBeCloseTo(amounts[9] ?? NaN, 6);
    }
    expect(page.texts(`#${page.chapter('JPY')}-settlements .settlements > caption`)).toEqual([
      'Settlements that overlap this period or whose transfer was in it, the newest first, in JPY',
    ]);
  },
);

test('the lines of each settlement add up to its total in the tables, with a line for what is not explained', () => {
  const sheet = (name: string) => report.sheets.find((of) => of.name === name) ?? { columns: [], rows: [] };
  const values = (name: string) => {
    const { columns, rows } = sheet(name);
    return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column.name, row[at]])));
  };
  const lines = values('settlement_lines');
  const closed = values('settlements').filter(({ state }) => state !== 'open');
  expect(closed.length).toBeGreaterThan(2);
  for (const { settlement: id, currency, total } of closed) {
    const amounts = lines.filter((line) => line['settlement'] === id && line['currency'] === currency);
    expect(decimalSum(amounts.map(({ amount }) => String(amount)))).toBe(total);
  }
  const unexplained = lines.filter(({ category }) => category === 'not explained');
  expect(unexplained.map(({ settlement: id, amount }) => [id, amount])).toEqual([['GROUP-EUR', '0.010000']]);
  const notes = values('notes').map(({ currency, note }) => [currency, note]);
  expect(notes[0]?.[1]).toMatch(/^Figures are on the paid basis/);
  expect(notes[1]?.[1]).toBe('Days and months are UTC.');
  expect(notes.slice(2).map(([, note]) => note)).toEqual(report.page.texts('.look li'));
  expect(notes).toContainEqual(['EUR', '1 settlement in EUR does not add up.']);
});

test('the closed settlements are summed up below them', async () => {
  const payout = (status: string) => ({ status, at: '2025-02-25T00:00:00Z' });
  const day = (of: number) => `2025-02-2${of}T00:00:00Z`;
  const own = await loadedLake(
    smallBackend([
      shipment(`2025-02-20T09:00:00Z`, '1', '20', '-4.5', 'ONE'),
      shipment(`2025-02-21T09:00:00Z`, '2', '30', '-6', 'TWO'),
      settlement({ id: 'ONE', start: day(0), end: day(1), beginning: '1', total: '16.5', payout: payout('Failed') }),
      settlement({
        id: 'TWO',
        start: day(1),
        end: day(2),
        beginning: '16.5',
        total: '40',
        payout: payout('Succeeded'),
      }),
    ]),
  );
  const { page, sheets } = await reported(own);
  const part = (await reported(own, { from: day(0) })).page;
  own.remove();
  const section = `${page.chapter('USD')}-settlements`;
  expect(part.texts(`#${part.chapter('USD')}-settlements .settlements > tfoot th`)).toEqual([
    'All 2 closed of this period',
  ]);
  expect(page.texts(`#${section} .settlements > tfoot > tr > *`)).toEqual([
    ...['All 2 closed', '17.50', '39.50', '56.50', '0.50 apart', '40.00 at the bank'],
  ]);
  const { columns, rows } = sheets.find(({ name }) => name === 'settlements') ?? { columns: [], rows: [] };
  const at = columns.findIndex(({ name }) => name === 'paid_out');
  expect(rows.map((row) => row[at])).toEqual(['40.000000', '0.000000']);
  // What the bank did not take leads to the settlement that paid it.
  const paid = ', which was paid on 2025-02-25 with the settlement TWO';
  expect(page.texts('.look li')).toContain(
    `1 payout in USD failed: the bank did not take that of 2025-02-25 over 16.50 USD${paid}.`,
  );
  expect(page.texts(`#${section} details > p`)).toContain(`Settlement ONE; payout: ✗ Failed 2025-02-25${paid}`);
});

test('what became of a payout stands beside its settlement', () => {
  const payouts = ['USD', 'JPY', 'EUR'].map((currency) =>
    report.page.texts(
      `#${report.page.chapter(currency)}-settlements .settlements > tbody > tr:first-child > td:last-child`,
    ),
  );
  expect(payouts).toEqual([['–', '–'], ['✗ Failed 2025-03-02'], ['Succeeded 2025-03-05']]);
  expect(report.page.texts(`#${report.page.chapter('JPY')}-settlements details > p`)[0]).toBe(
    'Settlement GROUP-JPY; payout: ✗ Failed 2025-03-02',
  );
  const { columns, rows } = report.sheets.find(({ name }) => name === 'settlements') ?? { columns: [], rows: [] };
  const at = ['settlement', 'payout_status', 'payout_at'].map((name) => columns.findIndex((of) => of.name === name));
  expect(rows.map((row) => at.map((column) => row[column])).filter(([, status]) => status !== null)).toEqual([
    ['GROUP-EUR', 'Succeeded', '2025-03-05T00:00:00.000Z'],
    ['GROUP-JPY', 'Failed', '2025-03-02T00:00:00.000Z'],
  ]);
});

test('what asks for a second look is named first', () => {
  expect(report.page.texts('.look li')).toEqual([
    '2 net amounts in USD do not fit a decimal of 18 digits and are in no figure.',
    '1 settlement in EUR does not add up.',
    '1 payout in JPY failed: the bank did not take that of 2025-03-02 over 4,999 JPY.',
    '1 amount is of an unknown role and in no figure.',
    '1 net amount is of an unknown type and not in the earned amounts.',
    '1 list of events is new to the model.',
  ]);
});

test('refund rate, SKUs and fees', async () => {
  const usd = report.page.chapter('USD');
  expect(report.page.table(`${usd}-refunds`).at(-1)).toEqual({
    Month: 'All',
    Shipped: '16',
    Refunded: '2',
    'Refund rate': '12.50 %',
  });
  const { columns, rows } = report.sheets.find(({ name }) => name === 'refunds') ?? { columns: [], rows: [] };
  expect(columns.map(({ name }) => name).slice(2)).toEqual(['month', 'shipped', 'refunded', 'refund_rate_percent']);
  expect(rows.filter(([, currency]) => currency === 'USD').map((row) => row.slice(2))).toEqual([
    ['2025-02', 9, 0, '0.00'],
    ['2025-03', 7, 2, '28.57'],
    ['all', 16, 2, '12.50'],
  ]);
  const skus = report.page.table(`${report.page.chapter('EUR')}-skus`);
  expect(skus).toMatchObject([{ SKU: longSku, Orders: '1', Sales: '10.00', Fees: '-1.10', Net: '8.90' }]);
  // What names no SKU is the last line for other programs, so that they add up to the net proceeds.
  const exported = report.sheets.find(({ name }) => name === 'skus')?.rows.filter(([, currency]) => currency === 'EUR');
  expect(exported?.map((cells) => [...cells.slice(2, 4), cells.at(-1)])).toEqual([
    [longSku, 1, '8.905000'],
    ['no SKU', null, '-30.000000'],
  ]);
  const [row] = await (
    await duckdb()
  ).rows(
    "SELECT count(*) AS times, sum(amount)::VARCHAR AS total FROM entries WHERE kind = 'fee' AND currency = 'USD' " +
      "AND name = 'Commission' AND event_list = 'ShipmentEventList'",
  );
  const commission = report.page.table(`${usd}-fees`).find(({ Fee }) => Fee === 'Commission');
  expect(commission?.['Times']).toBe(String(row?.['times']));
  expect(read(commission?.['Amount'] ?? '')).toBe(row?.['total']);
});

test('what was noticed: unknown lists, amounts of no known role, amounts that did not fit, odd fields of the last run', () => {
  const text = report.page.texts('#a1-noticed').join();
  expect(report.page.table('a1-noticed')).toMatchObject([{ 'Events by date': '1', 'By settlement': '1' }]);
  expect(report.page.table('a1-noticed', 1)).toMatchObject([{ Path: 'Surprise', Times: '1', Sum: '7.77 USD' }]);
  expect(report.page.table('a1-noticed', 2)).toMatchObject([
    { Type: 'AdjustmentEventList', Name: 'X', Sum: '-30.00 EUR' },
  ]);
  expect(report.page.table('a1-noticed', 3).map((row) => row['For example'])).toEqual([
    '3.7650005 USD',
    '12345678901234.5 USD',
  ]);
  expect(text).toContain('The last run, backfill of 2025-02-20 to 2025-03-08, was done at 2025-03-08 00:05 UTC');
  expect(text).toMatch(/financial-events: \d+ values of an unexpected type/);
});

test('a fee that is called by several words breaks between them', () => {
  expect(report.html).toContain('<bdi>Commission</bdi>');
  expect(lakeName('FBAPerUnitFulfillmentFee').text).toBe('<bdi>FBAPer<wbr />Unit<wbr />Fulfillment<wbr />Fee</bdi>');
});

test('nothing that the lake holds breaks out of the page, and the page asks for nothing', () => {
  expect(report.html).not.toContain('<img');
  expect(report.html).not.toMatch(/<\/?script/i);
  expect(report.html).not.toContain('\u202e');
  const shown = hostile.replace('\u202e', '\\u202e');
  expect(report.page.texts('bdi')).toContain(shown);
  expect(report.page.texts('bdi')).toContain(`Novel${shown}EventList`);
  expect(report.page.all('svg title').some(({ textContent }) => textContent.includes('</script>'))).toBe(true);

  for (const element of report.page.all('*')) {
    for (const { name, value } of Array.from(element.attributes)) {
      expect(name).not.toMatch(/^on|^style$/);
      if (name === 'href' || name === 'src') expect(value).toMatch(/^#|^data:,$/);
    }
  }
  expect(report.page.all('script, iframe, object, embed, form, img, link[rel=stylesheet]')).toEqual([]);
  expect(report.html).not.toMatch(/url\(|@import|https?:/);
  const ids = report.page.all('[id]').map((element) => element.getAttribute('id'));
  expect(new Set(ids).size).toBe(ids.length);
  for (const link of report.page.all('a')) expect(ids).toContain(link.getAttribute('href')?.slice(1));
});

test('the same lake at the same instant gives the same bytes', async () => {
  expect((await reported(lake)).html).toBe(report.html);
});

test('a range bounds every figure, and has the settlements that overlap it or whose transfer was in it', async () => {
  const { page } = await reported(lake, { from: '2025-03-01', to: '2025-03-05' });
  expect(page.table(`${page.chapter('USD')}-months`)).toMatchObject([{ Month: '2025-03', Sales: '100.40' }]);
  expect(page.texts('#a1 > .lead')).toEqual(['Data from 2025-03-01 to 2025-03-05, the end excluded.']);
  expect(page.texts('.verdict').filter((text) => text.startsWith('✗') || text.startsWith('✓'))).toHaveLength(3);
  // The transfer of the yen failed in these days.
  expect(page.table(`${page.chapter('JPY')}-settlements`)[0]).toMatchObject({ Total: '4,999' });
  const later = await reported(lake, { from: '2025-03-03', to: '2025-03-05' });
  expect(() => later.page.chapter('JPY')).toThrow();
});

test('no currency is added to another', async () => {
  const [row] = await (
    await duckdb()
  ).rows("SELECT sum(amount)::VARCHAR AS all_of_them FROM entries WHERE role = 'net'");
  expect(report.html.replaceAll(',', '')).not.toContain(String(row?.['all_of_them']).replace(/0+$/, ''));
  expect(report.page.texts('nav a')).toEqual(['USD', 'EUR', 'JPY', 'Coverage', 'Late arrivals', 'Warnings']);
});
