import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { cut } from '../../../src/core/windows.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, database, fileHashes, ran, serving, temporaryFolder } from '../lake-run.js';
import { found, verified } from '../verify/verified.js';
import { differing, fetchedBodies, fileOf, imported, value } from './imported.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const range = { from: '2025-04-20', to: '2025-05-20' };
const opened = {
  FinancialEventGroupStartedAfter: '2025-04-20T00:00:00Z',
  FinancialEventGroupStartedBefore: '2025-05-20T00:00:00Z',
};

async function sellers() {
  const url = await serving({ backend: createSeller({ seed: 7, events: 6000, profile: 'edge-cases' }, clock), clock });
  // Where an event without a date stands depends on its page, so both read the same pages.
  const events: string[] = [];
  for (const { start, end } of cut({ start: Date.parse(range.from), end: Date.parse(range.to) }, 7)) {
    const days = { PostedAfter: new Date(start).toISOString(), PostedBefore: new Date(end).toISOString() };
    events.push(...(await fetchedBodies(url, '/finances/v0/financialEvents', days)));
  }
  const groups = await fetchedBodies(url, '/finances/v0/financialEventGroups', opened);
  return { url, events, groups };
}

const columns: Readonly<Record<string, string>> = {
  events:
    'event_list, posted_at, effective_at, amazon_order_id, seller_order_id, marketplace, store, content_hash, raw, account, month',
  entries:
    'event_list, posted_at, effective_at, amazon_order_id, marketplace, entry, path, item, sku, fnsku, asin, order_item_id, quantity, ' +
    'kind, name, role, amount, amount_text, currency, account, month',
  groups: '* EXCLUDE (window_start, window_end)',
};

test.each([
  ['all at once', importLimits],
  ['in small parts', { ...importLimits, chunkBytes: 100_000 }],
])('an import of the pages of a seller is what a backfill of the seller is: %s', async (_, limits) => {
  const { url, events, groups } = await sellers();
  const lake = { root: await temporaryFolder(), clock };
  const { summary } = await imported(
    lake,
    [await fileOf(gzipSync(`${events.join('\n')}\n`), 'events'), await fileOf(groups)],
    { limits, account: 'shop' },
  );
  const loaded = await temporaryFolder();
  await ran({ ...range, lake: loaded, endpoint: url, account: 'shop' }, { clock });

  const ours = await database(lake.root, clock);
  const theirs = await database(loaded, clock);
  for (const [table, of] of Object.entries(columns)) {
    await ours.execute(`CREATE TABLE mine_${table} AS SELECT ${of} FROM ${table}`);
    const path = join(await temporaryFolder(), 'theirs.parquet');
    await theirs.execute(`COPY (SELECT ${of} FROM ${table}) TO '${path}' (FORMAT parquet)`);
    const other = `SELECT * FROM read_parquet('${path}', hive_partitioning = false)`;
    expect(await differing(ours, `SELECT * FROM mine_${table}`, other), table).toEqual([0, 0]);
    expect(Number(await value(ours, `SELECT count(*) FROM mine_${table}`))).toBeGreaterThan(1);
  }
  expect(Number(await value(ours, 'SELECT count(*) FROM events'))).toBe(
    summary.pipelines['financial-events']?.['events'],
  );
  expect(Number(await value(ours, 'SELECT count(*) FROM entries'))).toBe(
    summary.pipelines['financial-events']?.['entries'],
  );
  expect(Number(await value(ours, 'SELECT count(*) FROM events WHERE posted_at IS NULL'))).toBeGreaterThan(0);
  expect(await value(ours, 'SELECT count(DISTINCT event_id) - count(*) FROM events')).toBe('0');
  expect(
    await value(
      ours,
      "SELECT count(*) FROM events WHERE window_start <> date_trunc('day', window_start) OR window_end <> date_trunc('day', window_end) " +
        'OR (posted_at IS NOT NULL AND window_end - window_start <> INTERVAL 1 DAY) OR NOT (effective_at >= window_start AND effective_at < window_end)',
    ),
  ).toBe('0');
  expect(found(await verified(lake))).toEqual([]);

  const before = await fileHashes(lake.root);
  const again = await imported(lake, [await fileOf(events), await fileOf(groups)], { account: 'shop' });
  expect(again.summary.pipelines['financial-events']).toMatchObject({ slices: 0, files: 0, events: 0, bytes: 0 });
  expect(again.summary.imported['financial-events']?.known).toBe(summary.pipelines['financial-events']?.['events']);
  expect(await fileHashes(lake.root)).toEqual(before);
});
