import type { ByteBuffer } from './byte-buffer.js';

const blockValues = 128;
const miniblocks = 4;
const miniblockValues = blockValues / miniblocks;

/** What doubles hold exactly: numbers that are nearer to zero, and less than half of it apart. */
export const deltaLimit = 2 ** 52;

const deltas = new Float64Array(blockValues);

/**
 * Whole numbers within `deltaLimit` as differences (Encodings.md, "Delta encoding", DELTA_BINARY_PACKED).
 *
 * @param at gives the value with a number from `start` to before `end`
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
    for (let place = 0; place < size; place++) {
      const value = at(index++);
      const delta = value - last;
      last = value;
      deltas[place] = delta;
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
      for (let place = from; place < until; place++) most = Math.max(most, (deltas[place] ?? 0) - least);
      const width = bitsOf(most);
      to.room(0)[widthsAt + miniblock] = width;
      packMiniblock(to, from, until, least, width);
    }
  }
}

/** Values packed without gaps, the first in the lowest bits; what the miniblock lacks is 0. */
function packMiniblock(to: ByteBuffer, from: number, until: number, least: number, width: number): void {
  const size = (miniblockValues / 8) * width;
  const into = to.room(size);
  let place = to.length;
  to.length += size;
  into.fill(0, place, to.length);
  // What doesn't fill a byte yet.
  let rest = 0;
  let bits = 0;
  for (let index = from; index < until; index++) {
    const value = (deltas[index] ?? 0) - least;
    let half = value | 0;
    for (let left = width; left > 0; left -= 16) {
      if (left === width - 32) half = (value / 2 ** 32) | 0;
      rest |= (half & 0xffff) << bits;
      half >>>= 16;
      for (bits += Math.min(16, left); bits >= 8; bits -= 8) {
        into[place++] = rest;
        rest >>>= 8;
      }
    }
  }
  if (bits > 0) into[place] = rest;
}

function bitsOf(value: number): number {
  return value < 2 ** 32 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 2 ** 32));
}
