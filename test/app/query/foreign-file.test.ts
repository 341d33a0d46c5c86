import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runSql } from '../../../src/cli/sql-shell/run-sql.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { report } from '../../../src/app/report/report.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { encodeRecords } from '../../../src/core/parquet/encoder/encode-records.js';
import { openLake } from '../../../src/index.js';
import { Kept } from '../../core/text/streams.js';
import { filledUp, zstdBomb } from '../../core/parquet/hostile-files.js';
import { clockAt, temporaryFolder } from '../lake-run.js';
import { load, open, shipment, smallLake, within } from '../maintenance/small-lake.js';

// Before the clock of any machine that runs this: it has the files' times.
const clock = clockAt('2024-03-01T00:00:00Z');

/** Files in the place of one of `size` bytes with three rows, with what is said of each. */
const foreign: Readonly<Record<string, (size: number) => Promise<readonly [bytes: Uint8Array, fault: string]>>> = {
  'of another size': async (size) => {
    const bytes = await encoded([{ id: 1 }], 'another');
    return [bytes, `it has ${bytes.length} bytes instead of ${size}`];
  },
  'with another column': async (size) => [
    filledUp(await encoded([{ id: 1 }, { id: 2 }, { id: 3 }], 'another'), size),
    'it has a column "id", which the table lacks',
  ],
  'without columns': (size) =>
    Promise.resolve([filledUp(zstdBomb('event_id', 1, 3), size), 'it lacks the column "event_list"']),
};

async function encoded(rows: readonly { id: number }[], writer: string): Promise<Uint8Array> {
  return (await encodeRecords([{ name: 'id', type: 'bigint' }], rows, 1000, writer)).bytes;
}

test.each(
  ['entries', 'events'].flatMap((table) => Object.entries(foreign).map(([kind, made]) => [table, kind, made] as const)),
)(
  'a foreign Parquet file in place of a file of %s, %s, is named, and gives no rows of nulls',
  async (name, _, made) => {
    const small = await smallLake(clock, 1);
    onTestFinished(() => small.remove());
    const { lake } = small;
    const opened = await open(lake, clock);
    const [file] = opened.files().filter(({ table }) => table === name);
    const address = opened.store.address(file === undefined ? '' : file.lakePath);
    const [bytes, found] = await made(file?.size ?? 0);
    await writeFile(address, bytes);

    const fault = {
      code: 'SQL',
      message: expect.stringMatching(
        new RegExp(`^expected the file ${address} \\(window/\\S+\\), ${found}: .*ledgerlake`),
      ) as string,
    };
    const output = new Kept();
    const streams = { input: process.stdin, output, errorOutput: new Kept(), format: 'csv' as const };
    const queried = async () => {
      const reader = await openLakeReader(lake, clock);
      return runSql({ ...reader, ...streams, query: `SELECT count(*), min(event_id) FROM ${name}`, scope: { lake } });
    };
    await expect(queried()).rejects.toMatchObject(fault);
    const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
    await expect(
      report({ lake, output: '-', format: 'html', account: undefined, from: undefined, to: undefined }, context),
    ).rejects.toMatchObject(fault);
    const library = await openLake(lake);
    onTestFinished(() => library.close());
    await expect(library.sql(`FROM ${name}`)).rejects.toMatchObject(fault);
    expect(output.text).toBe('');
  },
);

test.each([
  ['of fewer rows', 'SELECT * FROM file LIMIT 299', 'it has 299 rows instead of 300'],
  [
    'that expands to more than a hundred times its size',
    `SELECT * REPLACE (amazon_order_id || repeat('0', 250_000) AS raw, '' AS content_hash) FROM file`,
    'its bytes have changed',
  ],
])('a file %s is named before DuckDB reads it', async (_, query, found) => {
  const lake = join(await temporaryFolder(), 'lake');
  const opened = await open(lake, clock);
  await load(
    opened,
    1,
    Array.from({ length: 300 }, (_, at) => shipment(within(1, at), `order-${at}`, `${at}.01`)),
  );
  const [file] = opened.files().filter(({ table }) => table === 'events');
  const address = opened.store.address(file === undefined ? '' : file.lakePath);
  const copy = join(await temporaryFolder(), 'copy.parquet');
  const database = await openDatabase();
  await database.execute(
    `COPY (WITH file AS (FROM read_parquet(${literal(address)}, hive_partitioning = false)) ${query})
     TO ${literal(copy)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  database.close();
  await writeFile(address, filledUp(await readFile(copy), file?.size ?? 0));
  const library = await openLake(lake);
  onTestFinished(() => library.close());
  await expect(library.sql('SELECT max(length(raw)) FROM events')).rejects.toThrow(
    new RegExp(`^expected the file ${address} \\(.*, ${found}: run \`ledgerlake `),
  );
});
