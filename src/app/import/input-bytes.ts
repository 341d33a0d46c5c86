import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { Readable, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { createGunzip } from 'node:zlib';
import { usageError } from '../../core/errors.js';
import { openFault, openToRead } from '../../core/io/files.js';
import { markHandled } from '../../lake/files/workspace.js';

/** Bytes of one read. */
const chunkBytes = 1024 * 1024;

/** An input to import: `name` is for people. */
export interface Input {
  readonly name: string;
  /** Its size in bytes, as it is stored; undefined: unknown. */
  readonly bytes?: number;
  /** Its bytes as they are stored; called once. Each chunk is valid until the next one is requested. */
  open(): AsyncIterable<Buffer>;
}

/**
 * The inputs of the files that a user names; `-` is standard input.
 *
 * @throws LedgerlakeError USAGE where a file can't be read, or none is named
 */
export async function inputsOf(paths: readonly string[], stdin: () => AsyncIterable<Buffer>): Promise<Input[]> {
  if (paths.length === 0)
    throw usageError('expected FILE with saved response bodies, or - for standard input, got none');
  if (paths.filter((path) => path === '-').length > 1)
    throw usageError('expected - once, got it several times; standard input can be read only once');
  const inputs: Input[] = [];
  for (const path of paths) {
    if (path === '-') {
      inputs.push({ name: 'standard input', open: stdin });
      continue;
    }
    let source: Pick<Input, 'bytes' | 'open'>;
    try {
      await access(path, constants.R_OK);
      const found = await stat(path);
      if (found.isDirectory()) throw new Error('it is a folder');
      // The size of a pipe is unknown.
      source = found.isFile()
        ? { bytes: found.size, open: () => fileChunks(path, Math.min(chunkBytes, found.size + 1)) }
        : { open: () => createReadStream(path, { highWaterMark: chunkBytes }) };
    } catch (error) {
      throw usageError(`expected a file that can be read, got ${path} (${openFault(error)})`);
    }
    inputs.push({ name: path, ...source });
  }
  return inputs;
}

/** A file's bytes in two alternating buffers: while one is used, the next bytes are read into the other. */
async function* fileChunks(path: string, length: number): AsyncGenerator<Buffer> {
  const file = await openToRead(path);
  let reading: Promise<{ readonly bytesRead: number }> | undefined;
  try {
    let next = Buffer.allocUnsafeSlow(length);
    let used = Buffer.allocUnsafeSlow(length);
    for (;;) {
      const { bytesRead } = await (reading ?? file.read(next));
      if (bytesRead === 0) return;
      [used, next] = [next, used];
      reading = markHandled(file.read(next));
      yield used.subarray(0, bytesRead);
    }
  } finally {
    await reading?.catch(() => undefined);
    await file.close();
  }
}

/**
 * The decompressed bytes of an input. Gzip and zstd are detected by their first bytes, not by the file's name. Each chunk is valid
 * until the next one is requested.
 *
 * @param bytes as `Input.open` gives them
 * @throws Error of zlib where they are damaged or cut off; InputFault for zstd that this version of Node doesn't read
 */
export async function* inflated(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* peeked(bytes, 4, (head, all) => {
    const [first, second] = head;
    const isGzip = first === 0x1f && second === 0x8b;
    const isZstd = head.length >= 4 && head.readUInt32LE() === 0xfd2fb528;
    return isGzip || isZstd ? through(all, isGzip ? createGunzip({ chunkSize: chunkBytes }) : zstdDecompress()) : all;
  });
}

/** Why an input can't be read: what it is, and the way out. */
export class InputFault extends Error {}

/** @throws InputFault where Node has no zstd, before 22.15 */
function zstdDecompress(): Duplex {
  const functions: Readonly<Record<string, unknown>> = { ...zlib };
  const { createZstdDecompress: create } = functions;
  if (typeof create === 'function') return (create as (options: object) => Duplex)({ chunkSize: chunkBytes });
  throw new InputFault('the file is zstd, which needs Node 22.15; pipe `zstd -dc` of it into `ledgerlake import -`');
}

/** The chunks of a stream that transforms others. */
async function* through(bytes: AsyncIterable<Buffer>, transform: Duplex): AsyncGenerator<Buffer> {
  // A stream requests the next chunk before it has used one.
  const copied = (async function* () {
    for await (const chunk of bytes) yield Buffer.from(chunk);
  })();
  // The reader of the stream gets the same failure.
  const fed = pipeline(Readable.from(copied, { highWaterMark: 1 }), transform).catch(() => undefined);
  try {
    for await (const chunk of transform as AsyncIterable<Buffer>) yield chunk;
  } finally {
    transform.destroy();
    await fed;
  }
}

/**
 * Text as UTF-8: UTF-16, as PowerShell writes it, is detected by its byte order mark, or by the zero byte beside its first bracket.
 *
 * @throws InputFault where it is not valid
 */
export async function* decoded(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* peeked(bytes, 2, (head, all) => {
    const encoding = head.length < 2 ? undefined : utf16Forms.get(head.readUInt16BE());
    return encoding === undefined ? all : utf8Of(all, encoding);
  });
}

/** The encoding of a text by its first two bytes: a byte order mark, `{` or `[`. */
const utf16Forms: ReadonlyMap<number, string> = new Map([
  [0xfffe, 'utf-16le'],
  [0x7b00, 'utf-16le'],
  [0x5b00, 'utf-16le'],
  [0xfeff, 'utf-16be'],
  [0x007b, 'utf-16be'],
  [0x005b, 'utf-16be'],
]);

async function* utf8Of(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const text = (chunk?: Buffer): Buffer => {
    try {
      return Buffer.from(chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true }));
    } catch {
      throw new InputFault(
        'the file begins as UTF-16 and is not valid here; convert it with `iconv -f UTF-16 -t UTF-8`',
      );
    }
  };
  for await (const chunk of bytes) yield text(chunk);
  yield text();
}

/** Reads chunks as their first bytes show; `choose` gets at least as many as there are, up to `length`, and all chunks. */
export async function* peeked<T>(
  bytes: AsyncIterable<Buffer>,
  length: number,
  choose: (head: Buffer, all: AsyncIterable<Buffer>) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    let head = Buffer.alloc(0);
    while (head.length < length) {
      const next = await source.next();
      if (next.done === true) break;
      // A copy, because the chunk is valid until the next one is requested.
      head = Buffer.concat([head, next.value]);
    }
    const all = (async function* () {
      if (head.length > 0) yield head;
      yield* { [Symbol.asyncIterator]: () => source };
    })();
    yield* choose(head, all);
  } finally {
    // Closes the source where the reader stops before `all` has started.
    await source.return?.();
  }
}
