import { isUtf8 } from 'node:buffer';
import { LedgerlakeError } from '../errors.js';
import { kind, type Tape } from './tape.js';
import { escapedByte, hexDigit } from './text.js';

/** Containers may stand in one another this deep (RFC 8259, section 9, lets a parser set its limit). */
export const maxDepth = 512;

/** Bytes that end the plain run of a string: the quote, the backslash, control characters. */
const special = new Uint8Array(256);
special.fill(1, 0, 0x20);
special[0x22] = 1;
special[0x5c] = 1;

/**
 * Scans one JSON text (RFC 8259) once and fills the tape with its nodes.
 *
 * Accepts exactly what JSON.parse accepts of the same UTF-8, but for nesting deeper than `maxDepth`. The tape keeps a
 * reference to the bytes: they must not change while it is in use.
 *
 * @throws LedgerlakeError JSON_SYNTAX with the byte offset, what was expected there and what came
 */
export function scan(source: Uint8Array, tape: Tape): void {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new LedgerlakeError(
      'JSON_SYNTAX',
      'expected JSON, found a byte order mark at byte 0; JSON has none: remove it',
    );
  }
  if (!isUtf8(bytes)) throw new LedgerlakeError('JSON_SYNTAX', invalidUtf8(bytes));
  tape.bytes = bytes;
  tape.length = 0;
  new Scanner(bytes, tape).text();
}

/** A state machine over one text: either a value is due, or the end of one has been reached. */
class Scanner {
  readonly #bytes: Buffer;
  readonly #tape: Tape;
  /** The open containers, outermost first. */
  readonly #open: number[] = [];
  #at = 0;

  constructor(bytes: Buffer, tape: Tape) {
    this.#bytes = bytes;
    this.#tape = tape;
  }

  text(): void {
    let due = true;
    while (due) {
      const opened = this.#value();
      due = opened === undefined ? this.#afterValue() : this.#first(opened);
    }
    if (this.#skipSpace() !== -1) this.#fail('the end');
  }

  /** Reads a scalar whole, or the bracket that opens a container, whose node it returns. */
  #value(): number | undefined {
    const tape = this.#tape;
    const byte = this.#skipSpace();
    const start = this.#at;
    switch (byte) {
      case 0x7b:
      case 0x5b: {
        if (this.#open.length === maxDepth) this.#fail(`nesting of at most ${maxDepth}`);
        this.#at = start + 1;
        return tape.push(byte === 0x7b ? kind.object : kind.array, start);
      }
      case 0x22:
        this.#string();
        return undefined;
      case 0x74:
        this.#word('true', kind.true);
        return undefined;
      case 0x66:
        this.#word('false', kind.false);
        return undefined;
      case 0x6e:
        this.#word('null', kind.null);
        return undefined;
      default: {
        if (byte !== 0x2d && !isDigit(byte)) this.#fail('a value');
        const node = tape.push(kind.number, start);
        this.#number(byte);
        tape.close(node, this.#at);
        return undefined;
      }
    }
  }

  /** Behind an opening bracket: true where a value is due, false where the text's own value is complete. */
  #first(container: number): boolean {
    const byte = this.#skipSpace();
    const isObject = this.#tape.kind(container) === kind.object;
    if (byte === (isObject ? 0x7d : 0x5d)) {
      this.#at++;
      this.#tape.close(container, this.#at);
      return this.#afterValue();
    }
    this.#open.push(container);
    if (isObject) this.#key(byte, "a key or '}'");
    return true;
  }

  /** Behind a value: closes what ends here. True where a further value is due. */
  #afterValue(): boolean {
    for (;;) {
      const container = this.#open.at(-1);
      if (container === undefined) return false;
      const byte = this.#skipSpace();
      const isObject = this.#tape.kind(container) === kind.object;
      if (byte === 0x2c) {
        this.#at++;
        if (isObject) this.#key(this.#skipSpace(), 'a key');
        return true;
      }
      if (byte !== (isObject ? 0x7d : 0x5d)) this.#fail(isObject ? "',' or '}'" : "',' or ']'");
      this.#at++;
      this.#tape.close(container, this.#at);
      this.#open.pop();
    }
  }

  #key(byte: number, expected: string): void {
    if (byte !== 0x22) this.#fail(expected);
    this.#string();
    if (this.#skipSpace() !== 0x3a) this.#fail("':'");
    this.#at++;
  }

  /** Moves to the next byte that isn't white space; that byte, or -1 at the end. */
  #skipSpace(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let byte = bytes[at] ?? -1;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at] ?? -1;
    this.#at = at;
    return byte;
  }

  #string(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let nodeKind: number = kind.string;
    let at = start + 1;
    for (;;) {
      while (special[bytes[at] ?? 0] === 0) at++;
      const byte = bytes[at];
      if (byte === 0x22) break;
      this.#at = at;
      if (byte !== 0x5c) this.#fail(at < bytes.length ? 'an escape in place of a control character' : "a closing '\"'");
      nodeKind = kind.escaped;
      at = this.#escape(at + 1);
    }
    this.#at = at + 1;
    this.#tape.close(this.#tape.push(nodeKind, start), this.#at);
  }

  /** Checks the escape whose letter stands at `at`; where the string goes on. */
  #escape(at: number): number {
    const letter = this.#bytes[at] ?? 0;
    if (escapedByte(letter) !== 0) return at + 1;
    this.#at = at;
    if (letter !== 0x75) this.#fail('one of "\\/bfnrtu behind a backslash');
    for (let digit = at + 1; digit <= at + 4; digit++) {
      this.#at = digit;
      if (hexDigit(this.#bytes[digit] ?? 0) < 0) this.#fail('four hexadecimal digits behind \\u');
    }
    return at + 5;
  }

  #number(first: number): void {
    let byte = first;
    if (byte === 0x2d) byte = this.#step();
    if (!isDigit(byte)) this.#fail('a digit');
    if (byte === 0x30) byte = this.#step();
    else while (isDigit(byte)) byte = this.#step();
    if (byte === 0x2e) byte = this.#digits(this.#step());
    if ((byte | 0x20) === 0x65) {
      byte = this.#step();
      this.#digits(byte === 0x2b || byte === 0x2d ? this.#step() : byte);
    }
  }

  #digits(first: number): number {
    let byte = first;
    if (!isDigit(byte)) this.#fail('a digit');
    while (isDigit(byte)) byte = this.#step();
    return byte;
  }

  #step(): number {
    return this.#bytes[++this.#at] ?? -1;
  }

  #word(word: string, nodeKind: number): void {
    const end = this.#at + word.length;
    if (this.#bytes.toString('latin1', this.#at, end) !== word) this.#fail(word);
    const node = this.#tape.push(nodeKind, this.#at);
    this.#at = end;
    this.#tape.close(node, end);
  }

  #fail(expected: string): never {
    throw new LedgerlakeError('JSON_SYNTAX', `expected ${expected}, found ${this.#found()} at byte ${this.#at}`);
  }

  #found(): string {
    if (this.#at >= this.#bytes.length) return 'the end';
    const [character = ''] = this.#bytes.toString('utf8', this.#at, this.#at + 4);
    return JSON.stringify(character);
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Where the bytes stop being UTF-8: the longest valid beginning is found by halving, as prefixes are cheap to check. */
function invalidUtf8(bytes: Buffer): string {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    // A cut inside a character isn't an error of the bytes: up to three more may complete it.
    const whole = [0, 1, 2, 3].some((more) => isUtf8(bytes.subarray(0, Math.min(middle + more, bytes.length))));
    if (whole) valid = middle;
    else invalid = middle;
  }
  const byte = (bytes[valid] ?? 0).toString(16).padStart(2, '0');
  return `expected UTF-8, found the byte 0x${byte} at byte ${valid}`;
}
