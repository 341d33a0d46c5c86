import { startEmulator } from '../../emulator/emulator.js';
import { expect, onTestFinished, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { status } from '../../../src/app/status/status.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { RunningApiServer } from '../../../src/serve/http/server.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { Kept } from '../../core/text/streams.js';
import { setClock, synced, type SetClock } from '../../app/load/synced.js';

const from = '2026-01-01';
const pipelines = ['financial-event-groups'];

async function shop(faults: Faults | undefined, clock: SetClock) {
  const seller = createSeller({ seed: 5, events: 900, days: 150, profile: 'edge-cases' }, clock);
  const server = await startEmulator({ backend: seller, clock, faults });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  return { seller, server, lake, given: { lake, endpoint: server.url, account: 'shop', pipelines } };
}

/** The ids of the seller's settlements, in order. */
async function owned(seller: Backend, clock: SetClock): Promise<string[]> {
  const range = { start: Date.parse(from), end: clock.now() };
  const { items } = await seller.groups(range, { cursor: undefined, limit: 1000, asOf: clock.now() });
  return items.map(({ json }) => (JSON.parse(json) as { FinancialEventGroupId: string }).FinancialEventGroupId).sort();
}

async function held(lake: string, clock: SetClock): Promise<string[]> {
  const rows = await (await database(lake, clock, 'groups')).rows('SELECT group_id AS id FROM groups');
  return rows.map(({ id }) => String(id)).sort();
}

const requestsOf = ({ counts }: RunningApiServer) => counts.requests('ListFinancialEventGroups');

test('the settlements of a seller that are all listed are listed once, and nothing is said', async () => {
  const clock = setClock('2026-04-20T12:00:00Z');
  const { seller, server, lake, given } = await shop(undefined, clock);
  const { printed } = await ran({ ...given, from }, { clock });
  expect(await held(lake, clock)).toEqual(await owned(seller, clock));
  expect(requestsOf(server)).toBe(4);
  expect(printed).not.toContain('Warning:');
  clock.set('2026-04-21T12:00:00Z');
  expect((await synced(given, { clock })).printed).not.toContain('omit settlements');
});

test('settlements that a first listing leaves out are found, as the row of them has holes', async () => {
  const clock = setClock('2026-04-20T12:00:00Z');
  // The first listing of each month.
  const faults = { 'groups-missing': { times: 4, amount: 3 } };
  const { seller, server, lake, given } = await shop(faults, clock);
  const { summary, printed } = await ran({ ...given, from }, { clock });
  expect(server.counts.faults('groups-missing')).toBe(4);
  expect(await held(lake, clock)).toEqual(await owned(seller, clock));
  expect(requestsOf(server)).toBeGreaterThan(4);
  expect(requestsOf(server)).toBeLessThanOrEqual(10);
  expect(summary.status).toBe('done');
  expect(printed).not.toContain('Warning:');
});

test('the first settlement of all is found, where a listing leaves it out, and a new account is not told of', async () => {
  const clock = setClock('2026-04-20T12:00:00Z');
  const seller = createSeller({ seed: 5, events: 900, days: 150, profile: 'edge-cases' }, clock);
  const range = { start: Date.parse('2026-02-01'), end: clock.now() };
  const { items } = await seller.groups(range, { cursor: undefined, limit: 1000, asOf: clock.now() });
  const [first] = items;
  const isFirst = (json: string) => json === first?.json;
  for (const hidden of [1, Infinity]) {
    let left = hidden;
    let struck = 0;
    // An account that began in February: nothing opened before.
    const backend: Backend = {
      ...seller,
      groups: async (asked, query) => {
        const page = await seller.groups({ ...asked, start: Math.max(asked.start, range.start) }, query);
        if (!page.items.some(({ json }) => isFirst(json)) || left-- <= 0) return page;
        struck++;
        return { ...page, items: page.items.filter(({ json }) => !isFirst(json)) };
      },
    };
    const server = await startEmulator({ backend, clock });
    onTestFinished(() => server.close());
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', pipelines };
    const emitted: RunEvent[] = [];
    const { printed, summary } = await ran({ ...given, from }, { clock, emitted });
    expect(struck).toBe(hidden === 1 ? 1 : 2);
    const count = items.length - (hidden === 1 ? 0 : 1);
    expect((await held(lake, clock)).length).toBe(count);
    // Also those of the windows that were listed twice.
    expect(summary.pipelines['financial-event-groups']?.['rows']).toEqual({ groups: count });
    expect(emitted).toContainEqual(expect.objectContaining({ event: 'pipeline-ended', rows: { groups: count } }));
    expect(printed).toContain(` ${count} groups `);
    // Four months, and January and February once more: before each row's first settlement one may have opened there.
    expect(requestsOf(server)).toBe(6);
    expect(printed).not.toContain('Warning:');
  }
});

test('where each listing leaves out others, several together are whole, and nothing that was listed is lost', async () => {
  const clock = setClock('2026-04-20T12:00:00Z');
  const { seller, server, lake, given } = await shop({ 'groups-missing': { amount: 3 } }, clock);
  await ran({ ...given, from }, { clock });
  expect(server.counts.faults('groups-missing')).toBe(requestsOf(server));
  const first = await held(lake, clock);
  const all = await owned(seller, clock);
  expect(first.length).toBeGreaterThan(all.length * 0.9);
  expect(new Set(first).size).toBe(first.length);
});

test('settlements that stay away are told, by each run and by status, and sync lists them again until they come', async () => {
  const clock = setClock('2026-04-20T12:00:00Z');
  const seller = createSeller({ seed: 5, events: 900, days: 150, profile: 'edge-cases' }, clock);
  const all = await owned(seller, clock);
  const range = { start: Date.parse('2026-03-02'), end: Date.parse('2026-03-20') };
  const { items } = await seller.groups(range, { cursor: undefined, limit: 1000, asOf: clock.now() });
  let hidden = items[0]?.json;
  const backend: Backend = {
    ...seller,
    groups: async (...asked) => {
      const page = await seller.groups(...asked);
      return { ...page, items: page.items.filter(({ json }) => json !== hidden) };
    },
  };
  const server = await startEmulator({ backend, clock });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  const given = { lake, endpoint: server.url, account: 'shop', pipelines };
  const told = /Warning: \d places where the list seems to omit settlements.*: after group \S+, which ended 2026-03-/;

  const { summary, printed } = await ran({ ...given, from }, { clock });
  expect(summary.status).toBe('done');
  expect(printed).toMatch(told);
  expect(JSON.stringify(summary)).toContain('missingSettlements');
  expect(await held(lake, clock)).toHaveLength(all.length - 1);
  const output = new Kept();
  await status(
    { lake, account: undefined, format: 'table', color: false, from: undefined, to: undefined },
    { clock, signal: new AbortController().signal, emit: () => undefined, output },
  );
  expect(output.text).toMatch(/Settlements that the list may have omitted:\n {2}after group/);

  clock.set('2026-04-21T12:00:00Z');
  const night = await synced(given, { clock });
  expect(night.failure).toBeUndefined();
  expect(night.printed).toMatch(told);
  hidden = undefined;
  clock.set('2026-04-22T12:00:00Z');
  const next = await synced(given, { clock });
  expect(next.printed).not.toMatch(told);
  expect(await held(lake, clock)).toEqual(await owned(seller, clock));
});
