import { instantBounds, statisticsJson, type ColumnStatistics } from '../../columns/statistics.js';
import { columnData } from '../../columns/column-data.js';
import { digitsOf, type Column, type Table, type TableBatch } from '../../columns/table.js';
import { boundValue, type Bounds } from './bounds.js';
import { columnChunk, type Codecs, type ColumnChunk } from './column-chunk.js';
import { FileWriter, type ChunkMetadata, type Extent, type SchemaElement } from './file-writer.js';
import { boundaryOrder, convertedType, logicalType, physicalType, repetition } from './format.js';
import type { StructWriter } from './thrift.js';
import { xxHash64 } from './bloom-filter.js';
import { zstd } from './zstd.js';

/** Rows of a row group: DuckDB reads a row group as one unit. */
const rowGroupRows = 128 * 1024;

/** A column chunk and the offsets of its bytes, Bloom filter and page indexes in the file. */
interface WrittenChunk {
  readonly column: Column;
  readonly chunk: ColumnChunk;
  readonly offset: number;
  bloom?: Extent;
  columnIndex?: Extent;
  offsetIndex?: Extent;
}

interface RowGroup {
  readonly rows: number;
  readonly chunks: readonly WrittenChunk[];
}

/**
 * Encodes rows as one Parquet file (parquet-format 2.11): dictionaries, runs and deltas straight from the arrays, zstd,
 * statistics, page indexes and Bloom filters. The same rows and metadata give the same bytes.
 *
 * @param createdBy names the writer in the footer
 * @returns the file, and its statistics in Delta's JSON form
 * @throws Error where an array isn't of its column's type, or a page would exceed 2 GiB
 */
export async function encodeTable(
  batch: TableBatch,
  metadata: ReadonlyMap<string, string>,
  createdBy: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly stats: string }> {
  const { table, rows } = batch;
  const rowCount = rows.numRows;
  const { compress } = await zstd();
  const codecs = { compress, hash64: await xxHash64() };
  const file = new FileWriter();
  const groups: RowGroup[] = [];
  for (let start = 0; start < rowCount; start += rowGroupRows) {
    groups.push(writeRowGroup(file, batch, start, Math.min(rowCount, start + rowGroupRows), codecs));
  }
  writePageIndexes(file, groups);
  const { columns } = table;
  const bytes = file.end({
    schema: columns.map(schemaElement),
    fields: columns.length,
    metadata,
    createdBy,
    hasBounds: true,
    groups: groups.map(({ rows, chunks }) => ({
      rows,
      chunks: chunks.map(chunkMetadata),
      offset: chunks[0]?.offset,
    })),
  });
  return { bytes, stats: deltaStatistics(table, rowCount, groups) };
}

/** Writes the column chunks of the rows from `start` to before `end`, and their Bloom filters behind them. */
function writeRowGroup(file: FileWriter, batch: TableBatch, start: number, end: number, codecs: Codecs): RowGroup {
  const { table, rows } = batch;
  const chunks = table.columns.map((column): WrittenChunk => {
    const data = columnData(rows, column.name);
    if (data === undefined) throw new Error(`${table.name}.${column.name}: expected a column, got none`);
    const chunk = columnChunk(column, data, start, end, codecs);
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
function writePageIndexes(file: FileWriter, groups: readonly RowGroup[]): void {
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

function bloomHeader(to: StructWriter, bytes: number): void {
  // Each union has one member: split blocks, XXH64, uncompressed.
  const only = (union: StructWriter): void => void union.struct(1, empty);
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

function schemaElement(column: Column): SchemaElement {
  const { name, type, nullable } = column;
  const element = {
    name,
    type: physicalTypeOf(column),
    repetition: nullable ? repetition.optional : repetition.required,
  };
  const digits = digitsOf(column);
  switch (type) {
    case 'text':
      return { ...element, converted: convertedType.utf8, logical: (to) => to.struct(logicalType.string, empty) };
    case 'instant':
      return {
        ...element,
        converted: convertedType.timestampMicros,
        // UTC; the second member of the unit is microseconds.
        logical: (to) =>
          to.struct(logicalType.timestamp, (time) => time.boolean(1, true).struct(2, (unit) => unit.struct(2, empty))),
      };
    case 'decimal':
      return {
        ...element,
        converted: convertedType.decimal,
        digits,
        logical: (to) =>
          to.struct(logicalType.decimal, (decimal) => decimal.i32(1, digits.scale).i32(2, digits.precision)),
      };
    case 'date':
      return { ...element, converted: convertedType.date, logical: (to) => to.struct(logicalType.date, empty) };
    case 'bigint':
    case 'integer':
    case 'boolean':
      return element;
  }
}

/** Writes a struct without fields. */
const empty = (): undefined => undefined;

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

function chunkMetadata({ column, chunk, offset, bloom, columnIndex, offsetIndex }: WrittenChunk): ChunkMetadata {
  const { rows, pages, dataOffset, ...others } = chunk;
  return {
    ...others,
    bloom,
    columnIndex,
    offsetIndex,
    path: [column.name],
    type: physicalTypeOf(column),
    values: rows,
    dataPages: pages.length,
    dataOffset: offset + dataOffset,
    dictionaryOffset: dataOffset > 0 ? offset : undefined,
  };
}

/** Statistics of the columns that people filter by, over all row groups. */
function deltaStatistics(table: Table, rows: number, groups: readonly RowGroup[]): string {
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
