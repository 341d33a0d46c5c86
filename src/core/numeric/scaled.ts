const number = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads a JSON number's text as a whole number of its last digit: `12.3` with a scale of 2 is 1230n. Undefined for
 * another text, and where DECIMAL(precision, scale) can't hold it exactly. Exponents may be of any size.
 *
 * @param precision digits in all, 18 at the most
 * @param scale digits behind the point
 */
export function readScaled(text: string, precision: number, scale: number): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = number.exec(text) ?? [];
  if (whole === '') return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // Cut to its significant digits, the number is `significant` followed by `zeros` zeros.
  const significant = digits.replace(/0+$/, '');
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length) + scale;
  if (!(zeros >= 0) || significant.length + zeros > precision) return undefined;
  return BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
}
