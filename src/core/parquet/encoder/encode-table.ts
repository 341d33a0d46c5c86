import { instantBounds, statisticsJson, type ColumnStatistics } from '../../columns/statistics.js';
import { digitsOf, type Column, type Table } from '../../columns/table.js';
import type { TableRows } from '../../columns/table-rows.js';
import { boundValue, type Bounds } from './bounds.js';
import { ByteBuffer } from './byte-buffer.js';
import { columnChunk, type Codecs, type ColumnChunk } from './column-chunk.js';
import {
  boundaryOrder,
  convertedType,
  encoding,
  logicalType,
  magic,
  pageType,
  physicalType,
  repetition,
} from './format.js';
import { writeStruct, type StructWriter } from './thrift.js';
import { xxHash64 } from './xxhash64.js';
import { zstd } from './zstd.js';

/** Rows of a row group: DuckDB reads a row group as one unit. */
const rowGroupRows = 128 * 1024;

/** A longer bound, in bytes, skips hardly more than none and would be in the footer of every file. */
const longestBound = 256;

/** A column chunk and the offsets of its bytes, Bloom filter and page indexes in the file. */
interface WrittenChunk {
  readonly column: Column;
  readonly chunk: ColumnChunk;
  readonly offset: number;
  bloom?: Extent;
  columnIndex?: Extent;
  offsetIndex?: Extent;
}

interface Extent {
  readonly offset: number;
  readonly length: number;
}

interface RowGroup {
  readonly rows: number;
  readonly chunks: readonly WrittenChunk[];
}

/** A Parquet file and its statistics in Delta's JSON form. */
export interface EncodedTable {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly stats: string;
}

/**
 * Encodes rows as one Parquet file (parquet-format 2.11): dictionaries, runs and deltas straight from the arrays, zstd,
 * statistics, page indexes and Bloom filters. The same rows and metadata give the same bytes.
 *
 * @param createdBy names the writer in the footer
 * @throws Error where an array isn't of its column's type, or a page would exceed 2 GiB
 */
export async function encodeTable(
  rows: TableRows,
  metadata: ReadonlyMap<string, string>,
  createdBy: string,
): Promise<EncodedTable> {
  const { table, length: rowCount } = rows;
  const { compress } = await zstd();
  const codecs = { compress, hash64: await xxHash64() };
  const file = new FileBytes();
  file.append(magic);
  const groups: RowGroup[] = [];
  for (let start = 0; start < rowCount; start += rowGroupRows) {
    groups.push(writeRowGroup(file, rows, start, Math.min(rowCount, start + rowGroupRows), codecs));
  }
  writePageIndexes(file, groups);
  writeFooter(file, { table, rows: rowCount, groups, metadata, createdBy });
  return { bytes: file.joined(), stats: logStatistics(table, rowCount, groups) };
}

/** The bytes of a file in pieces, which are copied once, at the end. */
class FileBytes {
  length = 0;
  readonly #pieces: Uint8Array[] = [];

  append(piece: Uint8Array): Extent {
    const offset = this.length;
    this.#pieces.push(piece);
    this.length += piece.length;
    return { offset, length: piece.length };
  }

  appendStruct(write: (to: StructWriter) => void): Extent {
    const buffer = new ByteBuffer(256);
    writeStruct(buffer, write);
    return this.append(buffer.written);
  }

  joined(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.length);
    let offset = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
    }
    return bytes;
  }
}

/** Writes the column chunks of the rows from `start` to before `end`, and their Bloom filters behind them. */
function writeRowGroup(file: FileBytes, rows: TableRows, start: number, end: number, codecs: Codecs): RowGroup {
  const chunks = rows.table.columns.map((column): WrittenChunk => {
    const chunk = columnChunk(column, rows.column(column.name), start, end, codecs);
    const offset = file.length;
    for (const piece of chunk.pieces) file.append(piece);
    return { column, chunk: { ...chunk, pieces: [] }, offset };
  });
  for (const written of chunks) {
    const { bloom } = written.chunk;
    if (bloom === undefined) continue;
    const { offset, length } = file.appendStruct((to) => {
      bloomHeader(to, bloom.length);
    });
    written.bloom = { offset, length: length + file.append(bloom).length };
  }
  return { rows: end - start, chunks };
}

/** Writes the column indexes of all chunks, then their offset indexes (PageIndex.md). */
function writePageIndexes(file: FileBytes, groups: readonly RowGroup[]): void {
  const chunks = groups.flatMap((group) => group.chunks);
  for (const written of chunks) {
    const { chunk } = written;
    if (chunk.bounds === undefined || !hasPageBounds(chunk)) continue;
    written.columnIndex = file.appendStruct((to) => {
      columnIndex(to, chunk);
    });
  }
  for (const written of chunks) {
    written.offsetIndex = file.appendStruct((to) => {
      offsetIndex(to, written);
    });
  }
}

/** Writes the footer, its length and the magic number that ends the file. */
function writeFooter(file: FileBytes, metadata: FileMetadata): void {
  const footer = file.appendStruct((to) => {
    fileMetadata(to, metadata);
  });
  const end = new ByteBuffer(8);
  end.uint32(footer.length);
  end.bytes(magic);
  file.append(end.written);
}

function bloomHeader(to: StructWriter, bytes: number): void {
  // Each union has one member: split blocks, XXH64, uncompressed.
  const only = (union: StructWriter): void => void union.struct(1, () => undefined);
  to.i32(1, bytes).struct(2, only).struct(3, only).struct(4, only);
}

function hasPageBounds({ pages }: ColumnChunk): boolean {
  return pages.every(({ bounds, nulls, rows }) => bounds !== undefined || nulls === rows);
}

function columnIndex(to: StructWriter, { pages }: ColumnChunk): void {
  const none = new Uint8Array(0);
  to.booleans(
    1,
    pages.map(({ nulls, rows }) => nulls === rows),
  )
    .binaries(
      2,
      pages.map(({ bounds }) => bounds?.min ?? none),
    )
    .binaries(
      3,
      pages.map(({ bounds }) => bounds?.max ?? none),
    )
    .i32(4, boundaryOrder.unordered)
    .i64s(
      5,
      pages.map(({ nulls }) => nulls),
    );
}

function offsetIndex(to: StructWriter, { chunk, offset }: WrittenChunk): void {
  to.structs(1, chunk.pages, (pageLocation, page) => {
    pageLocation
      .i64(1, offset + page.offset)
      .i32(2, page.size)
      .i64(3, page.firstRow);
  });
}

interface FileMetadata {
  readonly table: Table;
  readonly rows: number;
  readonly groups: readonly RowGroup[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly createdBy: string;
}

function fileMetadata(to: StructWriter, { table, rows, groups, metadata, createdBy }: FileMetadata): void {
  const { columns } = table;
  to.i32(1, 1)
    .structs(2, [undefined, ...columns], (element, column) => {
      if (column === undefined) element.text(4, 'schema').i32(5, columns.length);
      else schemaElement(element, column);
    })
    .i64(3, rows)
    .structs(4, groups, rowGroup)
    .structs(5, [...metadata], (pair, [key, value]) => pair.text(1, key).text(2, value))
    .text(6, createdBy)
    // The order of a column's bounds is that of its type.
    .structs(7, columns, (order) => order.struct(1, () => undefined));
}

function schemaElement(to: StructWriter, column: Column): void {
  to.i32(1, physicalTypeOf(column))
    .i32(3, column.nullable ? repetition.optional : repetition.required)
    .text(4, column.name);
  const { precision, scale } = digitsOf(column);
  switch (column.type) {
    case 'text':
      to.i32(6, convertedType.utf8).struct(10, (logical) => logical.struct(logicalType.string, () => undefined));
      break;
    case 'instant':
      to.i32(6, convertedType.timestampMicros).struct(10, (logical) =>
        // UTC; the second member of the unit is microseconds.
        logical.struct(logicalType.timestamp, (time) =>
          time.boolean(1, true).struct(2, (unit) => unit.struct(2, () => undefined)),
        ),
      );
      break;
    case 'decimal':
      to.i32(6, convertedType.decimal)
        .i32(7, scale)
        .i32(8, precision)
        .struct(10, (logical) =>
          logical.struct(logicalType.decimal, (digits) => digits.i32(1, scale).i32(2, precision)),
        );
      break;
    case 'date':
      to.i32(6, convertedType.date).struct(10, (logical) => logical.struct(logicalType.date, () => undefined));
      break;
    case 'bigint':
    case 'integer':
    case 'boolean':
  }
}

function physicalTypeOf({ type }: Column): number {
  switch (type) {
    case 'text':
      return physicalType.byteArray;
    case 'boolean':
      return physicalType.boolean;
    case 'integer':
    case 'date':
      return physicalType.int32;
    case 'bigint':
    case 'instant':
    case 'decimal':
      return physicalType.int64;
  }
}

function rowGroup(to: StructWriter, { rows, chunks }: RowGroup): void {
  const total = (sizeOf: (chunk: ColumnChunk) => number) => chunks.reduce((sum, { chunk }) => sum + sizeOf(chunk), 0);
  to.structs(1, chunks, (element, written) => {
    const { offsetIndex, columnIndex } = written;
    element
      .i64(2, 0)
      .struct(3, (metadata) => {
        columnMetadata(metadata, written);
      })
      .i64(4, offsetIndex?.offset)
      .i32(5, offsetIndex?.length)
      .i64(6, columnIndex?.offset)
      .i32(7, columnIndex?.length);
  })
    .i64(
      2,
      total((chunk) => chunk.uncompressedSize),
    )
    .i64(3, rows)
    .i64(5, chunks[0]?.offset)
    .i64(
      6,
      total((chunk) => chunk.size),
    );
}

function columnMetadata(to: StructWriter, { column, chunk, offset, bloom }: WrittenChunk): void {
  const hasDictionary = chunk.dataOffset > 0;
  const { bounds } = chunk;
  const isShort = bounds !== undefined && bounds.min.length <= longestBound && bounds.max.length <= longestBound;
  const dictionaryPage = { type: pageType.dictionary, encoding: encoding.plain, count: 1 };
  const dataPages = { type: pageType.data, encoding: chunk.encoding, count: chunk.pages.length };
  to.i32(1, physicalTypeOf(column))
    .i32s(2, [...new Set([...(hasDictionary ? [encoding.plain] : []), encoding.rle, chunk.encoding])])
    .texts(3, [column.name])
    .i32(4, chunk.codec)
    .i64(5, chunk.rows)
    .i64(6, chunk.uncompressedSize)
    .i64(7, chunk.size)
    .i64(9, offset + chunk.dataOffset)
    .i64(11, hasDictionary ? offset : undefined)
    .struct(12, (statistics) => {
      statistics.i64(3, chunk.nulls);
      if (isShort) statistics.binary(5, bounds.max).binary(6, bounds.min).boolean(7, true).boolean(8, true);
    })
    .structs(13, hasDictionary ? [dictionaryPage, dataPages] : [dataPages], (pageStatistics, pages) =>
      pageStatistics.i32(1, pages.type).i32(2, pages.encoding).i32(3, pages.count),
    )
    .i64(14, bloom?.offset)
    .i32(15, bloom?.length);
}

/** Statistics of the columns that people filter by, over all row groups. */
function logStatistics(table: Table, rows: number, groups: readonly RowGroup[]): string {
  const columns = new Map<string, ColumnStatistics>();
  for (const { name, type, filtered } of table.columns) {
    if (filtered !== true) continue;
    const chunks = groups.flatMap((group) => group.chunks.filter(({ column }) => column.name === name));
    const nulls = chunks.reduce((sum, { chunk }) => sum + chunk.nulls, 0);
    const bounds = chunks.flatMap(({ chunk }) => chunk.bounds ?? []);
    columns.set(name, { nulls, ...(type === 'instant' ? instantStatistics(bounds) : textStatistics(bounds)) });
  }
  return statisticsJson(rows, columns);
}

function instantStatistics(bounds: readonly Bounds[]): Partial<ColumnStatistics> {
  const least = bounds.map(({ min }) => boundValue(min)).reduce((a, b) => (a < b ? a : b), 2n ** 63n);
  const greatest = bounds.map(({ max }) => boundValue(max)).reduce((a, b) => (a > b ? a : b), -(2n ** 63n));
  return bounds.length === 0 ? {} : instantBounds(least, greatest);
}

function textStatistics(bounds: readonly Bounds[]): Partial<ColumnStatistics> {
  const [min] = bounds.map((bound) => bound.min).sort((a, b) => Buffer.compare(a, b));
  const max = bounds
    .map((bound) => bound.max)
    .sort((a, b) => Buffer.compare(a, b))
    .at(-1);
  const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString());
  return { min: text(min), max: text(max) };
}
