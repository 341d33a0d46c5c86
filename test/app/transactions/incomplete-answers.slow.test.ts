import { startEmulator } from '../../emulator/emulator.js';
import { expect, onTestFinished, test } from 'vitest';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock, synced, type SetClock } from '../load/synced.js';
import { verified } from '../verify/verified.js';

// Whole nights over real sockets, on machines that have others to do.
const dayMs = 86_400_000;
const begin = '2026-03-20T02:00:00Z';
const night = (number: number): number => Date.parse(begin) + number * dayMs;

async function shop(faults: Faults, clock: SetClock, { days = 90, events = 600 } = {}) {
  const seller = createSeller({ seed: 7, events, days, profile: 'plausible' }, clock);
  const server = await startEmulator({ backend: seller, clock, faults });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  return { seller, server, lake, given: { lake, endpoint: server.url, account: 'shop' } };
}

async function texts(lake: string, clock: SetClock, table: string, expression = 'raw'): Promise<string[]> {
  const sql = `SELECT (${expression})::VARCHAR AS text FROM ${table} ORDER BY text`;
  return (await (await database(lake, clock, sql)).rows(sql)).map(({ text }) => String(text)).toSorted();
}

/** What the seller has of a range. */
async function posted({ byTransaction }: Seller, clock: SetClock, from: string, end: number): Promise<string[]> {
  const any = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  const question = { ...any, range: { start: Date.parse(from), end } };
  const page = await byTransaction?.transactions(question, { cursor: undefined, limit: 1e6, asOf: clock.now() });
  return (page?.items ?? []).map(({ json }) => json).toSorted();
}

test('recent-incomplete: transactions that come late are in the lake once the nights have looked back, each once', async () => {
  const clock = setClock(begin);
  const { seller, server, lake, given } = await shop({ 'recent-incomplete': { share: 0.5 } }, clock);
  const pipelines = ['transactions'];
  const from = '2026-03-01';
  await ran({ ...given, from, pipelines }, { clock });
  const lacking = (await posted(seller, clock, from, clock.now() - 300_000)).length;
  expect((await texts(lake, clock, 'transactions')).length).toBeLessThan(lacking);
  expect(server.counts.faults('recent-incomplete')).toBeGreaterThan(0);

  let appeared = 0;
  for (let number = 1; number <= 3; number++) {
    clock.set(night(number));
    const { summary, failure } = await synced({ ...given, pipelines }, { clock });
    expect(failure).toBeUndefined();
    appeared += summary.changes['transactions']?.appeared ?? 0;
    // Nothing that was deferred is taken for released because others are late.
    const old = `posted_at < '${new Date(night(number) - 3 * dayMs).toISOString()}'`;
    const statuses = await texts(lake, clock, 'transactions', `CASE WHEN ${old} THEN status || transaction_id END`);
    const truth = (await posted(seller, clock, from, night(number) - 3 * dayMs)).map((json) => {
      const { transactionId, transactionStatus } = JSON.parse(json) as Record<string, string>;
      return `${String(transactionStatus)}${String(transactionId)}`;
    });
    for (const status of statuses.filter((text) => text !== 'null')) expect(truth).toContain(status);
  }
  expect(appeared).toBeGreaterThan(0);
  // What comes later than two days waits for the look-backs by weeks.
  expect((await synced({ ...given, pipelines, lookBack: 30 }, { clock })).failure).toBeUndefined();
  const late = new Set(await texts(lake, clock, 'transactions'));
  const settled = await posted(seller, clock, from, clock.now() - 2 * dayMs);
  expect(settled.filter((json) => !late.has(json))).toEqual([]);
  const ids = await texts(lake, clock, 'transactions', 'transaction_id');
  expect(new Set(ids).size).toBe(ids.length);
});

test('history-limit: a range that begins before the history is loaded as far as there is one, and the rest is told', async () => {
  const clock = setClock(begin);
  const { seller, server, lake, given } = await shop({ 'history-limit': {} }, clock, { days: 900, events: 2000 });
  const pipelines = ['transactions', 'settlement-summaries'];
  const { summary, printed } = await ran({ ...given, pipelines, from: '2024-01-01', to: '2024-05-01' }, { clock });
  expect(server.counts.faults('history-limit')).toBeGreaterThan(0);
  expect(summary.status).toBe('done');
  const oldest = new Date(clock.now() - 730 * dayMs).toISOString();
  const kept = await posted(seller, clock, oldest, Date.parse('2024-05-01'));
  expect(kept.length).toBeGreaterThan(20);
  expect(await texts(lake, clock, 'transactions')).toEqual(kept);
  expect(printed).toMatch(
    /Warning: 1 range older than two years that came back empty \(the service keeps about two years\): transactions 2024-01-01/,
  );
  // What the service keeps says nothing of the sort, and summaries are of settlements that loaded transactions name.
  const more = await ran({ ...given, pipelines, from: '2024-05-01', to: '2024-06-01' }, { clock });
  expect(more.printed).not.toContain('two years');
  const named = await texts(lake, clock, 'transactions', 'settlement_id');
  const wanted = [...new Set(named)].filter((id) => id !== 'null').toSorted();
  expect(await texts(lake, clock, 'settlement_summaries', 'settlement_id')).toEqual(wanted);
});

test('no-transactions: an account that the newer API has nothing for loads, and verify tells it', async () => {
  const clock = setClock(begin);
  const { lake, given } = await shop({ 'no-transactions': {} }, clock);
  const pipelines = ['transactions', 'payouts', 'settlement-summaries'];
  await ran({ ...given, from: '2026-03-01', api: 'both' }, { clock });
  const { summary } = await ran({ ...given, from: '2026-03-01', pipelines }, { clock });
  expect(summary.status).toBe('done');
  for (const table of ['transactions', 'payouts', 'settlement_summaries']) {
    expect(await texts(lake, clock, table)).toEqual([]);
  }
  const { problems } = await verified({ root: lake, clock });
  expect(problems.map(({ check }) => check)).toContain('both-apis');
});

test('no-transactions: what the lake holds stays when the newer API answers nothing any more, and comes on when it does', async () => {
  const clock = setClock(begin);
  const { seller, lake, given } = await shop({}, clock);
  const pipelines = ['transactions', 'payouts', 'settlement-summaries'];
  const from = '2026-03-01';
  await ran({ ...given, from, pipelines }, { clock });
  const tables = ['transactions', 'transaction_entries', 'payouts', 'settlement_summaries'];
  const keys = (table: string) => (table === 'transaction_entries' ? "event_id || '/' || entry" : 'raw');
  const held = async () =>
    Promise.all(tables.map(async (table) => [table, await texts(lake, clock, table, keys(table))] as const));
  const before = await held();
  for (const [, rows] of before) expect(rows.length).toBeGreaterThan(0);

  const silent = await serving({ backend: seller, clock, faults: { 'no-transactions': {} } });
  for (const number of [1, 2]) {
    clock.set(night(number));
    const { failure, summary } = await synced({ ...given, endpoint: silent, pipelines }, { clock });
    expect(failure).toMatchObject({ code: 'UPSTREAM_EMPTY', exitCode: 1 });
    expect(summary.emptied.length).toBeGreaterThan(0);
    expect(await held()).toEqual(before);
  }
  clock.set(night(3));
  expect((await synced({ ...given, pipelines, lookBack: 35 }, { clock })).failure).toBeUndefined();
  expect(await texts(lake, clock, 'transactions')).toEqual(await posted(seller, clock, from, clock.now() - 300_000));
});

test.each([
  ['groups-missing', { 'groups-missing': { times: 2 } }, []],
  // What a settlement adds up to can't be compared then, and verify says so.
  ['total-missing', { 'total-missing': { amount: 400 } }, ['the group is closed and has no OriginalTotal']],
] as const)(
  '%s: transactions, payouts and summaries come from no listing and are what they are without it',
  async (kind, faults, found) => {
    const clock = setClock(begin);
    const { lake, given, server } = await shop(faults, clock);
    const plain = await shop({}, clock);
    const pipelines = ['financial-event-groups', 'transactions', 'payouts', 'settlement-summaries'];
    for (const each of [given, plain.given]) {
      const { summary } = await ran({ ...each, from: '2026-01-20', pipelines }, { clock });
      expect(summary.status).toBe('done');
    }
    expect(server.counts.faults(kind)).toBeGreaterThan(0);
    for (const table of ['transactions', 'payouts', 'settlement_summaries']) {
      expect(await texts(lake, clock, table)).toEqual(await texts(plain.lake, clock, table));
    }
    const { problems } = await verified({ root: lake, clock });
    expect([...new Set(problems.map(({ problem }) => problem))]).toEqual(
      found.map((text) => `paid transactions: ${text}`),
    );
  },
);
