import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Add } from '../../../src/lake/delta/actions.js';
import { CertificateBuilder } from '../../../src/app/verify/common/check.js';
import { parquetCheck } from '../../../src/app/verify/checks/parquet.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { acquireLease } from '../../../src/lake/leases.js';
import { addOf, changeAdd, changeTags, commitByHand, pathOf, removeByHand, rewrite, sealed } from './damage.js';
import { ran, serving } from '../lake-run.js';
import { smallBackend } from './small-backend.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { found, verified } from './verified.js';

const orders = ['111-0000000-0000001', '111-0000000-0000014'];
const week = 'window/2025-03-01T00:00:00.000Z/2025-03-08T00:00:00.000Z';

/** All pipelines, and one slice by date alone, which is quicker to read. */
let whole: LoadedLake;
let slice: LoadedLake;
let lake: LoadedLake;
beforeAll(async () => {
  whole = await loadedLake(undefined, [{}, { pipelines: ['order-events'], orders }]);
  slice = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
});
beforeEach(() => {
  lake = slice.copy();
});
afterEach(() => {
  lake.remove();
});
afterAll(() => {
  whole.remove();
  slice.remove();
});

/** Goes on with the lake that all pipelines have loaded. */
function takeWhole(): void {
  lake.remove();
  lake = whole.copy();
}

function weekOf(table: string): Add {
  return addOf(lake.root, table, '20250301T000000Z-20250308T000000Z');
}

/** The lake has one broken check, which names the table, the file and the slice, and the command fails. */
async function expectFailure(check: string, table: string, file: string, slice: string, problem: RegExp) {
  const result = await verified(lake);
  expect(found(result)).toEqual([`${check} failed`]);
  expect(result.problems.map((of) => ({ ...of, problem: '' }))).toMatchObject([
    { check, kind: 'lake', table, file, slice, problem: '' },
  ]);
  expect(result.problems[0]?.problem).toMatch(problem);
  expect(result).toMatchObject({ code: 1, verdict: 'broken' });
}

test('a lake that runs have loaded is whole, and every check has looked at something', async () => {
  takeWhole();
  const result = await verified(lake, true);
  expect(found(result)).toEqual([]);
  expect(result).toMatchObject({ code: 0, verdict: 'whole', problems: [] });
  const unchecked = result.checks.filter(({ checked }) => checked === 0).map(({ check }) => check);
  // Everything that was asked for is loaded, and of v0 alone: there are no transactions to compare with.
  expect(unchecked).toEqual([
    ...[
      'requested-ranges',
      'paid-totals',
      'net-proceeds',
      'report-totals',
      'report-amounts',
      'report-lines',
      'both-apis',
    ],
  ]);
  const counts = Object.fromEntries(result.checks.map(({ check, checked }) => [check, checked]));
  // 16 shipments and 2 fees by date and by group, 2 shipments by order; a shipment has two amounts.
  expect(counts).toMatchObject({ 'unique-ids': 38, amounts: 72, 'group-totals': 1, 'event-dates': 16 });
});

test('a file that is gone is loaded again by the command that comes with it', async () => {
  const add = weekOf('events');
  rmSync(pathOf(lake.root, 'events', add));
  const result = await verified(lake);
  const [problem] = result.problems;
  expect(problem?.command).toMatch(
    /^ledgerlake backfill financial-events --lake \S+ --account shop --endpoint \S+ --from 2025-03-01 --to 2025-03-08 --refresh$/,
  );
  const words = problem?.command?.split(' ') ?? [];
  const given = (name: string): string => words[words.indexOf(`--${name}`) + 1] ?? '';
  const { clock, root } = lake;
  const endpoint = await serving({ backend: smallBackend(), clock });
  const range = { from: given('from'), to: given('to'), account: given('account') };
  await ran({ lake: root, endpoint, pipelines: [words[2] ?? ''], refresh: true, ...range }, { clock });
  expect(await verified(lake)).toMatchObject({ code: 0, verdict: 'whole', problems: [] });
});

test('entries that are gone, of a settlement or an order too, are to be derived again without a request', async () => {
  takeWhole();
  for (const table of ['entries', 'group_entries', 'order_entries']) {
    rmSync(pathOf(lake.root, table, addOf(lake.root, table)));
  }
  const mends = (await verified(lake)).problems.map((of) => of.command);
  expect(mends).toEqual(Array.from({ length: 3 }, () => `ledgerlake rebuild --lake ${lake.root}`));
});

test('what a damaged file quotes is cut', () => {
  const certificate = new CertificateBuilder();
  certificate.add(parquetCheck, 'lake', { table: 'events', file: 'f', loadKey: '' }, 'word '.repeat(20_000));
  expect(certificate.problems()[0]?.problem.length).toBeLessThan(1300);
});

describe('the bytes of a file', () => {
  test('with a bit turned over are told by their hash', async () => {
    const add = weekOf('entries');
    const file = pathOf(lake.root, 'entries', add);
    const bytes = readFileSync(file);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    await expectFailure('file-bytes', 'entries', `entries/${add.path}`, week, /SHA-256/);
  });

  test('that are cut off are told by their size', async () => {
    const add = weekOf('events');
    truncateSync(pathOf(lake.root, 'events', add), add.size - 1);
    await expectFailure('file-bytes', 'events', `events/${add.path}`, week, /expected \d+ bytes, found \d+/);
  });

  test('that grew are told by their size', async () => {
    const add = weekOf('events');
    appendFileSync(pathOf(lake.root, 'events', add), 'x');
    await expectFailure('file-bytes', 'events', `events/${add.path}`, week, /expected \d+ bytes/);
  });

  test('that are gone are missing', async () => {
    takeWhole();
    const add = addOf(lake.root, 'group_events', 'month=2025-02');
    rmSync(pathOf(lake.root, 'group_events', add));
    await expectFailure('file-bytes', 'group_events', `group_events/${add.path}`, 'group/GROUP-1', /missing/);
  });

  test('that are no Parquet, though the log says so, are a problem and no crash', async () => {
    const add = weekOf('events');
    writeFileSync(pathOf(lake.root, 'events', add), 'PAR1 and nothing else PAR1');
    changeAdd(lake.root, 'events', add.path, (old) => sealed(lake.root, 'events', old));
    await expectFailure('parquet', 'events', `events/${add.path}`, week, /can't be read as events/);
  });

  test('that are damaged within, though the log says so, are a problem and no crash', async () => {
    const add = weekOf('events');
    const file = pathOf(lake.root, 'events', add);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 4, bytes.length >> 1);
    writeFileSync(file, bytes);
    changeAdd(lake.root, 'events', add.path, (old) => sealed(lake.root, 'events', old));
    const result = await verified(lake);
    expect(result).toMatchObject({ code: 1, verdict: 'broken' });
    expect(result.problems.map((of) => of.file)).toEqual(result.problems.map(() => `events/${add.path}`));
  });

  test('of another table are a problem and no crash', async () => {
    const add = weekOf('events');
    copyFileSync(pathOf(lake.root, 'entries', weekOf('entries')), pathOf(lake.root, 'events', add));
    changeAdd(lake.root, 'events', add.path, (old) => sealed(lake.root, 'events', old));
    await expectFailure('parquet', 'events', `events/${add.path}`, week, /can't be read as events/);
  });
});

describe('a file that the log does not name', () => {
  const stray = 'events/account=shop/month=2025-03/stray-3-0123456789abcdef-0.parquet';

  test('is a note where the next run clears it', async () => {
    copyFileSync(pathOf(lake.root, 'events', weekOf('events')), join(lake.root, stray));
    const result = await verified(lake, true);
    expect([result.code, result.verdict]).toEqual([0, 'whole']);
    expect(found(result)).toEqual(['unnamed-files note']);
    expect(result.problems[0]).toMatchObject({
      problem: 'the log does not name it: left by a dead run, the next run or compact deletes it',
      command: `ledgerlake compact --lake ${lake.root}`,
    });
  });

  test('and that is none of ours is told as such, also while a run is at work', async () => {
    const foreign = 'events/account=shop/month=2025-03/mine.parquet';
    copyFileSync(pathOf(lake.root, 'events', weekOf('events')), join(lake.root, foreign));
    await expectFailure('unnamed-files', 'events', foreign, '', /a foreign file: .*no run deletes it; move it away/);
    const lease = await acquireLease({ store: diskStore(lake.root), run: '9-other' }, lake.clock);
    await expectFailure('unnamed-files', 'events', foreign, '', /a foreign file/);
    await lease.release();
  });

  test('is only noted while a run is at work', async () => {
    copyFileSync(pathOf(lake.root, 'events', weekOf('events')), join(lake.root, stray));
    const lease = await acquireLease({ store: diskStore(lake.root), run: '9-other' }, lake.clock);
    const result = await verified(lake, true);
    await lease.release();
    expect(found(result)).toEqual(['unnamed-files note']);
    expect(result.problems[0]).toMatchObject({
      kind: 'note',
      file: stray,
      problem: expect.stringMatching(/running run/) as string,
    });
    expect(result.code).toBe(0);
  });
});

describe('the log', () => {
  test('that lacks the entries of a slice is told', async () => {
    removeByHand(lake.root, 'entries', weekOf('entries'));
    const result = await verified(lake);
    expect(found(result)).toEqual(['amounts failed']);
    expect(result.problems[0]).toMatchObject({ slice: week, command: `ledgerlake rebuild --lake ${lake.root}` });
  });

  test('that names entries of no events is told', async () => {
    const add = weekOf('entries');
    const path = add.path.replace('20250301', 'copy-20250301');
    copyFileSync(pathOf(lake.root, 'entries', add), join(lake.root, 'entries', path));
    const copy = { ...add, path, tags: { ...add.tags, main: 'events/account=shop/month=2025-03/none.parquet' } };
    commitByHand(lake.root, { tables: { entries: { add: [copy] } } });
    await expectFailure('derived-files', 'entries', `entries/${path}`, week, /which the catalog lacks/);
  });

  test('that names a file twice under two names holds its events twice', async () => {
    const add = weekOf('events');
    const path = add.path.replace('20250301', 'copy-20250301');
    copyFileSync(pathOf(lake.root, 'events', add), join(lake.root, 'events', path));
    commitByHand(lake.root, { tables: { events: { add: [{ ...add, path }] } } });
    const result = await verified(lake);
    // The copy has no entries either.
    expect(found(result)).toEqual(['amounts failed', 'unique-ids failed']);
    const ids = result.problems.find(({ check }) => check === 'unique-ids');
    expect(ids).toMatchObject({
      table: 'events',
      slice: week,
      problem: expect.stringMatching(/^7 event ids more than once/) as string,
    });
  });

  test.each([
    ['rows', '8', 'row-counts', /expected 8 rows, found 7/],
    ['net', '{"USD":"149.345001"}', 'net-sums', /USD: the log has 149.345001, the rows add up to 149.345000/],
    [
      'net',
      '{"USD":"149.345000","EUR":"1.000000"}',
      'net-sums',
      /EUR: the log has 1.000000, the rows add up to 0.000000/,
    ],
    ['sha256', '0'.repeat(64), 'file-bytes', /SHA-256/],
    ['loadKeys', '["window/2025-03-01T00:00:00.000Z/', 'log-tags', /expected the tag loadKeys to be a list/],
    ['account', 'other', 'log-tags', /expected the tag account to be shop, got "other"/],
  ])('whose tag %s says %s is told', async (tag, value, check, problem) => {
    const table = tag === 'net' ? 'entries' : 'events';
    const add = weekOf(table);
    changeTags(lake.root, table, add.path, { [tag]: value });
    const result = await verified(lake);
    expect(result.code).toBe(1);
    const [first] = result.problems.filter((of) => of.check === check);
    expect(first).toMatchObject({
      table,
      file: `${table}/${add.path}`,
      problem: expect.stringMatching(problem) as string,
    });
    // A file whose tags can't be read names no entries, which nobody names then.
    const others = check === 'log-tags' ? ['derived-files failed'] : [];
    expect(found(result)).toEqual([`${check} failed`, ...others]);
  });

  test.each([
    ['a least value that is too great', { minValues: { effective_at: '2025-03-01T02:00:00.001Z' } }],
    ['a greatest value that is too small', { maxValues: { event_list: 'Ship' } }],
    ['another number of nulls', { nullCount: { posted_at: 1 } }],
    ['another number of rows', { numRecords: 8 }],
  ])('whose statistics have %s is told', async (_name, change) => {
    const add = weekOf('events');
    const stats = JSON.stringify({ ...(JSON.parse(add.stats ?? '{}') as object), ...change });
    changeAdd(lake.root, 'events', add.path, (old) => ({ ...old, stats }));
    await expectFailure('statistics', 'events', `events/${add.path}`, week, /is wrong|numRecords/);
  });

  test.each([
    ['2025-03-02', '2025-03-04', /overlaps window\/2025-03-01/],
    ['2025-01-31', '2025-02-02', /crosses the end of a month/],
  ])('with a window from %s to %s is told', async (from, to, problem) => {
    const key = `window/${from}T00:00:00.000Z/${to}T00:00:00.000Z`;
    const window = { start: Date.parse(from), end: Date.parse(to) };
    const loaded = {
      account: 'shop',
      pipeline: 'financial-events',
      key,
      window,
      readAt: 0,
      since: 0,
      origin: 'api',
    } as const;
    commitByHand(lake.root, { tables: { events: {} }, keys: { set: [loaded] } });
    await expectFailure('windows', 'events', '', key, problem);
  });

  test('that another program added a file to is told', async () => {
    takeWhole();
    const path = 'account=shop/month=2025-03/foreign.parquet';
    copyFileSync(pathOf(lake.root, 'groups', addOf(lake.root, 'groups')), join(lake.root, 'groups', path));
    const bare = { ...addOf(lake.root, 'groups'), path, tags: {} };
    commitByHand(lake.root, { tables: { groups: { add: [bare] } } });
    await expectFailure('log-tags', 'groups', `groups/${path}`, '', /another program added it/);
  });

  test('that is cut off is an error of its own', async () => {
    truncateSync(join(lake.root, commitPath(0)), 300);
    await expect(verified(lake)).rejects.toMatchObject({ code: 'LAKE_LOG', exitCode: 1 });
    await expect(verified(lake)).rejects.toThrow(`${'0'.repeat(20)}.json`);
  });

  test('that holds something else is an error of its own', async () => {
    writeFileSync(join(lake.root, commitPath(0)), '{"add":{"path":7}}\n');
    await expect(verified(lake)).rejects.toMatchObject({ code: 'LAKE_LOG' });
  });
});

describe('rows that are not what was received', () => {
  const cases: readonly (readonly [string, string, string, string, RegExp])[] = [
    [
      'an amount that is a millionth off',
      'entries',
      'amounts',
      "SELECT * REPLACE (CASE WHEN entry = 0 AND posted_at < TIMESTAMPTZ '2025-03-02' THEN (amount + 0.000001)::DECIMAL(18,6) ELSE amount END AS amount) FROM rows",
      /ItemChargeList\[\]\.ChargeAmount: 25\.1, entry 25\.100001/,
    ],
    [
      'another currency',
      'entries',
      'amounts',
      "SELECT * REPLACE (CASE WHEN role = 'net' THEN 'EUR' ELSE currency END AS currency) FROM rows",
      /currency USD, entry EUR/,
    ],
    [
      'a path that is not there',
      'entries',
      'amounts',
      "SELECT * REPLACE (path || 'x' AS path) FROM rows",
      /the entry has/,
    ],
    [
      'an amount that became text',
      'entries',
      'amounts',
      "SELECT * REPLACE (CASE WHEN entry = 0 THEN NULL ELSE amount END AS amount, CASE WHEN entry = 0 THEN '25.1' END AS amount_text) FROM rows",
      /amount_text 25\.1, which amount holds/,
    ],
    [
      'entries in another order',
      'entries',
      'amounts',
      'SELECT * REPLACE (1 - entry AS entry) FROM rows',
      /the entry has/,
    ],
    [
      'entries of another event',
      'entries',
      'amounts',
      "SELECT * REPLACE (CASE WHEN posted_at < TIMESTAMPTZ '2025-03-02' THEN 'none' ELSE event_id END AS event_id) FROM rows",
      /entries of none/,
    ],
    [
      'another role',
      'entries',
      'roles',
      "SELECT * REPLACE (CASE WHEN entry = 1 THEN 'memo' ELSE role END AS role) FROM rows",
      /expected net fee, found memo fee/,
    ],
    [
      'another hash',
      'events',
      'event-ids',
      "SELECT * REPLACE ('0' || substr(content_hash, 2) AS content_hash) FROM rows",
      /content_hash is 0/,
    ],
    [
      'a place that comes twice',
      'events',
      'positions',
      'SELECT * REPLACE (0::BIGINT AS position) FROM rows',
      /1 positions of a slice are missing or occur twice, such as 0/,
    ],
    [
      'another window',
      'events',
      'partitions',
      'SELECT * REPLACE (window_end - INTERVAL 1 DAY AS window_end) FROM rows',
      /which the file does not name/,
    ],
  ];

  test.each(cases)('%s', async (_name, table, check, query, problem) => {
    const add = weekOf(table);
    await rewrite(lake.root, table, add, query);
    const result = await verified(lake);
    // The count of amounts that are in no sum is of the whole table.
    const problems = result.problems.filter((of) => of.kind !== 'note' || !of.problem.includes('in no sum'));
    const own = problems.filter((of) => of.check === check);
    expect(own.map((of) => of.problem)).toContainEqual(expect.stringMatching(problem));
    expect(own.map(({ slice }) => slice)).toEqual(own.map(() => week));
    expect([`events/${weekOf('events').path}`, `entries/${weekOf('entries').path}`]).toContain(own[0]?.file);
    // Sums and ids that hang on the rows may be off as well; whatever else is told is told of this slice.
    expect(problems.map(({ slice }) => slice).filter((slice) => slice !== week && slice !== 'group/GROUP-1')).toEqual(
      [],
    );
    expect(result).toMatchObject({ code: 1, verdict: 'broken' });
  });

  test('entries that are wrong come with the command that derives them again', async () => {
    const off = 'SELECT * REPLACE ((amount + 0.000001)::DECIMAL(18,6) AS amount) FROM rows';
    await rewrite(lake.root, 'entries', weekOf('entries'), off);
    const mends = (await verified(lake)).problems.map((of) => [of.check, of.command]);
    expect(Object.fromEntries(mends)).toEqual({
      amounts: `ledgerlake rebuild --lake ${lake.root}`,
      'net-sums': `ledgerlake rebuild --lake ${lake.root}`,
    });
  });

  test('an entry that is missing', async () => {
    const add = weekOf('entries');
    await rewrite(lake.root, 'entries', add, "SELECT * FROM rows WHERE NOT (entry = 1 AND amazon_order_id LIKE '%09')");
    const result = await verified(lake);
    expect(found(result)).toEqual(['row-counts failed', 'statistics failed', 'amounts failed', 'net-sums failed']);
    const amounts = result.problems.find(({ check }) => check === 'amounts');
    expect(amounts?.problem).toMatch(/^1 event: \w+ raw has 2 amounts, entries 1$/);
  });

  test('an entry that comes twice', async () => {
    const add = weekOf('entries');
    await rewrite(
      lake.root,
      'entries',
      add,
      "FROM rows UNION ALL FROM rows WHERE entry = 1 AND amazon_order_id LIKE '%09'",
    );
    const result = await verified(lake);
    expect(found(result)).toContain('unique-ids failed');
    expect(result.problems.find(({ check }) => check === 'unique-ids')).toMatchObject({
      table: 'entries',
      slice: week,
      problem: expect.stringMatching(/occur 2 times/) as string,
    });
  });

  test('orders in the folder of another month', async () => {
    takeWhole();
    const add = addOf(lake.root, 'order_events', 'month=2025-03');
    await rewrite(
      lake.root,
      'order_events',
      add,
      'SELECT * REPLACE (posted_at - INTERVAL 1 MONTH AS posted_at) FROM rows',
    );
    const result = await verified(lake);
    expect(result.problems.find(({ check }) => check === 'partitions')).toMatchObject({
      table: 'order_events',
      file: `order_events/${add.path}`,
      slice: 'order/111-0000000-0000001 and 1 more',
      problem: expect.stringMatching(/belongs to 2025-02, in the folder of 2025-03/) as string,
    });
  });
});

test('a lake without anything in it is refused: there is nothing to verify', async () => {
  const root = join(dirname(lake.root), 'empty');
  mkdirSync(root);
  await expect(verified({ root, clock: lake.clock })).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
});
