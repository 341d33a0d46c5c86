import type { TextValues } from './column-values.js';

/** XXH64 with seed 0 (xxHash specification), as an unsigned 64-bit integer. */
export type Hash64 = (bytes: Uint8Array) => bigint;

/** Loaded when the first file is written. */
export function xxHash64(): Promise<Hash64> {
  return (loaded ??= load());
}

let loaded: Promise<Hash64> | undefined;

async function load(): Promise<Hash64> {
  const { default: xxhash } = await import('xxhash-wasm');
  const hashes = await xxhash();
  return (bytes) => hashes.h64Raw(bytes);
}

/** Words of a block; a value sets one bit in each. */
const wordsPerBlock = 8;

/** Minimum bits for each distinct value: at most three percent false positives. */
const bitsPerValue = 7.5;

const hashes = new BigUint64Array(1);
/** The halves of a hash, the low one first. */
const halves = new Uint32Array(hashes.buffer);

const salts = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

/** The bits of a split block Bloom filter (BloomFilter.md) of the distinct texts with the given numbers, without its header. */
export function bloomFilter({ bytes, offsets }: TextValues, numbers: Int32Array, hash64: Hash64): Uint8Array {
  // A power of 2, which the format doesn't require but Arrow's C++ reader does.
  const blocks = 2 ** Math.max(0, Math.ceil(Math.log2((numbers.length * bitsPerValue) / (32 * wordsPerBlock))));
  const words = new Int32Array(blocks * wordsPerBlock);
  for (const number of numbers) {
    const hash = hash64(bytes.subarray(offsets[number] ?? 0, offsets[number + 1] ?? 0));
    // Arithmetic with BigInts would allocate an object for each half.
    hashes[0] = hash;
    const low = halves[0] ?? 0;
    const high = halves[1] ?? 0;
    const block = Math.floor((high * blocks) / 2 ** 32) * wordsPerBlock;
    for (let word = 0; word < wordsPerBlock; word++) {
      const bit = Math.imul(low, salts[word] ?? 0) >>> 27;
      words[block + word] = (words[block + word] ?? 0) | (1 << bit);
    }
  }
  return new Uint8Array(words.buffer);
}
