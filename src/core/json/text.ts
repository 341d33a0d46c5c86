const backslash = 0x5c;

/** What stands for itself or a control character behind a backslash (RFC 8259, section 7); 0 elsewhere. */
const escapes = new Uint8Array(256);
for (const [letter, byte] of Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  escapes[letter.charCodeAt(0)] = byte;
}

/** The byte that a one-letter escape stands for, or 0 where the letter makes none. */
export function escapedByte(letter: number): number {
  return escapes[letter] ?? 0;
}

/** The value of a hexadecimal digit, or -1. */
export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function codeUnit(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let digit = 0; digit < 4; digit++) unit = unit * 16 + hexDigit(bytes[at + digit] ?? 0);
  return unit;
}

/**
 * Decodes a string's content, which the scanner has found valid, into UTF-8; how many bytes that made.
 * A surrogate without its other half has no UTF-8: it becomes U+FFFD, as `String.prototype.toWellFormed` has it,
 * unless it is to be kept, as the three bytes that its number would have (so that two such strings stay distinct).
 */
export function unescapeUtf8(bytes: Uint8Array, start: number, end: number, into: Buffer, keepLone = false): number {
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
    if (!keepLone && point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
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
