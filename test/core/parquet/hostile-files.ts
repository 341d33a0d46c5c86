import { brotliCompressSync, gzipSync } from 'node:zlib';
import { ByteBuffer } from '../../../src/core/parquet/encoder/byte-buffer.js';
import { numberField, structFields, writeStruct, type StructWriter } from '../../../src/core/parquet/encoder/thrift.js';
import { readFooter } from '../../../src/core/parquet/footer.js';
import { blobOf } from '../../../src/core/parquet/parquet-source.js';

/** What stands in the place of a Parquet file. */
export interface HostileFile {
  readonly kind: 'cut' | 'lie' | 'bomb' | 'depth' | 'no Parquet';
  readonly name: string;
  readonly bytes: Uint8Array;
}

const magic = Buffer.from('PAR1');

/** Where the footer of a sound file begins. */
function footerStart(file: Uint8Array): number {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  return file.length - 8 - view.getUint32(file.length - 8, true);
}

function withFooter(pages: Uint8Array, footer: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([pages, footer, length, magic]);
}

/** A file with zeros between its pages and its footer, so that it has `size` bytes; unchanged where it has more. */
export function filledUp(file: Uint8Array, size: number): Uint8Array {
  const start = footerStart(file);
  const zeros = Buffer.alloc(Math.max(0, size - file.length));
  return start < 4 || start > file.length - 8
    ? Buffer.concat([file, zeros])
    : Buffer.concat([file.subarray(0, start), zeros, file.subarray(start)]);
}

/** A sound file that ends early, that lacks its begin, or whose bytes up to a place or behind it are zeros. */
export function cutFiles(file: Uint8Array): HostileFile[] {
  const start = footerStart(file);
  const { length } = file;
  const places = new Set([
    ...[0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 40, start - 1, start, start + 1, start + 2],
    ...Array.from({ length: 24 }, (_, part) => Math.floor((start * (part + 1)) / 25)),
    ...Array.from({ length: 12 }, (_, part) => start + Math.floor(((length - 8 - start) * (part + 1)) / 13)),
    ...Array.from({ length: 9 }, (_, part) => length - 9 + part),
  ]);
  return [...places].flatMap((at) => {
    const zerosBehind = Uint8Array.from(file).fill(0, at);
    const zerosBefore = Uint8Array.from(file).fill(0, 4, Math.max(4, at));
    return (
      [
        ['the end is gone', file.subarray(0, at)],
        ['the end is zeros', zerosBehind],
        ['the begin is gone', file.subarray(at)],
        ['the begin is zeros', zerosBefore],
      ] as const
    ).map(([name, bytes]): HostileFile => ({ kind: 'cut', name: `${name}, at ${at} of ${length}`, bytes }));
  });
}

/** An integer of Thrift's compact protocol. */
interface ThriftInteger {
  /** The numbers of the fields that lead to it. */
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** The integers of a struct: numbers, and the lengths of lists and texts. */
function integersOf(bytes: Uint8Array, from: number): { readonly integers: readonly ThriftInteger[]; end: number } {
  const integers: ThriftInteger[] = [];
  let at = from;
  const varint = (path: string): number => {
    const start = at;
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) break;
    }
    integers.push({ path, start, end: at });
    return value;
  };
  const element = (type: number, path: string): void => {
    if (type <= 3) at++;
    else if (type <= 6) varint(path);
    else if (type === 7) at += 8;
    else if (type === 8) at += varint(`${path} length`);
    else if (type === 9) {
      const head = bytes[at++] ?? 0;
      const length = head >> 4 === 15 ? varint(`${path} count`) : head >> 4;
      for (let number = 0; number < length; number++) element(head & 15, path);
    } else struct(path);
  };
  const struct = (path: string): void => {
    for (let field = 0; ;) {
      const head = bytes[at++] ?? 0;
      if (head === 0) return;
      field = head >> 4 === 0 ? varint(`${path} number`) / 2 : field + (head >> 4);
      if ((head & 15) > 2) element(head & 15, `${path}.${field}`);
    }
  };
  struct('');
  return { integers, end: at };
}

/** ULEB128 of a number that may not fit into a double. */
function leb128(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

/** Numbers as ZigZag writes them: 0, -1, 1, -2^31, 2^31 - 1, 2^31, 2^62, and the least of 64 bits. */
const wrongNumbers = [0n, 1n, 2n, 0xffff_ffffn, 0xffff_fffen, 1n << 32n, 1n << 63n, (1n << 64n) - 1n] as const;

/** The same number of bytes for another number. */
function sameLength({ start, end }: ThriftInteger, wrong: bigint): Buffer | undefined {
  const short = leb128(wrong);
  if (short.length > end - start) return undefined;
  const padded = Buffer.alloc(end - start);
  short.copy(padded);
  for (let at = short.length - 1; at < padded.length - 1; at++) padded[at] = (padded[at] ?? 0) | 128;
  return padded;
}

function replaced(bytes: Uint8Array, { start, end }: ThriftInteger, by: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}

/** A sound file in whose footer one number is another: each field once, each wrong number. */
export function footerLies(file: Uint8Array): HostileFile[] {
  const start = footerStart(file);
  const footer = file.subarray(start, file.length - 8);
  const fields = [
    ...new Map(
      integersOf(footer, 0)
        .integers.toReversed()
        .map((one) => [one.path, one]),
    ).values(),
  ];
  return fields.flatMap((field) =>
    [...wrongNumbers.map(leb128), Buffer.concat([Buffer.alloc(12, 0xff), Buffer.of(1)])].map((wrong): HostileFile => ({
      kind: 'lie',
      name: `footer ${field.path} is ${wrong.toString('hex')}`,
      bytes: withFooter(file.subarray(0, start), replaced(footer, field, wrong)),
    })),
  );
}

/** A sound file in one of whose page headers a number is another, in as many bytes: each field of the first pages. */
export function pageLies(file: Uint8Array, firstPages: readonly number[]): HostileFile[] {
  return firstPages.flatMap((page) =>
    integersOf(file, page).integers.flatMap((field) =>
      wrongNumbers.flatMap((wrong): HostileFile[] => {
        const bytes = sameLength(field, wrong);
        const name = `page at ${page} ${field.path} is ${wrong}`;
        return bytes === undefined ? [] : [{ kind: 'lie', name, bytes: replaced(file, field, bytes) }];
      }),
    ),
  );
}

/** A column of a file that is put together by hand: its pages as they stand there, behind their headers. */
interface HandMadeColumn {
  readonly name: string;
  readonly codec: number;
  readonly values: number;
  /** What the headers say of the size of the page. */
  readonly unpacked: number;
  readonly page: Uint8Array;
  readonly createdBy?: string;
}

/** A file of one column of texts, in one page of plain values. */
export function handMade({ name, codec, values, unpacked, page, createdBy = 'another' }: HandMadeColumn): Uint8Array {
  const header = new ByteBuffer();
  writeStruct(header, (to) =>
    to
      .i32(1, 0)
      .i32(2, unpacked)
      .i32(3, page.length)
      .struct(5, (data) => data.i32(1, values).i32(2, 0).i32(3, 3).i32(4, 3)),
  );
  const pages = Buffer.concat([magic, header.written, page]);
  const footer = new ByteBuffer();
  const metadata = (to: StructWriter) =>
    to
      .i32(1, 6)
      .i32s(2, [0, 3])
      .texts(3, [name])
      .i32(4, codec)
      .i64(5, values)
      .i64(6, unpacked + header.length)
      .i64(7, pages.length - 4)
      .i64(9, 4);
  writeStruct(footer, (to) =>
    to
      .i32(1, 1)
      .structs(2, [undefined, name], (schema, column) =>
        column === undefined
          ? schema.text(4, 'schema').i32(5, 1)
          : schema.i32(1, 6).i32(3, 0).text(4, column).i32(6, 0),
      )
      .i64(3, values)
      .structs(4, [undefined], (group) =>
        group
          .structs(1, [undefined], (chunk) => chunk.i64(2, 4).struct(3, metadata))
          .i64(2, unpacked + header.length)
          .i64(3, values),
      )
      .text(6, createdBy),
  );
  return withFooter(pages, footer.written);
}

/** Codecs as `parquet.thrift` numbers them. */
const codecs = { uncompressed: 0, snappy: 1, gzip: 2, brotli: 4, lz4: 5, zstd: 6, lz4Raw: 7, unknown: 9 } as const;

/** Most bytes of a block of zstd. */
const blockBytes = 128 * 1024;

/** A file of `rows` texts: the first of `blocks` * 128 kB zeros, in a zstd frame of four bytes for each block, the others empty. */
export function zstdBomb(column: string, blocks: number, rows: number, createdBy = 'another'): Uint8Array {
  const unpacked = blocks * blockBytes + 4 * rows;
  const page = zstdZeros(blocks, rows - 1);
  return handMade({ name: column, codec: codecs.zstd, values: rows, unpacked, page, createdBy });
}

function zstdZeros(blocks: number, others: number): Buffer {
  const block = (size: number, kind: number, isLast: boolean) => {
    const head = Buffer.alloc(3);
    head.writeUIntLE((size << 3) | (kind << 1) | Number(isLast), 0, 3);
    return head;
  };
  const length = Buffer.alloc(4);
  length.writeUInt32LE(blocks * blockBytes);
  const repeated = Buffer.concat([block(blockBytes, 1, false), Buffer.of(0x30)]);
  return Buffer.concat([
    // No checksum, a window of 128 kB.
    Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38),
    ...[block(4, 0, false), length],
    ...Array.from({ length: blocks }, () => repeated),
    ...[block(4 * others, 0, true), Buffer.alloc(4 * others)],
  ]);
}

/** 500 MB of zeros as a raw LZ4 block of one literal and one match, whose length 2 MB of bytes say. */
function lz4Zeros(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes - 4);
  const match = bytes - 5 - 19 - 5;
  return Buffer.concat([
    Buffer.of(0x5f),
    ...[length, Buffer.of(0x30, 0x01, 0x00)],
    ...[Buffer.alloc(Math.floor(match / 255), 255), Buffer.of(match % 255)],
    // The last five bytes are literals.
    ...[Buffer.of(0x50), Buffer.from('00000')],
  ]);
}

/** Files of some kilobytes whose only page unpacks to 500 MB, or whose headers say so, or say less. Each states `rows`. */
export function bombs(column: string, createdBy: string, rows = 1): HostileFile[] {
  const bytes = 500_000_000;
  const blocks = Math.floor(bytes / blockBytes);
  const zeros = zstdZeros(blocks, rows - 1);
  const page = Buffer.concat([Buffer.of(3, 0, 0, 0), Buffer.from('row')]);
  const of = (name: string, made: Omit<HandMadeColumn, 'name' | 'createdBy' | 'values'> & { values?: number }) => ({
    kind: 'bomb' as const,
    name: `${name}, by ${createdBy}`,
    bytes: handMade({ values: rows, ...made, name: column, createdBy }),
  });
  const small = 4_000_000;
  const text = Buffer.alloc(small + 4, 0x30);
  text.writeUInt32LE(small);
  return [
    { kind: 'bomb', name: `zstd of 500 MB, by ${createdBy}`, bytes: zstdBomb(column, blocks, rows, createdBy) },
    of('zstd of 500 MB that says 7 bytes', { codec: codecs.zstd, unpacked: 7, page: zeros }),
    of('zstd of 500 MB that says 2 GB', { codec: codecs.zstd, unpacked: 2 ** 31 - 1, page: zeros }),
    of('zstd of 500 MB that says less than none', { codec: codecs.zstd, unpacked: -1, page: zeros }),
    of('LZ4 of 500 MB', { codec: codecs.lz4Raw, unpacked: bytes, page: lz4Zeros(bytes) }),
    of('LZ4 of 500 MB that says 7 bytes', { codec: codecs.lz4Raw, unpacked: 7, page: lz4Zeros(bytes) }),
    of('gzip of 4 MB that says 2 GB', { codec: codecs.gzip, unpacked: 2 ** 31 - 1, page: gzipSync(text) }),
    of('gzip of 4 MB that says 7 bytes', { codec: codecs.gzip, unpacked: 7, page: gzipSync(text) }),
    of('brotli of 4 MB that says 7 bytes', { codec: codecs.brotli, unpacked: 7, page: brotliCompressSync(text) }),
    of('snappy that says 2 GB', {
      codec: codecs.snappy,
      unpacked: 2 ** 31 - 1,
      page: Buffer.concat([leb128(2n ** 31n - 1n), Buffer.of(0, 0x30, 0xfe, 1, 0)]),
    }),
    of('uncompressed that says 2 GB', { codec: codecs.uncompressed, unpacked: 2 ** 31 - 1, page }),
    of('uncompressed that says none', { codec: codecs.uncompressed, unpacked: 0, page }),
    of('uncompressed with two billion rows', { codec: codecs.uncompressed, unpacked: 7, page, values: 2 ** 31 - 1 }),
    of('uncompressed with fewer than no rows', { codec: codecs.uncompressed, unpacked: 7, page, values: -1 }),
    of('a text longer than its page', { codec: 0, unpacked: 7, page: Buffer.from('ffffff7f726f77', 'hex') }),
    of('a codec that nobody knows', { codec: codecs.unknown, unpacked: 7, page }),
    of('LZ4 of old', { codec: codecs.lz4, unpacked: 7, page }),
  ];
}

/** Footers that nest, or count, without end. */
export function deepFooters(): HostileFile[] {
  const of = (name: string, footer: Uint8Array): HostileFile => ({
    kind: 'depth',
    name,
    bytes: withFooter(magic, footer),
  });
  const times = 100_000;
  const schema = new ByteBuffer();
  writeStruct(schema, (to) =>
    to
      .i32(1, 1)
      .structs(2, Array.from({ length: times }), (element) => element.i32(3, 2).text(4, 'a').i32(5, 1))
      .i64(3, 0)
      .structs(4, [], () => undefined),
  );
  return [
    of('structs in structs of an unknown field', Buffer.alloc(times, 0x7c)),
    of('structs in structs of a known field', Buffer.alloc(times, 0x1c)),
    of('lists in lists', Buffer.concat([Buffer.of(0x79), Buffer.alloc(times, 0x19)])),
    of('groups in groups', schema.written),
    of('a list of two billion structs', Buffer.concat([Buffer.of(0x15, 2, 0x19, 0xfc), leb128(2n ** 31n - 1n)])),
    of('a list of 2^63 structs', Buffer.concat([Buffer.of(0x15, 2, 0x19, 0xfc), leb128(2n ** 63n)])),
    of('a text of 2^63 bytes', Buffer.concat([Buffer.of(0x68), leb128(2n ** 63n)])),
    of(
      'a hundred thousand empty structs',
      Buffer.concat([Buffer.of(0x19, 0xfc), leb128(100_000n), Buffer.alloc(100_001)]),
    ),
    of('a schema without elements', Buffer.of(0x15, 2, 0x19, 0x0c, 0x16, 0, 0x19, 0x0c, 0)),
    of('no field', Buffer.of(0)),
    of('no byte', Buffer.of()),
  ];
}

/** Bytes that are no Parquet file. */
export function noParquet(file: Uint8Array): HostileFile[] {
  const encrypted = Buffer.from('PARE');
  const tail = (length: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(length);
    return Buffer.concat([magic, Buffer.alloc(100), bytes, magic]);
  };
  let state = 1;
  const random = Buffer.from(Array.from({ length: 5000 }, () => (state = (state * 48_271) % 0x7fff_ffff) & 255));
  return (
    [
      ['nothing', ''],
      ['a byte', '\0'],
      ['the first magic bytes', 'PAR1'],
      ['both magic bytes', 'PAR1PAR1'],
      ['zeros', Buffer.alloc(5000)],
      ['bytes by chance', random],
      ['JSON', '{"events":[]}\n'],
      ['CSV', 'event_id,raw\n1,2\n'],
      ['a page of HTML', '<!DOCTYPE html><title>403 Forbidden</title>'],
      ['a pointer of Git LFS', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n'],
      ['gzip', gzipSync(file)],
      ['ORC', 'ORC\0\0\0ORC'],
      ['Arrow', 'ARROW1\0\0ARROW1'],
      ['Avro', 'Obj\u0001\0\0\0'],
      ['SQLite', 'SQLite format 3\0'],
      ['a footer of no bytes', tail(0)],
      ['a footer of one byte', tail(1)],
      ['a footer of the whole file', tail(100)],
      ['a footer beyond the file', tail(101)],
      ['a footer of 2 GB', tail(2 ** 31 - 1)],
      ['a footer of 4 GB', tail(2 ** 32 - 1)],
      ['an encrypted footer', Buffer.concat([encrypted, file.subarray(4, -4), encrypted])],
      ['an encrypted footer behind plain magic bytes', Buffer.concat([file.subarray(0, -4), encrypted])],
      ['two files', Buffer.concat([file, file])],
      ['a file behind a byte', Buffer.concat([Buffer.of(0), file])],
      ['a file and a byte', Buffer.concat([file, Buffer.of(0)])],
      ['a file of texts', Buffer.from(file).toString()],
    ] as const
  ).map(([name, bytes]): HostileFile => ({ kind: 'no Parquet', name, bytes: Buffer.from(bytes) }));
}

/** Where the first page of each column of a sound file begins. */
export async function firstPagesOf(file: Uint8Array): Promise<number[]> {
  const groups = structFields(await readFooter(await blobOf(file)), 4);
  return groups
    .flatMap((group) => structFields(group, 1).flatMap((chunk) => structFields(chunk, 3)))
    .flatMap((metadata) => [9, 11].flatMap((field) => (metadata.has(field) ? [numberField(metadata, field)] : [])));
}
