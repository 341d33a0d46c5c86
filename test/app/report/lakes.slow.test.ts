import { afterEach, describe, expect, test } from 'vitest';
import { clockAt, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { decimalSum } from '../../../src/app/report/figure-texts.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';
import { clockStart, settlement, shipment, smallItems, smallBackend } from '../verify/small-backend.js';
import { longSku, manyCurrencies, read, reported } from './reported-lake.js';

let lake: LoadedLake | undefined;
afterEach(() => {
  lake?.remove();
  lake = undefined;
});

test('an empty lake says how to load it', async () => {
  const root = `${await temporaryFolder()}/none`;
  const { page, accounts } = await reported({ root, clock: clockAt(clockStart) }, { location: "it's empty" });
  expect(accounts).toEqual([]);
  expect(page.texts('main')).toEqual([
    String.raw`The lake it's empty holds nothing yet. Load it with ledgerlake backfill --lake 'it'\''s empty' ` +
      'which loads a synthetic seller, unless an account is configured, or named by --account and --endpoint.',
  ]);
});

test('without a settlement that was listed, there is nothing to hold against', async () => {
  lake = await loadedLake(smallBackend(), [{ pipelines: ['financial-events'] }]);
  const { page } = await reported(lake);
  expect(page.texts(`#${page.chapter('USD')}-settlements`)).toEqual([
    'Settlements, USD No settlement in USD overlaps this period or had its transfer in it.',
  ]);
  expect(page.texts('.look li')).toEqual(['Nothing was loaded yet of financial-event-groups, group-events.']);
});

test('a settlement whose entries are not loaded is told, not judged', async () => {
  lake = await loadedLake(smallBackend(), [{ pipelines: ['financial-event-groups', 'financial-events'] }]);
  const { page } = await reported(lake);
  const section = `${page.chapter('USD')}-settlements`;
  expect(page.texts(`#${section} .verdict`)).toEqual(['○ still open', '– entries not loaded']);
  expect(page.texts('.look li')).toContain('1 settlement in USD could not be compared: not all entries are loaded.');
});

test('settlements alone make a chapter of their currency', async () => {
  lake = await loadedLake(smallBackend(), [{ pipelines: ['financial-event-groups'] }]);
  const { page } = await reported(lake);
  expect(page.texts(`#${page.chapter('USD')} > .none`)).toEqual([
    'No amount in USD was loaded by date in this period.',
  ]);
});

test('one day is a report too, and gaps stand in the calendar and as a list', async () => {
  lake = await loadedLake(smallBackend(), [
    { from: '2025-02-22', to: '2025-02-23' },
    { from: '2025-02-26', to: '2025-02-27T06:00:00Z' },
  ]);
  const { page, html } = await reported(lake, { to: '2025-03-01' });
  // It is said before any figure.
  expect(page.texts('#a1 > .fault')).toEqual([
    expect.stringContaining('Days are missing: financial-event-groups has 2 of 7 days loaded, 1 in part, 4 missing, '),
  ]);
  expect(html.indexOf('Days are missing')).toBeLessThan(html.indexOf('<table'));
  expect(page.table('a1-coverage', 1)).toEqual([
    { From: '2025-02-27T06:00:00Z', 'To, excluded': '2025-03-01', Days: '1.8' },
    { From: '2025-02-23', 'To, excluded': '2025-02-26', Days: '3' },
  ]);
  expect(page.texts('#a1-coverage figcaption')).toContain(
    'financial-events: 2 of 7 days loaded, 1 in part, 4 missing.',
  );
  expect(page.texts('#a1-coverage pre')[0]).toMatch(/^ledgerlake backfill .* --from 2025-02-23 --to 2025-03-01$/);
  expect(html).toContain('Calendar: 2 of 7 days loaded, 1 in part, 4 missing.');
  const single = await reported(lake, { from: '2025-02-22', to: '2025-02-23' });
  expect(single.page.texts('#a1 > .fault')).toEqual([]);
  expect(single.page.table(`${single.page.chapter('USD')}-months`)).toMatchObject([
    { Month: '2025-02', Earned: '21.34' },
  ]);
});

test('imported days are told apart from loaded ones', async () => {
  const root = `${await temporaryFolder()}/lake`;
  const clock = clockAt(clockStart);
  await imported({ root, clock }, [await fileOf([eventsBody(smallItems().filter(({ list }) => list !== ''))])], {
    account: 'shop',
  });
  const { page } = await reported({ root, clock });
  expect(page.texts('#a1-coverage figcaption')).toEqual(['financial-events: 0 of 16 days loaded, 16 imported only.']);
  expect(page.table(`${page.chapter('USD')}-months`).at(-1)?.['Earned']).toBe('261.38');
  expect(page.texts('.look li')).toContain('financial-events: 0 of 16 days loaded, 16 imported only.');
});

test('accounts stand one after the other, and one of them alone', async () => {
  lake = await loadedLake(smallBackend(), [{}, { account: 'other', pipelines: ['financial-events'] }]);
  const both = await reported(lake);
  expect(both.page.texts('h2')).toEqual(['Account other', 'Account shop', 'What the words mean']);
  expect(both.page.texts('header .lead')[1]).toBe('The lake holds 2 accounts, each by itself: other, shop.');
  const one = await reported(lake, { account: 'shop' });
  expect(one.page.texts('h2')).toEqual(['Account shop', 'What the words mean']);
  expect(one.html).not.toContain('other</bdi>');
  expect(one.page.texts('header .lead')).toHaveLength(1);
  await expect(reported(lake, { account: 'third' })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'expected --account to be an account of data/lake (other, shop), got "third"',
  });
});

test('an account that began after the end of the range has nothing, and the other one its figures', async () => {
  const pipelines = ['financial-events'];
  lake = await loadedLake(smallBackend(), [{ pipelines }, { account: 'late', pipelines, from: '2025-03-01' }]);
  const { page, accounts, currencies } = await reported(lake, { to: '2025-03-01' });
  expect([accounts, currencies]).toEqual([['late', 'shop'], 1]);
  expect(page.texts('#a1-coverage figcaption')).toEqual(['financial-events: 0 of 90 days loaded, 90 missing.']);
  expect(page.texts('#a2-coverage figcaption')).toEqual(['financial-events: 9 of 9 days loaded.']);
});

test('twenty currencies have a chapter each, and a month that lost money is below zero', async () => {
  const codes = Array.from('ABCDEFGHIJKLMNOPQRST', (letter) => `X${letter}${letter}`);
  lake = await loadedLake(arrayBackend(manyCurrencies(codes)));
  const { page, currencies } = await reported(lake);
  expect(currencies).toBe(21);
  expect(page.texts('nav a').slice(1, 21)).toEqual(codes);
  for (const code of codes) {
    expect(page.table(`${page.chapter(code)}-months`)).toMatchObject([{ Earned: '98.90' }]);
  }
  // 20 × (−5 + 1).
  expect(page.table(`${page.chapter('USD')}-months`)).toMatchObject([{ Month: '2025-03', Earned: '-80.00' }]);
  expect(page.texts(`#${page.chapter('USD')}-hundred .none`)).toEqual([
    'Nothing was charged in this period, so there are no shares.',
  ]);
});

describe('what was read again', () => {
  const clock = clockAt(clockStart);
  const dates = { from: '2025-02-20', to: '2025-03-08', account: 'shop', pipelines: ['financial-events'] };

  test('and had changed is told by month, by run and by event, with what the net changed by', async () => {
    const root = `${await temporaryFolder()}/lake`;
    const items = smallItems();
    const endpoint = await serving({ backend: arrayBackend(items), clock });
    await ran({ ...dates, lake: root, endpoint }, { clock });
    const vanished = items.findIndex(({ order }) => order?.endsWith('0000015') === true);
    items.splice(vanished, 1);
    items.push(shipment('2025-02-23T01:00:00Z', '99', '7.5', '-0.4', 'GROUP-1'));
    await ran({ ...dates, lake: root, endpoint, refresh: true }, { clock: clockAt('2025-03-09T01:02:03Z') });

    const { page } = await reported({ root, clock });
    const months = page.table('a1-late');
    expect(months).toEqual([
      { Month: '2025-03', Appeared: '0', Vanished: '1', 'Net changed by': '-21.34', 'Last found': '2025-03-09' },
      { Month: '2025-02', Appeared: '1', Vanished: '0', 'Net changed by': '7.10', 'Last found': '2025-03-09' },
    ]);
    expect(page.table('a1-late', 1)).toEqual([
      {
        'Re-read at, UTC': '2025-03-09 01:02',
        Appeared: '1',
        Vanished: '1',
        'Events from': '2025-02-23',
        to: '2025-03-07',
      },
    ]);
    expect(page.table('a1-late', 2)).toMatchObject([
      { Change: 'vanished', Dated: '2025-03-07', Order: '111-0000000-0000015', Net: '21.34 USD' },
      { Change: 'appeared', Dated: '2025-02-23', Order: '111-0000000-0000099', Net: '7.10 USD' },
    ]);
    const [told = ''] = page.texts('#a1-late .note');
    const [count, statement = ''] = told.split(/\. Every change of the account: /);
    expect(count).toBe('2 changes in all');
    expect(await (await database(root, clock)).rows(statement)).toHaveLength(2);
    expect(page.texts('.look li').at(-1)).toContain('1 run found changes in what they re-read');
  });
});

test('a file stays small whatever the lake holds, and says what it leaves out', async () => {
  const start = Date.parse('2025-02-20T00:00:00Z');
  const hour = 3_600_000;
  const iso = (at: number) => new Date(at).toISOString();
  const groups = Array.from({ length: 170 }, (_, at) => {
    const facts = {
      id: `GROUP-${at}`,
      start: iso(start + at * hour),
      end: iso(start + (at + 1) * hour),
      beginning: '0',
    };
    return settlement({ ...facts, total: at === 2 ? '1' : '20.5' });
  });
  const sales = groups.flatMap(({ at, group = '' }, number) => {
    const skus = number < 3 ? 50 : 2;
    return Array.from({ length: skus }, (_, nth) =>
      shipment(iso(at + 1000 + nth), `${longSku}${number}-${nth}`, '0.5', '-0.09', group),
    ).map((item, nth) => ({ ...item, json: item.json.replace('"Commission"', `"Fee ${nth}"`) }));
  });
  // Only the first three are loaded by settlement: the oldest ones.
  lake = await loadedLake(arrayBackend([...groups, ...sales]), [
    { to: '2025-02-20T03:00:00Z' },
    { pipelines: ['financial-event-groups', 'financial-events'] },
  ]);
  const { page, html, sheets } = await reported(lake);
  const usd = page.chapter('USD');
  expect(html.length).toBeLessThan(400_000);
  // The 150 newest ones, and the one that doesn't add up.
  expect(page.all(`#${usd}-settlements tbody[id]`)).toHaveLength(151);
  expect(new Set(page.texts(`#${usd}-settlements .verdict`))).toEqual(
    new Set(['– entries not loaded', '✗ does not add up, 19.50 apart']),
  );
  expect(page.texts(`#${usd}-settlements > .note`)[0]).toContain('19 older ones are not listed');
  // What is left out of the entries is where the page says it is.
  const [told = ''] = page.texts(`#${usd}-settlements .v-differs .note`);
  expect(told).toMatch(/^Every entry: SELECT /);
  const every = await (await database(lake.root, lake.clock)).rows(told.replace('Every entry: ', ''));
  expect(every).toHaveLength(100);

  // 50 fees and one charge: the largest 40, and the others as one line, so that it still adds up.
  const lines = page.table(`${usd}-settlements`, page.all(`#${usd}-settlements table`).length - 2);
  expect(lines).toHaveLength(42);
  expect(lines.slice(-2)).toMatchObject([
    { List: '11 smaller sums', Times: '11', Amount: '-0.99' },
    { Amount: '20.50' },
  ]);
  expect(page.table(`${usd}-settlements`, page.all(`#${usd}-settlements table`).length - 1)).toHaveLength(8);

  const skus = page.table(`${usd}-skus`);
  expect(skus).toHaveLength(21);
  expect(skus.at(-1)?.['SKU']).toBe('464 other SKUs');
  const duckdb = await database(lake.root, lake.clock);
  const [row] = await duckdb.rows(
    "SELECT sum(amount)::VARCHAR AS net FROM entries WHERE role = 'net' AND sku IS NOT NULL",
  );
  expect(decimalSum(skus.map(({ Net = '' }) => read(Net)))).toBe(row?.['net']);

  // For other programs all of them are listed.
  const sheet = sheets.find(({ name }) => name === 'skus');
  const exported = new Map(sheet?.rows.map((cells) => [cells[2], String(cells.at(-1))]));
  expect([sheet?.rows.length, exported.size]).toEqual([484, 484]);
  expect(decimalSum([...exported.values()])).toBe(row?.['net']);
});

test('three years of months are charted and listed', async () => {
  const items = Array.from({ length: 37 }, (_, at) => {
    const day = new Date(Date.UTC(2022, at, 15)).toISOString();
    return shipment(day, String(at), at % 5 === 0 ? '-20' : '30', '-4', 'GROUP-1');
  });
  lake = await loadedLake(arrayBackend(items), [
    { pipelines: ['financial-events'], from: '2022-01-01', to: '2025-02-01' },
  ]);
  const { page } = await reported(lake);
  const section = `${page.chapter('USD')}-months`;
  expect(page.table(section)).toHaveLength(38);
  const drawn = page.texts(`#${section} svg.wide title`).filter((text) => text.includes(', earned:'));
  expect(drawn).toHaveLength(37);
  expect(drawn[5]).toBe('2022-06, earned: -24.00 USD');
});
