import type { Dictionary } from '../columns/dictionary.js';
import { readInteger } from '../numeric/decimal.js';
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
