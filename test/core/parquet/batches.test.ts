import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { parquetBatches } from '../../../src/core/parquet/wasm.js';
import { temporaryFolder } from '../../app/lake-run.js';

test("DuckDB's files are read in batches of any size, deltas of 256 values a miniblock included", async () => {
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(
    // All four encodings that `compact` leaves behind: dictionary, lengths, deltas, deltas with nulls.
    "COPY (SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i * i END AS n, 'row ' || md5(i::VARCHAR) AS t, i % 7 || '' AS d " +
      `FROM range(6000) AS r(i)) TO '${path}' (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 4096)`,
  );
  const encodings = await database.rows(`SELECT DISTINCT encodings FROM parquet_metadata('${path}') ORDER BY 1`);
  const expected = await database.rows(`SELECT * FROM '${path}'`);
  database.close();
  expect(encodings.map(({ encodings: of }) => of)).toEqual([
    'DELTA_BINARY_PACKED',
    'DELTA_LENGTH_BYTE_ARRAY',
    'RLE_DICTIONARY',
  ]);
  const bytes = await readFile(path);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 5000, max: 400_000 }),
      fc.constantFrom(bytes, path),
      async (batchBytes, source) => {
        const rows: unknown[] = [];
        let batches = 0;
        for await (const batch of parquetBatches(source, ['i', 'n', 't', 'd'], batchBytes)) {
          batches++;
          for (const row of batch) rows.push(row.toJSON());
        }
        expect(rows).toEqual(expected);
        // One for each row group at least.
        expect(batches).toBeGreaterThanOrEqual(batchBytes < 50_000 ? 4 : 2);
      },
    ),
    {
      numRuns: 10,
      examples: [
        [2000, path],
        [400_000, bytes],
      ],
    },
  );
});

/** A file with one column, `range`, of 50,000 rows. */
async function numbers(): Promise<Uint8Array> {
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(`COPY (FROM range(50000)) TO '${path}' (FORMAT parquet)`);
  database.close();
  return readFile(path);
}

test('others have their turn between batches, as a signal is one of them', async () => {
  const bytes = await numbers();
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  let batches = 0;
  for await (const { numRows } of parquetBatches(bytes, ['range'], 10_000)) {
    expect(numRows).toBeGreaterThan(0);
    batches++;
    if (batches > 1) expect(turns).toBeGreaterThanOrEqual(batches - 1);
  }
  isOver = true;
  expect(batches).toBeGreaterThan(10);
});

test('who reads no further than the first batch ends it', async () => {
  const bytes = await numbers();
  for (let time = 0; time < 3; time++) {
    for await (const batch of parquetBatches(bytes, ['range'], 1000)) {
      expect(batch.numRows).toBeLessThan(1000);
      break;
    }
  }
});
