import type { ByteRange } from '../columns/arrays.js';
import { isOwnFooter, readFooter } from './footer.js';
import { codec, encoding, pageType, physicalType, repetition } from './encoder/format.js';
import { numberOf, readStructAt, structsOf, type ThriftStruct } from './encoder/thrift.js';
import { zstd, type Decompress } from './encoder/zstd.js';
import { blobOf, type ParquetSource } from './wasm.js';

/** Stands for the length of a text once that is read, so that a page is UTF-8 as a whole where its texts are. */
const space = 0x20;

/** The texts of a column of a Parquet file, from its first row on. */
export interface PlainTexts {
  /**
   * The next so many, one call for each, in their order. Only a row group's compressed pages and one page are in memory.
   *
   * @throws Error where the pages are damaged, or have no more: so does what it returns
   */
  take(rows: number): Promise<() => ByteRange>;
}

/**
 * Reads a column of a file that `encodeTable` wrote, where it is in PLAIN pages without nulls: in a third of the time that
 * parquet-wasm takes. Each page is UTF-8 as a whole where its texts are.
 *
 * @returns undefined for any other file or column, and on a machine without a fast zstd: parquet-wasm is to read it
 * @throws Error where there is no footer
 */
export async function plainTexts(source: ParquetSource, column: string): Promise<PlainTexts | undefined> {
  const { decompress } = await zstd();
  if (decompress === undefined) return undefined;
  const file = await blobOf(source);
  const footer = await readFooter(file);
  if (!isOwnFooter(footer)) return undefined;
  const leaves = structsOf(footer, 2).slice(1);
  const at = leaves.findIndex((leaf) => textOf(leaf, 4) === column);
  const leaf = leaves[at];
  if (leaf?.get(1) !== physicalType.byteArray || leaf.get(3) !== repetition.required) return undefined;
  const chunks: ThriftStruct[] = [];
  for (const group of structsOf(footer, 4)) {
    const [chunk] = structsOf(structsOf(group, 1)[at] ?? new Map(), 3);
    if (chunk === undefined || !isPlain(chunk)) return undefined;
    chunks.push(chunk);
  }
  return new PagesOfTexts(file, column, chunks, decompress);
}

class PagesOfTexts implements PlainTexts {
  readonly #file: Blob;
  readonly #column: string;
  /** Those that aren't read yet. */
  readonly #chunks: ThriftStruct[];
  readonly #decompress: Decompress;
  /** Values of the chunks that are read, beyond those that were asked for. */
  #ready = 0;
  /** The pages of these chunks. */
  readonly #pages: Page[] = [];
  #bytes: Uint8Array = new Uint8Array();
  #ends = new Int32Array();
  #next = 0;

  constructor(file: Blob, column: string, chunks: ThriftStruct[], decompress: Decompress) {
    this.#file = file;
    this.#column = column;
    this.#chunks = chunks;
    this.#decompress = decompress;
  }

  async take(rows: number): Promise<() => ByteRange> {
    while (this.#ready < rows) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) throw this.#ended();
      await this.#read(chunk);
    }
    this.#ready -= rows;
    return () => this.#text();
  }

  async #read(chunk: ThriftStruct): Promise<void> {
    const start = numberOf(chunk, 9);
    const bytes = new Uint8Array(await this.#file.slice(start, start + numberOf(chunk, 7)).arrayBuffer());
    const isCompressed = numberOf(chunk, 4) === codec.zstd;
    for (let at = 0; at < bytes.length;) {
      const { page, end } = pageAt(bytes, at, isCompressed);
      this.#pages.push(page);
      this.#ready += page.values;
      at = end;
    }
  }

  #text(): ByteRange {
    while (this.#next === this.#ends.length) this.#open();
    const start = 4 + (this.#next === 0 ? 0 : (this.#ends[this.#next - 1] ?? 0));
    return { page: this.#bytes, start, end: this.#ends[this.#next++] ?? 0 };
  }

  #open(): void {
    const page = this.#pages.shift();
    if (page === undefined) throw this.#ended();
    const bytes = page.isCompressed ? this.#decompress(page.bytes) : page.bytes;
    if (bytes.length !== page.size) throw new Error(`expected a page of ${page.size} bytes, got ${bytes.length}`);
    this.#ends = endsIn(bytes, page.values);
    this.#bytes = bytes;
    this.#next = 0;
  }

  #ended(): Error {
    return new Error(`expected another value of ${this.#column}, its pages have no more`);
  }
}

interface Page {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
  /** Bytes once it isn't compressed. */
  readonly size: number;
  readonly values: number;
}

/** Whether a chunk has neither a dictionary nor another encoding or codec (`ColumnMetaData` of `parquet.thrift`). */
function isPlain(chunk: ThriftStruct): boolean {
  const [encodings, compression] = [chunk.get(2), chunk.get(4)];
  const isKnown = (one: unknown): boolean => one === encoding.plain || one === encoding.rle;
  const isReadable = compression === codec.zstd || compression === codec.uncompressed;
  return isReadable && !chunk.has(11) && Array.isArray(encodings) && encodings.every(isKnown);
}

/** Where each text of a page ends, once the lengths before them are overwritten. Throws an Error where they don't fill it. */
function endsIn(page: Uint8Array, values: number): Int32Array<ArrayBuffer> {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  const ends = new Int32Array(values);
  let end = 0;
  for (let value = 0; value < values; value++) {
    const start = end + 4;
    end = start + view.getUint32(end, true);
    for (let at = start - 4; at < start; at++) page[at] = space;
    ends[value] = end;
  }
  if (end !== page.length) throw new Error(`expected texts up to byte ${page.length} of a page, they end at ${end}`);
  return ends;
}

/** The data page that begins at some byte (`PageHeader` of `parquet.thrift`). Throws an Error where none of PLAIN values does. */
function pageAt(
  bytes: Uint8Array,
  start: number,
  isCompressed: boolean,
): { readonly page: Page; readonly end: number } {
  const { struct: header, end: head } = readStructAt(bytes, start);
  const [data] = structsOf(header, 5);
  if (header.get(1) !== pageType.data || data?.get(2) !== encoding.plain)
    throw new Error(`expected a page of plain values at byte ${start} of a column, found another`);
  const end = head + numberOf(header, 3);
  if (end > bytes.length) throw new Error(`expected a page within ${bytes.length} bytes, it ends at ${end}`);
  const size = numberOf(header, 2);
  return { page: { bytes: bytes.subarray(head, end), isCompressed, size, values: numberOf(data, 1) }, end };
}

function textOf(struct: ThriftStruct, field: number): string | undefined {
  const value = struct.get(field);
  return value instanceof Uint8Array ? Buffer.from(value).toString() : undefined;
}
