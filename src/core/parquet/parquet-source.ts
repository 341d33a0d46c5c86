import { open, stat } from 'node:fs/promises';
import { readFileRange } from '../io/files.js';

/** Where a Parquet file is: its bytes, or the path of a file on the local disk, of which only what is asked for is read. */
export type ParquetSource = Uint8Array | string;

/** A source as what parquet-wasm reads. Throws an Error where there is no such file. */
export async function blobOf(source: ParquetSource): Promise<Blob> {
  if (typeof source !== 'string') return new BytesBlob(source);
  const { size } = await stat(source);
  return new FileBlob(source, 0, size);
}

/**
 * Bytes as a Blob that holds no copy of them. Node keeps a Blob's own bytes where the garbage collector doesn't see how many
 * they are: files that are opened one after the other would fill the memory.
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

/** Part of a file as a Blob. Node's own (`openAsBlob`) is experimental, and says so to whoever runs it. */
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
    const file = await open(this.#path);
    try {
      const bytes = await readFileRange(file, this.#start, this.size);
      if (bytes.length === this.size) return bytes.buffer;
      throw new Error(`expected ${this.size} bytes from ${this.#start} on in ${this.#path}, found ${bytes.length}`);
    } finally {
      await file.close();
    }
  }
}
