import { expect, test } from 'vitest';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { rebuild } from '../../../src/app/maintenance/rebuild-lake.js';
import { status } from '../../../src/app/status/status.js';
import type { Clock } from '../../../src/core/clock.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { Kept } from '../../core/text/streams.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { settlement, shipment } from '../load/backend-items.js';
import { synced } from '../load/synced.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, groupsBody, imported, value } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');

interface Lake {
  readonly root: string;
  readonly clock: Clock;
}

/** What tells which of two services an event came from: its price. */
function shipments(price: string): DatedItem[] {
  const hours = Array.from({ length: 16 * 4 }, (_, at) => new Date(Date.UTC(2025, 2, 1, at * 6)).toISOString());
  return hours.map((at, index) => shipment(at, `111-0000000-${String(index).padStart(7, '0')}`, price));
}

function fee(price: string): DatedItem {
  const json = `{"FeeReason":"subscription","FeeList":[{"FeeType":"Subscription","FeeAmount":{"CurrencyCode":"USD","CurrencyAmount":${price}}}]}`;
  return { at: 0, list: 'ServiceFeeEventList', json };
}

/** A lake with imported events of 2025-03-01 to 2025-03-16, four shipments a day and a fee on the 4th. */
async function importedLake(): Promise<Lake> {
  const lake = { root: await temporaryFolder(), clock };
  const items = shipments('1.00');
  const pages = [items.slice(0, 12), [...items.slice(12, 16), fee('-0.50')], items.slice(16)];
  await imported(lake, [await fileOf(pages.map((page) => eventsBody(page)))], { account: 'shop' });
  return lake;
}

async function backfilled(lake: Lake, from: string, to: string, items = shipments('2.00')): Promise<void> {
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  await ran({ pipelines: ['financial-events'], lake: lake.root, account: 'shop', endpoint, from, to }, { clock });
}

/** Events with a date by day and price: `01 1.00` four times and so on, as `01:4x1`. One without a date may move on. */
async function days({ root }: Lake): Promise<string> {
  const rows = await (
    await database(root, clock)
  ).rows(
    "SELECT strftime(effective_at AT TIME ZONE 'UTC', '%d') AS day, string_agg(DISTINCT amount::INT::VARCHAR, '+' ORDER BY amount::INT::VARCHAR) " +
      'AS amounts, count(*) AS events FROM events JOIN entries USING (event_id, effective_at) WHERE events.posted_at IS NOT NULL GROUP BY day ORDER BY day',
  );
  return rows.map(({ day, amounts, events }) => `${String(day)}:${String(events)}x${String(amounts)}`).join(' ');
}

async function states(lake: Lake): Promise<string> {
  const output = new Kept();
  const options = {
    lake: lake.root,
    account: 'shop',
    format: 'json' as const,
    color: false,
    from: '2025-03-01',
    to: '2025-03-17',
  };
  await status(options, { clock, signal: new AbortController().signal, output, emit: () => undefined });
  const { accounts } = JSON.parse(output.text) as {
    accounts: { pipelines: { pipeline: string; days: { state: string }[] }[] }[];
  };
  const [events] = accounts[0]?.pipelines.filter(({ pipeline }) => pipeline === 'financial-events') ?? [];
  return events?.days.map(({ state }) => state.slice(0, 1)).join('') ?? '';
}

const work = { pipelines: [], account: undefined };
const context = { clock, signal: new AbortController().signal, emit: () => undefined };

async function expectWhole(lake: Lake): Promise<void> {
  expect(found(await verified(lake))).toEqual([]);
  const opened = await database(lake.root, clock);
  expect(await value(opened, 'SELECT count(*) - count(DISTINCT event_id) FROM events')).toBe('0');
}

test('a loaded window takes the place of the imported days that it covers, and of nothing else', async () => {
  const lake = await importedLake();
  expect(await states(lake)).toBe('iiiiiiiiiiiiiiii');
  await backfilled(lake, '2025-03-03', '2025-03-05');
  expect(await days(lake)).toMatch(/^01:4x1 02:4x1 03:4x2 04:4x2 05:4x1 .* 16:4x1$/);
  expect(await states(lake)).toBe('iiffiiiiiiiiiiii');
  await expectWhole(lake);
  await backfilled(lake, '2025-03-01', '2025-03-17');
  expect(await days(lake)).toMatch(/^(\d\d:4x2 ?){16}$/);
  expect(await states(lake)).toBe('ffffffffffffffff');
  await expectWhole(lake);
});

async function syncedAll(lake: Lake): Promise<void> {
  const endpoint = await serving({ backend: arrayBackend(shipments('2.00')), clock });
  const given = { pipelines: ['financial-events'], account: 'shop', endpoint, lake: lake.root };
  expect((await synced(given, { clock })).failure).toBeUndefined();
}

test('a sync asks for the days that only imports cover', async () => {
  const lake = await importedLake();
  await syncedAll(lake);
  expect(await days(lake)).toMatch(/^(\d\d:4x2 ?){16}$/);
  expect(await states(lake)).toBe('ffffffffffffffff');
  await expectWhole(lake);
});

test('a sync asks for them behind the first loaded instant, as for any gap', async () => {
  const lake = await importedLake();
  await backfilled(lake, '2025-03-03', '2025-03-05');
  await syncedAll(lake);
  expect(await days(lake)).toMatch(/^01:4x1 02:4x1 03:4x2 (\d\d:4x2 ?){13}$/);
  expect(await states(lake)).toBe('iiffffffffffffff');
});

test('a window that ends within an imported day takes its rows and leaves those behind it', async () => {
  const lake = await importedLake();
  await backfilled(lake, '2025-03-03T06:00:00Z', '2025-03-05T13:00:00Z');
  expect(await days(lake)).toMatch(/^01:4x1 02:4x1 03:4x1\+2 04:4x2 05:4x1\+2 06:4x1 .* 16:4x1$/);
  await expectWhole(lake);
  // A window has it otherwise.
  const items = shipments('3.00').slice(16, 17);
  const again = await imported(lake, [await fileOf([eventsBody(items)])], { account: 'shop' });
  expect(again.summary.imported['financial-events']).toEqual({ known: 0, left_out: 1, left_out_days: 1 });
  await rebuild({ ...work, lake: lake.root }, context);
  await compact({ ...work, lake: lake.root }, context);
  await expectWhole(lake);
  await backfilled(lake, '2025-03-01', '2025-03-17');
  expect(await days(lake)).toMatch(/^(\d\d:4x2 ?){16}$/);
  await expectWhole(lake);
});

test('merged files keep the mark of imported days, beside loaded ones too', async () => {
  const lake = await importedLake();
  await backfilled(lake, '2025-03-03', '2025-03-05');
  await compact({ ...work, lake: lake.root }, context);
  expect(
    await value(
      await database(lake.root, clock),
      "SELECT count(*) FROM glob('" + lake.root + "/events/account=*/month=*/*.parquet')",
    ),
  ).toBe('1');
  expect(await states(lake)).toBe('iiffiiiiiiiiiiii');
  await expectWhole(lake);
  await rebuild({ ...work, lake: lake.root }, context);
  await backfilled(lake, '2025-03-05', '2025-03-08T12:00:00Z');
  expect(await days(lake)).toMatch(/^01:4x1 02:4x1 03:4x2 04:4x2 05:4x2 06:4x2 07:4x2 08:4x1\+2 09:4x1 /);
  await expectWhole(lake);
});

test('events of a loaded window are left out and counted, to the instant', async () => {
  const lake = { root: await temporaryFolder(), clock };
  await backfilled(lake, '2025-03-03T06:00:00Z', '2025-03-05');
  const { summary } = await imported(lake, [await fileOf([eventsBody(shipments('1.00'))])], { account: 'shop' });
  expect(summary.imported['financial-events']).toEqual({ known: 0, left_out: 7, left_out_days: 2 });
  expect(await days(lake)).toMatch(/^01:4x1 02:4x1 03:4x1\+2 04:4x2 05:4x1 /);
  await expectWhole(lake);
});

test('groups are imported by the day on which they opened, each once and in its latest state, and give way as well', async () => {
  const lake = { root: await temporaryFolder(), clock };
  const open = settlement('G2', '2025-03-08T10:00:00Z');
  const closed = settlement('G2', '2025-03-08T10:00:00Z', '2025-03-15T10:00:00Z');
  const first = settlement('G1', '2025-03-01T10:00:00Z', '2025-03-08T10:00:00Z');
  const early = await fileOf([groupsBody([first, open])]);
  const late = await fileOf([groupsBody([closed])]);
  const one = await imported(lake, [early], { account: 'shop' });
  expect(one.summary.pipelines['financial-event-groups']).toMatchObject({ slices: 2, pages: 1, rows: { groups: 2 } });
  await imported(lake, [late], { account: 'shop' });
  const again = await imported(lake, [early, late], { account: 'shop' });
  expect(again.summary.pipelines['financial-event-groups']).toMatchObject({ slices: 0, files: 0 });
  const list = async () =>
    (await (await database(lake.root, clock)).rows('SELECT group_id, processing_status AS s FROM groups ORDER BY ALL'))
      .map(({ group_id, s }) => `${String(group_id)} ${String(s)}`)
      .join();
  expect(await list()).toBe('G1 Closed,G2 Closed');
  await expectWhole(lake);
  await compact({ ...work, lake: lake.root }, context);
  const third = await fileOf([groupsBody([settlement('G3', '2025-03-08T20:00:00Z')])]);
  await imported(lake, [third], { account: 'shop' });
  expect(await list()).toBe('G1 Closed,G2 Closed,G3 Open');
  await expectWhole(lake);

  const endpoint = await serving({ backend: arrayBackend([open]), clock });
  const range = { from: '2025-03-08', to: '2025-03-08T15:00:00Z' };
  await ran({ pipelines: ['financial-event-groups'], lake: lake.root, account: 'shop', endpoint, ...range }, { clock });
  expect(await list()).toBe('G1 Closed,G2 Open,G3 Open');
  await expectWhole(lake);
});

test('imported days of which the service has nothing stay, unless they are given up', async () => {
  const lake = await importedLake();
  const endpoint = await serving({ backend: arrayBackend(shipments('2.00').slice(0, 16)), clock });
  const options = { pipelines: ['financial-events'], lake: lake.root, account: 'shop', endpoint };
  const range = { from: '2025-03-01', to: '2025-03-17' };
  await expect(ran({ ...options, ...range }, { clock })).rejects.toMatchObject({
    code: 'INCOMPLETE',
    message: expect.stringMatching(/2025-03-08.*imports stored up to 28 rows.*--accept-empty/) as string,
  });
  // The window of the first week held something, and so takes the place of all of it.
  expect(await days(lake)).toMatch(/^01:4x2 02:4x2 03:4x2 04:4x2 08:4x1 .* 16:4x1$/);
  expect(await states(lake)).toBe('ffffeeeiiiiiiiii');
  await expectWhole(lake);
  await ran({ ...options, ...range, acceptEmpty: true }, { clock });
  expect(await days(lake)).toBe('01:4x2 02:4x2 03:4x2 04:4x2');
  await expectWhole(lake);
});
