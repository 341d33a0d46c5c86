import { isUtf8 } from 'node:buffer';
import { LedgerlakeError } from '../errors.js';
import { kind, maxDepth, type Tape } from './tape.js';
import { escapeEnd, isDigit, plainEnd, type JsonBytes } from './text.js';

/** The value read behind the last byte; UTF-8 never has it. */
const end = 0xff;

/** JSON_SYNTAX: bytes that aren't JSON. */
export class SyntaxFault extends LedgerlakeError {
  /** The byte that can't be there. */
  readonly at: number;

  constructor(at: number, message: string) {
    super('JSON_SYNTAX', message);
    this.at = at;
  }
}

/**
 * Scans one JSON text (RFC 8259) once and fills the tape with its nodes.
 *
 * Accepts exactly what JSON.parse accepts of the same UTF-8, but for nesting deeper than `maxDepth`. The tape keeps a
 * reference to the bytes: they must not change while it is in use.
 *
 * @throws SyntaxFault with the byte offset, what was expected there and what came; LedgerlakeError TOO_LARGE
 */
export function scan(source: Uint8Array, tape: Tape): void {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new SyntaxFault(0, 'expected JSON, found a byte order mark at byte 0; remove it');
  }
  if (!isUtf8(bytes)) throw invalidUtf8(bytes);
  const scanner = scannerOf(bytes, tape, false);
  scanner.end(scanner.value(0));
}

/**
 * The fault in the structure of a JSON text, whatever the bytes within its strings: unknown escapes, control characters and
 * invalid UTF-8 count as characters. Undefined where the structure is valid.
 *
 * @throws LedgerlakeError TOO_LARGE
 */
export function structureFault(bytes: Buffer, tape: Tape): SyntaxFault | undefined {
  const scanner = scannerOf(bytes, tape, true);
  return syntaxFault(() => {
    scanner.end(scanner.value(0));
  });
}

/**
 * The end of the value that begins at a byte, if its structure is valid; else the negated position of the fault.
 *
 * @throws LedgerlakeError TOO_LARGE
 */
export function valueEnd(bytes: Buffer, start: number, tape: Tape): number {
  const scanner = scannerOf(bytes, tape, true);
  let end = 0;
  const fault = syntaxFault(() => {
    end = scanner.value(start);
  });
  return fault === undefined ? end : -fault.at;
}

function syntaxFault(scanning: () => void): SyntaxFault | undefined {
  try {
    scanning();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxFault) return error;
    throw error;
  }
}

function scannerOf(bytes: Buffer, tape: Tape, isLenient: boolean): Scanner {
  tape.begin({ bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) });
  return new Scanner(bytes, tape, 0, isLenient);
}

/**
 * Scans only the value that begins at a byte of a text. The caller has checked that the bytes are UTF-8.
 *
 * @param outerDepth objects and arrays around it
 * @returns where it ends
 * @throws SyntaxFault; LedgerlakeError TOO_LARGE
 */
export function scanValue(json: JsonBytes, at: number, tape: Tape, outerDepth: number): number {
  tape.begin(json);
  return new Scanner(json.bytes, tape, outerDepth, false).value(at);
}

/** A state machine over one text: it expects a value, or has reached the end of one. */
class Scanner {
  readonly #bytes: Buffer;
  readonly #tape: Tape;
  readonly #view: DataView;
  readonly #mostDepth: number;
  /** Whether any bytes between two quotes are a string. */
  readonly #isLenient: boolean;

  constructor(bytes: Buffer, tape: Tape, outerDepth: number, isLenient: boolean) {
    this.#bytes = bytes;
    this.#tape = tape;
    this.#view = tape.view;
    this.#mostDepth = maxDepth - outerDepth;
    this.#isLenient = isLenient;
  }

  /** Reads the value that begins at a byte. Returns its end. */
  value(from: number): number {
    const bytes = this.#bytes;
    const tape = this.#tape;
    const { open } = tape;
    let depth = 0;
    let isObject = false;
    let at = from;
    for (;;) {
      // Expects a value.
      let byte = bytes[at] ?? end;
      if (byte <= 0x20) byte = bytes[(at = this.#skipSpace(at))] ?? end;
      if (byte === 0x22) {
        at = this.#string(at);
      } else if (byte === 0x7b || byte === 0x5b) {
        if (depth === this.#mostDepth) this.#fail(at, `nesting of at most ${maxDepth}`);
        const opensObject = byte === 0x7b;
        const container = tape.push(opensObject ? kind.object : kind.array, at);
        at = this.#skipSpace(at + 1);
        byte = bytes[at] ?? end;
        if (byte !== (opensObject ? 0x7d : 0x5d)) {
          open[depth++] = container;
          isObject = opensObject;
          if (isObject) at = this.#key(at, "a key or '}'");
          continue;
        }
        tape.close(container, ++at);
      } else {
        at = this.#scalar(at, byte);
      }
      // Behind a value: closes containers that end here, until another value is expected.
      for (;;) {
        if (depth === 0) return at;
        byte = bytes[at] ?? end;
        if (byte <= 0x20) byte = bytes[(at = this.#skipSpace(at))] ?? end;
        if (byte === 0x2c) {
          at++;
          if (isObject) at = this.#key(this.#skipSpace(at), 'a key');
          break;
        }
        if (byte !== (isObject ? 0x7d : 0x5d)) this.#fail(at, isObject ? "',' or '}'" : "',' or ']'");
        tape.close(open[--depth] ?? 0, ++at);
        isObject = depth > 0 && tape.kind(open[depth - 1] ?? 0) === kind.object;
      }
    }
  }

  /** Throws JSON_SYNTAX where anything but white space follows. */
  end(from: number): void {
    const at = this.#skipSpace(from);
    if (at < this.#bytes.length) this.#fail(at, 'the end');
  }

  /** Reads a key and its colon. Returns the start of the value. */
  #key(at: number, expected: string): number {
    if (this.#bytes[at] !== 0x22) this.#fail(at, expected);
    const colon = this.#skipSpace(this.#string(at));
    if (this.#bytes[colon] !== 0x3a) this.#fail(colon, "':'");
    return colon + 1;
  }

  /** The next byte that isn't white space. */
  #skipSpace(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    let byte = bytes[at] ?? end;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at] ?? end;
    return at;
  }

  /** Reads a number or a literal. Returns its end. */
  #scalar(at: number, byte: number): number {
    switch (byte) {
      case 0x74:
        return this.#literal(at, 'true', kind.true);
      case 0x66:
        return this.#literal(at, 'false', kind.false);
      case 0x6e:
        return this.#literal(at, 'null', kind.null);
      default: {
        if (byte !== 0x2d && !isDigit(byte)) this.#fail(at, 'a value');
        const node = this.#tape.push(kind.number, at);
        const behind = this.#number(at, byte);
        this.#tape.close(node, behind);
        return behind;
      }
    }
  }

  /** Reads a string. Returns its end. */
  #string(start: number): number {
    const bytes = this.#bytes;
    let nodeKind: number = kind.string;
    let at = start + 1;
    for (;;) {
      at = plainEnd(bytes, this.#view, at);
      const byte = bytes[at];
      if (byte === 0x22) break;
      if (byte === undefined) this.#fail(at, "a closing '\"'");
      if (byte !== 0x5c) {
        if (!this.#isLenient) this.#fail(at, 'an escape in place of a control character');
        at++;
        continue;
      }
      nodeKind = kind.escaped;
      at = this.#escape(at + 1);
    }
    this.#tape.close(this.#tape.push(nodeKind, start), at + 1);
    return at + 1;
  }

  /** Checks the escape whose letter is at `at`. Returns its end. */
  #escape(at: number): number {
    const behind = escapeEnd(this.#bytes, at);
    if (behind >= 0) return behind;
    if (this.#isLenient) return at;
    if (this.#bytes[at] !== 0x75) this.#fail(at, 'one of "\\/bfnrtu behind a backslash');
    this.#fail(-behind, 'four hexadecimal digits behind \\u');
  }

  #number(start: number, first: number): number {
    const bytes = this.#bytes;
    let at = start;
    let byte = first;
    if (byte === 0x2d) byte = bytes[++at] ?? end;
    if (byte === 0x30) at++;
    else at = this.#digits(at);
    if (bytes[at] === 0x2e) at = this.#digits(at + 1);
    byte = bytes[at] ?? end;
    if (byte !== 0x65 && byte !== 0x45) return at;
    byte = bytes[++at] ?? end;
    return this.#digits(byte === 0x2b || byte === 0x2d ? at + 1 : at);
  }

  #digits(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (isDigit(bytes[at] ?? end)) at++;
    if (at === from) this.#fail(at, 'a digit');
    return at;
  }

  #literal(at: number, word: string, nodeKind: number): number {
    const behind = at + word.length;
    if (this.#bytes.toString('latin1', at, behind) !== word) this.#fail(at, word);
    this.#tape.close(this.#tape.push(nodeKind, at), behind);
    return behind;
  }

  #fail(at: number, expected: string): never {
    const closes = this.#bytes[at] === 0x7d || this.#bytes[at] === 0x5d;
    if (closes && (expected === 'a key' || expected === 'a value')) this.#failAtComma(at);
    throw new SyntaxFault(at, `expected ${expected}, found ${this.#found(at)} at byte ${at}`);
  }

  /** Names the comma before a closing bracket, if there is one. */
  #failAtComma(closing: number): void {
    let comma = closing - 1;
    while ((this.#bytes[comma] ?? 0x2c) <= 0x20) comma--;
    if (this.#bytes[comma] !== 0x2c) return;
    const message = `expected no comma before ${this.#found(closing)}, found one at byte ${comma}`;
    throw new SyntaxFault(closing, message);
  }

  #found(at: number): string {
    if (at >= this.#bytes.length) return 'the end';
    const [character = ''] = this.#bytes.toString('utf8', at, at + 4);
    return JSON.stringify(character);
  }
}

/** Reports the first byte that isn't UTF-8: a binary search for the longest valid prefix, as `isUtf8` is fast. */
function invalidUtf8(bytes: Buffer): SyntaxFault {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    // A prefix may end inside a character, which up to three more bytes complete.
    const whole = [0, 1, 2, 3].some((more) => isUtf8(bytes.subarray(0, Math.min(middle + more, bytes.length))));
    if (whole) valid = middle;
    else invalid = middle;
  }
  const byte = (bytes[valid] ?? 0).toString(16).padStart(2, '0');
  return new SyntaxFault(valid, `expected UTF-8, found the byte 0x${byte} at byte ${valid}`);
}
