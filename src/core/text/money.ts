/** The number of decimals of a currency (JPY 0, KWD 3); 2 for an invalid code. */
export function currencyPlaces(code: string): number {
  if (!/^[A-Za-z]{3}$/.test(code)) return 2;
  return (
    new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions().minimumFractionDigits ?? 2
  );
}

/** A decimal's text with `places` decimals, rounded half to even, for display: `-0.005` is `0.00`. */
export function roundedDecimal(text: string, places: number): string {
  const [, sign = '', whole = '0', fraction = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digitsKept = BigInt(whole + fraction.slice(0, places).padEnd(places, '0'));
  const rest = fraction.slice(places);
  const half = `5${'0'.repeat(Math.max(0, rest.length - 1))}`;
  const isUp = rest !== '' && (rest > half || (rest === half && digitsKept % 2n === 1n));
  const digits = String(isUp ? digitsKept + 1n : digitsKept).padStart(places + 1, '0');
  const rounded = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return sign === '-' && /[1-9]/.test(rounded) ? `-${rounded}` : rounded;
}

/** The same amount without trailing zeros, but with at least `least` decimals. */
export function trimmedDecimal(text: string, least: number): string {
  const [, whole = text, fraction = ''] = /^([+-]?\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '').padEnd(least, '0');
  return digits === '' ? whole : `${whole}.${digits}`;
}
