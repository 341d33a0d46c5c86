import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runExport, redshiftTables } from '../../../src/app/export/export-tables.js';
import { forget } from '../../../src/app/forget/forget.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { exportSymlinks } from '../../../src/lake/symlinks/export-symlinks.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { compacted } from '../../app/maintenance/kept-lake.js';
import { load, open, shipment, shipments, within } from '../../app/maintenance/small-lake.js';
import { database, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { lot, hidingBackend, setClock } from '../../app/load/synced.js';
import { servedBucket } from '../../s3-server/served-bucket.js';

const noon = '2026-03-15T12:00:00Z';
const dates = { from: '2026-01-24', to: '2026-03-10' };

const command = {
  signal: new AbortController().signal,
  emit: () => undefined,
};

/** The files of a table's newest version, from checkpoint and commits: a reader of Delta that knows nothing of this program. */
async function snapshotOf(lake: string, table: string): Promise<string[]> {
  const log = join(lake, table, '_delta_log');
  const names = (await readdir(log)).toSorted();
  const files = new Set<string>();
  const checkpoint = names.filter((name) => name.endsWith('.checkpoint.parquet')).at(-1) ?? '';
  if (checkpoint !== '') {
    const duckdb = await openDatabase();
    const rows = await duckdb.rows(
      `SELECT add.path AS path FROM read_parquet('${join(log, checkpoint)}') WHERE add IS NOT NULL`,
    );
    for (const { path } of rows) files.add(decodeURI(String(path)));
    duckdb.close();
  }
  for (const name of names.filter((of) => /^\d{20}\.json$/.test(of) && of > checkpoint)) {
    for (const line of (await readFile(join(log, name), 'utf8')).trim().split('\n')) {
      const { add, remove } = JSON.parse(line) as { add?: { path: string }; remove?: { path: string } };
      if (remove !== undefined) files.delete(decodeURI(remove.path));
      if (add !== undefined) files.add(decodeURI(add.path));
    }
  }
  return [...files].map((path) => `file://${join(lake, table, path)}`).toSorted();
}

/** What the manifests of a table name, each in its own partition. */
async function manifestsOf(lake: string, table: string): Promise<string[]> {
  const folder = join(lake, table, '_symlink_format_manifest');
  const lines: string[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('/manifest')) continue;
    const partition = name.slice(0, -'/manifest'.length);
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).toMatch(/^(file:\/\/\/.+\.parquet\n)+$/);
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toContain(`/${table}/${partition}/`);
      lines.push(line);
    }
  }
  return lines.toSorted();
}

/** What is compared of a table's rows, by partition and currency. */
function figures(table: string, from: string): string {
  return table === 'entries'
    ? `SELECT account, month, currency, count(*) AS n, sum(amount)::VARCHAR AS net FROM ${from} GROUP BY ALL ORDER BY ALL`
    : `SELECT account, month, count(*) AS n, md5(string_agg(raw, chr(10) ORDER BY raw)) AS raw FROM ${from} GROUP BY ALL ORDER BY ALL`;
}

test('the manifests name the files of the Delta snapshot, and DuckDB reads its rows through them, after load, refresh, compact and forget', async () => {
  const clock = setClock(noon);
  const seller = createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock);
  let hidden = 9;
  const endpoint = await serving({ backend: hidingBackend(seller, (item) => lot(item, hidden) === 0), clock });
  const lake = await temporaryFolder();
  const pipelines = ['financial-events'];
  /** Through the manifests: folders are the partition's columns, as the engines have them. */
  const through = async (table: string) => {
    const duckdb = await openDatabase();
    const lines = await manifestsOf(lake, table);
    const paths = lines.map((line) => `'${line.slice('file://'.length)}'`);
    const from = `read_parquet([${paths.join()}], hive_partitioning = true, hive_types_autocast = false)`;
    const rows = await duckdb.rows(figures(table, from));
    duckdb.close();
    return rows;
  };
  const same = async (): Promise<string> => {
    await runExport({ lake, format: 'symlinks' }, { ...command, clock });
    const files: string[] = [];
    const committed = await database(lake, clock);
    for (const table of ['events', 'entries']) {
      const rows = await through(table);
      expect(rows.length).toBeGreaterThan(2);
      expect(rows).toEqual(await committed.rows(figures(table, table)));
    }
    for (const table of ['events', 'entries']) {
      const named = await manifestsOf(lake, table);
      expect(named).toEqual(await snapshotOf(lake, table));
      files.push(...named);
    }
    return files.join();
  };
  await ran({ lake, endpoint, account: 'shop', pipelines, ...dates }, { clock });
  const first = await same();
  hidden = 10;
  clock.set('2026-03-15T13:00:00Z');
  await ran({ lake, endpoint, account: 'shop', pipelines, ...dates, refresh: true }, { clock });
  const second = await same();
  expect(second).not.toBe(first);
  await ran({ lake, endpoint, account: 'other', pipelines, ...dates }, { clock });
  await same();
  await compacted({ lake }, { clock });
  const compact = await same();
  expect(compact.split(',').length).toBeLessThan(second.split(',').length);
  const whose = { lake, journal: undefined, account: 'shop', before: undefined, yes: true };
  await forget(whose, { ...command, clock, confirm: undefined });
  const left = await readdir(join(lake, 'entries/_symlink_format_manifest'), { recursive: true });
  expect(left.filter((name) => name.includes('shop') || name.includes('_state'))).toEqual([]);
  expect(await same()).not.toContain('account=shop');
});

/** A lake of one account with two months. */
async function twoMonths(): Promise<string> {
  const lake = join(await temporaryFolder(), 'lake');
  const opened = await open(lake, setClock(noon));
  await load(opened, 1, shipments(1));
  await load(opened, 6, [shipment(within(6), 'order-6')]);
  return lake;
}

const january = 'events/_symlink_format_manifest/account=shop/month=2026-01/manifest';

test('an export writes what has changed, removes what is gone, and mends what somebody has changed', async () => {
  const clock = setClock(noon);
  const location = await twoMonths();
  const lake = await open(location, clock);
  expect(await exportSymlinks(lake)).toMatchObject({ tables: 2, changed: 2 });
  expect(await exportSymlinks(lake)).toEqual({ tables: 2, changed: 0, bytes: 0 });

  const text = await readFile(join(location, january), 'utf8');
  await writeFile(join(location, january), text.replace('events', 'stneve'));
  expect(await exportSymlinks(lake)).toEqual({ tables: 2, changed: 1, bytes: text.length });
  expect(await readFile(join(location, january), 'utf8')).toBe(text);
  await rm(join(location, january));
  expect(await exportSymlinks(lake)).toMatchObject({ changed: 1 });

  const gone = january.replace('2026-01', '2025-12');
  await lake.store.write(gone, Buffer.from('s3://bucket/gone.parquet\n'));
  expect(await exportSymlinks(lake)).toEqual({ tables: 2, changed: 1, bytes: 0 });
  expect(await lake.store.read(gone)).toBeUndefined();
});

test('a manifest that an older export has written meanwhile is replaced', async () => {
  const clock = setClock(noon);
  const location = await twoMonths();
  const store = openStore(location);
  let hasRaced = false;
  const racing: Store = {
    ...store,
    write: async (path, bytes) => {
      if (!hasRaced && path === january) {
        hasRaced = true;
        await load(await open(location, clock), 2, shipments(2));
        await exportSymlinks(await open(location, clock));
      }
      await store.write(path, bytes);
    },
  };
  await exportSymlinks(await open(racing, clock));
  expect(hasRaced).toBe(true);
  expect(await manifestsOf(location, 'events')).toEqual(await snapshotOf(location, 'events'));
  expect(await exportSymlinks(await open(location, clock))).toMatchObject({ changed: 0 });
});

test('an export that is cut off leaves whole manifests, and the next one goes on', async () => {
  const clock = setClock(noon);
  const location = await twoMonths();
  const store = openStore(location);
  const dying: Store = {
    ...store,
    write: (path, bytes) =>
      path.includes('month=2026-02') ? Promise.reject(new Error('killed')) : store.write(path, bytes),
  };
  await expect(exportSymlinks(await open(dying, clock))).rejects.toThrow('killed');
  const [line] = await manifestsOf(location, 'events');
  expect(line).toMatch(/month=2026-01/);
  await exportSymlinks(await open(location, clock));
  expect(await manifestsOf(location, 'events')).toEqual(await snapshotOf(location, 'events'));
});

test('the tables for Redshift have every column of the files with its type, and every partition', async () => {
  const clock = setClock(noon);
  await servedBucket();
  const lake = 's3://bucket/lake';
  const seller = createSeller({ seed: 3, events: 300, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  await ran({ lake, endpoint, account: 'shop', ...dates }, { clock });
  await runExport({ lake, format: 'symlinks' }, { ...command, clock });
  const statements = (await redshiftTables({ lake }, { clock })).split(';');
  const types: Readonly<Record<string, string>> = {
    VARCHAR: 'varchar(65535)',
    'TIMESTAMP WITH TIME ZONE': 'timestamp',
    'DECIMAL(18,6)': 'decimal(18,6)',
    BIGINT: 'bigint',
    INTEGER: 'integer',
  };
  for (const table of ['events', 'entries', 'groups', 'group_events', 'group_entries']) {
    const created = statements.find((text) => text.includes(`CREATE EXTERNAL TABLE ledgerlake.${table} (`)) ?? '';
    const columns = [...created.matchAll(/^ {2}"(\w+)" ([^\n]+?),?$/gm)].map(([, name, type]) => `${name} ${type}`);
    const own = lakeTables.find(({ name }) => name === table)?.columns ?? [];
    expect(columns.length).toBeGreaterThan(10);
    expect(columns.toSorted()).toEqual(
      own
        .filter(({ name }) => name !== 'account' && name !== 'month')
        .map(({ name, type }) => `${name} ${types[type] ?? '?'}`)
        .toSorted(),
    );
    expect(created).toContain('PARTITIONED BY ("account" varchar(64), "month" varchar(7))');
    expect(created).toContain("INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'");
    expect(created).toContain(`LOCATION 's3://bucket/lake/${table}/_symlink_format_manifest'`);
    const added = statements.filter((text) => text.includes(`ALTER TABLE ledgerlake.${table} `));
    const store = openStore(lake);
    let partitions = 0;
    for await (const { path } of store.list(`${table}/_symlink_format_manifest`)) {
      if (!path.endsWith('/manifest')) continue;
      partitions++;
      expect(Buffer.from((await store.read(path)) ?? []).toString()).toMatch(
        new RegExp(`^(s3://bucket/lake/${table}/account=shop/month=[^/]+/[^/]+\\.parquet\n)+$`),
      );
      const folder = path.slice(0, -'manifest'.length);
      expect(added.filter((text) => text.includes(`LOCATION 's3://bucket/lake/${folder}'`))).toHaveLength(1);
    }
    expect(added).toHaveLength(partitions);
  }
});
