import type { Data, RecordBatch } from 'apache-arrow';
import { columnData, isNull, numbersOf, utf8Of, type Numbers, type Texts } from './column-data.js';
import { hashOf } from './dictionary.js';
import type { Table } from './table.js';

/**
 * What all rows come to, column by column: the sum of their values' hashes. The same rows come to the same, in whatever order,
 * batches and arrays (see `sameValues`), so where two come to something else their rows differ. The other way round nothing
 * follows.
 */
export class ValueSums {
  readonly #table: Table;
  /** 32 bits of sum a column. */
  readonly #sums: Int32Array;
  #rows = 0;
  #isKnown = true;

  constructor(table: Table) {
    this.#table = table;
    this.#sums = new Int32Array(table.columns.length);
  }

  add(batch: RecordBatch): void {
    this.#rows += batch.numRows;
    if (batch.numCols !== this.#table.columns.length) this.#isKnown = false;
    for (const [at, { name }] of this.#table.columns.entries()) {
      const data = columnData(batch, name);
      const sum = data === undefined ? undefined : sumOf(data, batch.numRows);
      if (sum === undefined) this.#isKnown = false;
      else this.#sums[at] = (this.#sums[at] ?? 0) + sum;
    }
  }

  /** Whether the rows are others for sure; false as well where a column is missing, too many, or holds no texts or numbers. */
  differFrom(other: ValueSums): boolean {
    if (this.#rows !== other.#rows) return true;
    return this.#isKnown && other.#isKnown && this.#sums.some((sum, at) => sum !== other.#sums[at]);
  }
}

/** Undefined where the column holds something else than texts and numbers. */
function sumOf(data: Data, rows: number): number | undefined {
  const texts = utf8Of(data);
  if (texts !== undefined) return textSum(texts, rows);
  const numbers = numbersOf(data);
  return numbers === undefined ? undefined : numberSum(numbers, rows);
}

function textSum(texts: Texts, rows: number): number {
  const { nulls, numbers } = texts;
  // Of a dictionary, each text once.
  const known = numbers === undefined ? undefined : new Int32Array(texts.offsets.length - 1);
  known?.forEach((_, at) => (known[at] = textHash(texts, at)));
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    if (isNull(nulls, row)) continue;
    sum = (sum + (known === undefined ? textHash(texts, row) : (known[numbers?.[row] ?? 0] ?? 0))) | 0;
  }
  return sum;
}

function textHash({ bytes, offsets }: Texts, at: number): number {
  return mixed(hashOf(bytes, offsets[at] ?? 0, offsets[at + 1] ?? 0));
}

function numberSum({ nulls, words, wordsPerValue }: Numbers, rows: number): number {
  let sum = 0;
  for (let row = 0, at = 0; row < rows; row++, at += wordsPerValue) {
    if (isNull(nulls, row)) continue;
    const low = words[at] ?? 0;
    let high = wordsPerValue > 1 ? (words[at + 1] ?? 0) : low >> 31;
    let hash = mixed(mixed(low) ^ high);
    // What only repeats the sign leaves the value as it is, however many bits it has.
    for (let word = 2; word < wordsPerValue; word++) {
      const sign = high >> 31;
      high = words[at + word] ?? 0;
      if (high !== sign) hash = mixed(hash ^ high);
    }
    sum = (sum + hash) | 0;
  }
  return sum;
}

/** Spreads every bit over all of them, and 0 as well: the sum of hashes would otherwise be little more than that of the values. */
function mixed(value: number): number {
  let hash = (value ^ 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
