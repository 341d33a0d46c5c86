import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { literal } from '../../src/core/duckdb/literals.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { builtCommand } from '../app/built-command.js';
import { database, ran, serving, temporaryFolder } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { setClock } from '../app/load/synced.js';
import { servedBucket } from '../s3-server/served-bucket.js';
import { clickhouseLines } from './clickhouse.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };
const start = '2026-03-15T12:00:00Z';

/** What is read of a table, by the function that gives it. */
const sums = (table: string) => `SELECT currency, kind, count(), sum(amount) FROM ${table} GROUP BY ALL ORDER BY ALL`;
const hashes = (table: string) =>
  `SELECT event_list, count(), sum(cityHash64(raw)), max(effective_at) FROM ${table} GROUP BY ALL ORDER BY ALL`;

test('ClickHouse reads the same sums from Iceberg metadata and from the log', async () => {
  const clock = setClock(start);
  const seller = createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  const figures = (from: string) => [
    sums(from.replace('TABLE', 'entries')),
    hashes(from.replace('TABLE', 'events')),
    `SELECT count(), min(effective_at) FROM ${from.replace('TABLE', 'events')} WHERE effective_at >= '2026-02-10'`,
    `SELECT extract(_path, 'account=([^/]+)'), count() FROM ${from.replace('TABLE', 'events')} GROUP BY ALL ORDER BY ALL`,
  ];
  const same = async (): Promise<string[][]> => {
    const { code } = await builtCommand(['export', 'iceberg', '--lake', lake], { folder: lake });
    expect(code).toBe(0);
    const delta = await clickhouseLines(figures(`deltaLakeLocal('${join(lake, 'TABLE')}')`));
    const iceberg = await clickhouseLines(figures(`icebergLocal('${join(lake, '_iceberg', 'TABLE')}')`));
    expect(iceberg).toEqual(delta);
    return iceberg;
  };
  await ran({ lake, endpoint, account: 'shop', ...dates }, { clock });
  const first = await same();
  expect(first[0]?.length).toBeGreaterThan(10);
  await ran({ lake, endpoint, account: 'other', ...dates }, { clock });
  const second = await same();
  expect(second[3]?.map((line) => line.split('\t')[0])).toEqual(['other', 'shop']);
  await compacted({ lake }, { clock });
  expect(await same()).toEqual(second);
});

test('ClickHouse reads Iceberg metadata on S3, and of the instants that are asked for only the files', async () => {
  const clock = setClock(start);
  const seller = createSeller({ seed: 3, events: 300, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const server = await servedBucket();
  const lake = 's3://bucket/lake';
  const { accessKeyId, secretAccessKey } = server.credentials;
  const at = (name: string, path: string) =>
    `${name}('${server.endpoint}/bucket/lake/${path}/', '${accessKeyId}', '${secretAccessKey}')`;
  const delta = (table: string) => at('deltaLake', table);
  const iceberg = (table: string) => at('icebergS3', `_iceberg/${table}`);
  const read = (of: (table: string) => string) => clickhouseLines([sums(of('entries')), hashes(of('events'))]);
  await ran({ lake, endpoint, account: 'shop', ...dates, export: ['iceberg'] }, { clock });
  const first = await read(iceberg);
  expect(first[0]?.length).toBeGreaterThan(10);
  expect(first).toEqual(await read(delta));
  await ran({ lake, endpoint, account: 'other', ...dates, export: ['iceberg'] }, { clock });
  expect(await read(iceberg)).toEqual(await read(delta));
  await compacted({ lake, export: ['iceberg'] }, { clock });
  expect(await read(iceberg)).toEqual(await read(delta));

  server.calls.length = 0;
  const march = (table: string) => `SELECT count() FROM ${table} WHERE effective_at >= '2026-03-01'`;
  const counted = await clickhouseLines([march(iceberg('events'))]);
  const opened = new Set(server.calls.map(({ key }) => key).filter((key) => key.includes('/month=')));
  expect([...opened].map((key) => /month=[^/]+/.exec(key)?.[0])).toEqual(['month=2026-03', 'month=2026-03']);
  expect(counted).toEqual(await clickhouseLines([march(delta('events'))]));
});

test('DuckDB reads the same sums from Iceberg metadata, where its extension is there', async ({ skip }) => {
  const duckdb = await openDatabase();
  onTestFinished(() => {
    duckdb.close();
  });
  for (const extension of ['avro', 'iceberg']) {
    const fault = await duckdb.execute(`LOAD ${extension}`).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (fault !== undefined) skip(`DuckDB has no extension ${extension} here: ${fault}`);
  }
  const clock = setClock(start);
  const seller = createSeller({ seed: 3, events: 300, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  for (const account of ['shop', 'other'])
    await ran({ lake, endpoint, account, ...dates, export: ['iceberg'] }, { clock });
  const own = await database(lake, clock);
  const iceberg = (table: string) => `iceberg_scan(${literal(join(lake, '_iceberg', table))})`;
  for (const [table, figures] of [
    ['entries', 'currency, kind, count(*), sum(amount)'],
    ['entries', 'account, month, count(*), sum(amount)'],
    ['events', 'event_list, count(*), md5(string_agg(raw, chr(10) ORDER BY raw)), max(effective_at)'],
  ] as const) {
    const read = (from: string) => `SELECT ${figures} FROM ${from} GROUP BY ALL ORDER BY ALL`;
    expect(await duckdb.rows(read(iceberg(table)))).toEqual(await own.rows(read(table)));
  }
  const month = (from: string) => `SELECT sum(amount) FROM ${from} WHERE account = 'shop' AND month = '2026-02'`;
  expect(await duckdb.rows(month(iceberg('entries')))).toEqual(await own.rows(month('entries')));
});
