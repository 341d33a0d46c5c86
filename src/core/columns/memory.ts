/** Allocates the arrays of columns, filled with zeros. */
export interface ColumnMemory {
  int32s(length: number): Int32Array<ArrayBuffer>;
  bytes(length: number): Uint8Array<ArrayBuffer>;
}

/** Allocates each array separately. */
export const separateMemory: ColumnMemory = {
  int32s: (length) => new Int32Array(length),
  bytes: (length) => new Uint8Array(length),
};

/** More than the columns of one chunk of an input (about 10 MB) take. */
export const columnBytes = 16_000_000;

/** Alignment of arrays in bytes, as Arrow recommends (columnar format, "Buffer Alignment and Padding"). */
const alignment = 64;

/**
 * One block of memory that is reused for the arrays of each batch. Allocating and freeing megabytes for each batch
 * would fragment the C library's heap, which never shrinks.
 */
export class ReusedMemory implements ColumnMemory {
  readonly #size: number;
  #all: ArrayBuffer | undefined;
  #used = 0;

  /** @param size bytes; arrays that don't fit are allocated separately */
  constructor(size: number) {
    this.#size = size;
  }

  int32s(length: number): Int32Array<ArrayBuffer> {
    const start = this.#room(length * Int32Array.BYTES_PER_ELEMENT);
    return start === undefined ? separateMemory.int32s(length) : new Int32Array(this.#buffer, start, length).fill(0);
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    const start = this.#room(length);
    return start === undefined ? separateMemory.bytes(length) : new Uint8Array(this.#buffer, start, length).fill(0);
  }

  /** Frees the memory for reuse: arrays allocated from it must not be used any more. */
  clear(): void {
    this.#used = 0;
  }

  /** The whole block. The system allocates a page when it is first written to, so an unused part costs nothing. */
  get #buffer(): ArrayBuffer {
    return (this.#all ??= new ArrayBuffer(this.#size));
  }

  /** The offset of a new array; undefined where it doesn't fit. */
  #room(bytes: number): number | undefined {
    const start = this.#used;
    const end = start + Math.ceil(bytes / alignment) * alignment;
    if (end > this.#size) return undefined;
    this.#used = end;
    return start;
  }
}

const noInt64 = -(2n ** 63n);

/** Reads the numbers that `SharedArrays.int64s` copied. */
export function int64sOf(copy: BigInt64Array): (bigint | undefined)[] {
  const values: (bigint | undefined)[] = [];
  // `Array.from` would allocate an object for each value.
  for (const value of copy) values.push(value === noInt64 ? undefined : value);
  return values;
}

/**
 * Copies of arrays in one block of shared memory, which another thread reads without a further copy. Unshared memory
 * could be transferred instead; but the first transfer from a thread makes V8 discard its optimized code for arrays
 * there, and check on each later access whether the memory is detached.
 */
export class SharedArrays {
  readonly #memory: SharedArrayBuffer;
  #used = 0;

  /** @param memory block whose former arrays are no longer used; arrays that don't fit are allocated separately */
  constructor(memory = new SharedArrayBuffer(0)) {
    this.#memory = memory;
  }

  int32s(values: Int32Array): Int32Array {
    const copy = new Int32Array(...this.#allocate(values));
    copy.set(values);
    return copy;
  }

  /** Encodes undefined as a number that no column contains; `int64sOf` decodes it. */
  int64s(values: readonly (bigint | undefined)[]): BigInt64Array {
    const { length } = values;
    const copy = new BigInt64Array(...this.#allocate({ length, byteLength: length * BigInt64Array.BYTES_PER_ELEMENT }));
    for (let at = 0; at < length; at++) copy[at] = values[at] ?? noInt64;
    return copy;
  }

  bytes(values: Uint8Array): Uint8Array {
    const copy = new Uint8Array(...this.#allocate(values));
    copy.set(values);
    return copy;
  }

  /** A block that fits the same amount again, to be used once these copies are no longer needed. */
  get reusable(): SharedArrayBuffer {
    return this.#used <= this.#memory.byteLength ? this.#memory : new SharedArrayBuffer(Math.ceil(this.#used * 1.25));
  }

  /** The arguments of a typed array's constructor: memory, byte offset and length. */
  #allocate({ byteLength, length }: { byteLength: number; length: number }): [SharedArrayBuffer, number, number] {
    const start = this.#used;
    this.#used += Math.ceil(byteLength / alignment) * alignment;
    return this.#used <= this.#memory.byteLength
      ? [this.#memory, start, length]
      : [new SharedArrayBuffer(byteLength), 0, length];
  }
}

/**
 * The first offset from `from` on that is congruent modulo 8 to the offset of the bytes: only then does V8 copy shared
 * bytes word by word.
 */
export function alignedWith(bytes: Uint8Array, from: number): number {
  return from + ((bytes.byteOffset - from) & 7);
}

/** Copies a text. Most are short: a call of `set` would cost more than a loop. */
export function copyText(source: Uint8Array, start: number, end: number, into: Uint8Array, offset: number): void {
  if (end - start > 48) into.set(source.subarray(start, end), offset);
  else for (let at = start, to = offset; at < end; at++, to++) into[to] = source[at] ?? 0;
}

/** A growing list of 32-bit integers. */
export class Int32List {
  length = 0;
  #cells: Int32Array = new Int32Array(1024);

  push(value: number): number {
    if (this.length === this.#cells.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells[this.length] = value;
    return this.length++;
  }

  get(index: number): number {
    return this.#cells[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.#cells[index] = value;
  }

  /** Overwrites the first values. */
  assign(values: Int32Array): void {
    this.#cells.set(values);
  }

  /** The values, not copied; valid until the next `push`. */
  get values(): Int32Array {
    return this.#cells.subarray(0, this.length);
  }

  /** Replaces the values and their memory. */
  replaceAll(values: Int32Array): void {
    this.#cells = values;
    this.length = values.length;
  }

  /** Drops all values after the first `length`. */
  truncate(length: number): void {
    this.length = length;
  }
}
