import type { JsonNode } from './json-text.js';

/** A decimal number as `sign * digits * 10 ** exponent`; the digits neither begin nor end with a zero, and zero has none. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: bigint;
}

/** Reads a JSON number; exponents may be of any size. */
function decimalOf(number: string): Decimal {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(number) ?? [];
  const leading = (whole + fraction).replace(/^0+/, '');
  const digits = leading.replace(/0+$/, '');
  const written = BigInt(exponent.replace('+', ''));
  return {
    negative: sign === '-',
    digits,
    exponent: written - BigInt(fraction.length) + BigInt(leading.length - digits.length),
  };
}

/**
 * A JSON number in units of `10 ** -scale`, or null where it isn't a whole number of them or has more than `precision`
 * digits in them. No number of more digits is ever built, whatever the exponent says.
 */
function scaled(number: string, scale: number, precision: number): bigint | null {
  const { negative, digits, exponent } = decimalOf(number);
  if (digits === '') return 0n;
  const zeros = exponent + BigInt(scale);
  if (zeros < 0n || BigInt(digits.length) + zeros > BigInt(precision)) return null;
  const magnitude = BigInt(digits + '0'.repeat(Number(zeros)));
  return negative ? -magnitude : magnitude;
}

/** The number that a value is: a JSON number, or a string of JSON's grammar for numbers; null for any other value. */
export function numberOf(node: JsonNode | undefined): string | null {
  if (node?.type === 'number') return node.text;
  return node?.type === 'string' && /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(node.value)
    ? node.value
    : null;
}

/** A JSON number in millionths, or null where DECIMAL(18,6) doesn't hold it exactly. */
export function millionthsOf(number: string): bigint | null {
  return scaled(number, 6, 18);
}

/** A JSON number, in whatever spelling, as a 64-bit integer; null where it has a fraction or doesn't fit. */
export function int64Of(number: string): bigint | null {
  return withinInt64(scaled(number, 0, 19));
}

/** Digits, with a minus sign or without, as a 64-bit integer; null for anything else. */
export function int64OfDigits(text: string): bigint | null {
  return /^-?[0-9]+$/.test(text) ? withinInt64(BigInt(text)) : null;
}

function withinInt64(value: bigint | null): bigint | null {
  return value !== null && BigInt.asIntN(64, value) === value ? value : null;
}
