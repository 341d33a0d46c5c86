import type { Data, Utf8 } from 'apache-arrow';
import { arrow } from './arrow.js';
import { Int32List, type ColumnMemory } from './memory.js';

/** The position of a string's UTF-8 bytes in a page. */
export interface ByteRange {
  readonly page: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The bytes of a range, not copied. */
export function bufferOf({ page, start, end }: ByteRange): Buffer {
  return Buffer.from(page.buffer, page.byteOffset + start, end - start);
}

/** Starts and ends of texts within one array of bytes. */
export interface RangesWithin {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** A list of byte ranges without an object for each. */
export class ByteRanges {
  readonly #pages: Uint8Array[] = [];
  readonly #starts = new Int32List();
  readonly #ends = new Int32List();

  push(page: Uint8Array, start: number, end: number): void {
    this.#pages.push(page);
    this.#starts.push(start);
    this.#ends.push(end);
  }

  size(row: number): number {
    return this.#ends.get(row) - this.#starts.get(row);
  }

  /** @param before number of preceding bytes to include */
  bytes(row: number, before = 0): Uint8Array {
    const page = this.#pages[row];
    if (page === undefined) throw new Error(`expected the bytes of row ${row}, got none`);
    // `Buffer.subarray` takes several times as long.
    return new Uint8Array(page.buffer, page.byteOffset + this.start(row) - before, this.size(row) + before);
  }

  /** The offset of the text in its page. */
  start(row: number): number {
    return this.#starts.get(row);
  }

  /** Starts and ends relative to `all`, which contains all pages. */
  within(all: Uint8Array): RangesWithin {
    const { length } = this.#pages;
    const starts = new Int32Array(length);
    const ends = new Int32Array(length);
    for (let row = 0; row < length; row++) {
      const page = this.#pages[row];
      if (page?.buffer !== all.buffer) throw new Error(`expected text ${row} among the bytes, got none`);
      const before = page.byteOffset - all.byteOffset;
      starts[row] = this.#starts.get(row) + before;
      ends[row] = this.#ends.get(row) + before;
    }
    return { starts, ends };
  }

  /** Replaces the list by these ranges of `all`. */
  replaceAll({ starts, ends }: RangesWithin, all: Uint8Array): void {
    this.#starts.replaceAll(starts);
    this.#ends.replaceAll(ends);
    this.#pages.length = starts.length;
    this.#pages.fill(all);
  }

  /** A text column of copies of the chosen texts; none is null. */
  array(chosen: Int32Array, memory: ColumnMemory): Data<Utf8> {
    const { length } = chosen;
    const valueOffsets = memory.int32s(length + 1);
    for (let row = 0, total = 0; row < length; row++) valueOffsets[row + 1] = total += this.size(chosen[row] ?? 0);
    const data = memory.bytes(valueOffsets[length] ?? 0);
    for (let row = 0; row < length; row++) data.set(this.bytes(chosen[row] ?? 0), valueOffsets[row]);
    return arrow().makeData({ type: new (arrow().Utf8)(), length, nullCount: 0, valueOffsets, data });
  }

  /** Drops all texts after the first `length`. */
  truncate(length: number): void {
    this.#pages.length = length;
    this.#starts.truncate(length);
    this.#ends.truncate(length);
  }
}
