import type { Data, RecordBatch } from 'apache-arrow';
import { arrow } from './arrow.js';
import type { ByteRange } from './byte-ranges.js';

/** Cells of stored rows, which are asked for in their order, from 0 on: undefined is null. */
export interface RowCells {
  /** How many there are. */
  readonly rows: number;
  texts(column: string): (row: number) => ByteRange | undefined;
  /** Microseconds since 1970. */
  instants(column: string): (row: number) => bigint | undefined;
}

/** What a batch holds of a column; undefined where it has none of that name. */
export function columnData(batch: RecordBatch, name: string): Data | undefined {
  const [data]: readonly (Data | undefined)[] = batch.getChild(name)?.data ?? [];
  return data;
}

/** Where a column has nulls. */
export type Nulls = Readonly<Pick<Data, 'nullCount' | 'nullBitmap' | 'offset'>>;

/** To be taken once for all rows: Arrow counts the nulls again whenever it is asked. */
export function nullsOf({ nullCount, nullBitmap, offset }: Nulls): Nulls {
  return { nullCount, nullBitmap, offset };
}

/** Off the bitmap: Arrow's own method costs as much as all the rest. Where nothing is null there is none. */
export function isNull({ nullCount, nullBitmap, offset }: Nulls, row: number): boolean {
  const at = row + offset;
  return nullCount > 0 && (((nullBitmap[at >> 3] ?? 0) >> (at & 7)) & 1) === 0;
}

/** A column's texts as they lie in memory, with a dictionary or without. */
export interface Texts {
  readonly nulls: Nulls;
  readonly bytes: Uint8Array;
  /** Where each text begins in the bytes, and the last one ends. */
  readonly offsets: Int32Array;
  /** Which of the texts each row is; undefined: the one of its own number. */
  readonly numbers: Int32Array | undefined;
}

/** Undefined where the column's values are no bytes with offsets, or are numbered otherwise. */
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

/** Undefined where the column isn't one of texts. */
export function utf8Of(data: Data): Texts | undefined {
  const { type } = data;
  return arrow().DataType.isUtf8(arrow().DataType.isDictionary(type) ? type.dictionary : type)
    ? textsOf(data)
    : undefined;
}

/** A column's numbers as they lie in memory. */
export interface Numbers {
  readonly nulls: Nulls;
  /** What they count: numbers of different units are never the same. */
  readonly unit: string;
  /** 32 bits each, the least significant first. */
  readonly words: Int32Array;
  readonly wordsPerValue: number;
}

/** Undefined where the column's values are no integers, decimals or instants that a table has. */
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

/** A column's texts as the bytes that they are, by row; undefined for null. Throws an Error for a column of another type. */
export function textCells(batch: RecordBatch, name: string): (row: number) => ByteRange | undefined {
  const data = columnOf(batch, name);
  const texts = textsOf(data);
  if (texts === undefined) throw odd(name, 'texts', data);
  const { nulls, bytes: page, offsets, numbers } = texts;
  return (row) => {
    if (isNull(nulls, row)) return undefined;
    const at = numbers === undefined ? row : (numbers[row] ?? 0);
    return { page, start: offsets[at] ?? 0, end: offsets[at + 1] ?? 0 };
  };
}

/** A column's instants in microseconds since 1970, by row; undefined for null. Throws an Error for a column of another type. */
export function instantCells(batch: RecordBatch, name: string): (row: number) => bigint | undefined {
  const data = columnOf(batch, name);
  const values: unknown = data.values;
  const { type } = data;
  const isInstant = type instanceof arrow().Timestamp && type.unit === arrow().TimeUnit.MICROSECOND;
  if (!(isInstant && values instanceof BigInt64Array)) throw odd(name, 'instants in microseconds', data);
  const nulls = nullsOf(data);
  return (row) => (isNull(nulls, row) ? undefined : values[row]);
}

function columnOf(batch: RecordBatch, name: string): Data {
  const data = columnData(batch, name);
  if (data === undefined) throw new Error(`expected a column ${name}, found none`);
  return data;
}

function odd(name: string, expected: string, { typeId }: Data): Error {
  return new Error(`expected ${name} to be ${expected}, got ${arrow().Type[typeId]}`);
}
