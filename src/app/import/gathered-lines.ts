import { alignedWith } from '../../core/columns/memory.js';
import type { ChunkLines } from './chunk.js';
import type { ChunkThreads } from './chunk-threads.js';

/** Lines of a chunk at most: each takes memory for its position and its faults. */
const mostLines = 10_000;

/** Lines that are gathered for one chunk. */
export class GatheredLines {
  /** Bytes of all lines. */
  length = 0;
  readonly #room: number;
  readonly #bytes: Buffer<SharedArrayBuffer>;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** @param bytes of all lines at most */
  constructor(threads: ChunkThreads, bytes: number) {
    this.#room = bytes;
    this.#bytes = threads.linesMemory(bytes + mostLines * Float64Array.BYTES_PER_ELEMENT);
  }

  get isFull(): boolean {
    return this.#ends.length === mostLines;
  }

  hasRoom(bytes: number): boolean {
    return !this.isFull && this.length + bytes <= this.#room;
  }

  /** Copies a line. */
  add(line: Uint8Array): void {
    const start = alignedWith(line, this.#ends.at(-1) ?? 0);
    this.#bytes.set(line, start);
    this.length += line.length;
    this.#starts.push(start);
    this.#ends.push(start + line.length);
  }

  get lines(): ChunkLines {
    return { bytes: this.#bytes, starts: Int32Array.from(this.#starts), ends: Int32Array.from(this.#ends) };
  }
}
