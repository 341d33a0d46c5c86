import { isUtf8 } from 'node:buffer';
import { quote, backslash, escapeEnd, plainEnd } from './text.js';

/** The escapes of control characters (RFC 8259, section 7). */
const escapes = Array.from({ length: 0x20 }, (_, character) =>
  Buffer.from(JSON.stringify(String.fromCharCode(character)).slice(1, -1)),
);
const escapedBackslash = Buffer.from('\\\\');

/**
 * Repairs the strings of a text whose structure is valid: the backslash of an unknown escape becomes two, a control character its
 * escape, and invalid UTF-8 U+FFFD, as a decoder of the web does (WHATWG Encoding, "UTF-8 decoder").
 */
export function repairStrings(source: Buffer): {
  readonly bytes: Buffer;
  /** Where the repaired ones begin in it. */
  readonly strings: readonly number[];
} {
  const view = new DataView(source.buffer, source.byteOffset, source.length);
  const hasInvalid = !isUtf8(source);
  const output = new RepairedText(source);
  const strings: number[] = [];
  for (let start = source.indexOf(quote); start >= 0;) {
    const before = output.repairs;
    const at = output.lengthAt(start);
    let byte = start + 1;
    for (;;) {
      byte = hasInvalid ? asciiEnd(source, byte) : plainEnd(source, view, byte);
      const found = source[byte];
      if (found === undefined || found === quote) break;
      if (found === backslash) {
        const behind = escapeEnd(source, byte + 1);
        if (behind < 0) output.replace(byte, byte + 1, escapedBackslash);
        byte = behind < 0 ? byte + 1 : behind;
      } else if (found < 0x20) {
        output.replace(byte, ++byte, escapes[found] ?? escapedBackslash);
      } else {
        const first = byte;
        while ((source[byte] ?? 0) >= 0x80) byte++;
        const run = source.subarray(first, byte);
        if (!isUtf8(run)) output.replace(first, byte, Buffer.from(run.toString('utf8')));
      }
    }
    if (output.repairs > before) strings.push(at);
    start = byte < source.length ? source.indexOf(quote, byte + 1) : -1;
  }
  return { bytes: output.finish(), strings };
}

/** The next byte of a string that is a quote, a backslash, a control character or not ASCII. */
function asciiEnd(source: Buffer, from: number): number {
  let at = from;
  for (let byte = source[at]; byte !== undefined; byte = source[++at]) {
    if (byte < 0x20 || byte >= 0x80 || byte === quote || byte === backslash) break;
  }
  return at;
}

/** A copy of a text with replaced parts, which are given in order. */
class RepairedText {
  readonly #source: Buffer;
  #bytes: Buffer;
  #length = 0;
  /** The source up to here is in the output. */
  #copied = 0;
  /** The number of replaced parts. */
  repairs = 0;

  constructor(source: Buffer) {
    this.#source = source;
    this.#bytes = Buffer.allocUnsafe(source.length + 1024);
  }

  /** Where a byte of the source, behind the last replaced part, is in the output. */
  lengthAt(byte: number): number {
    return this.#length + byte - this.#copied;
  }

  replace(start: number, end: number, by: Buffer): void {
    this.#add(this.#source, this.#copied, start);
    this.#add(by, 0, by.length);
    this.#copied = end;
    this.repairs++;
  }

  finish(): Buffer {
    this.#add(this.#source, this.#copied, this.#source.length);
    return this.#bytes.subarray(0, this.#length);
  }

  #add(bytes: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#length)], 2 * length);
    this.#length += bytes.copy(this.#bytes, this.#length, start, end);
  }
}
