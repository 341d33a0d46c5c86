const int64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };
const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads the text of a JSON number that is whole, however it is spelt (`2`, `2.0`, `2e0`, `20e-1`); undefined where it
 * isn't, or where 64 bits can't hold it.
 */
export function readInteger(text: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? [];
  if (whole === '') return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // Cut to its significant digits, the number is `significant` followed by `zeros` zeros.
  const significant = digits.replace(/0+$/, '');
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
  return value >= int64.least && value <= int64.most ? value : undefined;
}
