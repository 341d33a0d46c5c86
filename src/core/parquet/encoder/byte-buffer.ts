import { copyText } from '../../columns/memory.js';

/** Of a varint: it has 64 bits. */
const mostDigits = 10;

/** Bytes that are written one behind the other. Their memory grows, and stays for what is written after `clear`. */
export class ByteBuffer {
  length = 0;
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(room = 1 << 16) {
    this.#bytes = new Uint8Array(room);
  }

  /** What was written, as it lies in memory: valid until more is written. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  /** Memory with room for so many bytes behind what was written; whoever writes there adds to `length`. */
  room(bytes: number): Uint8Array<ArrayBuffer> {
    const needed = this.length + bytes;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.written);
      this.#bytes = larger;
    }
    return this.#bytes;
  }

  byte(value: number): void {
    this.room(1)[this.length++] = value;
  }

  /** 32 bits, the least significant byte first. */
  uint32(value: number): void {
    const into = this.room(4);
    into[this.length++] = value;
    into[this.length++] = value >>> 8;
    into[this.length++] = value >>> 16;
    into[this.length++] = value >>> 24;
  }

  /** ULEB128 of a whole number from 0 to 2^53. */
  varint(value: number): void {
    const into = this.room(8);
    let rest = value;
    while (rest >= 0x80) {
      into[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    into[this.length++] = rest;
  }

  /** ZigZag of a whole number between -2^52 and 2^52. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(source: Uint8Array, start = 0, end = source.length): void {
    copyText(source, start, end, this.room(end - start), this.length);
    this.length += end - start;
  }
}

/** Bytes that are read one behind the other. What goes beyond them throws an Error. */
export class ByteReader {
  readonly bytes: Uint8Array;
  /** The next one. */
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    return this.bytes[this.pass(1)] ?? 0;
  }

  /** Where so many bytes begin, behind which it goes on. */
  pass(length: number): number {
    const start = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw new Error(`expected an end by byte ${this.bytes.length}, it goes beyond`);
    return start;
  }

  /** What `ByteBuffer.varint` wrote. */
  varint(): number {
    let value = 0;
    for (let digit = 0, factor = 1; digit < mostDigits; digit++, factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error(`expected a number up to byte ${this.at}, it goes on`);
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
