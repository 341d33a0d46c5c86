import type { Utf8, Data } from 'apache-arrow';
import { arrow } from './arrow.js';
import { copyText, type SharedArrays } from './memory.js';

/** The values of a dictionary as arrays. */
export interface DictionaryTexts {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
}

/**
 * Distinct UTF-8 strings, numbered in order of addition and looked up by their bytes: adding a known value costs a hash
 * and a comparison, and allocates no string.
 */
export class Dictionary {
  length = 0;
  #bytes: Buffer = Buffer.alloc(4096);
  /** A view of `#bytes`: four bytes are hashed and compared at once. */
  #view = viewOf(this.#bytes);
  #source: Uint8Array = this.#bytes;
  /** A view of `#source`, kept because most values in a row come from the same page. */
  #sourceView = this.#view;
  /** The previous source and its view: values of two columns may alternate. */
  #otherSource = this.#source;
  #otherView = this.#view;
  #offsets: Int32Array = new Int32Array(256);
  /** Open addressing: the number of the value plus one; 0 is a free slot. */
  #slots = new Int32Array(1024);
  #last = -1;

  /** The number of the string in `source` from `start` to before `end`. */
  add(source: Uint8Array, start: number, end: number): number {
    if (source !== this.#source) this.#change(source);
    // Neighbours often repeat: a currency, a marketplace, an order of several events.
    if (this.#last >= 0 && this.#is(this.#last, start, end)) return this.#last;
    const mask = this.#slots.length - 1;
    let slot = textHash(this.#sourceView, start, end) & mask;
    for (;;) {
      const value = (this.#slots[slot] ?? 0) - 1;
      if (value < 0) break;
      if (this.#is(value, start, end)) return (this.#last = value);
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = this.length + 1;
    this.#last = this.#append(source, start, end);
    if (this.length * 2 > this.#slots.length) this.#rehash();
    return this.#last;
  }

  addString(text: string): number {
    const bytes = Buffer.from(text);
    return this.add(bytes, 0, bytes.length);
  }

  /** Removes the values and keeps the memory. */
  clear(): void {
    this.length = 0;
    this.#last = -1;
    this.#slots.fill(0);
  }

  /** Copies of the values' bytes and offsets. */
  textsIn(memory: SharedArrays): DictionaryTexts {
    const offsets = memory.int32s(this.#offsets.subarray(0, this.length + 1));
    return { bytes: memory.bytes(this.#bytes.subarray(0, offsets[this.length])), offsets };
  }

  /** Replaces the values and their memory: afterwards values can be read but not added. */
  replaceAll({ bytes, offsets }: DictionaryTexts): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#offsets = offsets;
    this.length = offsets.length - 1;
  }

  value(index: number): string {
    return this.#bytes.toString('utf8', this.#offsets[index], this.#offsets[index + 1]);
  }

  /** The values by number as an Arrow array over the same memory: valid until a value is added. */
  data(): Data<Utf8> {
    const valueOffsets = this.#offsets.subarray(0, this.length + 1);
    const data = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, valueOffsets[this.length]);
    return arrow().makeData({ type: new (arrow().Utf8)(), length: this.length, nullCount: 0, valueOffsets, data });
  }

  /** Whether a value equals the text in `#source` from `start` to before `end`. */
  #is(value: number, start: number, end: number): boolean {
    const from = this.#offsets[value] ?? 0;
    if ((this.#offsets[value + 1] ?? 0) - from !== end - start) return false;
    const source = this.#sourceView;
    const view = this.#view;
    const shift = from - start;
    let at = start;
    for (; at <= end - 4; at += 4) if (source.getInt32(at) !== view.getInt32(at + shift)) return false;
    for (; at < end; at++) if (source.getUint8(at) !== view.getUint8(at + shift)) return false;
    return true;
  }

  #change(source: Uint8Array): void {
    const view = source === this.#otherSource ? this.#otherView : viewOf(source);
    this.#otherSource = this.#source;
    this.#otherView = this.#sourceView;
    this.#source = source;
    this.#sourceView = view;
  }

  #append(source: Uint8Array, start: number, end: number): number {
    const from = this.#offsets[this.length] ?? 0;
    const to = from + end - start;
    if (to > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(to, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = viewOf(larger);
    }
    copyText(source, start, end, this.#bytes, from);
    if (this.length + 2 > this.#offsets.length) {
      const larger = new Int32Array(this.#offsets.length * 2);
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets[this.length + 1] = to;
    return this.length++;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let value = 0; value < this.length; value++) {
      let slot = textHash(this.#view, this.#offsets[value] ?? 0, this.#offsets[value + 1] ?? 0) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = value + 1;
    }
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** FNV-1a over words of four bytes. The high bits are folded into the low ones, which choose the slot. */
function textHash(bytes: DataView, start: number, end: number): number {
  let hash = 0x811c9dc5;
  let at = start;
  for (; at <= end - 4; at += 4) {
    hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
