/** Scale of DECIMAL(18,6). */
export const decimalScale = 6;
/** Precision of DECIMAL(18,6). */
export const decimalPrecision = 18;

/** A signed 64-bit integer as two halves. Each call overwrites it, so that reading one allocates no object. */
export interface Int64Halves {
  /** The low 32 bits. */
  low: number;
  /** The high 32 bits, sign included. */
  high: number;
}

const billion = 1_000_000_000;
const two32 = 0x1_0000_0000;

/**
 * Reads a JSON number's text as millionths. False where DECIMAL(18,6) can't represent it exactly: it has a digit other than 0
 * behind the sixth decimal, or more than twelve digits before the point. `-0` is 0; exponents may be of any size.
 *
 * Computes with the digits: every intermediate number is an integer below 2^53, never a fraction.
 */
export function readDecimal(bytes: Uint8Array, start: number, end: number, into: Int64Halves): boolean {
  let at = start;
  const negative = bytes[at] === 0x2d;
  if (negative) at++;
  const from = at;

  // Find the position of the point, counted in digits from the first one, and the end of the digits.
  let digits = 0;
  let point = -1;
  let mantissaEnd = at;
  for (; mantissaEnd < end; mantissaEnd++) {
    const byte = bytes[mantissaEnd] ?? 0;
    if (byte === 0x2e) point = digits;
    else if (byte >= 0x30) {
      if (byte > 0x39) break;
      digits++;
    }
  }
  if (point < 0) point = digits;
  if (mantissaEnd < end) point += exponent(bytes, mantissaEnd + 1, end);

  // Digit i has the value 10^(point - 1 - i); in millionths the exponent is 0 at the sixth decimal.
  let high = 0;
  let low = 0;
  let exponentOfTen = point - 1 + decimalScale;
  for (at = from; at < mantissaEnd; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0) continue;
    if (digit > 0) {
      if (exponentOfTen < 0 || exponentOfTen >= decimalPrecision) return false;
      if (exponentOfTen >= 9) high += digit * (powersOfTen[exponentOfTen - 9] ?? 0);
      else low += digit * (powersOfTen[exponentOfTen] ?? 0);
    }
    exponentOfTen--;
  }
  writeInt64(high, low, negative, into);
  return true;
}

/** The end of the JSON number (RFC 8259, section 6) that begins at a byte; -1 where none does. */
export function numberEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === 0x2d ? start + 1 : start;
  // No digit follows a leading zero.
  const whole = bytes[first] === 0x30 ? first + 1 : digitsEnd(bytes, first);
  const mantissa = bytes[whole] === 0x2e ? digitsEnd(bytes, whole + 1) : whole;
  if (bytes[mantissa] !== 0x65 && bytes[mantissa] !== 0x45) return mantissa;
  const sign = bytes[mantissa + 1];
  return digitsEnd(bytes, sign === 0x2b || sign === 0x2d ? mantissa + 2 : mantissa + 1);
}

/** The end of the digits that begin at a byte; -1 where it is none. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  for (let byte = bytes[at] ?? 0; byte >= 0x30 && byte <= 0x39; byte = bytes[at] ?? 0) at++;
  return at === start ? -1 : at;
}

const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/** The value of the exponent that begins at `start`, limited to 10^12, which gives the same result as any larger one. */
function exponent(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  let value = 0;
  for (let at = sign === 0x2b || sign === 0x2d ? start + 1 : start; at < end; at++) {
    value = Math.min(value * 10 + ((bytes[at] ?? 0) - 0x30), 1e12);
  }
  return sign === 0x2d ? -value : value;
}

/** high * 10^9 + low, both below 10^9, as a signed 64-bit integer: 10^9 is split so that no product passes 2^53. */
function writeInt64(high: number, low: number, negative: boolean, into: Int64Halves): void {
  const upper = high * (billion >>> 16);
  const middle = (upper % 65536) * 65536 + high * (billion & 0xffff) + low;
  let low32 = middle % two32;
  let high32 = Math.floor(upper / 65536) + Math.floor(middle / two32);
  if (negative) {
    low32 = low32 === 0 ? 0 : two32 - low32;
    high32 = low32 === 0 ? -high32 : -high32 - 1;
  }
  into.low = low32 | 0;
  into.high = high32 | 0;
}

/** `value` / 10^`scale` with all digits: `25.100000`, `-0.05`. */
export function decimalText(value: bigint, scale: number): string {
  const sign = value < 0n ? '-' : '';
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads a JSON number's text as an unscaled integer: `12.3` with a scale of 2 is 1230n. Undefined for another text, and
 * where DECIMAL(precision, scale) can't represent it exactly. Exponents may be of any size.
 *
 * @param precision total number of digits
 * @param scale number of decimals
 */
export function readScaled(text: string, precision: number, scale: number): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? [];
  if (whole === '') return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // The unscaled integer is `significant` followed by `zeros` zeros.
  const significant = digits.replace(/0+$/, '');
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length) + scale;
  if (!(zeros >= 0) || significant.length + zeros > precision) return undefined;
  return BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
}

/** Reads a JSON number's text that is an integer in any notation (`2`, `2.0`, `20e-1`) and fits in 64 bits. */
export function readInteger(text: string): bigint | undefined {
  const value = readScaled(text, 19, 0);
  return value !== undefined && value === BigInt.asIntN(64, value) ? value : undefined;
}

/** A decimal text of up to six places (`-0.05`) in millionths: exact, of any size. Throws an Error for another text. */
export function millionths(text: string): bigint {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new Error(`expected an amount of up to six decimals, got ${text}`);
  return BigInt(`${sign}${whole}${fraction.padEnd(6, '0')}`);
}

/** Millionths as a decimal text with all six places: `-0.050000`. */
export function millionthsText(value: bigint): string {
  return decimalText(value, decimalScale);
}
