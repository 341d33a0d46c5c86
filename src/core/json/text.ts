// The bytes of JSON's grammar (RFC 8259, section 2).
export const quote = 0x22;
export const comma = 0x2c;
export const bracket = 0x5b;
export const backslash = 0x5c;
export const bracketEnd = 0x5d;
export const brace = 0x7b;
export const braceEnd = 0x7d;

/** The byte of each one-letter escape, by its letter (RFC 8259, section 7); 0 for other letters. */
const escapes = new Uint8Array(256);
for (const [letter, byte] of Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  escapes[letter.charCodeAt(0)] = byte;
}

/** 1 for the bytes that end a plain run of a string: the quote, the backslash, control characters. */
const special = new Uint8Array(256);
special.fill(1, 0, 0x20);
special[0x22] = 1;
special[0x5c] = 1;

/** The end of a string's plain run that begins at a byte: the quote, an escape, a control character or the end of the bytes. */
export function plainEnd(bytes: Uint8Array, view: DataView, from: number): number {
  const last = bytes.length - 4;
  let at = from;
  // Four bytes at once.
  while (at <= last && isPlain(view.getInt32(at, true))) at += 4;
  while (special[bytes[at] ?? 0] === 0) at++;
  return at;
}

/**
 * Whether none of four bytes ends a plain run. Each line finds a byte that is 0 (here: equal to the quote, equal to the
 * backslash, below 0x20) by the borrow that it causes; the byte above such a byte may be reported falsely.
 */
function isPlain(word: number): boolean {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const found =
    ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash) | ((word - 0x20202020) & ~word);
  return (found & 0x80808080) === 0;
}

/** The first byte from one on that isn't white space of JSON. */
export function valueStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** The byte of a one-letter escape; 0 where the letter is no escape. */
function escapedByte(letter: number): number {
  return escapes[letter] ?? 0;
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** The end of the escape whose letter is at `at`; where it is invalid, the negated position of the invalid byte. */
export function escapeEnd(bytes: Uint8Array, at: number): number {
  const letter = bytes[at] ?? 0;
  if (escapedByte(letter) !== 0) return at + 1;
  if (letter !== 0x75) return -at;
  for (let digit = at + 1; digit <= at + 4; digit++) if (hexDigit(bytes[digit] ?? 0) < 0) return -digit;
  return at + 5;
}

function codeUnit(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let digit = 0; digit < 4; digit++) unit = unit * 16 + hexDigit(bytes[at + digit] ?? 0);
  return unit;
}

/**
 * Decodes a string's content, which the scanner has validated, into UTF-8. Returns the number of bytes written. A lone
 * surrogate has no UTF-8: it becomes U+FFFD, as in `String.prototype.toWellFormed`, or with `keepsLone` the three bytes
 * of its code point, so that different strings stay different.
 */
export function unescapeUtf8(bytes: Uint8Array, start: number, end: number, into: Buffer, keepsLone = false): number {
  let length = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at] ?? 0;
    if (byte !== backslash) {
      into[length++] = byte;
      at++;
      continue;
    }
    const letter = bytes[at + 1] ?? 0;
    if (letter !== 0x75) {
      into[length++] = escapedByte(letter);
      at += 2;
      continue;
    }
    let point = codeUnit(bytes, at + 2);
    at += 6;
    if (point >= 0xd800 && point <= 0xdbff && bytes[at] === backslash && bytes[at + 1] === 0x75) {
      const low = codeUnit(bytes, at + 2);
      if (low >= 0xdc00 && low <= 0xdfff) {
        point = 0x10000 + (point - 0xd800) * 0x400 + (low - 0xdc00);
        at += 6;
      }
    }
    if (!keepsLone && point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    length += putUtf8(point, into, length);
  }
  return length;
}

function putUtf8(point: number, into: Buffer, at: number): number {
  if (point < 0x80) {
    into[at] = point;
    return 1;
  }
  if (point < 0x800) {
    into[at] = 0xc0 | (point >> 6);
    into[at + 1] = 0x80 | (point & 0x3f);
    return 2;
  }
  if (point < 0x10000) {
    into[at] = 0xe0 | (point >> 12);
    into[at + 1] = 0x80 | ((point >> 6) & 0x3f);
    into[at + 2] = 0x80 | (point & 0x3f);
    return 3;
  }
  into[at] = 0xf0 | (point >> 18);
  into[at + 1] = 0x80 | ((point >> 12) & 0x3f);
  into[at + 2] = 0x80 | ((point >> 6) & 0x3f);
  into[at + 3] = 0x80 | (point & 0x3f);
  return 4;
}

/** Bytes of JSON, and a view to read several at once. */
export interface JsonBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** A constant text that is compared with bytes. */
export class FixedText {
  readonly length: number;
  readonly first: number | undefined;
  readonly #words: Int32Array;
  readonly #rest: Uint8Array;

  constructor(text: string) {
    const bytes = new Uint8Array(Buffer.from(text));
    this.length = bytes.length;
    this.first = bytes[0];
    const inWords = bytes.length - (bytes.length % 4);
    this.#words = new Int32Array(bytes.slice(0, inWords).buffer);
    this.#rest = bytes.slice(inWords);
  }

  matchesAt({ bytes, view }: JsonBytes, start: number): boolean {
    if (start + this.length > bytes.length) return false;
    const words = this.#words;
    let at = start;
    for (let word = 0; word < words.length; word++, at += 4) if (view.getInt32(at, true) !== words[word]) return false;
    for (let byte = 0; byte < this.#rest.length; byte++) if (bytes[at + byte] !== this.#rest[byte]) return false;
    return true;
  }
}
