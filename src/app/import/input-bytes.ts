import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
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
 * The decompressed bytes of an input. Gzip is detected by its first bytes, not by the file's name. Each chunk is valid until the
 * next one is requested.
 *
 * @param bytes as `Input.open` gives them
 * @throws Error of zlib where gzip is damaged or cut off
 */
export async function* inflated(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    let head = Buffer.alloc(0);
    while (head.length < 2) {
      const next = await source.next();
      if (next.done === true) break;
      head = Buffer.concat([head, next.value]);
    }
    const allBytes = (async function* () {
      yield head;
      yield* { [Symbol.asyncIterator]: () => source };
    })();
    if (head[0] !== 0x1f || head[1] !== 0x8b) {
      yield* allBytes;
      return;
    }
    const gunzip = createGunzip({ chunkSize: chunkBytes });
    // A stream requests the next chunk before it has used one.
    const copied = (async function* () {
      for await (const chunk of allBytes) yield Buffer.from(chunk);
    })();
    // The reader of `gunzip` gets the same failure.
    const fed = pipeline(Readable.from(copied, { highWaterMark: 1 }), gunzip).catch(() => undefined);
    try {
      for await (const chunk of gunzip as AsyncIterable<Buffer>) yield chunk;
    } finally {
      gunzip.destroy();
      await fed;
    }
  } finally {
    // Closes the source where the reader stops before `allBytes` has started.
    await source.return?.();
  }
}
