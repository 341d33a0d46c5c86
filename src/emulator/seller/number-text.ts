/** The ways to write a number, of 32: most are what one expects, all are legal JSON. */
const ways = 32;

function trimmed(fraction: string): string {
  return fraction.replace(/0+$/, '');
}

/** `7E1`, `2.51e1`, `-1.25E-4`. */
function withExponent(sign: string, digits: string, letter: string): string {
  const significant = digits.replace(/^0+/, '');
  const exponent = significant.length - 7;
  const rest = trimmed(significant.slice(1));
  return `${sign}${significant.charAt(0)}${rest === '' ? '' : `.${rest}`}${letter}${exponent}`;
}

/** What one expects: the currency's digits behind the point, where they suffice; undefined elsewhere. */
function usualText(millionths: number, scale: number): string | undefined {
  const absolute = Math.abs(millionths);
  const unit = scale === 0 ? 1_000_000 : 10_000;
  const coins = Math.floor(absolute / unit);
  if (coins * unit !== absolute) return undefined;
  const sign = millionths < 0 ? '-' : '';
  if (scale === 0) return `${sign}${coins}`;
  const whole = Math.floor(coins / 100);
  const cents = coins - whole * 100;
  return `${sign}${whole}.${cents < 10 ? '0' : ''}${cents}`;
}

/**
 * An amount in millionths as the text of a JSON number: never more than six digits behind the point, and exact.
 * `scale`: the digits behind the point that the currency has, 0 or 2; `choice`: random bits that choose the spelling.
 */
export function numberText(millionths: number | bigint, scale: number, choice: number): string {
  const way = choice % ways;
  if (typeof millionths === 'number' && way >= 7) {
    // Written so often that it has a way of its own.
    const usual = millionths === 0 && way % 4 === 1 ? undefined : usualText(millionths, scale);
    if (usual !== undefined) return usual;
  }
  const isNegative = millionths < 0;
  const text = String(millionths);
  const digits = (isNegative ? text.slice(1) : text).padStart(7, '0');
  const whole = digits.slice(0, -6);
  const fraction = digits.slice(-6);
  const least = trimmed(fraction);
  const isZero = least === '' && whole === '0';
  // A zero may have a sign as well.
  const sign = isNegative || (isZero && way % 4 === 1) ? '-' : '';
  const pointed = (places: number) => (places === 0 ? sign + whole : `${sign}${whole}.${fraction.slice(0, places)}`);
  switch (way) {
    case 0:
    case 1:
      return pointed(least.length);
    case 2:
      return pointed(Math.max(least.length, 3));
    case 3:
      return isZero ? `${sign}0E0` : withExponent(sign, digits, 'E');
    case 4:
      return isZero ? `${sign}0e+2` : withExponent(sign, digits, 'e');
    case 5:
      return pointed(6);
    case 6:
      return pointed(Math.max(least.length, 1));
    default:
      return pointed(Math.max(least.length, scale));
  }
}
