import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Data } from 'apache-arrow';
import { expect, onTestFinished } from 'vitest';
import {
  bigintArray,
  booleanArray,
  dateArray,
  decimalArray,
  dictionaryArray,
  instantArray,
  integerArray,
  textArray,
} from '../../../src/core/columns/arrays.js';
import { Dictionary } from '../../../src/core/columns/dictionary.js';
import { runEndEncoded } from '../../../src/core/columns/run-end-encoded.js';
import { withoutRuns } from '../columns/without-runs.js';
import {
  recordBatch,
  type Column,
  type ColumnType,
  type Encoding,
  type Table,
  type TableBatch,
} from '../../../src/core/columns/table.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { encodedColumns } from '../../../src/core/parquet/decode-columns.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { decodeText } from '../../../src/engine/run/derivation.js';
import { copyRows } from '../../../src/lake/files/local-parquet.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { deltaStatistics } from './delta-statistics.js';
import { byHyparquet, byParquetWasm, type Cell } from './foreign-readers.js';

export type Value = string | bigint | number | boolean | undefined;

export interface Sample {
  readonly column: Column;
  readonly values: readonly Value[];
  /** Rows of a run at most; left out: there is a value for each row. */
  readonly longestRun?: number | undefined;
}

export const digits = { precision: 18, scale: 6 };

export const encodings: Readonly<Record<ColumnType, readonly Encoding[]>> = {
  text: ['dictionary', 'plain', 'delta-length'],
  instant: ['dictionary', 'plain'],
  date: ['dictionary', 'plain'],
  decimal: ['dictionary', 'plain'],
  bigint: ['dictionary', 'plain'],
  integer: ['dictionary', 'plain'],
  boolean: ['plain'],
};

/** Columns of one length: the shorter ones begin again. */
export function tableOf(samples: readonly (Omit<Sample, 'column'> & { column: Omit<Column, 'name'> })[]): {
  readonly table: Table;
  readonly rows: TableBatch;
  readonly samples: readonly Sample[];
} {
  const length = Math.max(...samples.map((each) => each.values.length));
  const named = samples.map(({ column, values: own, longestRun }, at): Sample => {
    const none = column.nullable ? undefined : plainValues[column.type];
    const all = Array.from({ length }, (_, row) => (own.length === 0 ? none : own[row % own.length]));
    return { column: { ...column, name: `c${at}` }, values: all, longestRun };
  });
  const table: Table = { name: 'samples', about: '', columns: named.map(({ column }) => column) };
  const arrays = Object.fromEntries(named.map((each) => [each.column.name, valuesOf(each)]));
  return { table, rows: { table, rows: recordBatch(table, length, arrays) }, samples: named };
}

/** A value for each row, or for each run of equal ones. */
function valuesOf(of: Sample): Data {
  const { column, values: all, longestRun } = of;
  if (longestRun === undefined || column.type === 'boolean') return arrayOf(of);
  const firsts: Value[] = [];
  const ends: number[] = [];
  for (const [row, value] of all.entries()) {
    const length = row - (ends.at(-2) ?? 0);
    if (row > 0 && value === all[row - 1] && length < longestRun) ends[ends.length - 1] = row + 1;
    else {
      firsts.push(value);
      ends.push(row + 1);
    }
  }
  // Runs of texts have their numbers in a dictionary.
  const values = arrayOf({ column: { ...column, encoding: 'dictionary' }, values: firsts });
  return runEndEncoded({ values, runEnds: Int32Array.from(ends) });
}

export const plainValues: Readonly<Record<ColumnType, Value>> = {
  text: '',
  instant: 0n,
  date: 0,
  decimal: 0n,
  bigint: 0n,
  integer: 0,
  boolean: false,
};

function arrayOf({ column, values: of }: Sample): Data {
  const big = (row: number) => of[row] as bigint | undefined;
  const small = (row: number) => of[row] as number | undefined;
  switch (column.type) {
    case 'text': {
      if (!column.nullable && column.encoding !== 'dictionary') return textArray(of.length, (row) => String(of[row]));
      const dictionary = new Dictionary();
      // A value that no row has, as those of a dictionary for several files.
      dictionary.addString('zzz');
      const numbers = of.map((value) => (value === undefined ? -1 : dictionary.addString(String(value))));
      return dictionaryArray(dictionary, of.length, (row) => numbers[row] ?? -1);
    }
    case 'instant':
      return instantArray(of.length, big);
    case 'date':
      return dateArray(of.length, small);
    case 'decimal':
      return decimalArray(of.length, column.digits ?? digits, big);
    case 'bigint':
      return bigintArray(of.length, big);
    case 'integer':
      return integerArray(of.length, small);
    case 'boolean':
      return booleanArray(of.length, (row) => of[row] as boolean | undefined);
  }
}

export const metadata = new Map([['ledgerlake', '{"a":"ü"}']]);

export interface Place {
  readonly database: Database;
  readonly path: string;
}

/** A database, and where it finds the file. */
export async function place(): Promise<Place> {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  // Each file is in the place of the one before, of the same millisecond and length now and then.
  await database.execute('SET enable_external_file_cache = false');
  return { database, path: join(await temporaryFolder(), 'own.parquet') };
}

/** The rows as texts, by DuckDB. */
export async function byDuckDB({ database, path }: Place, columns: readonly Column[]): Promise<unknown[][]> {
  const texts = columns.map(({ name, type }) => {
    const numbers: Readonly<Partial<Record<ColumnType, string>>> = {
      instant: `epoch_us(${name})`,
      date: `${name} - DATE '1970-01-01'`,
      decimal: `(${name}::DECIMAL(38,6) * 1000000)::HUGEINT`,
    };
    return `(${numbers[type] ?? name})::VARCHAR AS ${name}`;
  });
  const rows = await database.rows(
    `SELECT ${texts.join(', ')} FROM read_parquet('${path}', file_row_number = true) ORDER BY file_row_number`,
  );
  return rows.map((row) => columns.map(({ name }) => row[name] ?? undefined));
}

/** The rows' texts and instants as texts, by this program's own reader, which reads no other types. */
async function byOwnReader(source: Uint8Array | string, columns: readonly Column[]): Promise<unknown[][]> {
  const named = (type: ColumnType) => columns.filter((column) => column.type === type).map(({ name }) => name);
  const groups = await encodedColumns(source, { texts: named('text'), instants: named('instant') });
  if (groups === undefined) throw new Error('expected a file that is read');
  const rows: unknown[][] = [];
  for await (const group of groups) {
    const cells = columns.map(({ name, type }): ((row: number) => string | undefined) => {
      if (type === 'text') {
        const at = group.texts(name);
        return (row) => decodeText(at(row));
      }
      const at = type === 'instant' ? group.instants(name) : () => undefined;
      return (row) => at(row)?.toString();
    });
    for (let row = 0; row < group.rows; row++) rows.push(cells.map((cell) => cell(row)));
  }
  return rows;
}

/** The rows that were handed over, as texts. */
function textsOf(samples: readonly Sample[]): Cell[][] {
  const length = Math.max(...samples.map(({ values }) => values.length));
  return Array.from({ length }, (_, row) => samples.map(({ values }) => values[row]?.toString()));
}

/** As `toEqual`, which takes seconds for a million cells and is asked only for what differs. */
function expectRows(read: readonly unknown[][], wanted: readonly unknown[][]): void {
  if (!isDeepStrictEqual(read, wanted)) expect(read).toEqual(wanted);
}

/** Holds what each reader finds in the encoded rows against what was handed over. */
export async function expectRead({ table, rows, samples }: ReturnType<typeof tableOf>, at: Place): Promise<void> {
  const { bytes, stats } = await encodeTable(rows, metadata, 'ledgerlake test');
  const again = await encodeTable(rows, metadata, 'ledgerlake test');
  expect(Buffer.compare(bytes, again.bytes)).toBe(0);
  expect(JSON.parse(stats)).toEqual(JSON.parse(deltaStatistics(table, withoutRuns(table, rows.rows))));
  const { columns } = table;
  const wanted = textsOf(samples);
  expectRows(byParquetWasm(bytes, columns), wanted);
  expectRows(await byHyparquet(bytes, columns), wanted);
  await writeFile(at.path, bytes);
  expectRows(await byDuckDB(at, columns), wanted);
  const ownTypes = wanted.map((row) =>
    row.map((text, column) => (['text', 'instant'].includes(columns[column]?.type ?? '') ? text : undefined)),
  );
  expectRows(await byOwnReader(bytes, columns), ownTypes);
  expectRows(await byOwnReader(at.path, columns), ownTypes);
}

/** The same for the encoded file and for the one that DuckDB makes of it as `compact` and `forget` do, by readers of others. */
export async function expectForeignRead(
  { table, rows, samples }: ReturnType<typeof tableOf>,
  { database, path }: Place,
  groupRows: number,
): Promise<void> {
  const { bytes } = await encodeTable(rows, metadata, 'ledgerlake test');
  await writeFile(path, bytes);
  const target = `${path}.merged`;
  await copyRows(database, table, { select: `SELECT * FROM read_parquet('${path}')`, target, metadata, groupRows });
  const wanted = textsOf(samples);
  for (const file of [bytes, await readFile(target)]) {
    expectRows(byParquetWasm(file, table.columns), wanted);
    expectRows(await byHyparquet(file, table.columns), wanted);
  }
}
