import type { Data, RecordBatch } from 'apache-arrow';
import { arrow } from './arrow.js';
import type { ByteRange } from './byte-ranges.js';

/** Cells of stored rows, to be read in order from row 0; undefined is null. */
export interface RowCells {
  /** Number of rows. */
  readonly rows: number;
  texts(column: string): (row: number) => ByteRange | undefined;
  /** Microseconds since 1970. */
  instants(column: string): (row: number) => bigint | undefined;
}

/** The data of a batch's column; undefined where it has no column of that name. */
export function columnData(batch: RecordBatch, name: string): Data | undefined {
  return batch.data.children[batch.schema.fields.findIndex((field) => field.name === name)];
}

/** The null bitmap of a column. */
export type Nulls = Readonly<Pick<Data, 'nullCount' | 'nullBitmap' | 'offset'>>;

/** To be read once for all rows: Arrow's `nullCount` counts the nulls on every access. */
export function nullsOf({ nullCount, nullBitmap, offset }: Nulls): Nulls {
  return { nullCount, nullBitmap, offset };
}

/** Reads the bitmap, which is missing where nothing is null: Arrow's `getValid` costs as much as the rest of a loop. */
export function isNull({ nullCount, nullBitmap, offset }: Nulls, row: number): boolean {
  const at = row + offset;
  return nullCount > 0 && (((nullBitmap[at >> 3] ?? 0) >> (at & 7)) & 1) === 0;
}

/** A column's texts as they are in memory, with or without a dictionary. */
interface Texts {
  readonly nulls: Nulls;
  readonly bytes: Uint8Array;
  /** The start of each text in the bytes, and the end of the last one. */
  readonly offsets: Int32Array;
  /** The number of each row's text; undefined: row `n` has text `n`. */
  readonly numbers: Int32Array | undefined;
}

/** Compares the texts with numbers `a` and `b` in the order of their UTF-8 bytes. */
export function compareTexts(bytes: Uint8Array, offsets: Int32Array, a: number, b: number): number {
  let at = offsets[a] ?? 0;
  let other = offsets[b] ?? 0;
  const end = offsets[a + 1] ?? 0;
  const otherEnd = offsets[b + 1] ?? 0;
  for (; at < end && other < otherEnd; at++, other++) {
    const difference = (bytes[at] ?? 0) - (bytes[other] ?? 0);
    if (difference !== 0) return difference;
  }
  return end - at - (otherEnd - other);
}

/** Undefined where the column's values aren't bytes with offsets, or its dictionary numbers aren't 32-bit integers. */
export function textsOf(data: Data): Texts | undefined {
  const isDictionary = arrow().DataType.isDictionary(data.type);
  const texts: Data | undefined = isDictionary ? data.dictionary?.data[0] : data;
  const bytes: unknown = texts?.values;
  const offsets: unknown = texts?.valueOffsets;
  const numbers: unknown = isDictionary ? data.values : undefined;
  if (!(bytes instanceof Uint8Array && offsets instanceof Int32Array)) return undefined;
  if (numbers !== undefined && !(numbers instanceof Int32Array)) return undefined;
  return { nulls: nullsOf(data), bytes, offsets, numbers };
}

/** A column's numbers as they are in memory. */
interface Numbers {
  readonly nulls: Nulls;
  /** Type and scale, such as `microseconds`: numbers of different units are never equal. */
  readonly unit: string;
  /** Words of 32 bits, the least significant first. */
  readonly words: Int32Array;
  readonly wordsPerValue: number;
}

/** Undefined where the column's type is no integer, decimal or instant that a table uses. */
export function numbersOf(data: Data): Numbers | undefined {
  const { type } = data;
  const values: unknown = data.values;
  if (!(ArrayBuffer.isView(values) && values.byteOffset % 4 === 0)) return undefined;
  const numbersIn = (unit: string, bits: number): Numbers => {
    const words = new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
    return { nulls: nullsOf(data), unit, words, wordsPerValue: bits / 32 };
  };
  if (arrow().DataType.isTimestamp(type) && type.unit === arrow().TimeUnit.MICROSECOND)
    return numbersIn('microseconds', 64);
  if (arrow().DataType.isDecimal(type)) return numbersIn(`decimals of scale ${type.scale}`, type.bitWidth);
  if (arrow().DataType.isInt(type) && type.isSigned && type.bitWidth >= 32)
    return numbersIn(`integers of ${type.bitWidth} bits`, type.bitWidth);
  return undefined;
}

/** A function that returns the bytes of a row's text; undefined for null. Throws an Error for a column of another type. */
export function textCells(batch: RecordBatch, name: string): (row: number) => ByteRange | undefined {
  const data = columnOf(batch, name);
  const texts = textsOf(data);
  if (texts === undefined) throw typeMismatch(name, 'texts', data);
  const { nulls, bytes: page, offsets, numbers } = texts;
  return (row) => {
    if (isNull(nulls, row)) return undefined;
    const at = numbers === undefined ? row : (numbers[row] ?? 0);
    return { page, start: offsets[at] ?? 0, end: offsets[at + 1] ?? 0 };
  };
}

/**
 * A function that returns a row's instant in microseconds since 1970; undefined for null. Throws an Error for a column
 * of another type.
 */
export function instantCells(batch: RecordBatch, name: string): (row: number) => bigint | undefined {
  const data = columnOf(batch, name);
  const values: unknown = data.values;
  const { type } = data;
  const isInstant = type instanceof arrow().Timestamp && type.unit === arrow().TimeUnit.MICROSECOND;
  if (!(isInstant && values instanceof BigInt64Array)) throw typeMismatch(name, 'instants in microseconds', data);
  const nulls = nullsOf(data);
  return (row) => (isNull(nulls, row) ? undefined : values[row]);
}

function columnOf(batch: RecordBatch, name: string): Data {
  const data = columnData(batch, name);
  if (data === undefined) throw new Error(`expected a column ${name}, found none`);
  return data;
}

function typeMismatch(name: string, expected: string, { typeId }: Data): Error {
  return new Error(`expected ${name} to be ${expected}, got ${arrow().Type[typeId]}`);
}
