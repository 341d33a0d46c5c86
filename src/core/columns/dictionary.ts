import type { Utf8, Data } from 'apache-arrow';
import { arrow } from './arrow.js';
import { copyText, type SharedArrays } from './memory.js';

/** The values of a dictionary as plain memory. */
export interface DictionaryTexts {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
}

/**
 * Distinct UTF-8 strings, numbered in the order in which they came, looked up by their bytes: a value that is known
 * costs a hash and a comparison, and no string is made.
 */
export class Dictionary {
  length = 0;
  #bytes: Buffer = Buffer.alloc(4096);
  /** Of `#bytes`: four of them are hashed and compared at once. */
  #view = viewOf(this.#bytes);
  #source: Uint8Array = this.#bytes;
  /** Of `#source`: mostly one page after the other is read. */
  #sourceView = this.#view;
  /** The source before, and its view: two columns may take turns. */
  #otherSource = this.#source;
  #otherView = this.#view;
  #offsets: Int32Array = new Int32Array(256);
  /** Open addressing: number of the value plus one, 0 where a slot is free. */
  #slots = new Int32Array(1024);
  #last = -1;

  /** The number of the string that lies in `source` from `start` to before `end`. */
  add(source: Uint8Array, start: number, end: number): number {
    if (source !== this.#source) this.#change(source);
    // Neighbours often repeat: a currency, a marketplace, an order of several events.
    if (this.#last >= 0 && this.#is(this.#last, start, end)) return this.#last;
    const mask = this.#slots.length - 1;
    let slot = hashOf(this.#sourceView, start, end) & mask;
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

  /** Forgets the values, and keeps the memory. */
  clear(): void {
    this.length = 0;
    this.#last = -1;
    this.#slots.fill(0);
  }

  /** Copies of the values' bytes, and of where each begins. */
  textsIn(memory: SharedArrays): DictionaryTexts {
    const offsets = memory.int32s(this.#offsets.subarray(0, this.length + 1));
    return { bytes: memory.bytes(this.#bytes.subarray(0, offsets[this.length])), offsets };
  }

  /** Replaces its values and their memory by these: they can be read, and none can be added. */
  take({ bytes, offsets }: DictionaryTexts): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#offsets = offsets;
    this.length = offsets.length - 1;
  }

  value(index: number): string {
    return this.#bytes.toString('utf8', this.#offsets[index], this.#offsets[index + 1]);
  }

  /** The values as an Arrow array, by number, as they lie in memory: valid until the next one is added. */
  data(): Data<Utf8> {
    const valueOffsets = this.#offsets.subarray(0, this.length + 1);
    const data = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, valueOffsets[this.length]);
    return arrow().makeData({ type: new (arrow().Utf8)(), length: this.length, nullCount: 0, valueOffsets, data });
  }

  /** Whether a value is the text that lies in `#source` from `start` to before `end`. */
  #is(value: number, start: number, end: number): boolean {
    const from = this.#offsets[value] ?? 0;
    if ((this.#offsets[value + 1] ?? 0) - from !== end - start) return false;
    const source = this.#sourceView;
    const view = this.#view;
    const behind = from - start;
    let at = start;
    for (; at <= end - 4; at += 4) if (source.getInt32(at) !== view.getInt32(at + behind)) return false;
    for (; at < end; at++) if (source.getUint8(at) !== view.getUint8(at + behind)) return false;
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
      let slot = hashOf(this.#view, this.#offsets[value] ?? 0, this.#offsets[value + 1] ?? 0) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = value + 1;
    }
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** FNV-1a over words of four bytes, its high bits folded in: slots are chosen by the low ones. */
function hashOf(bytes: DataView, start: number, end: number): number {
  let hash = 0x811c9dc5;
  let at = start;
  for (; at <= end - 4; at += 4) {
    hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
