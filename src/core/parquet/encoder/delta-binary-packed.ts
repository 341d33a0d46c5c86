import { ByteReader, type ByteBuffer } from './byte-buffer.js';

const blockValues = 128;
const miniblocks = 4;
const miniblockValues = blockValues / miniblocks;

const deltas = new Float64Array(blockValues);

/**
 * Writes the lengths of texts, from 0 to 2^31, as differences (Encodings.md, "Delta encoding", DELTA_BINARY_PACKED).
 *
 * @param at returns the value with a number from `start` to before `end`
 */
export function writeDeltas(to: ByteBuffer, start: number, end: number, at: (index: number) => number): void {
  const count = end - start;
  to.varint(blockValues);
  to.varint(miniblocks);
  to.varint(count);
  let last = count === 0 ? 0 : at(start);
  to.zigzag(last);
  for (let index = start + 1; index < end;) {
    const size = Math.min(blockValues, end - index);
    let least = Infinity;
    for (let slot = 0; slot < size; slot++) {
      const value = at(index++);
      const delta = value - last;
      last = value;
      deltas[slot] = delta;
      if (delta < least) least = delta;
    }
    to.zigzag(least);
    const used = Math.ceil(size / miniblockValues);
    const widthsAt = to.length;
    to.uint32(0);
    for (let miniblock = 0; miniblock < used; miniblock++) {
      const from = miniblock * miniblockValues;
      const until = Math.min(from + miniblockValues, size);
      let most = 0;
      for (let slot = from; slot < until; slot++) most = Math.max(most, (deltas[slot] ?? 0) - least);
      const width = 32 - Math.clz32(most);
      to.room(0)[widthsAt + miniblock] = width;
      packMiniblock(to, from, until, least, width);
    }
  }
}

/** Packs values without gaps, the first in the lowest bits; missing values of the miniblock are 0. */
function packMiniblock(to: ByteBuffer, from: number, until: number, least: number, width: number): void {
  const size = (miniblockValues / 8) * width;
  const into = to.room(size);
  let offset = to.length;
  to.length += size;
  into.fill(0, offset, to.length);
  // Bits that don't fill a byte yet.
  let rest = 0;
  let bits = 0;
  for (let index = from; index < until; index++) {
    const value = (deltas[index] ?? 0) - least;
    let half = value | 0;
    for (let left = width; left > 0; left -= 16) {
      rest |= (half & 0xffff) << bits;
      half >>>= 16;
      for (bits += Math.min(16, left); bits >= 8; bits -= 8) {
        into[offset++] = rest;
        rest >>>= 8;
      }
    }
  }
  if (bits > 0) into[offset] = rest;
}

/**
 * Reads the numbers that `writeDeltas` wrote at `start`, and their end.
 *
 * @throws Error where their number isn't `count`, or the block size is another one
 */
export function readDeltas(
  bytes: Uint8Array,
  start: number,
  count: number,
): { readonly values: Float64Array; readonly end: number } {
  const from = new ByteReader(bytes, start);
  const [block, miniblockCount, total] = [from.varint(), from.varint(), from.varint()];
  if (block !== blockValues || miniblockCount !== miniblocks || total !== count)
    throw new Error(`expected ${count} deltas in blocks of ${blockValues}, got ${total} in blocks of ${block}`);
  const values = new Float64Array(count);
  let last = from.zigzag();
  if (count > 0) values[0] = last;
  for (let index = 1; index < count;) {
    const least = from.zigzag();
    const widthsAt = from.pass(miniblocks);
    for (let miniblock = 0; miniblock < miniblocks && index < count; miniblock++) {
      const width = bytes[widthsAt + miniblock] ?? 0;
      if (width > 64) throw new Error(`expected deltas of 64 bits at the most, got ${width}`);
      const first = from.pass((miniblockValues / 8) * width);
      const until = Math.min(count, index + miniblockValues);
      for (let bit = 0; index < until; index++, bit += width) {
        last += least + bitsAt(bytes, first, bit, width);
        values[index] = last;
      }
    }
  }
  return { values, end: from.at };
}

/** Reads a number of `width` bits, the lowest first, `bit` bits behind the byte at `start`. Exact below 2^53. */
function bitsAt(bytes: Uint8Array, start: number, bit: number, width: number): number {
  let value = 0;
  let scale = 1;
  for (let at = bit, end = bit + width; at < end;) {
    const within = at & 7;
    const taken = Math.min(8 - within, end - at);
    value += (((bytes[start + (at >> 3)] ?? 0) >>> within) & ((1 << taken) - 1)) * scale;
    scale *= 1 << taken;
    at += taken;
  }
  return value;
}
