import { orderIdPattern } from '../../sources/finances/api-v0/operations.js';

/** A list with at least one element, so that an element can always be picked. */
export type NonEmpty<T> = readonly [T, ...T[]];

const two32 = 0x1_0000_0000;
/** 32 characters, without those that look like others. */
const alphabet = '0123456789ABCDEFGHJKLMNPQRSTUVWX';

/** Mixes every bit of a 32-bit integer into all others, one to one (the finaliser of MurmurHash3). */
function mixBits(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A seed as 32 bits; different seeds below 2^32 stay different. */
export function seedKey(seed: number): number {
  return (mixBits((seed % two32) | 0) ^ mixBits(Math.floor(seed / two32) + 0x9e3779b9) ^ mixBits(0x9e3779b9)) >>> 0;
}

/**
 * 32 pseudo-random bits of a key, a whole number (below 2^53, of any sign) and a salt, which distinguishes uses of the
 * same number.
 */
export function hash(key: number, n: number, salt: number): number {
  const high = Math.floor(n / two32);
  return mixBits(mixBits(key ^ Math.imul(salt, 0x9e3779b9) ^ (n - high * two32)) + Math.imul(high, 0x7feb352d) + salt);
}

/**
 * A stream of pseudo-random numbers of a key, a whole number and a salt: the generator xoroshiro64* (Blackman and
 * Vigna), whose state is two 32-bit words. One object is reused for many streams, so that starting one costs nothing.
 */
export class Draw {
  #a = 1;
  #b = 1;

  begin(key: number, n: number, salt: number): this {
    this.#a = hash(key, n, salt);
    // The state must not be all zeros.
    this.#b = hash(key, n, salt + 1) | 1;
    return this;
  }

  /** A whole number from 0 to `count` - 1; `count` is at most 2^32. */
  below(count: number): number {
    const a = this.#a;
    const result = Math.imul(a, 0x9e3779bb) >>> 0;
    const b = this.#b ^ a;
    this.#a = ((a << 26) | (a >>> 6)) ^ b ^ (b << 9);
    this.#b = (b << 13) | (b >>> 19);
    return Math.floor((result / two32) * count);
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True with a probability of 1 in `count`. */
  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(list: NonEmpty<T>): T {
    return list[this.below(list.length)] ?? list[0];
  }

  /** Decimal digits, the first one not 0. It draws seven at a time, as longer numbers are slow to convert to text. */
  digits(length: number): string {
    const head = ((length - 1) % 7) + 1;
    const least = 10 ** (head - 1);
    let text = String(this.between(least, 10 * least - 1));
    while (text.length < length) text += String(1e7 + this.below(1e7)).slice(1);
    return text;
  }

  /** Capital letters and digits. */
  code(length: number): string {
    let text = '';
    for (let left = 0, bits = 0; text.length < length; left--, bits >>>= 5) {
      if (left === 0) {
        bits = this.below(1 << 30);
        left = 6;
      }
      text += alphabet.charAt(bits & 31);
    }
    return text;
  }
}

/** The element of a list for a turn: a whole number of any sign, counted cyclically. */
export function inTurn<T>(turn: number, list: NonEmpty<T>): T {
  return list[((turn % list.length) + list.length) % list.length] ?? list[0];
}

const high = 1e8;
const low = 1e9;
/** Added to ordinals, so that those of events before 1970 are positive. */
const shift = 1e15;
const rounds = [41, 42, 43, 44];

export interface OrderIds {
  /** The id of the order that an event began, as 3-7-7 digits. */
  idOf(ordinal: number): string;
  /** The ordinal that an id encodes, whether or not the seller has it; undefined where the id can't be one. */
  ordinalOf(id: string): number | undefined;
}

/**
 * Order ids that look random and can be decoded: the ordinal as a number of 17 digits, permuted by a Feistel network
 * over its first 8 and its last 9 digits. Most of the 10^17 ids belong to no event near the present.
 */
export function createOrderIds(key: number): OrderIds {
  return {
    idOf: (ordinal) => {
      const number = ordinal + shift;
      let a = Math.floor(number / low);
      let b = number - a * low;
      for (const salt of rounds) {
        b = (b + hash(key, a, salt)) % low;
        a = (a + hash(key, b, salt)) % high;
      }
      const digits = String(a).padStart(8, '0') + String(b).padStart(9, '0');
      return `${digits.slice(0, 3)}-${digits.slice(3, 10)}-${digits.slice(10)}`;
    },
    ordinalOf: (id) => {
      if (!orderIdPattern.test(id)) return undefined;
      const digits = id.replaceAll('-', '');
      let a = Number(digits.slice(0, 8));
      let b = Number(digits.slice(8));
      for (const salt of rounds.toReversed()) {
        a = (((a - hash(key, b, salt)) % high) + high) % high;
        b = (((b - hash(key, a, salt)) % low) + low) % low;
      }
      const ordinal = a * low + b - shift;
      return Number.isSafeInteger(ordinal) ? ordinal : undefined;
    },
  };
}
