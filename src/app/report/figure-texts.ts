import { html, type Html, type HtmlValue } from './html.js';
import { currencyPlaces, roundedDecimal, trimmedDecimal } from '../../core/text/money.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';

/** Formats amounts of one currency as HTML. */
export type AmountFormat = (text: string) => HtmlValue;

/**
 * The exact format of a currency's amounts as text: with thousands separators, and with as few decimal places as possible, but at least
 * those of the currency (`1,234.50`, `-0.005`). The minus sign is ASCII, which spreadsheets accept.
 */
export function amountsIn(currency: string): (text: string) => string {
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
 * The rounded format of a currency's amounts: with its decimal places, half to even, so that the decimal points of a column are
 * aligned. A rounded amount has the exact one as its title, which print shows next to it.
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

/** The exact sum of decimal texts with up to six decimal places. */
export function decimalSum(texts: Iterable<string>): string {
  let sum = 0n;
  for (const text of texts) sum += millionths(text);
  return millionthsText(sum);
}

/** The exact difference of two decimal texts with up to six decimal places. */
export function difference(one: string, other: string): string {
  return millionthsText(millionths(one) - millionths(other));
}

/** The sign of a decimal text: -1, 0 or 1. */
export function signOf(text: string): -1 | 0 | 1 {
  const value = millionths(text);
  return value === 0n ? 0 : value < 0n ? -1 : 1;
}

/**
 * The percentage of a part in a whole, rounded half away from zero to two decimal places, such as `-15.02`; undefined
 * where the whole isn't more than 0.
 */
export function perHundred(part: string, whole: string): string | undefined {
  const divisor = millionths(whole);
  if (divisor <= 0n) return undefined;
  const scaled = millionths(part) * 10_000n;
  const size = scaled < 0n ? -scaled : scaled;
  const rounded = (size * 2n + divisor) / (divisor * 2n);
  const digits = String(rounded).padStart(3, '0');
  return `${scaled < 0n && rounded > 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** A currency's code, or `no currency`. */
export function currencyText(currency: string): string {
  return currency === '' ? 'no currency' : currency;
}

/** A rounded amount with its currency. */
export function moneyText(amount: string, currency: string): Html {
  return html`${shownIn(currency)(amount)} ${currencyText(currency)}`;
}

/** The absolute value of an exact difference: `0.01 apart`. */
export function apartText(difference: string, currency: string): string {
  return `${amountsIn(currency)(difference.replace('-', ''))} apart`;
}

/** Total number of the amounts that rows sum up. */
export function timesOf(rows: readonly { readonly times: number }[]): number {
  return rows.reduce((sum, { times }) => sum + times, 0);
}

/** An ISO 8601 instant to the minute: `2025-03-08 00:05`. */
export function minuteText(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}

/** The English name of a currency, such as `US Dollar`; undefined for an unknown code. */
export function currencyName(code: string): string | undefined {
  if (!/^[A-Z]{3}$/.test(code)) return undefined;
  return new Intl.DisplayNames('en', { type: 'currency', fallback: 'none' }).of(code);
}
