import type { ByteRange } from '../columns/byte-ranges.js';
import type { RowCells } from '../columns/column-data.js';
import { isLedgerlakeFooter, readFooter } from './footer.js';
import { readDeltas } from './encoder/delta-binary-packed.js';
import { readHybrid, readLevels } from './encoder/rle.js';
import { codec, encoding, physicalType, repetition } from './encoder/format.js';
import { numberField, readStructAt, structFields, textField, type ThriftStruct } from './encoder/thrift.js';
import { zstd, type Decompress } from './encoder/zstd.js';
import { checkPage, chunkBytes, mostPageBytes } from './page-limits.js';
import { blobOf, type ParquetSource } from './parquet-source.js';

/** The columns to read, by type. */
export interface ChosenColumns {
  readonly texts: readonly string[];
  readonly instants: readonly string[];
}

/**
 * Reads columns of a file that `encodeTable` wrote, row group by row group, in less than half of the time that
 * parquet-wasm takes. Memory holds the compressed pages of one group, and one decompressed page of each column.
 *
 * @returns undefined for any other file, and without a fast zstd: parquet-wasm must read the file
 * @throws Error where there is no footer; reading the rows throws an Error where pages are damaged
 */
export async function encodedColumns(
  source: ParquetSource,
  chosen: ChosenColumns,
): Promise<AsyncGenerator<RowCells> | undefined> {
  const { decompress, isFast } = await zstd();
  if (!isFast) return undefined;
  const file = await blobOf(source);
  const footer = await readFooter(file);
  if (!isLedgerlakeFooter(footer)) return undefined;
  const columns = [
    ...chosen.texts.map((name) => ({ name, type: physicalType.byteArray })),
    ...chosen.instants.map((name) => ({ name, type: physicalType.int64 })),
  ];
  const leaves = structFields(footer, 2).slice(1);
  const located = columns.map(({ name, type }) => {
    const at = leaves.findIndex((leaf) => textField(leaf, 4) === name && leaf.get(1) === type);
    return {
      name,
      at,
      isOfTexts: type === physicalType.byteArray,
      isNullable: leaves[at]?.get(3) === repetition.optional,
    };
  });
  const groups: ReadGroup[] = [];
  for (const group of structFields(footer, 4)) {
    const chunks: ReadChunk[] = [];
    for (const { at, ...column } of located) {
      const [metadata] = structFields(structFields(group, 1)[at] ?? new Map(), 3);
      if (metadata === undefined || !isReadable(metadata)) return undefined;
      chunks.push({ ...column, metadata });
    }
    const rows = numberField(group, 3);
    if (rows < 0 || rows > mostRows) return undefined;
    groups.push({ rows, chunks });
  }
  return cellsOfGroups(file, groups, decompress);
}

/** More than any group of `encodeTable` has: a damaged number must not allocate memory. */
const mostRows = 1 << 20;

interface ReadGroup {
  readonly rows: number;
  readonly chunks: readonly ReadChunk[];
}

interface ReadChunk {
  readonly name: string;
  readonly isOfTexts: boolean;
  readonly isNullable: boolean;
  /** `ColumnMetaData` of `parquet.thrift`. */
  readonly metadata: ThriftStruct;
}

/** Whether a chunk has a codec and encodings that `encodeTable` uses. */
function isReadable(metadata: ThriftStruct): boolean {
  const [encodings, compression] = [metadata.get(2), metadata.get(4)];
  const isCodec = compression === codec.zstd || compression === codec.uncompressed;
  const known: readonly unknown[] = Object.values(encoding);
  return isCodec && Array.isArray(encodings) && encodings.every((one) => known.includes(one));
}

async function* cellsOfGroups(
  file: Blob,
  groups: readonly ReadGroup[],
  decompress: Decompress,
): AsyncGenerator<RowCells> {
  for (const { rows, chunks } of groups) {
    const columns = new Map<string, ColumnPages>();
    for (const { metadata, ...column } of chunks) {
      const bytes = await chunkBytes(file, metadata);
      const unpack = (header: ThriftStruct, packed: Uint8Array): Uint8Array => {
        checkPage(header, packed, metadata, mostPageBytes(file.size));
        return metadata.get(4) === codec.zstd ? decompress(packed) : packed;
      };
      columns.set(column.name, new ColumnPages(column, bytes, rows, unpack));
    }
    const pagesOf = (name: string): ColumnPages => {
      const pages = columns.get(name);
      if (pages === undefined) throw new Error(`expected a column ${name}, found none`);
      return pages;
    };
    yield {
      rows,
      texts: (name) => {
        const pages = pagesOf(name);
        return (row) => pages.text(row);
      },
      instants: (name) => {
        const pages = pagesOf(name);
        return (row) => pages.instant(row);
      },
    };
  }
}

/** Unpacks a page with this header. */
type Unpack = (header: ThriftStruct, packed: Uint8Array) => Uint8Array;

/** Overwrites the length of a text once it is read, so that the whole page is UTF-8 where its texts are. */
const space = 0x20;

/** The values of a page: texts, or integers. */
interface DecodedPage {
  readonly count: number;
  readonly bytes: Uint8Array;
  /** The start and end of each text in the bytes. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly integers: BigInt64Array;
}

const noValues: DecodedPage = {
  count: 0,
  bytes: new Uint8Array(),
  starts: new Int32Array(),
  ends: new Int32Array(),
  integers: new BigInt64Array(),
};

/** The number of a row without a value. */
const none = -1;

/** Reads a column chunk page by page; rows must be read in order. */
class ColumnPages {
  readonly #column: Omit<ReadChunk, 'metadata'>;
  readonly #chunk: Uint8Array;
  readonly #groupRows: number;
  readonly #unpack: Unpack;
  /** The offset of the next page. */
  #next = 0;
  #dictionary = noValues;
  #values = noValues;
  /** The value number of each row of the page, `none` for null; undefined: row `n` has value `n`. */
  #numbers: Int32Array | undefined;
  #firstRow = 0;
  #rows = 0;

  constructor(column: Omit<ReadChunk, 'metadata'>, chunk: Uint8Array, groupRows: number, unpack: Unpack) {
    this.#column = column;
    this.#chunk = chunk;
    this.#groupRows = groupRows;
    this.#unpack = unpack;
  }

  text(row: number): ByteRange | undefined {
    const value = this.#valueOf(row);
    const { bytes: page, starts, ends } = this.#values;
    return value === none ? undefined : { page, start: starts[value] ?? 0, end: ends[value] ?? 0 };
  }

  instant(row: number): bigint | undefined {
    const value = this.#valueOf(row);
    return value === none ? undefined : this.#values.integers[value];
  }

  #valueOf(row: number): number {
    while (row >= this.#firstRow + this.#rows) this.#open();
    const at = row - this.#firstRow;
    return this.#numbers === undefined ? at : (this.#numbers[at] ?? none);
  }

  /** Opens the next page (`PageHeader` of `parquet.thrift`). */
  #open(): void {
    const { struct: header, end: start } = readStructAt(this.#chunk, this.#next);
    const end = start + numberField(header, 3);
    if (end > this.#chunk.length) throw this.#mismatch(`a page within ${this.#chunk.length} bytes`, `one up to ${end}`);
    this.#next = end;
    const page = this.#unpack(header, this.#chunk.subarray(start, end));
    if (page.length !== numberField(header, 2))
      throw this.#mismatch(`${numberField(header, 2)} bytes`, `${page.length}`);
    const [[dictionary], [data]] = [structFields(header, 7), structFields(header, 5)];
    const pageHeader = dictionary ?? data;
    if (pageHeader === undefined) throw this.#mismatch('values or a dictionary', 'neither');
    const count = numberField(pageHeader, 1);
    if (count < 0 || count > this.#groupRows) throw this.#mismatch(`${this.#groupRows} values at the most`, `${count}`);
    if (dictionary === undefined) this.#readRows(page, count, numberField(pageHeader, 2));
    else this.#dictionary = this.#plainValues(page, 0, count);
  }

  #readRows(page: Uint8Array, rows: number, valueEncoding: number): void {
    const levels = this.#column.isNullable ? readLevels(page, rows) : undefined;
    const { end: start, isPresent } = levels ?? { end: 0, isPresent: undefined };
    const count = isPresent === undefined ? rows : isPresent.reduce((sum, one) => sum + one, 0);
    const isNumbered = valueEncoding === encoding.rleDictionary;
    const numbers = isNumbered ? this.#dictionaryNumbers(page, start, count) : undefined;
    this.#values = isNumbered ? this.#dictionary : this.#valuesIn(page, start, count, valueEncoding);
    this.#numbers = isPresent === undefined ? numbers : numbersOfRows(isPresent, numbers);
    this.#firstRow += this.#rows;
    this.#rows = rows;
  }

  #dictionaryNumbers(page: Uint8Array, start: number, count: number): Int32Array {
    const numbers = count === 0 ? new Int32Array() : readHybrid(page, start + 1, count, page[start] ?? 0);
    const outOfRange = numbers.find((number) => number < 0 || number >= this.#dictionary.count);
    if (outOfRange !== undefined) throw this.#mismatch(`a number below ${this.#dictionary.count}`, `${outOfRange}`);
    return numbers;
  }

  #valuesIn(page: Uint8Array, start: number, count: number, valueEncoding: number): DecodedPage {
    const { isOfTexts } = this.#column;
    if (valueEncoding === encoding.plain) return this.#plainValues(page, start, count);
    if (valueEncoding === encoding.deltaLengthByteArray && isOfTexts) return deltaLengthTexts(page, start, count);
    throw this.#mismatch('an encoding of its type', `${valueEncoding}`);
  }

  #plainValues(page: Uint8Array, start: number, count: number): DecodedPage {
    return this.#column.isOfTexts ? plainTexts(page, start, count) : plainIntegers(page, start, count);
  }

  #mismatch(expected: string, found: string): Error {
    return new Error(`expected ${expected} in a page of ${this.#column.name}, got ${found}`);
  }
}

/** The value number of each row of a page, through `numbers` where the page has a dictionary. */
function numbersOfRows(isPresent: Int32Array, numbers: Int32Array | undefined): Int32Array {
  let value = 0;
  return isPresent.map((present) => {
    if (present === 0) return none;
    const number = value++;
    return numbers === undefined ? number : (numbers[number] ?? none);
  });
}

/** Reads texts with a length before each, which is overwritten. Throws an Error where they don't fill the page. */
function plainTexts(page: Uint8Array, from: number, count: number): DecodedPage {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  page.fill(space, 0, from);
  let end = from;
  for (let value = 0; value < count; value++) {
    const start = end + 4;
    if (start > page.length)
      throw new Error(`expected a text within ${page.length} bytes of a page, got one at ${end}`);
    end = start + view.getUint32(end, true);
    for (let at = start - 4; at < start; at++) page[at] = space;
    starts[value] = start;
    ends[value] = end;
  }
  expectEnd(page, end);
  return { ...noValues, count, bytes: page, starts, ends };
}

/** Reads texts that follow the lengths of all of them (Encodings.md, "Delta-length byte array"). Throws an Error as `plainTexts` does. */
function deltaLengthTexts(page: Uint8Array, from: number, count: number): DecodedPage {
  const { values: lengths, end: first } = readDeltas(page, from, count);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  let end = first;
  for (let value = 0; value < count; value++) {
    const length = lengths[value] ?? 0;
    if (length < 0) throw new Error(`expected the length of a text, got ${length}`);
    starts[value] = end;
    end += length;
    ends[value] = end;
  }
  expectEnd(page, end);
  return { ...noValues, count, bytes: page, starts, ends };
}

function plainIntegers(page: Uint8Array, from: number, count: number): DecodedPage {
  expectEnd(page, from + count * BigInt64Array.BYTES_PER_ELEMENT);
  return { ...noValues, count, integers: new BigInt64Array(new Uint8Array(page.subarray(from)).buffer) };
}

function expectEnd(page: Uint8Array, end: number): void {
  if (end !== page.length) throw new Error(`expected values up to byte ${page.length} of a page, they end at ${end}`);
}
