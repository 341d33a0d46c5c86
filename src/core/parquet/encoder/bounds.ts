import { compareTexts } from '../../columns/column-data.js';
import type { TextValues } from './column-values.js';

/** The least and the greatest value in plain encoding (Encodings.md, "Plain"), a text without its length. */
export interface Bounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** Bounds of signed integers of `size` words; undefined where there are none. */
export function wordBounds(words: Int32Array, size: 1 | 2, start: number, end: number): Bounds | undefined {
  if (start === end) return undefined;
  let min = start;
  let max = start;
  if (size === 1) {
    for (let at = start + 1; at < end; at++) {
      const value = words[at] ?? 0;
      if (value < (words[min] ?? 0)) min = at;
      else if (value > (words[max] ?? 0)) max = at;
    }
  } else {
    for (let at = start + 1; at < end; at++) {
      if (compareWords(words, at, min) < 0) min = at;
      else if (compareWords(words, at, max) > 0) max = at;
    }
  }
  const bytes = (at: number) => new Uint8Array(words.slice(at * size, (at + 1) * size).buffer);
  return { min: bytes(min), max: bytes(max) };
}

/** Compares the 64-bit integers with numbers `a` and `b`. */
function compareWords(words: Int32Array, a: number, b: number): number {
  const high = (words[a * 2 + 1] ?? 0) - (words[b * 2 + 1] ?? 0);
  return high === 0 ? ((words[a * 2] ?? 0) >>> 0) - ((words[b * 2] ?? 0) >>> 0) : high;
}

/** Bounds of the texts with the given numbers in the order of UTF-8 bytes; undefined where there are none. */
export function textBounds({ bytes, offsets }: TextValues, numbers: Int32Array): Bounds | undefined {
  const [first] = numbers;
  if (first === undefined) return undefined;
  let min = first;
  let max = first;
  let last = first;
  for (const number of numbers) {
    if (number === last) continue;
    last = number;
    if (compareTexts(bytes, offsets, number, min) < 0) min = number;
    else if (compareTexts(bytes, offsets, number, max) > 0) max = number;
  }
  const text = (number: number) => bytes.slice(offsets[number] ?? 0, offsets[number + 1] ?? 0);
  return { min: text(min), max: text(max) };
}

/** The integer of a bound of 32 or 64 bits. */
export function boundValue(bound: Uint8Array): bigint {
  const view = new DataView(bound.buffer, bound.byteOffset, bound.byteLength);
  return bound.length === 4 ? BigInt(view.getInt32(0, true)) : view.getBigInt64(0, true);
}
