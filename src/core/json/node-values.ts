import type { ByteRange } from '../columns/byte-ranges.js';
import type { Dictionary } from '../columns/dictionary.js';
import { numberEnd, readInteger } from '../numeric/decimal.js';
import { readInstant, readInstantBytes } from '../numeric/instant.js';
import { kind, type Tape } from './tape.js';

/** Adds a string node's value to a dictionary; its number. */
export function addText(tape: Tape, string: number, dictionary: Dictionary): number {
  if (tape.kind(string) === kind.string) {
    return dictionary.add(tape.bytes, tape.start(string) + 1, tape.end(string) - 1);
  }
  const bytes = tape.stringBytes(string);
  return dictionary.add(bytes, 0, bytes.length);
}

/** The instant of a string node, read like `readInstant`: microseconds since 1970. */
export function instantValue(tape: Tape, string: number): bigint | undefined {
  return tape.kind(string) === kind.string
    ? readInstantBytes(tape.bytes, tape.start(string) + 1, tape.end(string) - 1)
    : readInstant(tape.stringValue(string));
}

/**
 * The bytes of a number, or of a string's value that is a number by JSON's grammar, as some clients write amounts; undefined
 * for another value. Those of a string with escapes are valid until the next string is decoded.
 */
export function numberRange(tape: Tape, node: number): ByteRange | undefined {
  if (tape.kind(node) === kind.number) return { page: tape.bytes, start: tape.start(node), end: tape.end(node) };
  if (!tape.isString(node)) return undefined;
  const page = tape.stringBytes(node);
  return numberEnd(page, 0) === page.length ? { page, start: 0, end: page.length } : undefined;
}

/** The integers of one digit. */
export const smallIntegers = Array.from({ length: 10 }, (_, value) => BigInt(value));

/** An integer from a JSON number or from a string of digits, as some records of the models have. */
export function integerValue(tape: Tape, node: number): bigint | undefined {
  if (tape.kind(node) === kind.number) {
    const start = tape.start(node);
    const digit = (tape.bytes[start] ?? 0) - 0x30;
    // Most quantities have one digit.
    return tape.end(node) - start === 1 ? smallIntegers[digit] : readInteger(tape.text(node));
  }
  if (!tape.isString(node)) return undefined;
  return parseDigits(tape.stringValue(node));
}

/** The integer of a string of digits. */
export function parseDigits(text: string): bigint | undefined {
  return /^-?\d+$/.test(text) ? readInteger(text) : undefined;
}
