/** Allocates the arrays of columns. All of them are zeros at first. */
export interface ColumnMemory {
  int32s(length: number): Int32Array<ArrayBuffer>;
  bytes(length: number): Uint8Array<ArrayBuffer>;
}

/** Each array has memory of its own. */
export const separateMemory: ColumnMemory = {
  int32s: (length) => new Int32Array(length),
  bytes: (length) => new Uint8Array(length),
};

/** More than the columns of one chunk of an input take, of some 10 MB. */
export const columnBytes = 16_000_000;

/** Bytes at whose multiples arrays begin: what Arrow recommends ("Buffer Alignment and Padding" of its format). */
const alignment = 64;

/**
 * One piece of memory for the arrays of one batch after the other. Memory that comes and goes by the megabyte leaves holes
 * behind in the C library's heap, which a process keeps.
 */
export class ReusedMemory implements ColumnMemory {
  readonly #size: number;
  #all: ArrayBuffer | undefined;
  #used = 0;

  /** @param size bytes; arrays beyond it have memory of their own */
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

  /** Gives the memory out anew: nobody may use the arrays that lie in it any more. */
  clear(): void {
    this.#used = 0;
  }

  /** All of it. Pages that were never written to take no memory: the size is a limit, and no expense. */
  get #buffer(): ArrayBuffer {
    return (this.#all ??= new ArrayBuffer(this.#size));
  }

  /** Where an array begins; undefined where there is no room for it. */
  #room(bytes: number): number | undefined {
    const start = this.#used;
    const end = start + Math.ceil(bytes / alignment) * alignment;
    if (end > this.#size) return undefined;
    this.#used = end;
    return start;
  }
}

const noInt64 = -(2n ** 63n);

/** The numbers that `SharedArrays.int64s` has a copy of. */
export function int64sOf(copy: BigInt64Array): (bigint | undefined)[] {
  const values: (bigint | undefined)[] = [];
  // `Array.from` would make an object for each.
  for (const value of copy) values.push(value === noInt64 ? undefined : value);
  return values;
}

/**
 * Copies of arrays, one behind the other in memory that threads share: another thread has them without a further copy. Memory that
 * isn't shared could be transferred; but the first time that a thread loses some, V8 drops all code that it has optimized for
 * arrays there, and checks at each access from then on whether the memory still is there.
 */
export class SharedArrays {
  readonly #memory: SharedArrayBuffer;
  #used = 0;

  /** @param memory nobody uses any more what lies in it; arrays beyond it have memory of their own */
  constructor(memory = new SharedArrayBuffer(0)) {
    this.#memory = memory;
  }

  int32s(values: Int32Array): Int32Array {
    const copy = new Int32Array(...this.#allocate(values));
    copy.set(values);
    return copy;
  }

  /** To be read by `int64sOf`: no value of a column equals the number that means undefined. */
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

  /** Memory for as much again, once nobody uses these copies any more. */
  get reusable(): SharedArrayBuffer {
    return this.#used <= this.#memory.byteLength ? this.#memory : new SharedArrayBuffer(Math.ceil(this.#used * 1.25));
  }

  /** Memory for an array of so many values, where it begins in it, and how many there are. */
  #allocate({ byteLength, length }: { byteLength: number; length: number }): [SharedArrayBuffer, number, number] {
    const start = this.#used;
    this.#used += Math.ceil(byteLength / alignment) * alignment;
    return this.#used <= this.#memory.byteLength
      ? [this.#memory, start, length]
      : [new SharedArrayBuffer(byteLength), 0, length];
  }
}

/**
 * The first offset from `from` on with the same remainder by 8 as the offset of the bytes: V8 copies bytes that threads share word
 * by word then, and else one by one.
 */
export function alignedWith(bytes: Uint8Array, from: number): number {
  return from + ((bytes.byteOffset - from) & 7);
}

/** Copies bytes that are mostly few: a call of `set` for each would cost more than they do. */
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

  /** Gives the first ones other values. */
  assign(values: Int32Array): void {
    this.#cells.set(values);
  }

  /** The values as they lie in memory; valid until the next `push`. */
  get values(): Int32Array {
    return this.#cells.subarray(0, this.length);
  }

  /** Replaces its values and their memory by these. */
  take(values: Int32Array): void {
    this.#cells = values;
    this.length = values.length;
  }

  /** Drops the values behind the first `length` ones. */
  truncate(length: number): void {
    this.length = length;
  }
}
