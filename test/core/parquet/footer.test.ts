import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { bigintArray, textArray } from '../../../src/core/columns/arrays.js';
import { recordBatch, type TableBatch, type Table } from '../../../src/core/columns/table.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { checkFooterRows } from '../../../src/core/parquet/footer.js';
import { wasmFile } from './wasm-file.js';
import { temporaryFolder } from '../../app/lake-run.js';

const table: Table = {
  name: 'samples',
  about: '',
  columns: [
    { name: 'text', type: 'text', nullable: false, encoding: 'dictionary', about: '' },
    { name: 'number', type: 'bigint', nullable: false, encoding: 'plain', about: '' },
  ],
};

function rowsOf(length: number): TableBatch {
  const rows = recordBatch(table, length, {
    text: textArray(length, (row) => `text ${row % 7}`),
    number: bigintArray(length, (row) => BigInt(row)),
  });
  return { table, rows };
}

const check = (bytes: Uint8Array, rows: number) => {
  checkFooterRows(bytes, rows, 'samples', 'nothing was committed');
};

test('a footer is read whoever has written it, and other rows than expected are an error', async () => {
  const folder = await temporaryFolder();
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  for (const length of [0, 1, 1000, 300_000]) {
    const path = join(folder, `${length}.parquet`);
    await database.execute(
      `COPY (SELECT range AS number, {'a': [range], 'b': 'x'} AS nested FROM range(${length})) TO '${path}' (FORMAT parquet)`,
    );
    const files = [
      (await encodeTable(rowsOf(length), new Map([['key', 'value']]), 'test')).bytes,
      wasmFile(rowsOf(length), new Map([['key', 'value']])),
      await readFile(path),
    ];
    for (const bytes of files) {
      check(bytes, length);
      expect(() => {
        check(bytes, length + 1);
      }).toThrow(
        `expected ${length + 1} rows in the Parquet file for samples, got ${length} in its footer; nothing was committed`,
      );
    }
  }
});

test('what is no whole Parquet file is refused, and damage within the footer is never a crash', async () => {
  const { bytes } = await encodeTable(rowsOf(1000), new Map(), 'test');
  for (const part of [new Uint8Array(0), bytes.subarray(0, 11), bytes.subarray(0, -1), bytes.subarray(1)]) {
    expect(() => {
      check(part, 1000);
    }).toThrow('expected a Parquet file');
  }
  const length = new DataView(bytes.buffer).getUint32(bytes.length - 8, true);
  const start = bytes.length - 8 - length;
  // Columns that are said to lie where the footer is.
  const shortened = new Uint8Array([...bytes.subarray(0, 4), ...bytes.subarray(start)]);
  expect(() => {
    check(shortened, 1000);
  }).toThrow('expected columns between bytes 4 and 4, found one at ');
  fc.assert(
    fc.property(fc.integer({ min: start, max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ flip;
      try {
        check(damaged, 1000);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect((error as Error).message).toMatch(/^expected /);
      }
    }),
    { numRuns: 2000 },
  );
});
