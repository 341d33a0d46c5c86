import type { Data, RecordBatch } from 'apache-arrow';
import { columnData, isNull, numbersOf, utf8Of, type Numbers, type Texts } from './column-data.js';
import type { Table } from './table.js';

/** Two hashes of 32 bits for each row of a batch, or for each text of a column. */
interface Hashes {
  readonly first: Int32Array;
  readonly second: Int32Array;
}

/**
 * The 64-bit sum of the hashes of a table's rows. Equal rows have equal sums, in any order, batches and arrays: texts
 * with or without a dictionary, decimals of 64 or 128 bits. Different rows have equal sums with a probability of 2^-64.
 */
export class RowSums {
  readonly #table: Table;
  #rows = 0;
  #first = 0;
  #second = 0;
  /** The units of the columns, joined; undefined before the first batch. */
  #kinds: string | undefined;
  #isComparable = true;

  constructor(table: Table) {
    this.#table = table;
  }

  add(batch: RecordBatch): void {
    const rows = batch.numRows;
    const { columns } = this.#table;
    const sums: Hashes = { first: new Int32Array(rows), second: new Int32Array(rows) };
    const kinds = columns.map(({ name }) => {
      const data = columnData(batch, name);
      return data === undefined ? undefined : addColumn(sums, data, rows);
    });
    const all = kinds.join();
    this.#isComparable &&=
      batch.numCols === columns.length && !kinds.includes(undefined) && (this.#kinds ?? all) === all;
    this.#kinds = all;
    this.#rows += rows;
    for (let row = 0; row < rows; row++) {
      this.#first = (this.#first + (sums.first[row] ?? 0)) | 0;
      this.#second = (this.#second + (sums.second[row] ?? 0)) | 0;
    }
  }

  /** Whether the rows are equal; also false where a column is missing, unexpected, or neither text nor number. */
  equals(other: RowSums): boolean {
    if (this.#rows === 0 && other.#rows === 0) return true;
    return (
      this.#isComparable &&
      other.#isComparable &&
      this.#kinds === other.#kinds &&
      this.#rows === other.#rows &&
      this.#first === other.#first &&
      this.#second === other.#second
    );
  }
}

/** Mixes a column's values into the hashes of the rows. Returns the column's unit; undefined where it is neither text nor number. */
function addColumn(sums: Hashes, data: Data, rows: number): string | undefined {
  const texts = utf8Of(data);
  if (texts !== undefined) {
    addTexts(sums, texts, rows);
    return 'texts';
  }
  const numbers = numbersOf(data);
  if (numbers === undefined) return undefined;
  addNumbers(sums, numbers, rows);
  return numbers.unit;
}

function addTexts({ first, second }: Hashes, texts: Texts, rows: number): void {
  const { nulls, numbers, offsets } = texts;
  // A text of a dictionary is hashed once.
  const hashes = textHashes(texts, numbers === undefined ? rows : offsets.length - 1);
  for (let row = 0; row < rows; row++) {
    const at = numbers === undefined ? row : (numbers[row] ?? 0);
    const isNone = isNull(nulls, row);
    first[row] = mix((first[row] ?? 0) ^ (isNone ? noneFirst : (hashes.first[at] ?? 0)));
    second[row] = mix((second[row] ?? 0) + (isNone ? noneSecond : (hashes.second[at] ?? 0)));
  }
}

function textHashes({ bytes, offsets }: Texts, count: number): Hashes {
  const hashes: Hashes = { first: new Int32Array(count), second: new Int32Array(count) };
  for (let text = 0; text < count; text++) {
    const start = offsets[text] ?? 0;
    const end = offsets[text + 1] ?? 0;
    let first = 0x811c9dc5;
    let second = end - start;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0;
      first = Math.imul(first ^ byte, 0x01000193);
      second = Math.imul(second + byte, 0x5bd1e995) ^ (second >>> 15);
    }
    hashes.first[text] = first;
    hashes.second[text] = second;
  }
  return hashes;
}

function addNumbers({ first, second }: Hashes, { nulls, words, wordsPerValue }: Numbers, rows: number): void {
  for (let row = 0, at = 0; row < rows; row++, at += wordsPerValue) {
    let a = noneFirst;
    let b = noneSecond;
    if (!isNull(nulls, row)) {
      const low = words[at] ?? 0;
      let high = wordsPerValue > 1 ? (words[at + 1] ?? 0) : low >> 31;
      a = mix(low) ^ high;
      b = Math.imul(low, 0x9e3779b1) + mix(high);
      // Words that only extend the sign are skipped, so that equal values of different widths have equal hashes.
      for (let word = 2; word < wordsPerValue; word++) {
        const sign = high >> 31;
        high = words[at + word] ?? 0;
        if (high === sign) continue;
        a = mix(a ^ high);
        b = mix(b + high);
      }
    }
    first[row] = mix((first[row] ?? 0) ^ a);
    second[row] = mix((second[row] ?? 0) + b);
  }
}

/** The hash of null. */
const noneFirst = 0x1b873593;
const noneSecond = 0x51ed270b;

/** Spreads each bit over all bits, for 0 as well: otherwise the sum of hashes would resemble the sum of the values. */
function mix(value: number): number {
  let hash = (value ^ 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
