import type { Data } from 'apache-arrow';
import { ReusedMemory } from '../../columns/memory.js';
import { expandedRuns, runsOf, type Runs } from '../../columns/run-end-encoded.js';
import type { Column } from '../../columns/table.js';
import { bloomFilter, type Hash64 } from './bloom-filter.js';
import { textBounds, wordBounds, type Bounds } from './bounds.js';
import { ByteBuffer } from './byte-buffer.js';
import { columnRows, type ColumnRows, type TextValues, type Values } from './column-values.js';
import { writeDeltas } from './delta-binary-packed.js';
import { numberTexts, numberWords, writePlainTexts, type NumberedTexts } from './dictionary-page.js';
import { packedPage } from './file-writer.js';
import { codec, encoding, pageType } from './format.js';
import { widthOf, writeHybrid, writeLevels, writeRun } from './rle.js';
import { cutRunPages, cutRuns, runsWithin, writeRunLevels, writeRunNumbers } from './run-pages.js';
import type { Compress } from './zstd.js';

/**
 * Maximum rows of a page, the unit that a reader of few rows decodes. Each page costs a reader a new zstd context: with
 * 20,000 rows DuckDB's queries take 5 to 20 % longer.
 */
const pageRows = 64 * 1024;
/** Maximum bytes of a page's texts, unless a single text is longer. */
const pageBytes = 1_000_000;
/** Maximum distinct values of a dictionary of integers: with more, it isn't worth its lookups. */
const mostDistinct = 1 << 16;

interface EncodedPage {
  /** Offset within the chunk. */
  readonly offset: number;
  readonly size: number;
  /** Number of its first row within the chunk. */
  readonly firstRow: number;
  readonly rows: number;
  readonly nulls: number;
  /** Undefined for texts, and where all rows are null. */
  readonly bounds: Bounds | undefined;
}

/** The pages of a column in a row group, and their figures for the footer. */
export interface ColumnChunk {
  readonly pieces: readonly Uint8Array[];
  readonly codec: number;
  readonly encoding: number;
  readonly rows: number;
  readonly nulls: number;
  readonly size: number;
  readonly uncompressedSize: number;
  /** Offset of the first data page; above 0 where a dictionary page precedes it. */
  readonly dataOffset: number;
  readonly pages: readonly EncodedPage[];
  readonly bounds: Bounds | undefined;
  readonly bloom: Uint8Array | undefined;
}

/** Writes a chunk's values in one encoding. */
interface ValueWriter {
  readonly encoding: number;
  /** The distinct values, where there is a dictionary. */
  readonly dictionary?: {
    readonly count: number;
    /** The dictionary number of each value. */
    readonly numbers: Int32Array;
    /** Bits of a dictionary number. */
    readonly width: number;
    readonly write: (to: ByteBuffer) => void;
  };
  /** Writes the values from `start` to before `end`. */
  readonly write: (to: ByteBuffer, start: number, end: number) => void;
  /** Bytes of a value by its number; left out where values are small. */
  readonly bytesOf?: (value: number) => number;
}

/** The content of a chunk, before its pages are written. */
interface ChunkContent {
  readonly writer: ValueWriter;
  readonly values: Values;
  /** Rows that are null. */
  readonly nulls: number;
  readonly bounds: Bounds | undefined;
  readonly distinct: NumberedTexts | undefined;
  readonly pages: Iterable<PageContent>;
}

interface PageContent extends Pick<EncodedPage, 'firstRow' | 'rows' | 'nulls'> {
  /** Its values: from `first` to before `last`. */
  readonly first: number;
  readonly last: number;
  /** Writes the definition levels, where the column is nullable, and the values. */
  readonly write: (to: ByteBuffer) => void;
}

/** Reused for each page and each chunk, so that neither allocates its own. */
const pageBuffer = new ByteBuffer();
const memory = new ReusedMemory(16_000_000);

/** The functions that compress pages and hash the values of a Bloom filter. */
export interface Codecs {
  readonly compress: Compress;
  readonly hash64: Hash64;
}

/** Encodes the rows of a column from `start` to before `end`. Throws an Error where the array isn't of the column's type. */
export function columnChunk(
  column: Column,
  data: Data,
  start: number,
  end: number,
  { compress, hash64 }: Codecs,
): ColumnChunk {
  memory.clear();
  const runs = runsOf(data);
  const content = (runs && runContent(column, runs, start, end)) ?? rowContent(column, expandedRuns(data), start, end);
  const { writer, values, nulls, bounds, distinct } = content;
  // Where all rows are equal, a call of the codec costs more than it saves.
  const isCompressed = values.count > 0 && (nulls > 0 || writer.dictionary?.count !== 1);
  const bytes = new ChunkBytes(column.name, isCompressed ? compress : (page) => page.slice());
  if (writer.dictionary !== undefined) {
    const { count, write } = writer.dictionary;
    bytes.writePage(write, { type: pageType.dictionary, count, encoding: encoding.plain });
  }
  const dataOffset = bytes.size;
  const pages = Array.from(content.pages, (page) => writeDataPage(bytes, content, page));
  const { pieces, size, uncompressedSize } = bytes;
  return {
    pieces,
    pages,
    size,
    uncompressedSize,
    dataOffset,
    bounds,
    rows: end - start,
    nulls,
    codec: isCompressed ? codec.zstd : codec.uncompressed,
    encoding: writer.encoding,
    bloom:
      column.bloomFilter === true && values.of === 'texts' && distinct !== undefined && distinct.count > 0
        ? bloomFilter(values.texts, distinct.used, hash64)
        : undefined,
  };
}

/** The pages of a chunk, each a header (`PageHeader` of `parquet.thrift`) and its bytes. */
class ChunkBytes {
  readonly pieces: Uint8Array[] = [];
  size = 0;
  uncompressedSize = 0;
  readonly #column: string;
  readonly #compress: Compress;

  constructor(column: string, compress: Compress) {
    this.#column = column;
    this.#compress = compress;
  }

  /** @throws Error where the content exceeds 2 GiB */
  writePage(write: (to: ByteBuffer) => void, values: Parameters<typeof packedPage>[2]): void {
    pageBuffer.clear();
    write(pageBuffer);
    const raw = pageBuffer.written;
    if (raw.length >= 2 ** 31) throw new Error(`${this.#column}: expected a page below 2 GiB, got ${raw.length} bytes`);
    const [header, bytes] = packedPage(raw, this.#compress, values);
    this.pieces.push(header, bytes);
    this.size += header.length + bytes.length;
    this.uncompressedSize += header.length + raw.length;
  }
}

function writeDataPage(bytes: ChunkBytes, { writer, values }: ChunkContent, page: PageContent): EncodedPage {
  const { firstRow, rows, nulls, first, last, write } = page;
  const offset = bytes.size;
  bytes.writePage(write, { type: pageType.data, count: rows, encoding: writer.encoding });
  const bounds = values.of === 'words' ? wordBounds(values.words, values.size, first, last) : undefined;
  return { offset, size: bytes.size - offset, firstRow, rows, nulls, bounds };
}

/** The content of an array with a value for each row. */
function rowContent(column: Column, data: Data, start: number, end: number): ChunkContent {
  const rows = columnRows(column, data, start, end, memory);
  const base = valueContent(column, rows, rows.values.count);
  const { writer } = base;
  const pages = mapped(cutPages(rows, end - start, writer), ({ firstRow, endRow, first, last }) => ({
    firstRow,
    rows: endRow - firstRow,
    nulls: endRow - firstRow - (last - first),
    first,
    last,
    write: (to: ByteBuffer) => {
      if (column.nullable) {
        writeLevels(to, (into) => {
          if (rows.nulls === undefined) writeRun(into, 1, endRow - firstRow, 1);
          else writeHybrid(into, rows.nulls.isPresent, firstRow, endRow, 1);
        });
      }
      writer.write(to, first, last);
    },
  }));
  return { ...base, nulls: rows.nulls?.count ?? 0, pages };
}

/** The content of runs; undefined where they have no dictionary, as each row then has its value. */
function runContent(column: Column, runs: Runs, start: number, end: number): ChunkContent | undefined {
  const { first, last } = runsWithin(runs.runEnds, start, end);
  const values = columnRows(column, runs.values, first, last, memory);
  const cut = cutRuns(runs.runEnds.subarray(first, last), values.nulls, { start, end, pageRows }, memory);
  let nulls = 0;
  for (let run = 0; run < cut.count; run++) if ((cut.values[run] ?? -1) < 0) nulls += cut.lengths[run] ?? 0;
  const base = valueContent(column, values, end - start - nulls);
  const { dictionary } = base.writer;
  if (dictionary === undefined && values.values.count > 0) return undefined;
  const pages = mapped(cutRunPages(cut, pageRows), (page) => ({
    ...page,
    write: (to: ByteBuffer) => {
      if (column.nullable) {
        writeLevels(to, (into) => {
          writeRunLevels(into, page.runs);
        });
      }
      if (dictionary === undefined) return;
      to.byte(dictionary.width);
      writeRunNumbers(to, page.runs, dictionary.numbers, dictionary.width);
    },
  }));
  return { ...base, nulls, pages };
}

/** @param rows number of rows with a value */
function valueContent(
  column: Column,
  { values }: ColumnRows,
  rows: number,
): Pick<ChunkContent, 'writer' | 'values' | 'bounds' | 'distinct'> {
  const distinct = values.of === 'texts' ? numberTexts(values.texts, memory) : undefined;
  const bounds = column.unbounded === true ? undefined : boundsOf(values, distinct?.used);
  return { values, distinct, bounds, writer: valueWriter(column, values, distinct, rows) };
}

function* mapped<From, To>(all: Iterable<From>, map: (one: From) => To): Generator<To> {
  for (const one of all) yield map(one);
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

/** Splits rows into pages: ranges of rows and of their values. */
function* cutPages({ values, nulls }: ColumnRows, rows: number, { bytesOf }: ValueWriter) {
  let first = 0;
  for (let firstRow = 0; firstRow < rows;) {
    let endRow = firstRow;
    let last = first;
    const most = Math.min(rows, firstRow + pageRows);
    if (bytesOf === undefined) {
      endRow = most;
      if (nulls === undefined) last += most - firstRow;
      else for (let row = firstRow; row < most; row++) last += nulls.isPresent[row] ?? 0;
    } else {
      for (let bytes = 0; endRow < most; endRow++) {
        if (nulls?.isPresent[endRow] === 0) continue;
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

/** The pages of a column of nulls: some readers fail on a dictionary without values. */
const noValues: ValueWriter = { encoding: encoding.plain, write: () => undefined };

function valueWriter(column: Column, values: Values, distinct: NumberedTexts | undefined, rows: number): ValueWriter {
  if (values.count === 0) return noValues;
  switch (values.of) {
    case 'texts':
      return textWriter(column, values.texts, distinct ?? numberTexts(values.texts, memory), rows);
    case 'words':
      return wordWriter(column, values.words, values.size, rows);
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
    dictionary: { count, numbers, width, write },
    write: (to, start, end) => {
      to.byte(width);
      writeHybrid(to, numbers, start, end, width);
    },
  };
}

function textWriter(column: Column, texts: TextValues, distinct: NumberedTexts, rows: number): ValueWriter {
  const { bytes, offsets, numbers } = texts;
  if (column.encoding === 'dictionary' && distinct.count * 2 <= Math.max(2, rows)) {
    return numberedWriter(distinct.numbers, distinct.count, (to) => {
      writePlainTexts(to, texts, distinct.used);
    });
  }
  const lengthOf = (value: number): number => {
    const number = numbers[value] ?? 0;
    return (offsets[number + 1] ?? 0) - (offsets[number] ?? 0);
  };
  if (column.encoding !== 'delta-length') {
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
        // Adjacent texts in memory are copied together.
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

function wordWriter(column: Column, words: Int32Array, size: 1 | 2, rows: number): ValueWriter {
  if (column.encoding === 'dictionary') {
    const distinct = numberWords(words, size, Math.min(mostDistinct, Math.max(1, rows >> 1)), memory);
    if (distinct !== undefined) {
      return numberedWriter(distinct.numbers, distinct.count, (to) => {
        writePlainWords(to, distinct.words);
      });
    }
  }
  return {
    encoding: encoding.plain,
    write: (to, start, end) => {
      writePlainWords(to, words.subarray(start * size, end * size));
    },
  };
}

/** Integers as they are in memory: little-endian, as on every platform of Node. */
function writePlainWords(to: ByteBuffer, words: Int32Array): void {
  to.bytes(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
}
