import { copyText } from '../../columns/memory.js';

/** Maximum digits of a varint of 64 bits. */
const mostDigits = 10;

/** A growing buffer of bytes. `clear` keeps its memory. */
export class ByteBuffer {
  length = 0;
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(room = 1 << 16) {
    this.#bytes = new Uint8Array(room);
  }

  /** The written bytes, not copied: valid until more is written. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  /** Memory with room for `bytes` more bytes; the caller writes at `length` and advances it. */
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

  /** ULEB128 of an integer from 0 to 2^53. */
  varint(value: number): void {
    const into = this.room(8);
    let rest = value;
    while (rest >= 0x80) {
      into[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    into[this.length++] = rest;
  }

  /** ZigZag of an integer between -2^52 and 2^52. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(source: Uint8Array, start = 0, end = source.length): void {
    copyText(source, start, end, this.room(end - start), this.length);
    this.length += end - start;
  }
}

/** Reads bytes in sequence. Reading past the end throws an Error. */
export class ByteReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte. */
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    return this.bytes[this.pass(1)] ?? 0;
  }

  /** Skips `length` bytes. Returns the offset of the first one. */
  pass(length: number): number {
    const start = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw new Error(`expected an end by byte ${this.bytes.length}, it goes beyond`);
    return start;
  }

  /** Reads what `ByteBuffer.varint` wrote. */
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
