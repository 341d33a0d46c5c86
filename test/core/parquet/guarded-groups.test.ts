import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { guardedGroups } from '../../../src/core/parquet/guarded-groups.js';
import { temporaryFolder } from '../../app/lake-run.js';

/** A Parquet file of the rows of a query, compressed. */
async function fileOf(query: string, compression: string): Promise<Buffer> {
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(`COPY (${query}) TO '${path}' (FORMAT parquet, COMPRESSION ${compression})`);
  database.close();
  return readFile(path);
}

test('the row groups of a file are read', async () => {
  const bytes = await fileOf(`SELECT i, 'row ' || i AS t FROM range(3000) AS r(i)`, 'snappy');
  const groups = await guardedGroups(bytes);
  const texts = groups.flatMap((group) => Array.from(group.getChild('t') ?? [], String));
  expect(texts).toEqual(Array.from({ length: 3000 }, (_, at) => `row ${at}`));
});

test.each(['zstd', 'brotli'])(
  'a small file that %s expands to gigabytes ends at the limit of memory',
  async (codec) => {
    // Each of these texts is one value of a dictionary page, and many rows have it.
    const bytes = await fileOf(`SELECT repeat('x', 3_000_000) AS t FROM range(1000)`, codec);
    expect(bytes.length).toBeLessThan(20_000);
    const before = process.memoryUsage.rss();
    await expect(guardedGroups(bytes)).rejects.toThrow(/ of memory/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(500_000_000);
  },
);
