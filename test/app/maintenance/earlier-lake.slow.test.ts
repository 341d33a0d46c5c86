import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { found, verified } from '../verify/verified.js';
import { flattenedOtherwise } from './earlier-entries.js';
import { compacted, copied, everyHash, rebuilt, steppingClock } from './kept-lake.js';

const entryTables = ['entries', 'group_entries', 'order_entries'];
const range = { from: '2025-05-01', to: '2025-06-01', account: 'shop' };
const clock = steppingClock('2025-06-02T00:00:00Z');

/** A lake with all three tables of entries, and a copy as the version before `fnsku` wrote it. */
async function lakes(): Promise<{ endpoint: string; now: string; earlier: string }> {
  const standing = clockAt('2025-06-01T00:05:00Z');
  const ledger = createSeller({ seed: 3, events: 1200, days: 40, profile: 'edge-cases' }, standing);
  const endpoint = await serving({ ledger, clock: standing });
  const now = join(await temporaryFolder(), 'lake');
  await ran({ ...range, lake: now, endpoint }, { clock });
  const ids = await (
    await database(now, clock)
  ).rows(
    'SELECT DISTINCT amazon_order_id AS id FROM entries WHERE fnsku IS NOT NULL AND amazon_order_id IS NOT NULL ORDER BY 1 LIMIT 5',
  );
  const text = ids.map(({ id }) => String(id)).join('\n');
  const orders = { text, source: 'orders' };
  await ran({ ...range, lake: now, endpoint, pipelines: ['order-events'], orders }, { clock });
  const earlier = await copied(now);
  await flattenedOtherwise(earlier, 'SELECT * EXCLUDE (fnsku) REPLACE (coalesce(sku, fnsku) AS sku) FROM FILE', clock);
  for (const table of entryTables) await forgetColumn(join(earlier, table, '_delta_log'));
  return { endpoint, now, earlier };
}

/** Takes `fnsku` out of the schema of a log's commits, and their checksums, which earlier versions didn't write. */
async function forgetColumn(folder: string): Promise<void> {
  const files = await readdir(folder);
  // Checkpoints of the time would have had the former schema as well.
  for (const name of files.filter((file) => file.includes('checkpoint'))) await rm(join(folder, name));
  for (const name of files.filter((file) => file.endsWith('.json'))) {
    const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n');
    const edited = lines.map((line) => {
      const action = JSON.parse(line) as {
        commitInfo?: { operationMetrics?: { sha256?: string } };
        metaData?: { schemaString: string };
      };
      if (action.commitInfo !== undefined) {
        delete action.commitInfo.operationMetrics?.sha256;
        return JSON.stringify(action);
      }
      if (action.metaData === undefined) return line;
      const schema = JSON.parse(action.metaData.schemaString) as { fields: { name: string }[] };
      schema.fields = schema.fields.filter(({ name: field }) => field !== 'fnsku');
      action.metaData.schemaString = JSON.stringify(schema);
      return JSON.stringify(action);
    });
    await writeFile(join(folder, name), `${edited.join('\n')}\n`);
  }
}

/** By table: entries with an `sku`, with an `fnsku`, and a hash over both, where they stand. */
async function skus(lake: string) {
  const duckdb = await database(lake, clock);
  const counts = [];
  for (const table of entryTables) {
    const [row] = await duckdb.rows(
      `SELECT count(sku)::INT AS skus, count(fnsku)::INT AS fnskus, ` +
        `md5(string_agg(concat_ws(' ', event_id, entry, sku, '|', fnsku), ',' ORDER BY event_id, effective_at, entry)) AS hash ` +
        `FROM ${table}`,
    );
    counts.push(row);
  }
  return counts;
}

test('a lake of a version without fnsku is read, verified, compacted and rebuilt', async () => {
  const { now, earlier } = await lakes();
  const expected = await skus(now);
  for (const row of expected) expect(Number(row?.['fnskus'])).toBeGreaterThan(0);
  for (const row of await skus(earlier)) expect(row?.['fnskus']).toBe(0);
  const before = await verified({ root: earlier, clock });
  expect([before.code, found(before)]).toEqual([0, []]);

  const merged = await copied(earlier);
  await compacted({ lake: merged }, { clock });
  expect(found(await verified({ root: merged, clock }))).toEqual([]);

  for (const lake of [earlier, merged]) {
    await rebuilt({ lake }, { clock });
    expect(await skus(lake)).toEqual(expected);
    expect(found(await verified({ root: lake, clock }))).toEqual([]);
    const hashes = await everyHash(lake);
    await rebuilt({ lake }, { clock });
    expect(await everyHash(lake)).toEqual(hashes);
  }
});

test('what is loaded into it brings the column along', async () => {
  const { endpoint, now, earlier } = await lakes();
  const days = { from: '2025-04-22', to: '2025-05-01', account: 'shop' };
  for (const lake of [now, earlier]) await ran({ ...days, lake, endpoint }, { clock });
  const query = `SELECT sum(amount)::VARCHAR AS net, count(*)::INT AS n FROM entries`;
  expect(await (await database(earlier, clock)).rows(query)).toEqual(await (await database(now, clock)).rows(query));
  expect(found(await verified({ root: earlier, clock }))).toEqual([]);
  await ran({ ...range, lake: earlier, endpoint, refresh: true }, { clock });
  const [events, groups] = await skus(earlier);
  expect([events, groups]).toEqual((await skus(now)).slice(0, 2));
  expect(found(await verified({ root: earlier, clock }))).toEqual([]);
});
