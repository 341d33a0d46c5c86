import type { RecordBatch } from 'apache-arrow';
import { columnData, isNull, numbersOf, utf8Of, type Numbers, type Texts } from './column-data.js';
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

/** 32 bits of a value; beyond its last word, its sign. */
function wordOf({ words, wordsPerValue }: Numbers, row: number, word: number): number {
  const first = row * wordsPerValue;
  return word < wordsPerValue ? (words[first + word] ?? 0) : (words[first + wordsPerValue - 1] ?? 0) >> 31;
}
