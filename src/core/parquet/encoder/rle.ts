import { ByteReader, type ByteBuffer } from './byte-buffer.js';

/** Widths whose values fill whole bytes: the packed data is slightly larger but compresses better. */
const widths = [0, 1, 2, 4, 8, 16, 24, 32] as const;

/** Bits of the numbers of a dictionary of `count` values. */
export function widthOf(count: number): number {
  const bits = count <= 1 ? 0 : 32 - Math.clz32(count - 1);
  return widths.find((width) => width >= bits) ?? 32;
}

/** Minimum number of repeated values that is written as a run: the size of a bit-packed group. */
const shortestRun = 8;

/**
 * Writes the numbers from `start` to before `end` as repeated and bit-packed runs (Encodings.md, "RLE / Bit-Packing Hybrid").
 *
 * @param width bits of each number, one of the widths that `widthOf` returns
 */
export function writeHybrid(to: ByteBuffer, values: Int32Array, start: number, end: number, width: number): void {
  for (let at = start; at < end;) {
    const value = values[at] ?? 0;
    let next = at + 1;
    while (next < end && values[next] === value) next++;
    if (next - at >= shortestRun || next === end) {
      writeRun(to, value, next - at, width);
      at = next;
      continue;
    }
    next = at + 8;
    while (next < end && !repeats(values, next, end)) next += 8;
    const groups = (next - at) / 8;
    to.varint(groups * 2 + 1);
    pack(to, values, at, Math.min(next, end), groups, width);
    at = next;
  }
}

/** Writes a run of one value repeated `length` times. */
export function writeRun(to: ByteBuffer, value: number, length: number, width: number): void {
  to.varint(length * 2);
  for (let bits = 0; bits < width; bits += 8) to.byte((value >>> bits) & 0xff);
}

/** Writes definition or repetition levels after their length. */
export function writeLevels(to: ByteBuffer, write: (to: ByteBuffer) => void): void {
  const lengthAt = to.length;
  to.uint32(0);
  write(to);
  const { length } = to;
  to.length = lengthAt;
  to.uint32(length - lengthAt - 4);
  to.length = length;
}

/** Whether a whole group of equal values begins at `at`. */
function repeats(values: Int32Array, at: number, end: number): boolean {
  if (at + shortestRun > end) return false;
  const value = values[at];
  for (let next = at + 1; next < at + shortestRun; next++) if (values[next] !== value) return false;
  return true;
}

/** Packs values, the first ones in the lowest bits; missing values of the last group are 0. */
function pack(to: ByteBuffer, values: Int32Array, start: number, end: number, groups: number, width: number): void {
  const size = groups * width;
  const into = to.room(size);
  let offset = to.length;
  to.length += size;
  if (width >= 8) {
    for (let at = start; at < end; at++) {
      const value = values[at] ?? 0;
      into[offset++] = value;
      if (width > 8) into[offset++] = value >>> 8;
      if (width > 16) into[offset++] = value >>> 16;
      if (width > 24) into[offset++] = value >>> 24;
    }
  } else {
    for (let at = start; at < end; offset++) {
      let byte = 0;
      for (let bits = 0; bits < 8 && at < end; bits += width) byte |= (values[at++] ?? 0) << bits;
      into[offset] = byte;
    }
  }
  into.fill(0, offset, to.length);
}

/**
 * Reads the numbers that `writeHybrid` wrote at `start`.
 *
 * @param width bits of each number, as in `writeHybrid`
 * @throws Error where there are fewer than `count`
 */
export function readHybrid(bytes: Uint8Array, start: number, count: number, width: number): Int32Array {
  if (!widths.some((known) => known === width))
    throw new Error(`expected numbers of ${widths.join(', ')} bits, got ${width}`);
  const values = new Int32Array(count);
  const mask = width < 8 ? (1 << width) - 1 : 0xff;
  const from = new ByteReader(bytes, start);
  for (let filled = 0; filled < count;) {
    const head = from.varint();
    const isPacked = head % 2 === 1;
    const length = Math.floor(head / 2) * (isPacked ? 8 : 1);
    if (length === 0) throw new Error('expected a run of numbers, found one of none');
    const end = Math.min(count, filled + length);
    if (!isPacked) {
      let value = 0;
      for (let bits = 0; bits < width; bits += 8) value |= from.byte() << bits;
      values.fill(value, filled, end);
    } else {
      const first = from.pass((length / 8) * width);
      for (let index = filled, bit = 0; index < end; index++, bit += width) {
        const byte = first + (bit >> 3);
        let value = ((bytes[byte] ?? 0) >>> (bit & 7)) & mask;
        for (let bits = 8; bits < width; bits += 8) value |= (bytes[byte + (bits >> 3)] ?? 0) << bits;
        values[index] = value;
      }
    }
    filled = end;
  }
  return values;
}

/**
 * Reads the levels that `writeLevels` wrote at a page's start: 1 where a row has a value. Throws an Error where there
 * are fewer than `rows`.
 */
export function readLevels(page: Uint8Array, rows: number): { readonly isPresent: Int32Array; readonly end: number } {
  if (page.length < 4) throw new Error(`expected levels in a page, got ${page.length} bytes`);
  const end = 4 + new DataView(page.buffer, page.byteOffset, page.length).getUint32(0, true);
  if (end > page.length) throw new Error(`expected levels within ${page.length} bytes, they end at ${end}`);
  return { isPresent: readHybrid(page.subarray(0, end), 4, rows, 1), end };
}
