import { copyText, type ColumnMemory } from '../../columns/memory.js';
import type { ByteBuffer } from './byte-buffer.js';
import type { TextValues } from './column-values.js';

/** Numbers of a column's values: the distinct values are numbered in order of first occurrence. */
interface Numbered {
  readonly count: number;
  readonly numbers: Int32Array;
}

export interface NumberedTexts extends Numbered {
  /** The former number of each distinct text. */
  readonly used: Int32Array;
}

/** Renumbers texts, without those that no value has. */
export function numberTexts({ offsets, numbers }: TextValues, memory: ColumnMemory): NumberedTexts {
  const newNumbers = memory.int32s(Math.max(0, offsets.length - 1)).fill(-1);
  const used = memory.int32s(Math.min(numbers.length, newNumbers.length));
  const into = memory.int32s(numbers.length);
  let count = 0;
  for (let at = 0; at < numbers.length; at++) {
    const old = numbers[at] ?? 0;
    let number = newNumbers[old] ?? -1;
    if (number < 0) {
      number = count++;
      newNumbers[old] = number;
      used[number] = old;
    }
    into[at] = number;
  }
  return { count, numbers: into, used: used.subarray(0, count) };
}

/** Integers below it are looked up in an array instead of the hash table: positions of amounts, item numbers, quantities. */
const directLimit = 256;

/** Numbers integers of `size` words. Undefined where there are more than `most` distinct ones. */
export function numberWords(
  words: Int32Array,
  size: 1 | 2,
  most: number,
  memory: ColumnMemory,
): (Numbered & { readonly words: Int32Array }) | undefined {
  const values = words.length / size;
  const into = memory.int32s(values);
  const distinct = memory.int32s(Math.min(values, most) * size);
  // Open addressing: the value's number plus one; 0 is a free slot.
  let slots = new Int32Array(1024);
  const direct = new Int32Array(directLimit);
  let count = 0;
  let last = -1;
  for (let at = 0; at < values; at++) {
    const low = words[at * size] ?? 0;
    const high = size === 2 ? (words[at * 2 + 1] ?? 0) : 0;
    const isDirect = high === 0 && low >= 0 && low < directLimit;
    if (isDirect) {
      const known = (direct[low] ?? 0) - 1;
      if (known >= 0) {
        into[at] = last = known;
        continue;
      }
    }
    // Neighbours often repeat: the date of an event with several amounts.
    if (last >= 0 && distinct[last * size] === low && (size === 1 || distinct[last * 2 + 1] === high)) {
      into[at] = last;
      continue;
    }
    const mask = slots.length - 1;
    let slot = wordsHash(low, high) & mask;
    // Here and not in a function of its own: V8 inlines few of them, and a call for each value takes some percent of a load.
    for (;;) {
      const number = (slots[slot] ?? 0) - 1;
      if (number < 0) break;
      if (distinct[number * size] === low && (size === 1 || distinct[number * 2 + 1] === high)) break;
      slot = (slot + 1) & mask;
    }
    const found = (slots[slot] ?? 0) - 1;
    if (found >= 0) {
      last = found;
    } else {
      if (count === most) return undefined;
      distinct[count * size] = low;
      if (size === 2) distinct[count * 2 + 1] = high;
      last = count++;
      slots[slot] = count;
      if (isDirect) direct[low] = count;
      if (count * 2 > slots.length) slots = rehashed(distinct, size, count, slots.length * 2);
    }
    into[at] = last;
  }
  return { count, numbers: into, words: distinct.subarray(0, count * size) };
}

function rehashed(distinct: Int32Array, size: 1 | 2, count: number, length: number): Int32Array<ArrayBuffer> {
  const slots = new Int32Array(length);
  for (let number = 0; number < count; number++) {
    const high = size === 2 ? (distinct[number * 2 + 1] ?? 0) : 0;
    let slot = wordsHash(distinct[number * size] ?? 0, high) & (length - 1);
    while (slots[slot] !== 0) slot = (slot + 1) & (length - 1);
    slots[slot] = number + 1;
  }
  return slots;
}

function wordsHash(low: number, high: number): number {
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}

/** Writes texts in plain encoding: the length of each before its bytes. */
export function writePlainTexts(to: ByteBuffer, { bytes, offsets }: TextValues, numbers: Int32Array): void {
  let size = numbers.length * 4;
  for (const number of numbers) size += (offsets[number + 1] ?? 0) - (offsets[number] ?? 0);
  const into = to.room(size);
  let offset = to.length;
  for (const number of numbers) {
    const start = offsets[number] ?? 0;
    const end = offsets[number + 1] ?? 0;
    const length = end - start;
    into[offset] = length;
    into[offset + 1] = length >>> 8;
    into[offset + 2] = length >>> 16;
    into[offset + 3] = length >>> 24;
    copyText(bytes, start, end, into, offset + 4);
    offset += 4 + length;
  }
  to.length = offset;
}
