import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { builtCommand, type Ended } from '../../app/built-command.js';
import { database, fileHashes, temporaryFolder } from '../../app/lake-run.js';
import { parcelServer, shipmentsOf, token, type ParcelServer } from './parcel-server.js';

/** Runs the built command over the definition of the docs, which knows the service from its environment alone. */
function run(server: ParcelServer, words: readonly string[], folder: string): Promise<Ended> {
  return builtCommand(words, { folder, environment: { PARCELS_URL: server.url, PARCELS_TOKEN: token } });
}

async function place(): Promise<{ folder: string; lake: string }> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'pipelines'));
  await copyFile('test/sources/custom/pipelines/shipments.mjs', join(folder, 'pipelines/shipments.js'));
  // As `npm init` leaves it: that a .js is a module stands nowhere.
  await writeFile(join(folder, 'package.json'), '{}');
  return { folder, lake: join(folder, 'lake') };
}

const backfill = [
  'backfill',
  'shipments',
  '--pipelines',
  'pipelines',
  '--lake',
  'lake',
  '--account',
  'depot',
  '--json',
];
const range = ['--from', '2025-01-20', '--to', '2025-02-11'];

interface Summary {
  readonly status: string;
  readonly pipelines: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

function summaryOf({ out }: Ended): Summary {
  return JSON.parse(out) as Summary;
}

test('an API of one’s own is loaded end to end, exactly, and not asked again', async () => {
  const { folder, lake } = await place();
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 40, 30));
  const first = await run(server, [...backfill, ...range], folder);
  expect([first.code, first.err]).toEqual([0, expect.stringContaining('shipments: done')]);
  expect(first.err).not.toContain('Warning');
  const expected = server.shipments.filter(({ shippedAt }) => shippedAt >= '2025-01-20' && shippedAt < '2025-02-11');
  expect(expected).toHaveLength(22 * 30);
  const { requests, pages, retries } = summaryOf(first).pipelines['shipments'] ?? {};
  expect([server.requests.length, pages, retries]).toEqual([requests, requests, 0]);

  const duckdb = await database(lake, systemClock, 'SELECT * FROM shipments');
  const rows = await duckdb.rows('SELECT raw FROM shipments ORDER BY shipment_id');
  expect(rows.map(({ raw }) => raw)).toEqual(expected.map(({ json }) => json));
  const used = await duckdb.rows(
    `SELECT DISTINCT unnest(string_split(encodings, ', ')) AS encoding FROM parquet_metadata('${lake}/shipments/**/*.parquet') ORDER BY ALL`,
  );
  // All that readers of Parquet's first version have.
  expect(['PLAIN', 'PLAIN_DICTIONARY', 'RLE', 'RLE_DICTIONARY']).toEqual(
    expect.arrayContaining(used.map(({ encoding }) => encoding)),
  );
  expect(used).not.toEqual([]);
  const [sums] = await duckdb.rows(
    `SELECT count(*) AS n, sum(cost) AS cost, max(tracking_number) AS tracking, sum(parcels) AS parcels,
      count(*) FILTER (carrier IS NULL) AS without, count(*) FILTER (is_insured) AS insured,
      bool_and(content_hash = substr(sha256(raw), 1, 32)) AS hashed,
      bool_and(CAST(weight_kg AS VARCHAR) = regexp_extract(raw, '"weight_kg":([0-9.]+)', 1)) AS weighed,
      bool_and(CAST(promised_on AS VARCHAR) = regexp_extract(raw, '"promised_on":"([^"]+)"', 1)) AS promised,
      bool_and(shipped_at >= window_start AND shipped_at < window_end AND strftime(window_start, '%Y-%m') = month) AS inside
    FROM shipments`,
  );
  const numbers = expected.map(({ json }) => Number(/"id":"S-(\d+)"/.exec(json)?.[1]));
  const cents = expected.reduce(
    (sum, { json }) => sum + BigInt(/"amount":([\d.]+)/.exec(json)?.[1]?.replace('.', '') ?? ''),
    0n,
  );
  expect(sums).toMatchObject({
    n: BigInt(expected.length),
    cost: `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`,
    tracking: 9007199254740993n + BigInt(Math.max(...numbers)),
    without: BigInt(numbers.filter((number) => number % 3 === 0).length),
    insured: BigInt(numbers.filter((number) => number % 2 === 0).length),
    hashed: true,
    weighed: true,
    promised: true,
    inside: true,
  });
  const types = await duckdb.rows('SELECT column_name, column_type FROM (DESCRIBE shipments)');
  expect(Object.fromEntries(types.map((row) => [row['column_name'], row['column_type']]))).toMatchObject({
    shipped_at: 'TIMESTAMP WITH TIME ZONE',
    tracking_number: 'BIGINT',
    parcels: 'INTEGER',
    weight_kg: 'DECIMAL(9,3)',
    cost: 'DECIMAL(12,2)',
    is_insured: 'BOOLEAN',
    promised_on: 'DATE',
  });

  const before = await fileHashes(lake);
  const again = await run(server, [...backfill, ...range], folder);
  expect([again.code, summaryOf(again).pipelines['shipments']?.['requests']]).toEqual([0, 0]);
  expect(await fileHashes(lake)).toEqual(before);
});
