import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Data } from 'apache-arrow';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { readColumnIndex, readOffsetIndex } from 'hyparquet/src/indexes.js';
import { xxhash64 } from 'hyparquet/src/xxhash.js';
import { expect, onTestFinished, test } from 'vitest';
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
import { deltaStatistics } from './delta-statistics.js';
import {
  recordBatch,
  type Column,
  type ColumnType,
  type Encoding,
  type Table,
  type TableBatch,
} from '../../../src/core/columns/table.js';
import { runEndEncoded, withoutRuns } from '../../../src/core/columns/run-end-encoded.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { encodeFile } from '../../../src/core/parquet/encode-file.js';
import { encodeTable } from '../../../src/core/parquet/encoder/encode-table.js';
import { encodedColumns } from '../../../src/core/parquet/decode-columns.js';
import { withParquet } from '../../../src/core/parquet/wasm.js';
import { xxHash64 } from '../../../src/core/parquet/encoder/xxhash64.js';
import { decodeText } from '../../../src/engine/run/derivation.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { compressors } from './compressors.js';

type Value = string | bigint | number | boolean | undefined;

interface Sample {
  readonly column: Column;
  readonly values: readonly Value[];
  /** Rows of a run at most; left out: there is a value for each row. */
  readonly longestRun?: number | undefined;
}

const digits = { precision: 18, scale: 6 };

const encodings: Readonly<Record<ColumnType, readonly Encoding[]>> = {
  text: ['dictionary', 'plain', 'delta-length'],
  instant: ['dictionary', 'plain'],
  date: ['dictionary', 'plain'],
  decimal: ['dictionary', 'plain'],
  bigint: ['dictionary', 'plain'],
  integer: ['dictionary', 'plain'],
  boolean: ['plain'],
};

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const values: Readonly<Record<ColumnType, fc.Arbitrary<Value>>> = {
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 60, maxLength: 300 }), fc.constantFrom('', 'a')),
  // What DuckDB takes for an instant; its ends stand for infinity.
  instant: fc.bigInt({ min: -(10n ** 16n), max: 10n ** 17n }),
  date: fc.integer({ min: -700_000, max: 2_000_000 }),
  decimal: fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
  bigint: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -300n, max: 300n })),
  integer: fc.oneof(int32, fc.integer({ min: -3, max: 300 })),
  boolean: fc.boolean(),
};

/** Values in runs, as those of an event with several amounts are, from a few or from many. */
function runs(value: fc.Arbitrary<Value>, nullable: boolean): fc.Arbitrary<Value[]> {
  const one = nullable ? fc.option(value, { nil: undefined, freq: 3 }) : value;
  const run = fc.tuple(one, fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 })));
  return fc
    .array(run, { size: 'medium', maxLength: 60 })
    .map((all) => all.flatMap(([of, length]) => Array.from({ length }, () => of)));
}

const sample: fc.Arbitrary<Omit<Sample, 'column'> & { column: Omit<Column, 'name'> }> = fc
  .record({
    type: fc.constantFrom(...(Object.keys(values) as ColumnType[])),
    nullable: fc.boolean(),
    isFiltered: fc.boolean(),
    hasFilter: fc.boolean(),
    encoding: fc.nat({ max: 2 }),
    longestRun: fc.constantFrom(undefined, 1, 5, 100),
  })
  .chain(({ type, nullable, isFiltered, hasFilter, encoding, longestRun }) => {
    const chosen = encodings[type][encoding % encodings[type].length] ?? 'plain';
    const column = {
      ...{ type, nullable, encoding: chosen, about: '' },
      ...(type === 'decimal' ? { digits } : {}),
      ...(isFiltered && (type === 'text' || type === 'instant') ? { filtered: true as const } : {}),
      ...(hasFilter && type === 'text' ? { bloomFilter: true as const } : {}),
    };
    return runs(values[type], nullable).map((of) => ({ column, values: of, longestRun }));
  });

/** Columns of one length: the shorter ones begin again. */
function tableOf(samples: readonly (Omit<Sample, 'column'> & { column: Omit<Column, 'name'> })[]): {
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

const plainValues: Readonly<Record<ColumnType, Value>> = {
  ...{ text: '', instant: 0n, date: 0, decimal: 0n, bigint: 0n, integer: 0, boolean: false },
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
      return decimalArray(of.length, digits, big);
    case 'bigint':
      return bigintArray(of.length, big);
    case 'integer':
      return integerArray(of.length, small);
    case 'boolean':
      return booleanArray(of.length, (row) => of[row] as boolean | undefined);
  }
}

const metadata = new Map([['ledgerlake', '{"a":"ü"}']]);

interface Place {
  readonly database: Database;
  readonly path: string;
}

/** A database, and where it finds the file. */
async function place(): Promise<Place> {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  // Each file is in the place of the one before, of the same millisecond and length now and then.
  await database.execute('SET enable_external_file_cache = false');
  return { database, path: join(await temporaryFolder(), 'own.parquet') };
}

/** The rows as texts, by DuckDB. */
async function byDuckDB({ database, path }: Place, columns: readonly Column[]): Promise<unknown[][]> {
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

/** The rows as texts, by parquet-wasm. */
async function byArrow(bytes: Uint8Array, columns: readonly Column[]): Promise<unknown[][]> {
  return withParquet(bytes, async ({ groups }) => {
    const rows: unknown[][] = [];
    for (const group of groups) {
      const table = await group.table();
      const read = columns.map(({ name, type }) => {
        const vector = table.getChild(name);
        return (row: number): string | undefined => {
          const value: unknown = vector?.get(row);
          if (value === null || value === undefined) return undefined;
          if (type === 'date') return String(Number(value) / 86_400_000);
          if (type === 'decimal') return String(wordsOf(value as Uint32Array));
          const [data] = vector?.data ?? [];
          return String(type === 'instant' ? (data?.values as BigInt64Array)[row] : (value as Value));
        };
      });
      for (let row = 0; row < table.numRows; row++) rows.push(read.map((of) => of(row)));
    }
    return rows;
  });
}

/** A signed integer of 128 bits, its least significant word first. */
function wordsOf(words: Uint32Array): bigint {
  const bits = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return BigInt.asIntN(words.length * 32, bits);
}

/** The rows as texts, by hyparquet. */
async function byHyparquet(bytes: Uint8Array, columns: readonly Column[]): Promise<unknown[][]> {
  const file = new Uint8Array(bytes).buffer;
  const rows = await parquetReadObjects({
    file,
    compressors,
    parsers: {
      timestampFromMicroseconds: (micros) => micros,
      dateFromDays: (days) => days,
      stringFromBytes: (text) => Buffer.from(text).toString(),
    },
  });
  return rows.map((row: Readonly<Record<string, Value | null>>) =>
    columns.map(({ name, type }) => {
      const value = row[name];
      if (value === undefined || value === null) return undefined;
      // It gives decimals as doubles: the other readers compare them.
      return type === 'decimal' ? 'a decimal' : String(value);
    }),
  );
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

/** As `toEqual`, which takes seconds for a million cells and is asked only for what differs. */
function expectRows(read: readonly unknown[][], wanted: readonly unknown[][]): void {
  if (!isDeepStrictEqual(read, wanted)) expect(read).toEqual(wanted);
}

async function expectRead({ table, rows, samples }: ReturnType<typeof tableOf>, at: Place): Promise<void> {
  const { bytes, stats } = await encodeTable(rows, metadata, 'ledgerlake test');
  const again = await encodeTable(rows, metadata, 'ledgerlake test');
  expect(Buffer.compare(bytes, again.bytes)).toBe(0);
  expect(JSON.parse(stats)).toEqual(JSON.parse(deltaStatistics(table, withoutRuns(table, rows.rows))));
  const { columns } = table;
  const wanted = Array.from({ length: rows.rows.numRows }, (_, row) =>
    samples.map(({ values: of }) => (of[row] === undefined ? undefined : String(of[row]))),
  );
  expectRows(await byArrow(bytes, columns), wanted);
  await writeFile(at.path, bytes);
  expectRows(await byDuckDB(at, columns), wanted);
  const ownTypes = wanted.map((row) =>
    row.map((text, column) => (['text', 'instant'].includes(columns[column]?.type ?? '') ? text : undefined)),
  );
  expectRows(await byOwnReader(bytes, columns), ownTypes);
  expectRows(await byOwnReader(at.path, columns), ownTypes);
  const roughly = wanted.map((row) =>
    row.map((text, column) => (text !== undefined && columns[column]?.type === 'decimal' ? 'a decimal' : text)),
  );
  expectRows(await byHyparquet(bytes, columns), roughly);
}

test('three readers of others and our own find in a file what was handed over, whatever the columns', async () => {
  const at = await place();
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 6 }), async (samples) => {
      await expectRead(tableOf(samples), at);
    }),
    { numRuns: 150 },
  );
});

/** Numbers that look random, and are the same each time. */
function* noise(): Generator<number> {
  for (let state = 1; ; state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) yield state >>> 8;
}

/** Rows of several pages and row groups, as a month of entries has them. */
function manyRows(length: number, longestRun?: number): ReturnType<typeof tableOf> {
  const next = noise();
  const random = (below: number): number => Number(next.next().value) % below;
  const nullable = { nullable: true, about: '' };
  const filtered = { filtered: true } as const;
  const column = (type: ColumnType, encoding: Encoding, values: (row: number) => Value, more = {}) => ({
    column: { type, encoding, ...nullable, ...more },
    values: Array.from({ length }, (_, row) => values(row)),
    longestRun,
  });
  const hour = 3_600_000_000n;
  return tableOf([
    column('text', 'dictionary', (row) => `event-${Math.floor(row / 9)}`.padEnd(34, '-'), {
      bloomFilter: true,
      ...filtered,
    }),
    column('text', 'delta-length', () => `order-${random(1e6)}`, { bloomFilter: true }),
    column('text', 'plain', (row) => (row % 1000 === 7 ? 'x'.repeat(random(30_000)) : `{"a":${random(99)}}`)),
    column('text', 'dictionary', () => (random(3) === 0 ? undefined : `sku-${random(70_000)}`)),
    column('instant', 'dictionary', (row) => BigInt(Date.UTC(2026, 0)) * 1000n + BigInt(row) * hour, filtered),
    column('instant', 'dictionary', (row) => (row % 7 < 3 ? undefined : BigInt(row >> 4) * hour)),
    column('decimal', 'dictionary', () => BigInt(random(200_000) - 100_000) * 10_000n, { digits }),
    column('integer', 'dictionary', (row) => row % 9, { nullable: false }),
    column('bigint', 'plain', (row) => BigInt(row) + (row % 3 === 0 ? 2n ** 40n : 0n)),
    column('boolean', 'plain', () => [true, false, undefined][random(3)]),
  ]);
}

test.each([undefined, 1, 30_000])('files of several pages and row groups, in runs of %s rows', async (longestRun) => {
  await expectRead(manyRows(150_000, longestRun), await place());
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

test.each([undefined, 40_000])(
  'a row group of nulls has no dictionary page, in runs of %s rows',
  async (longestRun) => {
    const groupRows = 128 * 1024;
    const types = ['text', 'instant', 'decimal', 'integer', 'bigint', 'date'] as const;
    const made = tableOf(
      types.map((type) => ({
        column: { type, nullable: true, encoding: 'dictionary', about: '' },
        values: Array.from({ length: 2 * groupRows }, (_, row) => (row < groupRows ? undefined : plainValues[type])),
        longestRun,
      })),
    );
    const at = await place();
    const dictionaries = async () => {
      const chunks = await at.database.rows(
        `SELECT row_group_id AS "group", dictionary_page_offset IS NOT NULL AS has FROM parquet_metadata('${at.path}') GROUP BY ALL ORDER BY ALL`,
      );
      return chunks.map(({ group, has }) => [Number(group), has]);
    };
    await expectRead(made, at);
    expect(await dictionaries()).toEqual([
      [0, false],
      [1, true],
    ]);
  },
);

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
