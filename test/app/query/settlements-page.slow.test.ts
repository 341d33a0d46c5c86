import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');

test('docs/settlements.md: its queries follow a settlement from the deposit to the lines of its report', async () => {
  const page = await readFile('docs/settlements.md', 'utf8');
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 3000, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop', from: '2025-12-15' };
  await ran({ ...run, api: 'both' }, { clock });
  await ran({ ...run, pipelines: ['settlement-reports'] }, { clock });
  const lakes = await database(lake, clock);

  // A settlement of this lake in the place of the page's, and an order that is one sale in it.
  const [chosen = {}] = await lakes.rows(
    `SELECT group_id, settlement_id, trace_id, original_total::VARCHAR AS total, amazon_order_id AS order_id
     FROM groups
       JOIN settlement_ids USING (account, group_id)
       JOIN settlement_reports USING (account, settlement_id)
       JOIN group_events USING (account, group_id)
     WHERE groups.started_at > '2025-12-20' AND original_currency = 'CAD' AND amazon_order_id IS NOT NULL
     GROUP BY ALL
     HAVING count(*) = 1 AND any_value(event_list) = 'ShipmentEventList'
     ORDER BY group_id, order_id
     LIMIT 1`,
  );
  const own = page
    .replaceAll('rb1S0Flr3-eB52Kl1jC0PhOsEcveTzDnT6iQyHhhfbw', String(chosen['group_id']))
    .replaceAll('62164008875', String(chosen['settlement_id']))
    .replaceAll('347768053704951', String(chosen['trace_id']))
    .replaceAll('771-6188110-1887743', String(chosen['order_id']));
  const queries = [...own.matchAll(/^```sql\n(.*?)^```/gms)].flatMap(([, text = '']) =>
    text.split(/;\n/).filter(Boolean),
  );
  const results = await Promise.all(queries.map((query) => lakes.rows(query)));
  const [deposit, categories, amounts, report, lines, differences] = results;
  expect(queries).toHaveLength(6);
  expect(deposit).toMatchObject([{ group_id: chosen['group_id'], original_total: chosen['total'] }]);
  expect(categories?.at(-1)).toMatchObject({ category: null, amount: chosen['total'] });
  expect(report).toMatchObject([{ group_id: chosen['group_id'], total_amount: chosen['total'] }]);
  const values = (rows: typeof lines = []) =>
    rows.map(({ kind, name, amount }) => `${String(kind)} ${String(name)} ${String(amount)}`);
  expect(values(amounts).length).toBeGreaterThan(2);
  expect(values(lines).toSorted()).toEqual(values(amounts).toSorted());
  expect(differences?.length).toBeGreaterThan(1);
  for (const { reason, report: one, lake: other } of differences ?? []) {
    expect(['split', 'renamed', 'other day']).toContain(reason);
    expect(one).toBe(other);
  }
});
