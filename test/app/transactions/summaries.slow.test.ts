import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { of, planned } from '../plan/plan-of.js';
import { setClock, synced } from '../load/synced.js';

const from = '2026-01-01';
const query = 'SELECT settlement_id, net_proceeds::VARCHAR AS net, raw FROM settlement_summaries ORDER BY ALL';

test('a sync reads the summaries that are new and those that may have changed, and a plan says how many there will be', async () => {
  const clock = setClock('2026-03-01T02:00:00Z');
  const seller = createSeller({ seed: 5, events: 2000, profile: 'plausible' }, clock);
  const lake = await temporaryFolder();
  const given = { lake, endpoint: await serving({ backend: seller, clock }), account: 'shop' };
  await ran({ ...given, from, api: '2024-06-19' }, { clock });
  const pipelines = ['settlement-summaries'];
  const foretold = of(await planned({ ...given, pipelines, from }, clock), 'settlement-summaries');
  const { summary } = await ran({ ...given, from, pipelines }, { clock });
  const read = summary.pipelines['settlement-summaries']?.['requests'] ?? 0;
  expect(read).toBeGreaterThan(10);
  expect(foretold).toMatchObject({ known: true });
  // Settlements of a marketplace follow each other without a gap: what has just begun names no transaction yet.
  expect(Math.abs(Number(foretold['requests']) - read)).toBeLessThanOrEqual(read / 5);
  const before = await (await database(lake, clock, query)).rows(query);

  for (const night of ['2026-03-02T02:00:00Z', '2026-03-10T02:00:00Z']) {
    clock.set(night);
    const night1 = await synced({ ...given, pipelines, lookBack: 2 }, { clock });
    expect(night1.failure).toBeUndefined();
    const asked = night1.summary.pipelines['settlement-summaries']?.['requests'] ?? 0;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(read * 0.8);
  }

  const fresh = await temporaryFolder();
  await ran({ ...given, lake: fresh, from, pipelines }, { clock });
  const rows = async (of: string) => (await database(of, clock, query)).rows(query);
  const synchronized = await rows(lake);
  expect(synchronized).toEqual(await rows(fresh));
  expect(synchronized).not.toEqual(before);
});
