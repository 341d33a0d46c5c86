import type { DataType, Data } from 'apache-arrow';
import { arrow } from '../../columns/arrow.js';
import { nullsOf, textsOf, type Nulls } from '../../columns/column-data.js';
import { Dictionary } from '../../columns/dictionary.js';
import type { ColumnMemory } from '../../columns/memory.js';
import { digitsOf, type Column } from '../../columns/table.js';

/** The non-null values of a column's rows. */
export type Values =
  | { readonly of: 'texts'; readonly count: number; readonly texts: TextValues }
  | { readonly of: 'words'; readonly count: number; readonly words: Int32Array; readonly size: 1 | 2 }
  | { readonly of: 'booleans'; readonly count: number; readonly bits: Uint8Array };

export interface TextValues {
  readonly bytes: Uint8Array;
  /** The start of each text in the bytes, and the end of the last one. */
  readonly offsets: Int32Array;
  /** The number of each value's text. */
  readonly numbers: Int32Array;
}

/** The rows of a column from `start` to before `end`. */
export interface ColumnRows {
  readonly values: Values;
  /** Undefined where no row is null. */
  readonly nulls: RowNulls | undefined;
}

/** Null flags of the rows of `ColumnRows`. */
export interface RowNulls {
  /** A 1 for each row with a value. */
  readonly isPresent: Int32Array;
  readonly count: number;
}

/**
 * Rows of a column in the form that the encoder reads. Nothing is copied where no row is null.
 *
 * @throws Error where an array isn't of the column's type: a bug of the caller
 */
export function columnRows(column: Column, data: Data, start: number, end: number, memory: ColumnMemory): ColumnRows {
  if (!isOfType(column, data.type)) throw typeMismatch(column, data);
  const nulls = rowNulls(nullsOf(data), start, end, memory);
  return { values: valuesOf(column, data, { start, end, nulls, memory }), nulls };
}

function isOfType({ type, ...column }: Column, dataType: DataType): boolean {
  switch (type) {
    case 'text':
      return arrow().DataType.isUtf8(arrow().DataType.isDictionary(dataType) ? dataType.dictionary : dataType);
    case 'instant':
      return arrow().DataType.isTimestamp(dataType) && dataType.unit === arrow().TimeUnit.MICROSECOND;
    case 'date':
      return arrow().DataType.isDate(dataType) && dataType.unit === arrow().DateUnit.DAY;
    case 'decimal':
      return (
        arrow().DataType.isDecimal(dataType) && dataType.bitWidth === 64 && dataType.scale === digitsOf(column).scale
      );
    case 'bigint':
    case 'integer':
      return (
        arrow().DataType.isInt(dataType) && dataType.isSigned && dataType.bitWidth === (type === 'bigint' ? 64 : 32)
      );
    case 'boolean':
      return arrow().DataType.isBool(dataType);
  }
}

function rowNulls(
  { nullCount, nullBitmap, offset }: Nulls,
  start: number,
  end: number,
  memory: ColumnMemory,
): RowNulls | undefined {
  if (nullCount === 0) return undefined;
  const isPresent = memory.int32s(end - start);
  let present = 0;
  for (let row = 0, bit = start + offset; row < isPresent.length; row++, bit++) {
    const is = ((nullBitmap[bit >> 3] ?? 0) >> (bit & 7)) & 1;
    isPresent[row] = is;
    present += is;
  }
  return present === isPresent.length ? undefined : { isPresent, count: isPresent.length - present };
}

/** The rows to encode, and the memory for their values. */
interface RowSpan {
  readonly start: number;
  readonly end: number;
  readonly nulls: RowNulls | undefined;
  readonly memory: ColumnMemory;
}

function valuesOf(column: Column, data: Data, rows: RowSpan): Values {
  const count = rows.end - rows.start - (rows.nulls?.count ?? 0);
  switch (column.type) {
    case 'text':
      return { of: 'texts', count, texts: textValues(column, data, rows) };
    case 'boolean':
      return { of: 'booleans', count, bits: booleans(column, data, rows) };
    case 'date':
    case 'integer':
      return { of: 'words', count, words: words(column, data, 1, rows), size: 1 };
    case 'bigint':
    case 'instant':
    case 'decimal':
      return { of: 'words', count, words: words(column, data, 2, rows), size: 2 };
  }
}

function textValues(column: Column, data: Data, rows: RowSpan): TextValues {
  const { start, end, nulls, memory } = rows;
  const texts = textsOf(data);
  if (texts === undefined) throw typeMismatch(column, data);
  const { bytes, offsets, numbers } = texts;
  if (numbers === undefined && column.encoding === 'dictionary') {
    const dictionary = new Dictionary();
    const found = Int32Array.from({ length: end - start }, (_, row) =>
      nulls?.isPresent[row] === 0 ? 0 : dictionary.add(bytes, offsets[start + row] ?? 0, offsets[start + row + 1] ?? 0),
    );
    const distinct: Data = dictionary.data();
    return {
      bytes: distinct.values as Uint8Array,
      offsets: distinct.valueOffsets as Int32Array,
      numbers: presentValues(found, 1, { ...rows, start: 0, end: end - start }),
    };
  }
  const all = numbers ?? memory.int32s(end);
  if (numbers === undefined) for (let row = start; row < end; row++) all[row] = row;
  return { bytes, offsets, numbers: presentValues(all, 1, rows) };
}

function words(column: Column, data: Data, size: 1 | 2, rows: RowSpan): Int32Array {
  const array: unknown = data.values;
  if (!(ArrayBuffer.isView(array) && array.byteOffset % 4 === 0) || array.byteLength < data.length * size * 4) {
    throw typeMismatch(column, data);
  }
  return presentValues(new Int32Array(array.buffer, array.byteOffset, data.length * size), size, rows);
}

function booleans(column: Column, data: Data, { start, end, nulls }: RowSpan): Uint8Array {
  const bits: unknown = data.values;
  if (!(bits instanceof Uint8Array)) throw typeMismatch(column, data);
  const into = new Uint8Array(end - start);
  let count = 0;
  for (let row = start; row < end; row++) {
    if (nulls?.isPresent[row - start] === 0) continue;
    into[count++] = ((bits[row >> 3] ?? 0) >> (row & 7)) & 1;
  }
  return into.subarray(0, count);
}

/** The non-null values, of `size` words each. */
function presentValues(all: Int32Array, size: 1 | 2, { start, end, nulls, memory }: RowSpan): Int32Array {
  if (nulls === undefined) return all.subarray(start * size, end * size);
  const into = memory.int32s((end - start - nulls.count) * size);
  let filled = 0;
  for (let row = start; row < end; row++) {
    if (nulls.isPresent[row - start] === 0) continue;
    into[filled++] = all[row * size] ?? 0;
    if (size === 2) into[filled++] = all[row * size + 1] ?? 0;
  }
  return into;
}

function typeMismatch({ name, type }: Column, data: Data): Error {
  return new Error(`${name}: expected an array of the type ${type}, got one of ${arrow().Type[data.typeId]}`);
}
