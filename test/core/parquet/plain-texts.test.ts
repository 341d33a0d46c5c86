import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textArray } from '../../../src/core/columns/arrays.js';
import type { Column, Table } from '../../../src/core/columns/table.js';
import { TableRows } from '../../../src/core/columns/table-rows.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { plainTexts } from '../../../src/core/parquet/plain-texts.js';
import { cellText } from '../../../src/engine/run/derivation.js';
import { parquetFile } from '../../../src/core/parquet/wasm.js';
import { temporaryFolder } from '../../app/lake-run.js';

const column: Column = { name: 'raw', type: 'text', nullable: false, encoding: 'plain', about: '', unbounded: true };

async function fileOf(texts: readonly string[], others: Partial<Column> = {}, createdBy = 'ledgerlake 1.2.3') {
  const table: Table = { name: 'samples', about: '', columns: [{ ...column, ...others }] };
  const rows = new TableRows(table, texts.length, { raw: textArray(texts.length, (row) => texts[row] ?? '') });
  return (await encodeTable(rows, new Map(), createdBy)).bytes;
}

/** All texts of a file; each page is UTF-8 as a whole, as its texts are. */
async function readFrom(source: Uint8Array | string, rows: number): Promise<string[] | undefined> {
  const column = await plainTexts(source, 'raw');
  if (column === undefined) return undefined;
  const next = await column.take(rows);
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let last: Uint8Array | undefined;
  return Array.from({ length: rows }, () => {
    const { page, start, end } = next();
    if (page !== last) strict.decode(page);
    last = page;
    return strict.decode(page.subarray(start, end));
  });
}

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 60, maxLength: 300 }), fc.constant(''));

test('a plain column has the texts that were encoded, from memory and from disk, on one page and on many', async () => {
  const path = join(await temporaryFolder(), 'rows.parquet');
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 60 }), fc.constantFrom(1, 1, 40_000), async (some, large) => {
      // Pages end after a megabyte.
      const texts = some.map((one, at) => (at % 7 === 3 ? one.padEnd(large, 'x') : one));
      const bytes = await fileOf(texts);
      await writeFile(path, bytes);
      expect(await readFrom(bytes, texts.length)).toEqual(texts);
      expect(await readFrom(path, texts.length)).toEqual(texts);
      const column = await plainTexts(bytes, 'raw');
      await expect(column?.take(texts.length + 1)).rejects.toThrow('have no more');
    }),
    { numRuns: 60 },
  );
});

test('more rows than a row group has are read on, at once and in parts', async () => {
  const texts = Array.from({ length: 140_000 }, (_, row) => `text ${row}`);
  const bytes = await fileOf(texts);
  expect(await readFrom(bytes, texts.length)).toEqual(texts);
  const column = await plainTexts(bytes, 'raw');
  const parts: string[] = [];
  for (let start = 0; start < texts.length; start += 35_000) {
    const next = await column?.take(35_000);
    for (let row = 0; row < 35_000; row++) parts.push(cellText(next?.()) ?? '');
  }
  expect(parts).toEqual(texts);
});

test.each([
  ['may be null', { nullable: true }],
  ['has a dictionary', { encoding: 'dictionary' }],
  ['has its lengths apart', { encoding: 'delta-length' }],
] as const)('a column that %s is left to the other reader', async (_, others) => {
  expect(await plainTexts(await fileOf(['one', 'one', 'one', 'one'], others), 'raw')).toBeUndefined();
});

test('a file of others or of the other encoder, and a column that is not there, are left to the other reader', async () => {
  expect(await plainTexts(await fileOf(['one'], {}, 'others 1.0'), 'raw')).toBeUndefined();
  expect(await plainTexts(await fileOf(['one']), 'other')).toBeUndefined();
  const rows = new TableRows({ name: 'samples', about: '', columns: [column] }, 1, { raw: textArray(1, () => 'one') });
  const snappy = parquetFile(rows.table, [rows.batch], new Map());
  expect(await plainTexts(snappy, 'raw')).toBeUndefined();
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(`COPY (SELECT 'one' AS raw) TO '${path}' (FORMAT parquet)`);
  database.close();
  expect(await plainTexts(await readFile(path), 'raw')).toBeUndefined();
});

test('damaged bytes are refused, or give texts that lie within their pages', async () => {
  const texts = Array.from({ length: 50 }, (_, row) => `text ${row} `.repeat(row));
  const whole = await fileOf(texts);
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.option(fc.nat(whole.length)), async (at, byte, cut) => {
      const bytes = whole.slice(0, cut ?? whole.length);
      bytes[at] = byte;
      try {
        const next = await (await plainTexts(bytes, 'raw'))?.take(texts.length);
        for (let row = 0; next !== undefined && row < texts.length; row++) {
          const { page, start, end } = next();
          expect(start <= end && end <= page.length).toBe(true);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(String(error)).not.toContain('AssertionError');
      }
    }),
    { numRuns: 500 },
  );
});
