import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { instantArray, textArray } from '../../../src/core/columns/arrays.js';
import { recordBatch, type TableBatch, type Column, type Table } from '../../../src/core/columns/table.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { encodedColumns } from '../../../src/core/parquet/decode-columns.js';
import { wasmFile } from './wasm-file.js';
import { decodeText } from '../../../src/engine/run/derivation.js';
import { temporaryFolder } from '../../app/lake-run.js';

// encoder.test.ts compares what is read of arbitrary columns with what was written.

const raw: Column = { name: 'raw', type: 'text', nullable: false, encoding: 'plain', about: '', unbounded: true };
const id: Column = { ...raw, name: 'id', encoding: 'delta-length' };
const list: Column = { ...raw, name: 'list', encoding: 'dictionary', nullable: true };
const at: Column = { ...raw, name: 'at', type: 'instant', encoding: 'dictionary', nullable: true };
const samples: Table = { name: 'samples', about: '', columns: [raw, id, list, at] };
const chosen = { texts: ['raw', 'id', 'list'], instants: ['at'] };

function rowsOf(texts: readonly string[]): TableBatch {
  const text = (row: number) => texts[row] ?? '';
  const rows = recordBatch(samples, texts.length, {
    raw: textArray(texts.length, text),
    id: textArray(texts.length, (row) => `id ${row}`),
    list: textArray(texts.length, (row) => `list ${row % 3}`),
    at: instantArray(texts.length, (row) => (row % 5 === 0 ? undefined : BigInt(row) * 1000n)),
  });
  return { table: samples, rows };
}

async function fileOf(texts: readonly string[], createdBy = 'ledgerlake 1.2.3') {
  return (await encodeTable(rowsOf(texts), new Map(), createdBy)).bytes;
}

test('rows of many pages and groups come in their order, and each page of plain texts is UTF-8 as a whole', async () => {
  const texts = Array.from({ length: 140_000 }, (_, row) => `${'ü'.repeat(row % 40)} ${row}`);
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const found: string[][] = [];
  const pages = new Set<Uint8Array>();
  for await (const cells of (await encodedColumns(await fileOf(texts), chosen)) ?? []) {
    const [rawAt, idAt, listAt] = [cells.texts('raw'), cells.texts('id'), cells.texts('list')];
    const instantAt = cells.instants('at');
    for (let row = 0; row < cells.rows; row++) {
      const page = rawAt(row)?.page ?? new Uint8Array();
      if (!pages.has(page)) strict.decode(page);
      pages.add(page);
      found.push([...[rawAt, idAt, listAt].map((cell) => decodeText(cell(row)) ?? 'null'), String(instantAt(row))]);
    }
  }
  expect(found).toEqual(
    texts.map((text, row) => [text, `id ${row}`, `list ${row % 3}`, row % 5 === 0 ? 'undefined' : `${row * 1000}`]),
  );
  expect(pages.size).toBeGreaterThan(5);
});

test('a file of others or of the other encoder, and a column that is not there, are left to the other reader', async () => {
  expect(await encodedColumns(await fileOf(['one'], 'others 1.0'), chosen)).toBeUndefined();
  const file = await fileOf(['one']);
  expect(await encodedColumns(file, chosen)).toBeDefined();
  expect(await encodedColumns(file, { ...chosen, texts: ['other'] })).toBeUndefined();
  expect(await encodedColumns(file, { texts: ['at'], instants: [] })).toBeUndefined();
  const rows = rowsOf(['one']);
  expect(await encodedColumns(wasmFile(rows), chosen)).toBeUndefined();
  const path = join(await temporaryFolder(), 'rows.parquet');
  const database = await openDatabase();
  await database.execute(`COPY (SELECT 'one' AS raw) TO '${path}' (FORMAT parquet)`);
  database.close();
  expect(await encodedColumns(await readFile(path), { texts: ['raw'], instants: [] })).toBeUndefined();
});

test('damaged bytes are refused, or give texts that lie within their pages', async () => {
  const texts = Array.from({ length: 50 }, (_, row) => `text ${row} `.repeat(row));
  const whole = await fileOf(texts);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.nat(255),
      fc.option(fc.nat(whole.length)),
      async (place, byte, cut) => {
        const bytes = whole.slice(0, cut ?? whole.length);
        bytes[place] = byte;
        const outside: unknown[] = [];
        try {
          for await (const cells of (await encodedColumns(bytes, chosen)) ?? []) {
            const instantAt = cells.instants('at');
            const textsAt = chosen.texts.map((name) => cells.texts(name));
            for (let row = 0; row < Math.min(cells.rows, 1000); row++) {
              instantAt(row);
              const ranges = textsAt.map((textAt) => textAt(row));
              outside.push(...ranges.filter((one) => one && !(one.start <= one.end && one.end <= one.page.length)));
            }
          }
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
        expect(outside).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
});
