import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { copied } from '../maintenance/kept-lake.js';
import { setClock } from '../load/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');
const range = { from: '2025-12-15', to: '2026-03-01' };

test('wherever transactions begin, the ledger has each event once, those of v0 without a date too', async () => {
  const endpoint = await serving({
    backend: createSeller({ seed: 3, events: 900, profile: 'edge-cases' }, clock),
    clock,
  });
  const v0 = await temporaryFolder();
  const shop = { endpoint, account: 'shop' };
  await ran({ ...shop, lake: v0, ...range, pipelines: ['financial-events'] }, { clock });
  const sums = async (lake: string, from: string) =>
    (await database(lake, clock)).rows(
      `SELECT currency, sum(amount)::VARCHAR AS net FROM ${from} GROUP BY currency HAVING sum(amount) <> 0 ORDER BY currency`,
    );
  const expected = await sums(v0, "entries WHERE role = 'net'");
  const opened = await database(v0, clock);
  const across = (day: string) =>
    opened.rows(
      `SELECT event_id FROM events WHERE posted_at IS NULL AND window_start < '${day}' AND window_end > '${day}'`,
    );
  let undated = 0;
  for (const day of [
    '2025-12-30',
    '2026-01-07',
    '2026-01-13',
    '2026-01-26',
    '2026-02-04',
    '2026-02-17',
    '2026-02-20',
  ]) {
    const lake = await copied(v0);
    await ran({ ...shop, lake, from: day, to: range.to, pipelines: ['transactions'] }, { clock });
    undated += (await across(day)).length;
    expect(await sums(lake, 'ledger'), day).toEqual(expected);
  }
  expect(undated).toBeGreaterThan(5);
});
