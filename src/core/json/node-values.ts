import type { Dictionary } from '../columns/dictionary.js';
import { readInteger } from '../numeric/decimal.js';
import { readInstant, readInstantBytes } from '../numeric/instant.js';
import { kind, type Tape } from './tape.js';

/** The number of a string node's value in a dictionary. */
export function addText(tape: Tape, string: number, dictionary: Dictionary): number {
  if (tape.kind(string) === kind.string) {
    return dictionary.add(tape.bytes, tape.start(string) + 1, tape.end(string) - 1);
  }
  const bytes = tape.stringBytes(string);
  return dictionary.add(bytes, 0, bytes.length);
}

/** The instant that a string node names, as `readInstant` reads it: microseconds since 1970. */
export function instantValue(tape: Tape, string: number): bigint | undefined {
  return tape.kind(string) === kind.string
    ? readInstantBytes(tape.bytes, tape.start(string) + 1, tape.end(string) - 1)
    : readInstant(tape.stringValue(string));
}

/** Those of one digit. */
export const smallIntegers = Array.from({ length: 10 }, (_, value) => BigInt(value));

/** A whole number as JSON has it, or as a string of digits, as some records of the models have it. */
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

/** The whole number that a string of digits names. */
export function parseDigits(text: string): bigint | undefined {
  return /^-?\d+$/.test(text) ? readInteger(text) : undefined;
}
