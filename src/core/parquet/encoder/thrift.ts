import type { ByteBuffer } from './byte-buffer.js';

/** Types of the compact protocol. */
const wireType = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

/** What a field holds. Left out where it is undefined. */
type Write = ((to: StructWriter) => unknown) | undefined;

/**
 * Writes structs in Thrift's compact protocol (thrift-compact-protocol.md), in which footers, page headers and page indexes are
 * written. Fields come in the order of their numbers.
 */
export class StructWriter {
  readonly #to: ByteBuffer;
  #last = 0;

  constructor(to: ByteBuffer) {
    this.#to = to;
  }

  i32(field: number, value: number | undefined): this {
    return this.#number(field, wireType.i32, value);
  }

  i64(field: number, value: number | undefined): this {
    return this.#number(field, wireType.i64, value);
  }

  boolean(field: number, value: boolean): this {
    this.#field(field, value ? wireType.true : wireType.false);
    return this;
  }

  text(field: number, value: string): this {
    return this.binary(field, Buffer.from(value));
  }

  binary(field: number, value: Uint8Array | undefined): this {
    if (value === undefined) return this;
    this.#field(field, wireType.binary);
    binary(this.#to, value);
    return this;
  }

  struct(field: number, write: Write): this {
    if (write === undefined) return this;
    this.#field(field, wireType.struct);
    writeStruct(this.#to, write);
    return this;
  }

  structs<T>(field: number, list: readonly T[], write: (to: StructWriter, one: T) => unknown): this {
    return this.#list(field, wireType.struct, list, (one) => {
      writeStruct(this.#to, (to) => {
        write(to, one);
      });
    });
  }

  i32s(field: number, list: readonly number[]): this {
    return this.#list(field, wireType.i32, list, (one) => {
      this.#to.zigzag(one);
    });
  }

  i64s(field: number, list: readonly number[]): this {
    return this.#list(field, wireType.i64, list, (one) => {
      this.#to.zigzag(one);
    });
  }

  texts(field: number, list: readonly string[]): this {
    const bytes = list.map((text) => Buffer.from(text));
    return this.binaries(field, bytes);
  }

  binaries(field: number, list: readonly Uint8Array[]): this {
    return this.#list(field, wireType.binary, list, (one) => {
      binary(this.#to, one);
    });
  }

  booleans(field: number, list: readonly boolean[]): this {
    return this.#list(field, wireType.true, list, (one) => {
      this.#to.byte(one ? wireType.true : wireType.false);
    });
  }

  #number(field: number, type: number, value: number | undefined): this {
    if (value === undefined) return this;
    this.#field(field, type);
    this.#to.zigzag(value);
    return this;
  }

  #list<T>(field: number, type: number, list: readonly T[], write: (one: T) => void): this {
    this.#field(field, wireType.list);
    if (list.length < 15) this.#to.byte((list.length << 4) | type);
    else {
      this.#to.byte(0xf0 | type);
      this.#to.varint(list.length);
    }
    list.forEach(write);
    return this;
  }

  #field(field: number, type: number): void {
    const step = field - this.#last;
    if (step > 0 && step < 16) this.#to.byte((step << 4) | type);
    else {
      this.#to.byte(type);
      this.#to.zigzag(field);
    }
    this.#last = field;
  }
}

/** A struct behind what `to` holds already. */
export function writeStruct(to: ByteBuffer, write: (struct: StructWriter) => unknown): void {
  write(new StructWriter(to));
  to.byte(0);
}

function binary(to: ByteBuffer, value: Uint8Array): void {
  to.varint(value.length);
  to.bytes(value);
}
