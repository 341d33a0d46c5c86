import { alignedWith } from '../../../core/columns/memory.js';

/** Some lines of an input. */
export interface ChunkLines {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Where each line begins. */
  readonly starts: Int32Array;
  /** Where each line ends. */
  readonly ends: Int32Array;
}

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

  /**
   * @param bytes of all lines at most
   * @param newMemory of so many bytes
   */
  constructor(bytes: number, newMemory: (bytes: number) => Buffer<SharedArrayBuffer>) {
    this.#room = bytes;
    this.#bytes = newMemory(bytes + mostLines * Float64Array.BYTES_PER_ELEMENT);
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

/** Lines with some bodies replaced. */
export function withBodies(
  { bytes, starts, ends }: ChunkLines,
  bodies: ReadonlyMap<number, { readonly bytes: Uint8Array }>,
): ChunkLines {
  const all = [...starts].map((start, line) => bodies.get(line)?.bytes ?? bytes.subarray(start, ends[line]));
  const lengths = all.map(({ length }) => length);
  const replaced = new Uint8Array(new SharedArrayBuffer(lengths.reduce((sum, length) => sum + length, 0)));
  const newEnds = new Int32Array(starts.length);
  let end = 0;
  for (const [line, body] of all.entries()) {
    replaced.set(body, end);
    newEnds[line] = end += body.length;
  }
  return { bytes: replaced, starts: newEnds.map((each, line) => each - (lengths[line] ?? 0)), ends: newEnds };
}

/**
 * Copies the bytes of lines to unshared memory, from which slices are copied several times as fast.
 *
 * @param memory is used where it has the size of the lines
 */
export function privateCopy({ bytes, ends }: ChunkLines, memory: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  // New memory of exactly this size, so that one long line isn't kept.
  const copy = memory.length === bytes.length ? memory : Buffer.alloc(bytes.length);
  copy.set(bytes.subarray(0, ends.at(-1)));
  return copy;
}
