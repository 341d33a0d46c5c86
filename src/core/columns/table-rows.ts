import type { Data, RecordBatch } from 'apache-arrow';
import { arrow } from './arrow.js';
import type { RunLengths } from './arrays.js';
import { columnData, isNull, nullsOf, numbersOf } from './column-data.js';
import { separateMemory } from './memory.js';
import { recordBatch, type Table } from './table.js';

/** A column's values: one for each row, or one for each run of rows. */
export type ColumnValues = Data | RunLengths;

export function isRunLengths(values: ColumnValues): values is RunLengths {
  return 'lengths' in values;
}

/** Rows of a table that are to be encoded. */
export class TableRows {
  readonly table: Table;
  readonly length: number;
  readonly #columns: Readonly<Record<string, ColumnValues>>;
  #batch: RecordBatch | undefined;

  /** @throws Error where a column is missing, too many, or of another length: a bug of the caller */
  constructor(table: Table, length: number, columns: Readonly<Record<string, ColumnValues>>) {
    this.table = table;
    this.length = length;
    this.#columns = columns;
    for (const { name } of table.columns) {
      const values = columns[name];
      const rows = values === undefined ? 'none' : isRunLengths(values) ? runRows(values) : values.length;
      if (rows !== length) throw new Error(`${table.name}.${name}: expected ${length} values, got ${rows}`);
    }
    const others = Object.keys(columns).length - table.columns.length;
    if (others !== 0) throw new Error(`${table.name}: expected its columns only, got ${others} others`);
  }

  static fromBatch(table: Table, batch: RecordBatch): TableRows {
    const columns = table.columns.map(({ name }): [string, Data | undefined] => [name, columnData(batch, name)]);
    const found = columns.filter((column): column is [string, Data] => column[1] !== undefined);
    return new TableRows(table, batch.numRows, Object.fromEntries(found));
  }

  /** The values of one of the table's columns. */
  column(name: string): ColumnValues {
    const values = this.#columns[name];
    if (values === undefined) throw new Error(`${this.table.name}.${name}: expected a column, got none`);
    return values;
  }

  /** The rows with a value for each row of each column. */
  get batch(): RecordBatch {
    if (this.#batch !== undefined) return this.#batch;
    const arrays = Object.entries(this.#columns).map(([name, values]) => [name, expandRuns(values)] as const);
    return (this.#batch = recordBatch(this.table, this.length, Object.fromEntries(arrays)));
  }
}

function runRows({ values, lengths }: RunLengths): number {
  if (values.length !== lengths.length) return NaN;
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** Expands runs to a value for each row. Runs have values of a fixed width or dictionary numbers. */
export function expandRuns(values: ColumnValues): Data {
  if (!isRunLengths(values)) return values;
  const { type, dictionary } = values.values;
  const array: unknown = values.values.values;
  if (!(ArrayBuffer.isView(array) && array.byteOffset % 4 === 0)) throw new Error('expected values of a fixed width');
  const words = new Int32Array(array.buffer, array.byteOffset, array.byteLength / 4);
  // The width comes from the type: buffers of an Arrow stream may have padding after the values.
  const isNumbered = arrow().DataType.isDictionary(type) || arrow().DataType.isDate(type);
  const wordsPerValue = isNumbered ? 1 : (numbersOf(values.values)?.wordsPerValue ?? NaN);
  if (Number.isNaN(wordsPerValue)) throw new Error('expected numbers, or texts of a dictionary');
  const length = runRows(values);
  const into = separateMemory.int32s(length * wordsPerValue);
  const nulls = nullsOf(values.values);
  const nullBitmap = nulls.nullCount === 0 ? undefined : new Uint8Array((length + 7) >> 3).fill(0xff);
  let nullCount = 0;
  let row = 0;
  for (const [run, rows] of values.lengths.entries()) {
    const isNone = isNull(nulls, run);
    if (isNone) nullCount += rows;
    for (const end = row + rows; row < end; row++) {
      for (let word = 0; word < wordsPerValue; word++) {
        into[row * wordsPerValue + word] = words[run * wordsPerValue + word] ?? 0;
      }
      if (isNone && nullBitmap) nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) & ~(1 << (row & 7));
    }
  }
  // The array's type is that of the runs' values.
  const data = array instanceof BigInt64Array ? new BigInt64Array(into.buffer) : into;
  const buffers =
    nullBitmap === undefined
      ? { [arrow().BufferType.DATA]: data }
      : { [arrow().BufferType.DATA]: data, [arrow().BufferType.VALIDITY]: nullBitmap };
  return new (arrow().Data)(type, 0, length, nullCount, buffers, [], dictionary);
}
