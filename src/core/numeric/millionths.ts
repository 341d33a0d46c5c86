/** A decimal text of up to six places (`-0.05`) in millionths: exact, of any size. */
export function millionths(text: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  return BigInt(`${sign}${whole}${fraction.padEnd(6, '0')}`);
}

/** Millionths as a decimal text with all six places: `-0.050000`. */
export function millionthsText(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(7, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
