import { stat } from 'node:fs/promises';
import { openUnlinked, readFileRange } from '../io/files.js';

/** A Parquet file: its bytes, or the path of a local file, of which only the requested ranges are read. */
export type ParquetSource = Uint8Array | string;

/** A source as a Blob, which parquet-wasm reads. Throws an Error where the file doesn't exist. */
export async function blobOf(source: ParquetSource): Promise<Blob> {
  if (typeof source !== 'string') return new BytesBlob(source);
  const { size } = await stat(source);
  return new FileBlob(source, 0, size);
}

/**
 * Bytes as a Blob without a copy. The garbage collector doesn't see the memory of a regular Blob: opening many files in
 * turn would exhaust it.
 */
class BytesBlob extends Blob {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super([]);
    this.#bytes = bytes;
    Object.defineProperty(this, 'size', { value: bytes.length });
  }

  override slice(start = 0, end = this.size): Blob {
    return new BytesBlob(this.#bytes.subarray(start, end));
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(new Uint8Array(this.#bytes).buffer);
  }
}

/** A range of a file as a Blob. Node's `openAsBlob` is experimental and prints a warning. */
class FileBlob extends Blob {
  readonly #path: string;
  readonly #start: number;

  constructor(path: string, start: number, size: number) {
    super([]);
    this.#path = path;
    this.#start = start;
    Object.defineProperty(this, 'size', { value: size });
  }

  override slice(start = 0, end = this.size): Blob {
    return new FileBlob(this.#path, this.#start + start, Math.max(0, end - start));
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const file = await openUnlinked(this.#path);
    try {
      const bytes = await readFileRange(file, this.#start, this.size);
      if (bytes.length === this.size) return bytes.buffer;
      throw new Error(`expected ${this.size} bytes from ${this.#start} on in ${this.#path}, found ${bytes.length}`);
    } finally {
      await file.close();
    }
  }
}
