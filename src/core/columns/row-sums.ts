import type { Data, RecordBatch } from 'apache-arrow';
import { columnData, isNull, numbersOf, utf8Of, type Numbers, type Texts } from './column-data.js';
import type { Table } from './table.js';

/** Two hashes of 32 bits for each row of a batch, or for each text of a column. */
interface Hashes {
  readonly first: Int32Array;
  readonly second: Int32Array;
}

/**
 * What all rows of a table come to: the sum of their hashes, of 64 bits. The same rows come to the same, in whatever order,
 * batches and arrays: texts with or without a dictionary, decimals of 64 or 128 bits. Other rows come to something else,
 * but for one chance in 2^64.
 */
export class RowSums {
  readonly #table: Table;
  #rows = 0;
  #first = 0;
  #second = 0;
  /** What the columns hold; undefined as long as there is no row. */
  #kinds: string | undefined;
  #isKnown = true;

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
    this.#isKnown &&= batch.numCols === columns.length && !kinds.includes(undefined) && (this.#kinds ?? all) === all;
    this.#kinds = all;
    this.#rows += rows;
    for (let row = 0; row < rows; row++) {
      this.#first = (this.#first + (sums.first[row] ?? 0)) | 0;
      this.#second = (this.#second + (sums.second[row] ?? 0)) | 0;
    }
  }

  /** Whether the rows are the same; false as well where a column is missing, too many, or holds no texts or numbers. */
  equals(other: RowSums): boolean {
    if (this.#rows === 0 && other.#rows === 0) return true;
    return (
      this.#isKnown &&
      other.#isKnown &&
      this.#kinds === other.#kinds &&
      this.#rows === other.#rows &&
      this.#first === other.#first &&
      this.#second === other.#second
    );
  }
}

/** Takes a column's values into the hashes of the rows; what kind they are, undefined where they are no texts or numbers. */
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
  // Of a dictionary, each text once.
  const hashes = textHashes(texts, numbers === undefined ? rows : offsets.length - 1);
  for (let row = 0; row < rows; row++) {
    const at = numbers === undefined ? row : (numbers[row] ?? 0);
    const isNone = isNull(nulls, row);
    first[row] = mixed((first[row] ?? 0) ^ (isNone ? noneFirst : (hashes.first[at] ?? 0)));
    second[row] = mixed((second[row] ?? 0) + (isNone ? noneSecond : (hashes.second[at] ?? 0)));
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
      a = mixed(low) ^ high;
      b = Math.imul(low, 0x9e3779b1) + mixed(high);
      // What only repeats the sign leaves the value as it is, however many bits it has.
      for (let word = 2; word < wordsPerValue; word++) {
        const sign = high >> 31;
        high = words[at + word] ?? 0;
        if (high === sign) continue;
        a = mixed(a ^ high);
        b = mixed(b + high);
      }
    }
    first[row] = mixed((first[row] ?? 0) ^ a);
    second[row] = mixed((second[row] ?? 0) + b);
  }
}

/** The hash of no value. */
const noneFirst = 0x1b873593;
const noneSecond = 0x51ed270b;

/** Spreads every bit over all of them, and 0 as well: the sum of hashes would otherwise be little more than that of the values. */
function mixed(value: number): number {
  let hash = (value ^ 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
