/** A hash of 64 bits, by its halves: filled anew by each call. */
export interface Hash64 {
  low: number;
  high: number;
}

// The primes of XXH64, each as its low and high half.
const prime1 = [0x85ebca87 | 0, 0x9e3779b1 | 0] as const;
const prime2 = [0x27d4eb4f | 0, 0xc2b2ae3d | 0] as const;
const prime3 = [0x9e3779f9 | 0, 0x165667b1 | 0] as const;
const prime4 = [0xc2b2ae63 | 0, 0x85ebca77 | 0] as const;
const prime5 = [0x165667c5 | 0, 0x27d4eb2f | 0] as const;

type Halves = readonly [low: number, high: number];

/** What the four lanes begin with: the sum of the first two primes, the second, 0, and the first below 0. */
const firstLanes = [0xadc0b5d6 | 0, 0x60ea27ee, ...prime2, 0, 0, 0x7a143579, 0x61c8864e];
const lanes = new Int32Array(firstLanes);
const laneRotations = [1, 7, 12, 18] as const;

// The number at work: halves in variables, so that no step makes an object.
let low = 0;
let high = 0;

/** XXH64 with the seed 0 (xxHash's specification), of the bytes from `start` to before `end`. */
export function xxHash64(bytes: Uint8Array, start: number, end: number, into: Hash64): void {
  let at = start;
  if (end - start >= 32) {
    lanes.set(firstLanes);
    for (; at + 32 <= end; at += 32) {
      for (let lane = 0; lane < 4; lane++) {
        low = lanes[lane * 2] ?? 0;
        high = lanes[lane * 2 + 1] ?? 0;
        round(word(bytes, at + lane * 8), word(bytes, at + lane * 8 + 4));
        lanes[lane * 2] = low;
        lanes[lane * 2 + 1] = high;
      }
    }
    let totalLow = 0;
    let totalHigh = 0;
    for (let lane = 0; lane < 4; lane++) {
      low = lanes[lane * 2] ?? 0;
      high = lanes[lane * 2 + 1] ?? 0;
      rotate(laneRotations[lane] ?? 0);
      add(totalLow, totalHigh);
      totalLow = low;
      totalHigh = high;
    }
    for (let lane = 0; lane < 4; lane++) {
      low = 0;
      high = 0;
      round(lanes[lane * 2] ?? 0, lanes[lane * 2 + 1] ?? 0);
      low ^= totalLow;
      high ^= totalHigh;
      multiply(prime1);
      add(prime4[0], prime4[1]);
      totalLow = low;
      totalHigh = high;
    }
  } else {
    [low, high] = prime5;
  }
  add(end - start, 0);
  for (; at + 8 <= end; at += 8) {
    const keptLow = low;
    const keptHigh = high;
    low = 0;
    high = 0;
    round(word(bytes, at), word(bytes, at + 4));
    low ^= keptLow;
    high ^= keptHigh;
    rotate(27);
    multiply(prime1);
    add(prime4[0], prime4[1]);
  }
  if (at + 4 <= end) {
    const keptLow = low;
    const keptHigh = high;
    low = word(bytes, at);
    high = 0;
    multiply(prime1);
    low ^= keptLow;
    high ^= keptHigh;
    rotate(23);
    multiply(prime2);
    add(prime3[0], prime3[1]);
    at += 4;
  }
  for (; at < end; at++) {
    const keptLow = low;
    const keptHigh = high;
    low = bytes[at] ?? 0;
    high = 0;
    multiply(prime5);
    low ^= keptLow;
    high ^= keptHigh;
    rotate(11);
    multiply(prime1);
  }
  low ^= high >>> 1;
  multiply(prime2);
  shiftXor29();
  multiply(prime3);
  low ^= high;
  into.low = low;
  into.high = high;
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

/** Takes 64 bits of input into the number at work. */
function round(inputLow: number, inputHigh: number): void {
  const keptLow = low;
  const keptHigh = high;
  low = inputLow;
  high = inputHigh;
  multiply(prime2);
  add(keptLow, keptHigh);
  rotate(31);
  multiply(prime1);
}

function add(otherLow: number, otherHigh: number): void {
  const total = (low >>> 0) + (otherLow >>> 0);
  high = (high + otherHigh + (total > 0xffffffff ? 1 : 0)) | 0;
  low = total | 0;
}

function multiply([otherLow, otherHigh]: Halves): void {
  // The low halves by 16 bits each: no sum is beyond 32 bits.
  const a = low & 0xffff;
  const b = low >>> 16;
  const c = otherLow & 0xffff;
  const d = otherLow >>> 16;
  const least = Math.imul(a, c) >>> 0;
  const middle = ((Math.imul(b, c) >>> 0) + (least >>> 16)) >>> 0;
  const other = ((Math.imul(a, d) >>> 0) + (middle & 0xffff)) >>> 0;
  high =
    (Math.imul(low, otherHigh) + Math.imul(high, otherLow) + Math.imul(b, d) + (middle >>> 16) + (other >>> 16)) | 0;
  low = (other << 16) | (least & 0xffff);
}

/** To the left, by 1 to 31 bits. */
function rotate(bits: number): void {
  const kept = low;
  low = (low << bits) | (high >>> (32 - bits));
  high = (high << bits) | (kept >>> (32 - bits));
}

function shiftXor29(): void {
  const shifted = (low >>> 29) | (high << 3);
  high ^= high >>> 29;
  low ^= shifted;
}
