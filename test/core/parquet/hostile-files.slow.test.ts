import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { instantArray, textArray } from '../../../src/core/columns/arrays.js';
import { instantCells, textCells, type RowCells } from '../../../src/core/columns/column-data.js';
import { recordBatch, type Column, type Table } from '../../../src/core/columns/table.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { encodedColumns, type ChosenColumns } from '../../../src/core/parquet/decode-columns.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { checkFooterRows, footerColumns, footerTexts, readFooter } from '../../../src/core/parquet/footer.js';
import { checkPages } from '../../../src/core/parquet/page-limits.js';
import { blobOf } from '../../../src/core/parquet/parquet-source.js';
import { parquetBatches } from '../../../src/core/parquet/wasm.js';
import { decodeText } from '../../../src/engine/run/derivation.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { duckdbFiles, otherFiles, wasmFiles } from './foreign-files.js';
import { bombs, cutFiles, deepFooters, firstPagesOf, footerLies, noParquet, pageLies } from './hostile-files.js';

const event: Column = { name: 'event_id', type: 'text', nullable: false, encoding: 'delta-length', about: '' };
const raw: Column = { ...event, name: 'raw', encoding: 'plain', unbounded: true };
const list: Column = { ...event, name: 'list', encoding: 'dictionary', nullable: true };
const at: Column = { ...event, name: 'posted_at', type: 'instant', encoding: 'dictionary', nullable: true };
const samples: Table = { name: 'samples', about: '', columns: [event, raw, list, at] };
const columns: ChosenColumns = { texts: ['event_id', 'raw', 'list'], instants: ['posted_at'] };
const rows = 40;

const writer = 'ledgerlake 1.2.3';

/** What no damaged file may cause: a crash, an overflow, an error of the language. */
const notSaid = /stack|unreachable|undefined|DataView|not a function|typed array|\[object/;

async function ownFile(): Promise<Uint8Array> {
  const batch = recordBatch(samples, rows, {
    event_id: textArray(rows, (row) => `id ${row}`),
    raw: textArray(rows, (row) => `text ${row} `.repeat(row % 7)),
    list: textArray(rows, (row) => `list ${row % 3}`),
    posted_at: instantArray(rows, (row) => (row % 5 === 0 ? undefined : BigInt(row) * 1000n)),
  });
  return (await encodeTable({ table: samples, rows: batch }, new Map([['key', 'value']]), writer)).bytes;
}

async function rowsOf(groups: AsyncIterable<RowCells>, { texts, instants }: ChosenColumns): Promise<string> {
  const found: (string | null)[][] = [];
  for await (const cells of groups) {
    const textsAt = texts.map((name) => cells.texts(name));
    const instantsAt = instants.map((name) => cells.instants(name));
    for (let row = 0; row < cells.rows; row++) {
      const instantTexts = instantsAt.map((at) => String(at(row) ?? null));
      found.push([...textsAt.map((at) => decodeText(at(row)) ?? null), ...instantTexts]);
    }
  }
  return JSON.stringify(found);
}

async function* batchCells(bytes: Uint8Array, { texts, instants }: ChosenColumns): AsyncGenerator<RowCells> {
  for await (const batch of parquetBatches(bytes, [...texts, ...instants], 1_500_000)) {
    yield {
      rows: batch.numRows,
      texts: (name) => textCells(batch, name),
      instants: (name) => instantCells(batch, name),
    };
  }
}

interface Readings {
  /** Of the readers of the rows: none where a reader leaves the file to the other one, or refuses it. */
  readonly rows: readonly string[];
  readonly errors: readonly unknown[];
}

/** What each of our readers says of a file. */
async function readings(bytes: Uint8Array, chosen: ChosenColumns): Promise<Readings> {
  const found: string[] = [];
  const errors: unknown[] = [];
  const tried = async (read: () => unknown): Promise<void> => {
    try {
      await read();
    } catch (error) {
      errors.push(error);
    }
  };
  await tried(async () => footerColumns(await readFooter(await blobOf(bytes))));
  await tried(() => footerTexts(bytes));
  await tried(() => {
    checkFooterRows(bytes, rows, 'samples', 'nothing was committed');
  });
  await tried(async () => checkPages(await blobOf(bytes), 'all'));
  await tried(async () => {
    const groups = await encodedColumns(bytes, chosen);
    if (groups !== undefined) found.push(await rowsOf(groups, chosen));
  });
  await tried(async () => found.push(await rowsOf(batchCells(bytes, chosen), chosen)));
  return { rows: found, errors };
}

function expectClear(name: string, { errors }: Readings): void {
  for (const error of errors) {
    expect([name, error]).toEqual([name, expect.any(Error)]);
    expect([name, (error as Error).constructor.name]).toEqual([name, expect.stringMatching(/^(Ledgerlake)?Error$/)]);
    expect([name, (error as Error).message]).not.toEqual([name, expect.stringMatching(notSaid)]);
  }
}

/** The rows that DuckDB reads; undefined where it refuses the file. */
function duckdbReader(database: Database, folder: string) {
  let files = 0;
  return async (bytes: Uint8Array): Promise<string | undefined> => {
    // DuckDB keeps parts of files by their names.
    const path = join(folder, `case-${++files}.parquet`);
    writeFileSync(path, bytes);
    const query = `SELECT event_id, raw, list, epoch_us(posted_at) AS posted_at FROM read_parquet('${path}')`;
    const found = await database.rows(query).catch(() => undefined);
    return (
      found && JSON.stringify(found.map((row) => [row['event_id'], row['raw'], row['list'], String(row['posted_at'])]))
    );
  };
}

async function openedDatabase(): Promise<Database> {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  return database;
}

test('files of other writers give the rows that DuckDB reads, or are refused', async () => {
  const own = await ownFile();
  const [folder, database] = [await temporaryFolder(), await openedDatabase()];
  const path = join(folder, 'own.parquet');
  writeFileSync(path, own);
  const kinds = { texts: columns.texts, integers: columns.instants };
  const files = [
    ...(await duckdbFiles(database, path, folder)),
    ...wasmFiles(own, kinds),
    ...wasmFiles(own, kinds, writer),
  ];
  const expected = await duckdbReader(database, folder)(own);
  let read = 0;
  for (const { name, bytes } of files) {
    const found = await readings(bytes, columns);
    expectClear(name, found);
    for (const rowsRead of found.rows) expect([name, rowsRead]).toEqual([name, expected]);
    read += found.rows.length > 0 ? 1 : 0;
  }
  expect(files.length).toBeGreaterThan(50);
  // The others are compressed by codecs whose content has no known limit.
  expect(read).toBeGreaterThan(40);
  for (const { name, bytes } of await otherFiles(database, folder)) {
    const found = await readings(bytes, columns);
    expectClear(name, found);
    expect([name, found.rows.filter((text) => text !== '[]')]).toEqual([name, []]);
  }
});

test('damaged files give the rows that DuckDB reads, or are refused in one line', async () => {
  const own = await ownFile();
  const [folder, database] = [await temporaryFolder(), await openedDatabase()];
  const path = join(folder, 'own.parquet');
  writeFileSync(path, own);
  const others = (await duckdbFiles(database, path, folder)).filter(({ name }) => /LEVEL 19|snappy.*V2/.test(name));
  const files = [...cutFiles(own), ...noParquet(own), ...footerLies(own)];
  for (const bytes of [own, ...others.map((other) => other.bytes)])
    files.push(...pageLies(bytes, await firstPagesOf(bytes)));
  for (const { bytes } of others.slice(1)) files.push(...footerLies(bytes));
  const duckdbRows = duckdbReader(database, folder);
  const differing: string[] = [];
  for (const { name, bytes } of files) {
    const found = await readings(bytes, columns);
    expectClear(name, found);
    if (found.rows.length === 0) continue;
    const expected = await duckdbRows(bytes);
    // DuckDB also refuses what our readers have no use for.
    if (expected === undefined) continue;
    if (found.rows.some((text) => text !== expected)) differing.push(name);
  }
  // Bytes are valid in more than one encoding of a page: only the hash of a file shows that it states another one.
  expect(differing.filter((name) => !/^page at \d+ \.(5\.2|8\.4) is/.test(name))).toEqual([]);
  expect(files.length).toBeGreaterThan(1000);
});

test('files that expand, and footers without end, are refused in one line', async () => {
  const chosen: ChosenColumns = { texts: ['raw'], instants: [] };
  for (const { name, bytes } of [...bombs('raw', 'another'), ...bombs('raw', writer), ...deepFooters()]) {
    const found = await readings(bytes, chosen);
    expectClear(name, found);
    expect([name, found.rows.filter((text) => text !== '[]' && text !== '[["row"]]')]).toEqual([name, []]);
  }
});
