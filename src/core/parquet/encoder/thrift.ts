import { ByteReader, type ByteBuffer } from './byte-buffer.js';

/** Types of the compact protocol. */
const wireType = { true: 1, false: 2, i8: 3, i16: 4, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

/**
 * Writes a struct in Thrift's compact protocol (thrift-compact-protocol.md), the format of footers, page headers and
 * page indexes. Fields must be written in the order of their numbers.
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

  /** @param write writes the content; undefined leaves the field out */
  struct(field: number, write: ((to: StructWriter) => unknown) | undefined): this {
    if (write === undefined) return this;
    this.#field(field, wireType.struct);
    writeStruct(this.#to, write);
    return this;
  }

  structs<T>(field: number, list: readonly T[] | undefined, write: (to: StructWriter, one: T) => unknown): this {
    if (list === undefined) return this;
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

/** Appends a struct to `to`. */
export function writeStruct(to: ByteBuffer, write: (struct: StructWriter) => unknown): void {
  write(new StructWriter(to));
  to.byte(0);
}

function binary(to: ByteBuffer, value: Uint8Array): void {
  to.varint(value.length);
  to.bytes(value);
}

/** The field values of a struct, by field number. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
type ThriftValue = number | boolean | Uint8Array | ThriftStruct | readonly ThriftValue[];

/**
 * Reads a struct from exactly `start` to `end`.
 *
 * @throws Error where it ends elsewhere, or isn't in the compact protocol
 */
export function readStruct(bytes: Uint8Array, start: number, end: number): ThriftStruct {
  const { struct, end: at } = readStructAt(bytes.subarray(0, end), start);
  if (at !== end) throw new Error(`expected a struct up to byte ${end}, it ends at ${at}`);
  return struct;
}

/**
 * Reads a struct that begins at `start`, and returns its end as well.
 *
 * @throws Error where it exceeds the bytes, or isn't in the compact protocol
 */
export function readStructAt(
  bytes: Uint8Array,
  start: number,
): { readonly struct: ThriftStruct; readonly end: number } {
  const reader = new StructReader(bytes, start);
  const struct = reader.struct();
  return { struct, end: reader.at };
}

/** The number in a field. Throws an Error where there is none. */
export function numberField(struct: ThriftStruct, field: number): number {
  const value = struct.get(field);
  if (typeof value !== 'number') throw new Error(`expected a number as field ${field} of a struct, found none`);
  return value;
}

/** The text in a field; undefined where there is none. */
export function textField(struct: ThriftStruct, field: number): string | undefined {
  const value = struct.get(field);
  return value instanceof Uint8Array ? Buffer.from(value).toString() : undefined;
}

/** The struct or list of structs in a field; empty where there is none. */
export function structFields(struct: ThriftStruct, field: number): readonly ThriftStruct[] {
  const value = struct.get(field);
  return (Array.isArray(value) ? value : [value]).filter((one) => one instanceof Map);
}

/** Far more than the structs of Parquet have: damaged ones may nest without end. */
const mostDepth = 100;

class StructReader extends ByteReader {
  #depth = 0;

  struct(): ThriftStruct {
    return this.#within(() => this.#fields());
  }

  #within<T>(read: () => T): T {
    if (++this.#depth > mostDepth) throw new Error(`expected at most ${mostDepth} structs and lists within each other`);
    const value = read();
    this.#depth--;
    return value;
  }

  #fields(): ThriftStruct {
    const fields = new Map<number, ThriftValue>();
    for (let last = 0; ;) {
      const head = this.byte();
      if (head === 0) return fields;
      const type = head & 0x0f;
      last = head >> 4 === 0 ? this.zigzag() : last + (head >> 4);
      fields.set(last, type <= wireType.false ? type === wireType.true : this.#value(type));
    }
  }

  #value(type: number): ThriftValue {
    switch (type) {
      case wireType.true:
      case wireType.false:
        // An element of a list; the value of a field is in its header.
        return this.byte() === wireType.true;
      case wireType.i8:
        return this.byte();
      case wireType.i16:
      case wireType.i32:
      case wireType.i64:
        return this.zigzag();
      case wireType.binary: {
        const start = this.pass(this.varint());
        return this.bytes.subarray(start, this.at);
      }
      case wireType.list:
        return this.#within(() => this.#list());
      case wireType.struct:
        return this.struct();
      default:
        throw new Error(`expected a type of Thrift's compact protocol, found ${type} at byte ${this.at}`);
    }
  }

  #list(): readonly ThriftValue[] {
    const head = this.byte();
    const length = head >> 4 === 15 ? this.varint() : head >> 4;
    const list: ThriftValue[] = [];
    while (list.length < length) list.push(this.#value(head & 0x0f));
    return list;
  }
}
