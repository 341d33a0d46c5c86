import { rm, type FileHandle } from 'node:fs/promises';
import { readFileRange } from '../../core/io/files.js';
import { openNewFile } from '../../core/io/write-file.js';
import type { ByteRange } from '../../core/columns/byte-ranges.js';
import { instantCells, textCells, columnData, numbersOf } from '../../core/columns/column-data.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';

/** 32-bit words of an event's id, which has 128 bits without the number of equal events. */
export const idWords = 4;
const idDigits = 32;

/**
 * Reads the words of a stored id, without the number of equal events (`-2`, `-3` …). False where it is not the id of an event by
 * date: ids of other events begin with their group or order.
 */
export function readId({ page, start, end }: ByteRange, words: Int32Array, at: number): boolean {
  const digitsEnd = start + idDigits;
  if (end < digitsEnd || (end > digitsEnd && page[digitsEnd] !== 0x2d)) return false;
  const bytes = new Uint8Array(words.buffer, words.byteOffset + at * 4, idWords * 4);
  for (let digit = 0; digit < idDigits; digit += 2) {
    const high = digitOf(page[start + digit]);
    const low = digitOf(page[start + digit + 1]);
    if (high < 0 || low < 0) return false;
    bytes[digit / 2] = high * 16 + low;
  }
  return true;
}

/** The value of a lower-case hexadecimal digit; -1 for other characters. */
function digitOf(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}

/** Copies the words of a row's id. */
export function copyId(from: Int32Array, row: number, to: Int32Array, index: number): void {
  for (let word = 0; word < idWords; word++) to[index * idWords + word] = from[row * idWords + word] ?? 0;
}

/** The distinct ids of some events, numbered in order of occurrence, for looking up other ids. */
export class DistinctIds {
  /** The number of each event's id among the distinct ones. */
  readonly numbers: Int32Array;
  length = 0;
  readonly #words: Int32Array;
  /** A hash table with open addressing: the id's number plus one, 0 where a slot is free. The id's first word is the hash. */
  readonly #slots: Int32Array;

  constructor(words: Int32Array) {
    const rows = words.length / idWords;
    this.#words = new Int32Array(words.length);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(4 * rows + 4)));
    this.numbers = new Int32Array(rows);
    for (let row = 0; row < rows; row++) {
      const slot = this.#slotOf(words, row * idWords);
      if (this.#slots[slot] === 0) {
        copyId(words, row, this.#words, this.length);
        this.#slots[slot] = ++this.length;
      }
      this.numbers[row] = (this.#slots[slot] ?? 0) - 1;
    }
  }

  /** Adds to `times` how often each distinct id occurs in `others`. */
  count(others: Int32Array, times: Int32Array): void {
    for (let at = 0; at < others.length; at += idWords) {
      const number = (this.#slots[this.#slotOf(others, at)] ?? 0) - 1;
      if (number >= 0) times[number] = (times[number] ?? 0) + 1;
    }
  }

  /** The slot of an id, or the free slot for it. */
  #slotOf(words: Int32Array, at: number): number {
    const mask = this.#slots.length - 1;
    const [first, second, third, fourth] = [words[at], words[at + 1], words[at + 2], words[at + 3]];
    for (let slot = (first ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const start = ((this.#slots[slot] ?? 0) - 1) * idWords;
      if (start < 0) return slot;
      const known = this.#words;
      if (
        known[start] === first &&
        known[start + 1] === second &&
        known[start + 2] === third &&
        known[start + 3] === fourth
      )
        return slot;
    }
  }
}

/** Bytes of a file, in all columns, whose ids are read at once; ids are a tenth of them. */
const readBytes = 32_000_000;

/** Ids of a file's events by date. */
interface StoredIds {
  /** The words of the ids: `idWords` for each row. */
  readonly words: Int32Array;
  /** The starts of their windows, in milliseconds since 1970. */
  readonly days: Float64Array;
  /** Their positions in their windows. */
  readonly positions: Int32Array;
}

/**
 * The ids of a stored file's events, in batches that bound the memory.
 *
 * @throws Error where the file is not a Parquet file of events
 */
export async function* storedIds(file: ParquetSource): AsyncGenerator<StoredIds> {
  // Imported here because few imports find stored days.
  const { parquetBatches } = await import('../../core/parquet/wasm.js');
  for await (const batch of parquetBatches(file, ['event_id', 'window_start', 'position'], readBytes)) {
    const id = textCells(batch, 'event_id');
    const start = instantCells(batch, 'window_start');
    const position = columnData(batch, 'position');
    const numbers = position && numbersOf(position);
    if (numbers === undefined) throw new Error('expected position to hold integers');
    const words = new Int32Array(batch.numRows * idWords);
    const days = new Float64Array(batch.numRows);
    const positions = new Int32Array(batch.numRows);
    let rows = 0;
    for (let row = 0; row < batch.numRows; row++) {
      const text = id(row);
      const began = start(row);
      // Other rows are of a group or an order.
      if (text === undefined || began === undefined || !readId(text, words, rows * idWords)) continue;
      days[rows] = Number(began / 1000n);
      positions[rows] = numbers.words[row * numbers.wordsPerValue] ?? 0;
      rows++;
    }
    yield {
      words: words.slice(0, rows * idWords),
      days: days.subarray(0, rows),
      positions: positions.subarray(0, rows),
    };
  }
}

/** The bytes of a list of ids in an `IdLog`. */
export interface IdList {
  readonly at: number;
  readonly bytes: number;
}

/** Lists of ids in a local file: an import may have more of them than fit in memory. */
export class IdLog {
  readonly #path: string;
  #file: FileHandle | undefined;
  #end = 0;

  /** @param path of a file that does not exist yet */
  constructor(path: string) {
    this.#path = path;
  }

  async add(words: Int32Array): Promise<IdList> {
    this.#file ??= await openNewFile(this.#path, 0o600);
    const list: IdList = { at: this.#end, bytes: words.byteLength };
    const { bytesWritten } = await this.#file.write(words, 0, list.bytes, list.at);
    if (bytesWritten !== list.bytes) throw new Error(`expected room for ${list.bytes} bytes in ${this.#path}`);
    this.#end += list.bytes;
    return list;
  }

  /** The words of a list. */
  async read({ at, bytes }: IdList): Promise<Int32Array> {
    const read = this.#file && (await readFileRange(this.#file, at, bytes));
    if (read?.length !== bytes) throw new Error(`expected ${bytes} bytes of ids at ${at} of ${this.#path}`);
    return new Int32Array(read.buffer);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await rm(this.#path, { force: true });
  }
}
