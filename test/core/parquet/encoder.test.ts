import { writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { readColumnIndex, readOffsetIndex } from 'hyparquet/src/indexes.js';
import { xxhash64 } from 'hyparquet/src/xxhash.js';
import { expect, test } from 'vitest';
import type { ColumnType, Table } from '../../../src/core/columns/table.js';
import { encodeFile } from '../../../src/core/parquet/encode-file.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { xxHash64 } from '../../../src/core/parquet/encoder/bloom-filter.js';
import { encodings, expectRead, metadata, place, plainValues, tableOf } from './read-back.js';
import { manyRows, sample, values } from './samples.js';

test('three readers of others and our own find in a file what was handed over, whatever the columns', async () => {
  const at = await place();
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 6 }), async (samples) => {
      await expectRead(tableOf(samples), at);
    }),
    { numRuns: 150 },
  );
});

test('texts of a megabyte', async () => {
  const texts = ['a', 'b'.repeat(1_000_000), '', 'ü'.repeat(600_000), 'c'.repeat(3_000_000)];
  for (const encoding of encodings.text) {
    await expectRead(
      tableOf([{ column: { type: 'text', encoding, nullable: true, about: '' }, values: texts }]),
      await place(),
    );
  }
});

test('what a dictionary does not shorten is plain, which every reader has', async () => {
  const values = {
    text: (row: number) => `text ${row}`,
    instant: (row: number) => BigInt(row) * 1_000_003n,
    bigint: (row: number) => BigInt(row),
    integer: (row: number) => row,
  };
  const made = tableOf(
    (['text', 'instant', 'bigint', 'integer'] as const).map((type) => ({
      column: { type, nullable: false, encoding: 'dictionary', about: '' },
      values: Array.from({ length: 1000 }, (_, row) => values[type](row)),
    })),
  );
  const at = await place();
  await expectRead(made, at);
  const chunks = await at.database.rows(`SELECT DISTINCT encodings FROM parquet_metadata('${at.path}')`);
  expect(chunks).toEqual([{ encodings: 'RLE, PLAIN' }]);
});

test('no rows', async () => {
  const column = { type: 'text', encoding: 'plain', nullable: false, about: '' } as const;
  await expectRead(tableOf([{ column, values: [] }]), await place());
});

test('the page index tells where pages begin, and the least and greatest integer of each', async () => {
  const { rows, samples } = manyRows(150_000);
  const { bytes } = await encodeTable(rows, metadata, 'ledgerlake test');
  const file = new Uint8Array(bytes).buffer;
  const { row_groups: groups, schema } = parquetMetadata(file);
  const read = (offset: bigint | undefined, length: number | undefined) => ({
    view: new DataView(file, Number(offset), length),
    offset: 0,
  });
  let firstRow = 0;
  for (const { columns, num_rows: rows } of groups) {
    for (const [number, chunk] of columns.entries()) {
      const [element, given] = [schema[number + 1], samples[number]];
      if (element === undefined || given === undefined) throw new Error(`no column ${number}`);
      const { page_locations: pages } = readOffsetIndex(read(chunk.offset_index_offset, chunk.offset_index_length));
      expect(pages[0]?.offset).toBe(chunk.meta_data?.data_page_offset);
      expect(pages.length).toBeGreaterThanOrEqual(Math.ceil(Number(rows) / (64 * 1024)));
      const isInteger = ['instant', 'integer', 'bigint'].includes(given.column.type);
      expect(chunk.column_index_offset !== undefined).toBe(isInteger || given.column.type === 'decimal');
      if (!isInteger) continue;
      const index = readColumnIndex(read(chunk.column_index_offset, chunk.column_index_length), element, {
        timestampFromMicroseconds: (micros) => micros,
      });
      for (const [page, { first_row_index: start }] of pages.entries()) {
        const end = Number(pages[page + 1]?.first_row_index ?? rows);
        const held = given.values.slice(firstRow + Number(start), firstRow + end).map((value) => value as bigint);
        const there = held.filter((value) => (value as bigint | undefined) !== undefined);
        expect(index.null_pages[page]).toBe(there.length === 0);
        expect(index.null_counts?.[page]).toBe(BigInt(held.length - there.length));
        if (there.length === 0) continue;
        expect(index.min_values[page]).toBe(there.reduce((a, b) => (a < b ? a : b)));
        expect(index.max_values[page]).toBe(there.reduce((a, b) => (a > b ? a : b)));
      }
    }
    firstRow += Number(rows);
  }
  expect(firstRow).toBe(150_000);
});

test('a Bloom filter excludes what a file lacks, and nothing that it has', async () => {
  const { rows, samples } = manyRows(150_000);
  const { bytes } = await encodeTable(rows, metadata, 'ledgerlake test');
  const { database, path } = await place();
  await writeFile(path, bytes);
  for (const { columns } of parquetMetadata(new Uint8Array(bytes).buffer).row_groups) {
    for (const [number, { meta_data: of }] of columns.entries()) {
      if (number > 1) expect(of?.bloom_filter_offset).toBeUndefined();
      // With its header. The bits themselves are a power of 2, as Arrow's C++ reader expects.
      else expect([1, 2]).toContain(((of?.bloom_filter_length ?? 0) & -32).toString(2).replaceAll('0', '').length);
    }
  }
  const excluded = async (column: string, value: string): Promise<readonly unknown[]> => {
    const rows = await database.rows(
      `SELECT bloom_filter_excludes AS is FROM parquet_bloom_probe('${path}', '${column}', '${value}') ORDER BY row_group_id`,
    );
    return rows.map(({ is }) => is);
  };
  for (const column of [0, 1]) {
    const held = samples[column]?.values ?? [];
    for (let row = 0; row < held.length; row += 1499) {
      const group = row < 128 * 1024 ? 0 : 1;
      expect((await excluded(`c${column}`, String(held[row])))[group]).toBe(false);
    }
  }
  let right = 0;
  for (let at = 0; at < 300; at++)
    right += (await excluded('c0', `none-${at}`.padEnd(34, '-'))).filter((is) => is === true).length;
  expect(right).toBeGreaterThan(570);
  expect(await excluded('c3', 'none')).toEqual([false, false]);
});

test("the hash of a Bloom filter is that of another's implementation, for texts of any length", async () => {
  const hash64 = await xxHash64();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), fc.nat({ max: 40 }), (bytes, start) => {
      const text = bytes.subarray(Math.min(start, bytes.length));
      expect(hash64(text)).toBe(xxhash64(text));
    }),
    { numRuns: 3000 },
  );
  const long = new Uint8Array(3_000_000).map((_, at) => at % 251);
  expect(hash64(long)).toBe(xxhash64(long));
});

test('an array of another type than its column is refused, and what fails is named', async () => {
  const types = Object.keys(values) as ColumnType[];
  for (const held of types) {
    // A dictionary's numbers are integers, and no column of integers.
    const encoding = held === 'text' ? 'dictionary' : 'plain';
    const column = { type: held, encoding, nullable: false, about: '' } as const;
    const { table, rows } = tableOf([{ column, values: [plainValues[held], plainValues[held]] }]);
    for (const type of types) {
      const other: Table = { ...table, columns: table.columns.map((each) => ({ ...each, type })) };
      const encoded = encodeFile({ table: other, rows: rows.rows }, metadata);
      if (type === held) expect((await encoded).rows).toBe(2);
      else {
        const message = expect.stringContaining(`c0: expected an array of the type ${type}, got one of `) as string;
        await expect(encoded).rejects.toMatchObject({ code: 'ENCODER', message });
      }
    }
  }
});
