import type { Bounds } from './bounds.js';
import { ByteBuffer } from './byte-buffer.js';
import { encoding, magic, pageType } from './format.js';
import { writeStruct, type StructWriter } from './thrift.js';
import type { Compress } from './zstd.js';

/** A longer bound, in bytes, skips hardly more than none and would be in the footer of every file. */
const longestBound = 256;

/** Where something is in a file. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A field of the schema (`SchemaElement` of `parquet.thrift`). */
export interface SchemaElement {
  readonly name: string;
  /** Undefined for a group. */
  readonly type?: number | undefined;
  readonly repetition?: number;
  /** Number of fields of a group. */
  readonly children?: number | undefined;
  readonly converted?: number | undefined;
  readonly digits?: { readonly precision: number; readonly scale: number };
  /** Writes its member of the union `LogicalType`. */
  readonly logical?: (to: StructWriter) => unknown;
}

/** A column chunk (`ColumnChunk` and `ColumnMetaData` of `parquet.thrift`). */
export interface ChunkMetadata {
  readonly path: readonly string[];
  readonly type: number;
  readonly codec: number;
  /** Of its values. */
  readonly encoding: number;
  readonly values: number;
  readonly nulls: number;
  readonly bounds?: Bounds | undefined;
  readonly size: number;
  readonly uncompressedSize: number;
  /** Of its first data page. */
  readonly dataOffset: number;
  readonly dictionaryOffset?: number | undefined;
  /** Number of its data pages; left out: not in the metadata. */
  readonly dataPages?: number;
  readonly bloom?: Extent | undefined;
  readonly columnIndex?: Extent | undefined;
  readonly offsetIndex?: Extent | undefined;
}

export interface GroupMetadata {
  readonly rows: number;
  readonly chunks: readonly ChunkMetadata[];
  /** The metadata then has its size as well. */
  readonly offset?: number | undefined;
}

/** The content of a footer (`FileMetaData` of `parquet.thrift`). */
interface FileMetadata {
  /** Each group before its fields, without the root. */
  readonly schema: readonly SchemaElement[];
  /** Number of fields of the root. */
  readonly fields: number;
  readonly groups: readonly GroupMetadata[];
  readonly metadata?: ReadonlyMap<string, string>;
  readonly createdBy: string;
  /** Whether the footer says that bounds are in the order of the columns' types. */
  readonly hasBounds?: true;
}

/** The bytes of a Parquet file in pieces, which are copied once, at the end. */
export class FileWriter {
  length = 0;
  readonly #pieces: Uint8Array[] = [];

  constructor() {
    this.append(magic);
  }

  append(piece: Uint8Array): Extent {
    const offset = this.length;
    this.#pieces.push(piece);
    this.length += piece.length;
    return { offset, length: piece.length };
  }

  appendStruct(write: (to: StructWriter) => unknown): Extent {
    const buffer = new ByteBuffer(256);
    writeStruct(buffer, write);
    return this.append(buffer.written);
  }

  /** Appends the footer. Returns the whole file. */
  end(metadata: FileMetadata): Uint8Array<ArrayBuffer> {
    const footer = this.appendStruct((to) => {
      fileMetadata(to, metadata);
    });
    const end = new ByteBuffer(8);
    end.uint32(footer.length);
    end.bytes(magic);
    this.append(end.written);
    const bytes = new Uint8Array(this.length);
    let offset = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
    }
    return bytes;
  }
}

/** The header (`PageHeader` of `parquet.thrift`) and the packed bytes of a page. */
export function packedPage(
  raw: Uint8Array,
  compress: Compress,
  page: { readonly type: (typeof pageType)[keyof typeof pageType]; readonly count: number; readonly encoding: number },
): readonly [Uint8Array, Uint8Array] {
  const bytes = compress(raw);
  const header = new ByteBuffer(64);
  writeStruct(header, (to) => {
    to.i32(1, page.type).i32(2, raw.length).i32(3, bytes.length);
    if (page.type === pageType.dictionary) to.struct(7, (of) => of.i32(1, page.count).i32(2, page.encoding));
    else to.struct(5, (of) => of.i32(1, page.count).i32(2, page.encoding).i32(3, encoding.rle).i32(4, encoding.rle));
  });
  return [header.written, bytes];
}

function fileMetadata(to: StructWriter, file: FileMetadata): void {
  const { schema, fields, groups, metadata, createdBy } = file;
  to.i32(1, 1)
    .structs(2, [{ name: 'schema', children: fields }, ...schema], schemaElement)
    .i64(
      3,
      sumBy(groups, ({ rows }) => rows),
    )
    .structs(4, groups, rowGroup)
    .structs(5, metadata && [...metadata], (pair, [key, value]) => pair.text(1, key).text(2, value))
    .text(6, createdBy)
    // The order of a column's bounds is that of its type.
    .structs(7, file.hasBounds && schema, (order) => order.struct(1, () => undefined));
}

function schemaElement(to: StructWriter, element: SchemaElement): void {
  const { name, type, repetition, children, converted, digits, logical } = element;
  to.i32(1, type)
    .i32(3, repetition)
    .text(4, name)
    .i32(5, children)
    .i32(6, converted)
    .i32(7, digits?.scale)
    .i32(8, digits?.precision)
    .struct(10, logical);
}

function rowGroup(to: StructWriter, { rows, chunks, offset }: GroupMetadata): void {
  to.structs(1, chunks, columnChunk)
    .i64(
      2,
      sumBy(chunks, ({ uncompressedSize }) => uncompressedSize),
    )
    .i64(3, rows)
    .i64(5, offset)
    .i64(6, offset === undefined ? undefined : sumBy(chunks, ({ size }) => size));
}

function columnChunk(to: StructWriter, chunk: ChunkMetadata): void {
  const { offsetIndex, columnIndex } = chunk;
  to.i64(2, 0)
    .struct(3, (metadata) => {
      columnMetadata(metadata, chunk);
    })
    .i64(4, offsetIndex?.offset)
    .i32(5, offsetIndex?.length)
    .i64(6, columnIndex?.offset)
    .i32(7, columnIndex?.length);
}

function columnMetadata(to: StructWriter, chunk: ChunkMetadata): void {
  const { bounds, bloom, dictionaryOffset, dataPages } = chunk;
  const isShort = bounds !== undefined && bounds.min.length <= longestBound && bounds.max.length <= longestBound;
  const dictionary =
    dictionaryOffset === undefined ? [] : [{ type: pageType.dictionary, encoding: encoding.plain, count: 1 }];
  to.i32(1, chunk.type)
    .i32s(2, [...new Set([...dictionary.map((page) => page.encoding), encoding.rle, chunk.encoding])])
    .texts(3, chunk.path)
    .i32(4, chunk.codec)
    .i64(5, chunk.values)
    .i64(6, chunk.uncompressedSize)
    .i64(7, chunk.size)
    .i64(9, chunk.dataOffset)
    .i64(11, dictionaryOffset)
    .struct(12, (statistics) => {
      statistics.i64(3, chunk.nulls);
      if (isShort) statistics.binary(5, bounds.max).binary(6, bounds.min).boolean(7, true).boolean(8, true);
    })
    .structs(
      13,
      dataPages === undefined
        ? undefined
        : [...dictionary, { type: pageType.data, encoding: chunk.encoding, count: dataPages }],
      (statistics, pages) => statistics.i32(1, pages.type).i32(2, pages.encoding).i32(3, pages.count),
    )
    .i64(14, bloom?.offset)
    .i32(15, bloom?.length);
}

function sumBy<Of>(all: readonly Of[], numberOf: (one: Of) => number): number {
  return all.reduce((sum, one) => sum + numberOf(one), 0);
}
