import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textArray } from '../../../src/core/columns/arrays.js';
import type { RowCells } from '../../../src/core/columns/column-data.js';
import type { Column, Table } from '../../../src/core/columns/table.js';
import { recordBatch } from '../../../src/core/columns/table.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodedColumns } from '../../../src/core/parquet/decode-columns.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { codec } from '../../../src/core/parquet/encoder/format.js';
import { zstd } from '../../../src/core/parquet/encoder/zstd.js';
import { checkPage, checkPages } from '../../../src/core/parquet/page-limits.js';
import { blobOf } from '../../../src/core/parquet/parquet-source.js';
import { parquetBatches } from '../../../src/core/parquet/wasm.js';
import { temporaryFolder } from '../../app/lake-run.js';

const raw: Column = { name: 'raw', type: 'text', nullable: false, encoding: 'plain', about: '', unbounded: true };
const samples: Table = { name: 'samples', about: '', columns: [raw] };

async function encodedFile(text: string): Promise<Uint8Array> {
  const rows = { table: samples, rows: recordBatch(samples, 1, { raw: textArray(1, () => text) }) };
  return (await encodeTable(rows, new Map(), 'ledgerlake 1.2.3')).bytes;
}

/** A Parquet file of the rows of a query, which DuckDB wrote. */
async function fileOf(query: string, options: string): Promise<Buffer> {
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(`COPY (${query}) TO '${path}' (FORMAT parquet, ${options})`);
  database.close();
  return readFile(path);
}

const expands = /^expected a page of at most [\d.]+ k?M?B, got one that unpacks to [\d.]+ k?M?B$/;

/** The number of rows in each batch. */
async function batchRows(bytes: Uint8Array): Promise<number[]> {
  const counts: number[] = [];
  for await (const batch of parquetBatches(bytes, ['raw'], 1_500_000)) counts.push(batch.numRows);
  return counts;
}

test('a page of this program that expands to more than is plausible is refused before it is unpacked', async () => {
  const bytes = await encodedFile('x'.repeat(40_000_000));
  expect(bytes.length).toBeLessThan(30_000);
  const groups = await encodedColumns(bytes, { texts: ['raw'], instants: [] });
  const cells = await groups?.next();
  expect(() => (cells?.value as RowCells).texts('raw')(0)).toThrow(expands);
});

test('and so is one of another writer', async () => {
  const bytes = await fileOf(`SELECT repeat('x', 40_000_000) AS raw`, 'COMPRESSION zstd');
  expect(bytes.length).toBeLessThan(30_000);
  await expect(batchRows(bytes)).rejects.toThrow(expands);
});

test('a page that claims less than it may unpack to, or more than its chunk has, is refused', async () => {
  const frame = (await zstd()).compress(new Uint8Array(4_000_000));
  const chunk = (packing: number) => new Map([...([[4, packing]] as const), ...([[6, 1000]] as const)]);
  const checked = (claimed: number, packed: Uint8Array, packing: number, most: number) => () => {
    checkPage(new Map([[2, claimed]]), packed, chunk(packing), most);
  };
  expect(checked(100, frame, codec.zstd, 3_900_000)).toThrow(expands);
  expect(checked(100, frame, codec.zstd, 17_000_000)).not.toThrow();
  // The varint of 4,000,000.
  const snappy = Uint8Array.of(0x80, 0x92, 0xf4, 0x01);
  expect(checked(100, snappy, codec.snappy, 3_999_999)).toThrow(expands);
  expect(checked(100, snappy, codec.snappy, 4_000_000)).not.toThrow();
  expect(checked(1001, frame, codec.zstd, 17_000_000)).toThrow(
    'expected a page within the 1000 bytes of its column chunk, got one of 1001',
  );
});

test('cut frames are refused, and the sum of usual ones is at least their content', async () => {
  const { compress } = await zstd();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat(200), fc.nat(), (bytes, times, cut) => {
      const content = Buffer.concat(Array.from({ length: times }, () => bytes));
      const frame = compress(content);
      const chunk = new Map([...([[4, codec.zstd]] as const), ...([[6, content.length]] as const)]);
      const header = new Map([[2, content.length]]);
      checkPage(header, frame, chunk, content.length + 5 * 128 * 1024);
      if (content.length > 1)
        expect(() => {
          checkPage(header, frame, chunk, content.length - 1);
        }).toThrow(expands);
      try {
        checkPage(header, frame.subarray(0, cut % frame.length), chunk, 2 ** 31);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }),
  );
});

test.each(['zstd', 'snappy', 'uncompressed'])('pages of usual rows by %s are taken, in both versions', async (name) => {
  const rows = `SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'row ' || i % 900 END AS raw FROM range(20_000) AS r(i)`;
  for (const version of ['V1', 'V2']) {
    const bytes = await fileOf(rows, `COMPRESSION ${name}, PARQUET_VERSION ${version}`);
    const { largestDictionary } = await checkPages(await blobOf(bytes), 'all');
    expect(largestDictionary).toBeGreaterThan(900 * 4);
    expect((await batchRows(bytes)).reduce((sum, count) => sum + count, 0)).toBe(20_000);
  }
});

test('a batch is small where each row may have a long value of a dictionary', async () => {
  const bytes = await fileOf(`SELECT repeat('x', 2_000_000) AS raw FROM range(60)`, 'COMPRESSION zstd');
  expect(bytes.length).toBeLessThan(10_000);
  expect(await batchRows(bytes)).toEqual([32, 28]);
});

test('a compression whose content has no known limit is refused', async () => {
  await expect(batchRows(await fileOf(`SELECT 'x' AS raw`, 'COMPRESSION gzip'))).rejects.toThrow('got codec 2');
});
