import { html, type HtmlValue } from './html.js';
import { currencyPlaces, roundedDecimal, trimmedDecimal } from '../../core/text/money.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';

/** Writes the amounts of one currency. */
export type AmountText = (text: string) => string;

/** Shows the amounts of one currency. */
export type AmountFormat = (text: string) => HtmlValue;

/**
 * How amounts of a currency are written exactly: with their thousands apart and no more places than they need, but those that
 * the currency always has (`1,234.50`, `-0.005`). The minus is one that spreadsheets take.
 */
export function amountsIn(currency: string): AmountText {
  const least = currencyPlaces(currency);
  return (text) => {
    const trimmed = trimmedDecimal(text, least);
    const signed = /[1-9]/.test(trimmed) ? trimmed : trimmed.replace('-', '');
    return signed.replace(
      /^(-?)(\d+)/,
      (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ','),
    );
  };
}

/**
 * How amounts of a currency are shown: in its digits, rounded half to even, so that the points of a column stand below each
 * other. One that has more digits has them in its title, and in print beside it.
 */
export function shownIn(currency: string): AmountFormat {
  const exactly = amountsIn(currency);
  const places = currencyPlaces(currency);
  return (text) => {
    const exact = exactly(text);
    const rounded = exactly(roundedDecimal(text, places));
    return rounded === exact ? exact : html`<span class="rounded" title="${exact}">${rounded}</span>`;
  };
}

/** The exact sum of decimal texts of up to six places. */
export function sumOf(texts: Iterable<string>): string {
  let sum = 0n;
  for (const text of texts) sum += millionths(text);
  return millionthsText(sum);
}

/** The exact difference of two such texts. */
export function difference(one: string, other: string): string {
  return millionthsText(millionths(one) - millionths(other));
}

/** -1, 0 or 1. */
export function signOf(text: string): -1 | 0 | 1 {
  const value = millionths(text);
  return value === 0n ? 0 : value < 0n ? -1 : 1;
}

/**
 * What a part is of each 100 of a whole, rounded half away from zero to two places: `-15.02`; undefined where the whole
 * isn't more than 0.
 */
export function ofHundred(part: string, whole: string): string | undefined {
  const divisor = millionths(whole);
  if (divisor <= 0n) return undefined;
  const scaled = millionths(part) * 10_000n;
  const size = scaled < 0n ? -scaled : scaled;
  const rounded = (size * 2n + divisor) / (divisor * 2n);
  const digits = String(rounded).padStart(3, '0');
  return `${scaled < 0n && rounded > 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** A currency's code, or what stands for the lack of one. */
export function currencyText(currency: string): string {
  return currency === '' ? 'no currency' : currency;
}

/** `2025-03-08 00:05`. */
export function minuteText(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}

/** How a currency is called: `US Dollar`, or undefined for a code that nobody knows. */
export function currencyName(code: string): string | undefined {
  if (!/^[A-Z]{3}$/.test(code)) return undefined;
  return new Intl.DisplayNames('en', { type: 'currency', fallback: 'none' }).of(code);
}
