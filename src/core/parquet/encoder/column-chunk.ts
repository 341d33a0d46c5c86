import type { Data } from 'apache-arrow';
import { ReusedMemory } from '../../columns/memory.js';
import type { Column } from '../../columns/table.js';
import { bloomFilter } from './bloom-filter.js';
import { integerOf, textBounds, wordBounds, type Bounds } from './bounds.js';
import { ByteBuffer } from './byte-buffer.js';
import { columnRows, type ColumnRows, type TextValues, type Values } from './column-values.js';
import { deltaLimit, writeDeltas } from './delta.js';
import { numberTexts, numberWords, writePlainTexts } from './dictionary-page.js';
import { codec, encoding, pageType } from './format.js';
import { widthOf, writeHybrid, writeRun } from './rle.js';
import { writeStruct, type StructWriter } from './thrift.js';
import type { Compress } from './zstd.js';

/** Rows of a page at the most: what a reader takes that looks for few rows. */
const pageRows = 20_000;
/** Bytes of a page's texts, unless one alone is longer. */
const pageBytes = 1_000_000;
/** Distinct 64-bit values from which on a dictionary isn't worth its lookups. */
const mostDistinct = 1 << 16;

export interface Page {
  /** Where it begins, from the chunk's beginning on. */
  readonly offset: number;
  readonly size: number;
  /** Number of its first row within the chunk. */
  readonly firstRow: number;
  readonly rows: number;
  readonly nulls: number;
  /** Undefined for texts, and where there is no value. */
  readonly bounds: Bounds | undefined;
}

/** The pages of a column in a row group, and what the footer says of them. */
export interface ColumnChunk {
  readonly pieces: readonly Uint8Array[];
  readonly codec: number;
  readonly encoding: number;
  readonly rows: number;
  readonly nulls: number;
  readonly size: number;
  readonly uncompressedSize: number;
  /** Where the data pages begin; at 0 there is a dictionary then, unless it is 0 itself. */
  readonly dataOffset: number;
  readonly pages: readonly Page[];
  readonly bounds: Bounds | undefined;
  readonly bloom: Uint8Array | undefined;
}

/** How a chunk's values are written. */
interface ValueWriter {
  readonly encoding: number;
  /** Writes the dictionary's values; undefined where there is none. */
  readonly dictionary?: { readonly count: number; readonly write: (to: ByteBuffer) => void };
  /** Writes the values from `start` to before `end`. */
  readonly write: (to: ByteBuffer, start: number, end: number) => void;
  /** Bytes of a value with a number, beside what each row takes; left out: few. */
  readonly bytesOf?: (value: number) => number;
}

/** What is needed for one chunk only. */
const content = new ByteBuffer();
const memory = new ReusedMemory(16_000_000);

/** Encodes the rows of a column from `start` to before `end`. Throws an Error where the array isn't of the column's type. */
export function columnChunk(column: Column, data: Data, start: number, end: number, compress: Compress): ColumnChunk {
  memory.clear();
  const rows = columnRows(column, data, start, end, memory);
  const { values, nulls } = rows;
  const distinct = values.of === 'texts' ? numberTexts(values.texts, memory) : undefined;
  const bounds = column.unbounded === true ? undefined : boundsOf(values, distinct?.used);
  const writer = valueWriter(column, values, distinct, bounds);
  const pieces: Uint8Array[] = [];
  const pages: Page[] = [];
  let size = 0;
  let uncompressedSize = 0;
  const { dictionary } = writer;
  // Where all rows are the same, a call of the codec costs more than it saves.
  const isCompressed = values.count > 0 && (nulls !== undefined || dictionary?.count !== 1);

  const put = (header: (to: StructWriter) => unknown, type: number): void => {
    const raw = content.written;
    if (raw.length >= 2 ** 31) throw new Error(`${column.name}: expected a page below 2 GiB, got ${raw.length} bytes`);
    const bytes = isCompressed ? compress(raw) : raw.slice();
    const head = new ByteBuffer(64);
    writeStruct(head, (to) => {
      to.i32(1, type).i32(2, raw.length).i32(3, bytes.length);
      header(to);
    });
    pieces.push(head.written, bytes);
    size += head.length + bytes.length;
    uncompressedSize += head.length + raw.length;
  };

  if (dictionary !== undefined) {
    content.clear();
    dictionary.write(content);
    put((to) => {
      to.struct(7, (page) => page.i32(1, dictionary.count).i32(2, encoding.plain));
    }, pageType.dictionary);
  }
  const dataOffset = size;
  for (const { firstRow, endRow, first, last } of cutPages(rows, end - start, writer)) {
    content.clear();
    if (column.nullable) writeLevels(rows, firstRow, endRow);
    writer.write(content, first, last);
    const offset = size;
    const count = endRow - firstRow;
    put((to) => {
      to.struct(5, (page) => page.i32(1, count).i32(2, writer.encoding).i32(3, encoding.rle).i32(4, encoding.rle));
    }, pageType.data);
    pages.push({
      ...{ offset, size: size - offset, firstRow, rows: count, nulls: count - (last - first) },
      bounds: values.of === 'words' ? wordBounds(values.words, values.size, first, last) : undefined,
    });
  }
  return {
    ...{ pieces, pages, size, uncompressedSize, dataOffset, bounds, rows: end - start, nulls: nulls?.count ?? 0 },
    codec: isCompressed ? codec.zstd : codec.uncompressed,
    encoding: writer.encoding,
    bloom:
      column.bloomFilter === true && values.of === 'texts' && distinct !== undefined && distinct.count > 0
        ? bloomFilter(values.texts, distinct.used)
        : undefined,
  };
}

function boundsOf(values: Values, used: Int32Array | undefined): Bounds | undefined {
  switch (values.of) {
    case 'texts':
      return textBounds(values.texts, used ?? values.texts.numbers);
    case 'words':
      return wordBounds(values.words, values.size, 0, values.count);
    case 'booleans':
      return undefined;
  }
}

/** Where pages begin and end: rows, and the values that these have. */
function* cutPages({ values, nulls }: ColumnRows, rows: number, { bytesOf }: ValueWriter) {
  let first = 0;
  for (let firstRow = 0; firstRow < rows;) {
    let endRow = firstRow;
    let last = first;
    const most = Math.min(rows, firstRow + pageRows);
    if (bytesOf === undefined) {
      endRow = most;
      if (nulls === undefined) last += most - firstRow;
      else for (let row = firstRow; row < most; row++) last += nulls.isThere[row] ?? 0;
    } else {
      for (let bytes = 0; endRow < most; endRow++) {
        if (nulls?.isThere[endRow] === 0) continue;
        bytes += bytesOf(last);
        if (bytes > pageBytes && last > first) break;
        last++;
      }
    }
    yield { firstRow, endRow, first, last };
    firstRow = endRow;
    first = last;
  }
  if (first !== values.count) throw new Error(`expected ${values.count} values on all pages, wrote ${first}`);
}

/** Which rows have a value: definition levels, with their length before them. */
function writeLevels({ nulls }: ColumnRows, firstRow: number, endRow: number): void {
  const place = content.length;
  content.uint32(0);
  if (nulls === undefined) writeRun(content, 1, endRow - firstRow, 1);
  else writeHybrid(content, nulls.isThere, firstRow, endRow, 1);
  const { length } = content;
  content.length = place;
  content.uint32(length - place - 4);
  content.length = length;
}

function valueWriter(
  column: Column,
  values: Values,
  distinct: ReturnType<typeof numberTexts> | undefined,
  bounds: Bounds | undefined,
): ValueWriter {
  switch (values.of) {
    case 'texts':
      return textWriter(column, values.texts, distinct ?? numberTexts(values.texts, memory));
    case 'words':
      return wordWriter(column, values.words, values.size, bounds);
    case 'booleans':
      return {
        encoding: encoding.plain,
        write: (to, start, end) => {
          for (let at = start; at < end; at += 8) {
            let byte = 0;
            for (let bit = 0; bit < 8 && at + bit < end; bit++) byte |= (values.bits[at + bit] ?? 0) << bit;
            to.byte(byte);
          }
        },
      };
  }
}

function numberedWriter(numbers: Int32Array, count: number, write: (to: ByteBuffer) => void): ValueWriter {
  const width = Math.max(1, widthOf(count));
  return {
    encoding: encoding.rleDictionary,
    dictionary: { count, write },
    write: (to, start, end) => {
      to.byte(width);
      writeHybrid(to, numbers, start, end, width);
    },
  };
}

function textWriter(column: Column, texts: TextValues, distinct: ReturnType<typeof numberTexts>): ValueWriter {
  const { bytes, offsets, numbers } = texts;
  if (column.encoding === 'dictionary' && distinct.count * 2 <= Math.max(2, numbers.length)) {
    return numberedWriter(distinct.numbers, distinct.count, (to) => {
      writePlainTexts(to, texts, distinct.used);
    });
  }
  const lengthOf = (value: number): number => {
    const number = numbers[value] ?? 0;
    return (offsets[number + 1] ?? 0) - (offsets[number] ?? 0);
  };
  if (column.encoding === 'plain') {
    return {
      encoding: encoding.plain,
      write: (to, start, end) => {
        writePlainTexts(to, texts, numbers.subarray(start, end));
      },
      bytesOf: lengthOf,
    };
  }
  return {
    encoding: encoding.deltaLengthByteArray,
    write: (to, start, end) => {
      writeDeltas(to, start, end, lengthOf);
      for (let value = start; value < end; value++) {
        let number = numbers[value] ?? 0;
        const from = offsets[number] ?? 0;
        // Texts that follow each other in memory, all at once.
        while (value + 1 < end && numbers[value + 1] === number + 1) {
          value++;
          number++;
        }
        to.bytes(bytes, from, offsets[number + 1] ?? 0);
      }
    },
    bytesOf: lengthOf,
  };
}

function wordWriter(column: Column, words: Int32Array, size: 1 | 2, bounds: Bounds | undefined): ValueWriter {
  if (column.encoding === 'dictionary') {
    const count = words.length / size;
    const distinct = numberWords(words, size, Math.min(mostDistinct, Math.max(1, count >> 1)), memory);
    if (distinct !== undefined) {
      return numberedWriter(distinct.numbers, distinct.count, (to) => {
        writePlainWords(to, distinct.words);
      });
    }
  }
  if (column.encoding !== 'plain' && isWithinDeltas(words, size, bounds)) {
    const at =
      size === 1
        ? (value: number) => words[value] ?? 0
        : (value: number) => (words[value * 2 + 1] ?? 0) * 2 ** 32 + ((words[value * 2] ?? 0) >>> 0);
    return {
      encoding: encoding.deltaBinaryPacked,
      write: (to, start, end) => {
        writeDeltas(to, start, end, at);
      },
    };
  }
  return {
    encoding: encoding.plain,
    write: (to, start, end) => {
      writePlainWords(to, words.subarray(start * size, end * size));
    },
  };
}

/** Whether the differences of all values, and the differences of these, are exact as doubles and no wider than the type. */
function isWithinDeltas(words: Int32Array, size: 1 | 2, bounds: Bounds | undefined): boolean {
  const found = bounds ?? wordBounds(words, size, 0, words.length / size);
  if (found === undefined) return true;
  const [min, max] = [found.min, found.max].map((bound) => Number(integerOf(bound)));
  if (min === undefined || max === undefined) return false;
  return size === 1 ? max - min < 2 ** 31 : Math.max(-min, max) < deltaLimit && max - min < deltaLimit / 2;
}

/** Integers as they lie in memory: the least significant byte first, as on every machine that Node runs on. */
function writePlainWords(to: ByteBuffer, words: Int32Array): void {
  to.bytes(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
}
