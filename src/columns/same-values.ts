import { DataType, TimeUnit, type Data, type RecordBatch } from 'apache-arrow';
import { columnData, isNull, nullsOf, textsOf, type Nulls, type Texts } from './column-data.js';
import type { Table } from './table.js';

/** Rows of a batch, from one on. */
export interface RowsFrom {
  readonly batch: RecordBatch;
  readonly from: number;
}

/**
 * Whether so many rows of two batches hold the same values in every column of a table, whatever arrays hold them: texts
 * with or without a dictionary, decimals of 64 or 128 bits. False as well where a batch has other columns than the table, or
 * one of another type.
 */
export function sameValues({ columns }: Table, ours: RowsFrom, theirs: RowsFrom, rows: number): boolean {
  const hasOthers = [ours, theirs].some(({ batch }) => batch.numCols !== columns.length);
  if (hasOthers) return false;
  return columns.every(({ name }) => {
    const a = columnData(ours.batch, name);
    const b = columnData(theirs.batch, name);
    if (a === undefined || b === undefined) return false;
    const texts = [utf8Of(a), utf8Of(b)] as const;
    if (texts[0] !== undefined && texts[1] !== undefined)
      return sameTexts(texts[0], ours.from, texts[1], theirs.from, rows);
    const numbers = [numbersOf(a), numbersOf(b)] as const;
    if (numbers[0]?.unit === undefined || numbers[0].unit !== numbers[1]?.unit) return false;
    return sameNumbers(numbers[0], ours.from, numbers[1], theirs.from, rows);
  });
}

/** Undefined where the column isn't one of texts. */
function utf8Of(data: Data): Texts | undefined {
  const { type } = data;
  return DataType.isUtf8(DataType.isDictionary(type) ? type.dictionary : type) ? textsOf(data) : undefined;
}

function sameTexts(a: Texts, fromA: number, b: Texts, fromB: number, rows: number): boolean {
  // Of two dictionaries, which of theirs each of ours was found equal to: its bytes are compared once then.
  const equal = new Int32Array(a.numbers !== undefined && b.numbers !== undefined ? a.offsets.length : 0).fill(-1);
  for (let row = 0; row < rows; row++) {
    const [rowA, rowB] = [fromA + row, fromB + row];
    const isNone = isNull(a.nulls, rowA);
    if (isNone !== isNull(b.nulls, rowB)) return false;
    if (isNone) continue;
    const ours = a.numbers === undefined ? rowA : (a.numbers[rowA] ?? 0);
    const theirs = b.numbers === undefined ? rowB : (b.numbers[rowB] ?? 0);
    if (equal[ours] === theirs) continue;
    if (!sameBytes(a, ours, b, theirs)) return false;
    if (ours < equal.length) equal[ours] = theirs;
  }
  return true;
}

function sameBytes(a: Texts, ours: number, b: Texts, theirs: number): boolean {
  let at = a.offsets[ours] ?? 0;
  const end = a.offsets[ours + 1] ?? 0;
  let other = b.offsets[theirs] ?? 0;
  if (end - at !== (b.offsets[theirs + 1] ?? 0) - other) return false;
  for (; at < end; at++, other++) if (a.bytes[at] !== b.bytes[other]) return false;
  return true;
}

interface Numbers {
  readonly nulls: Nulls;
  /** What they count: numbers of different units are never the same. */
  readonly unit: string;
  /** 32 bits each, the least significant first. */
  readonly words: Int32Array;
  readonly wordsPerValue: number;
}

function numbersOf(data: Data): Numbers | undefined {
  const { type } = data;
  const values: unknown = data.values;
  if (!(ArrayBuffer.isView(values) && values.byteOffset % 4 === 0)) return undefined;
  const of = (unit: string, bits: number): Numbers => {
    const words = new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
    return { nulls: nullsOf(data), unit, words, wordsPerValue: bits / 32 };
  };
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.MICROSECOND) return of('microseconds', 64);
  if (DataType.isDecimal(type)) return of(`decimals of scale ${type.scale}`, type.bitWidth);
  if (DataType.isInt(type) && type.isSigned && type.bitWidth >= 32) return of('integers', type.bitWidth);
  return undefined;
}

function sameNumbers(a: Numbers, fromA: number, b: Numbers, fromB: number, rows: number): boolean {
  const words = Math.max(a.wordsPerValue, b.wordsPerValue);
  for (let row = 0; row < rows; row++) {
    const [rowA, rowB] = [fromA + row, fromB + row];
    const isNone = isNull(a.nulls, rowA);
    if (isNone !== isNull(b.nulls, rowB)) return false;
    if (isNone) continue;
    for (let word = 0; word < words; word++) if (wordOf(a, rowA, word) !== wordOf(b, rowB, word)) return false;
  }
  return true;
}

/** Beyond a value's last word, its sign. */
function wordOf({ words, wordsPerValue }: Numbers, row: number, word: number): number {
  const first = row * wordsPerValue;
  return word < wordsPerValue ? (words[first + word] ?? 0) : (words[first + wordsPerValue - 1] ?? 0) >> 31;
}
