import { startEmulator } from '../../emulator/emulator.js';
import { expect, onTestFinished, test } from 'vitest';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { setClock, synced, type SetClock } from '../../app/load/synced.js';

const dayMs = 86_400_000;

async function shop(faults: Faults, clock: SetClock, days: number, events = 300) {
  const seller = createSeller({ seed: 7, events, days, profile: 'edge-cases' }, clock);
  const server = await startEmulator({ backend: seller, clock, faults });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  return { seller, server, lake, given: { lake, endpoint: server.url, account: 'shop' } };
}

/** Of the seller's events, up to an instant, those that the lake lacks by date; and those that it has too often. */
async function differences(lake: string, seller: Seller, clock: SetClock, from: string, to: number) {
  const owned = async (end: number) => {
    const asked = { cursor: undefined, limit: 1e6, asOf: clock.now() };
    return (await seller.events({ start: Date.parse(from), end }, asked)).items.map(({ json }) => json);
  };
  const rows = await (await database(lake, clock, 'events')).rows('SELECT raw FROM events');
  const held = rows.map(({ raw }) => String(raw));
  return { lacking: surplus(await owned(to), held), tooMany: surplus(held, await owned(clock.now())) };
}

/** How many there are more of in one list than in the other. */
function surplus(one: readonly string[], other: readonly string[]): number {
  const left = new Map<string, number>();
  for (const text of other) left.set(text, (left.get(text) ?? 0) + 1);
  return one.filter((text) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count < 1;
  }).length;
}

test.each([
  ['deferred-events', { 'deferred-events': { share: 0.2, amount: 3 } }, 4],
  ['recent-incomplete', { 'recent-incomplete': { share: 0.5 } }, 3],
] as const)(
  '%s: what comes late is in the lake once the nights have looked back, each row once',
  async (kind, faults, nights) => {
    const from = '2026-03-01';
    const clock = setClock('2026-03-20T02:00:00Z');
    const { seller, server, lake, given } = await shop(faults, clock, 60);
    const pipelines = ['financial-events'];
    await ran({ ...given, from, pipelines }, { clock });
    const loaded = clock.now() - 300_000;
    const first = await differences(lake, seller, clock, from, loaded);
    expect(server.counts.faults(kind)).toBeGreaterThan(0);
    expect(first.lacking).toBeGreaterThan(0);
    expect(first.tooMany).toBe(0);

    let appeared = 0;
    for (let night = 1; night <= nights; night++) {
      clock.set(Date.parse('2026-03-20T02:00:00Z') + night * dayMs);
      const { summary, failure } = await synced({ ...given, pipelines }, { clock });
      expect(failure).toBeUndefined();
      appeared += summary.changes['financial-events']?.appeared ?? 0;
    }
    // What comes later than two days waits for the look-backs by weeks.
    expect((await synced({ ...given, pipelines, lookBack: 30 }, { clock })).failure).toBeUndefined();
    expect(appeared).toBeGreaterThan(0);
    expect(await differences(lake, seller, clock, from, loaded)).toEqual({ lacking: 0, tooMany: 0 });
  },
);

test('history-limit: a range that begins before the history is loaded as far as there is one, and the rest is told', async () => {
  const clock = setClock('2026-03-20T12:00:00Z');
  const { seller, server, lake, given } = await shop({ 'history-limit': {} }, clock, 900, 200);
  const oldest = new Date(clock.now() - 730 * dayMs).toISOString();
  const { summary, printed } = await ran({ ...given, from: '2024-01-01', to: '2024-06-01' }, { clock });
  expect(server.counts.faults('history-limit')).toBeGreaterThan(0);
  expect(summary.status).toBe('done');
  expect(await differences(lake, seller, clock, oldest, Date.parse('2024-06-01'))).toEqual({ lacking: 0, tooMany: 0 });
  expect(printed).toMatch(
    /Warning: 2 ranges older than two years that came back empty \(the service keeps about two years\): .*financial-events 2024-01-01/,
  );
  // What the service keeps says nothing of the sort.
  const more = await ran({ ...given, from: '2024-06-01', to: '2024-07-01' }, { clock });
  expect(more.printed).not.toContain('two years');
});

test('total-missing: a settlement that has only just closed is listed without its total, and has it once that is there', async () => {
  const clock = setClock('2026-03-02T12:00:00Z');
  const { server, lake, given } = await shop({ 'total-missing': { amount: 40 } }, clock, 60);
  const pipelines = ['financial-event-groups'];
  const lacking = async () => {
    const rows = await (
      await database(lake, clock, 'groups')
    ).rows("SELECT group_id FROM groups WHERE processing_status = 'Closed' AND original_total IS NULL");
    return rows.length;
  };
  await ran({ ...given, pipelines, from: '2026-01-15' }, { clock });
  const seen: number[] = [await lacking()];
  for (let night = 1; night <= 16; night++) {
    clock.set(Date.parse('2026-03-02T12:00:00Z') + night * dayMs);
    expect((await synced({ ...given, pipelines }, { clock })).failure).toBeUndefined();
    seen.push(await lacking());
  }
  expect(server.counts.faults('total-missing')).toBeGreaterThan(0);
  expect(Math.max(...seen)).toBeGreaterThan(0);
  // Each of them was there on some night, and none is lacking for longer than it takes.
  const longest = seen.map((count) => (count > 0 ? 'x' : '.')).join('');
  expect(longest).not.toMatch(/xxxxxx/);
});
