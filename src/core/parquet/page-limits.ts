import { formatBytes } from '../text/amounts.js';
import { readFooter } from './footer.js';
import { codec } from './encoder/format.js';
import { numberField, readStructAt, structFields, type ThriftStruct } from './encoder/thrift.js';

/**
 * Maximum bytes of an unpacked page, from the size of its file: a file of a few kilobytes may expand to gigabytes. Writers cut
 * pages at about 1 MB, unless a single value is longer.
 */
export function mostPageBytes(fileBytes: number): number {
  return Math.min(32_000_000 + 100 * fileBytes, 2 ** 31 - 1);
}

/**
 * Checks a page (`PageHeader` of `parquet.thrift`) before it is unpacked.
 *
 * @param chunk the `ColumnMetaData` of its column chunk
 * @throws Error where it is larger than the chunk, or may unpack to more than `most` bytes
 */
export function checkPage(header: ThriftStruct, packed: Uint8Array, chunk: ThriftStruct, most: number): void {
  const [claimed, ofChunk] = [numberField(header, 2), numberField(chunk, 6)];
  if (claimed < 0 || claimed > ofChunk)
    throw new Error(`expected a page within the ${ofChunk} bytes of its column chunk, got one of ${claimed}`);
  const bytes = Math.max(claimed, mostUnpacked(header, packed, numberField(chunk, 4)));
  if (bytes <= most) return;
  throw new Error(`expected a page of at most ${formatBytes(most)}, got one that unpacks to ${formatBytes(bytes)}`);
}

/** Bytes that a page may unpack to, by what is packed: its header may claim less. */
function mostUnpacked(header: ThriftStruct, page: Uint8Array, codecNumber: number): number {
  if (codecNumber === codec.uncompressed) return page.length;
  const [second] = structFields(header, 8);
  // The levels of a page of the second version are not compressed.
  const levels = second === undefined ? 0 : numberField(second, 5) + numberField(second, 6);
  const packed = page.subarray(levels);
  if (packed.length === 0 || second?.get(7) === false) return page.length;
  if (codecNumber === codec.snappy) return levels + snappyBytes(packed);
  if (codecNumber === codec.zstd) return levels + mostZstdBytes(packed);
  throw new Error(`expected pages compressed by zstd or snappy, or uncompressed ones, got codec ${codecNumber}`);
}

/** The length of the content, with which a Snappy block begins. */
function snappyBytes(packed: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < Math.min(5, packed.length); at++) {
    const byte = packed[at] ?? 0;
    length += (byte & 127) * 2 ** (7 * at);
    if (byte < 128) return length;
  }
  throw new Error('expected the length of a Snappy block, got none');
}

/** What a zstd frame begins with, and the most that a block expands to (RFC 8878). */
const zstdMagic = 0xfd2f_b528;
const skippableMagic = 0x184d_2a5;
const mostBlockBytes = 128 * 1024;
const rleBlock = 1;
const compressedBlock = 2;

/** The most bytes that zstd frames expand to. Throws an Error where they are cut off. */
function mostZstdBytes(packed: Uint8Array): number {
  try {
    return sumOfBlocks(packed);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(`expected zstd frames within ${packed.length} bytes, they go beyond`, { cause: error });
  }
}

/** By the headers of the blocks: the size of the content is optional. */
function sumOfBlocks(packed: Uint8Array): number {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  let bytes = 0;
  for (let at = 0; at < packed.length;) {
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === skippableMagic) {
      at += 8 + view.getUint32(at + 4, true);
      continue;
    }
    if (magic !== zstdMagic) throw new Error('expected a zstd frame, got none');
    const descriptor = view.getUint8(at + 4);
    const isSingle = (descriptor & 0x20) !== 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
    at += 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0) + sizeBytes;
    for (let isLast = false; !isLast;) {
      const block = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
      const [kind, size] = [(block >> 1) & 3, block >> 3];
      isLast = (block & 1) === 1;
      bytes += kind === compressedBlock ? mostBlockBytes : size;
      at += 3 + (kind === rleBlock ? 1 : size);
    }
    // The checksum of the content.
    if ((descriptor & 4) !== 0) at += 4;
  }
  return bytes;
}

/** The pages of a file, as far as its reader must know them. */
interface CheckedPages {
  /** Bytes of the largest dictionary of the chosen columns: each row may have its longest value. */
  readonly largestDictionary: number;
}

/**
 * Checks each page of the chosen columns by `checkPage`, before a reader unpacks them. Memory holds one column chunk.
 *
 * @param columns none of them with columns or lists of its own
 * @throws Error where a page is too large, a column is missing, counts of rows differ, or the bytes are no Parquet file
 */
export async function checkPages(file: Blob, columns: readonly string[] | 'all'): Promise<CheckedPages> {
  const most = mostPageBytes(file.size);
  let largestDictionary = 0;
  const footer = await readFooter(file);
  let rows = 0;
  for (const group of structFields(footer, 4)) {
    const chunks = structFields(group, 1).flatMap((chunk) => structFields(chunk, 3));
    expectColumns(chunks, columns);
    const groupRows = expectCount(numberField(group, 3), 'rows in a row group');
    rows += groupRows;
    for (const metadata of chunks) {
      if (columns !== 'all' && !columns.includes(topLevelName(metadata))) continue;
      const values = expectCount(numberField(metadata, 5), 'values in a column chunk');
      const chunk = await chunkBytes(file, metadata);
      let found = 0;
      for (let at = 0; at < chunk.length;) {
        const { struct: header, end: start } = readStructAt(chunk, at);
        const size = numberField(header, 3);
        at = start + size;
        if (size < 0 || at > chunk.length)
          throw new Error(`expected a page within ${chunk.length} bytes, got one up to ${at}`);
        checkPage(header, chunk.subarray(start, at), metadata, most);
        if (header.has(7)) largestDictionary = Math.max(largestDictionary, numberField(header, 2));
        for (const data of [...structFields(header, 5), ...structFields(header, 8)])
          found += expectCount(numberField(data, 1), 'values in a page');
      }
      if (found !== values) throw new Error(`expected ${values} values in a column chunk, its pages have ${found}`);
      if (columns !== 'all' && values !== groupRows)
        throw new Error(`expected ${groupRows} values in a column chunk, as its group has rows, got ${values}`);
    }
  }
  if (rows !== numberField(footer, 3))
    throw new Error(`expected row groups of ${numberField(footer, 3)} rows in all, found ${rows}`);
  return { largestDictionary };
}

/** Returns a number that counts something. Throws an Error where it can't. */
function expectCount(count: number, what: string): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new Error(`expected a number of ${what}, got ${count}`);
}

/** parquet-wasm waits for ever for the rows of a column that is missing. */
function expectColumns(chunks: readonly ThriftStruct[], columns: readonly string[] | 'all'): void {
  if (columns === 'all') return;
  const found = new Set(chunks.map(topLevelName));
  const missing = columns.find((column) => !found.has(column));
  if (missing !== undefined) throw new Error(`expected a column ${missing}, found none`);
}

/** The column of a chunk: the first name of its path. */
function topLevelName(metadata: ThriftStruct): string {
  const path: unknown = metadata.get(3);
  const name: unknown = Array.isArray(path) ? path[0] : undefined;
  return name instanceof Uint8Array ? Buffer.from(name).toString() : '';
}

/** The pages of a column chunk (`ColumnMetaData` of `parquet.thrift`), packed. */
export async function chunkBytes(file: Blob, metadata: ThriftStruct): Promise<Uint8Array> {
  // A dictionary that is not there is an offset of 0 in files of some writers.
  const dictionary = metadata.has(11) ? numberField(metadata, 11) : 0;
  const start = dictionary > 0 ? dictionary : numberField(metadata, 9);
  const end = start + numberField(metadata, 7);
  if (!(start >= 0 && start <= end && end <= file.size))
    throw new Error(`expected a column within ${file.size} bytes, got one from ${start} to ${end}`);
  return new Uint8Array(await file.slice(start, end).arrayBuffer());
}
