import { shortInstant } from '../../core/numeric/instant.js';
import type { EventSink, EventLineKind } from './event-writer.js';
import type { OrderIds } from '../profiles/seeded-random.js';
import type { SellerMarketplace, Profile, Spellings } from '../profiles/seller-profile.js';

/** Number of choices among spellings of a number: most give the usual one, all are legal JSON. */
const spellingCount = 32;
/** The choice of the usual spelling, also when shifted by some bits: the last spelling, and the usual order of members. */
export const usualChoice = 0xffff;

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

/** The usual spelling, with the currency's decimal places; undefined where these don't suffice. */
function usualText(millionths: number, scale: number): string | undefined {
  const absolute = Math.abs(millionths);
  const minorUnit = scale === 0 ? 1_000_000 : 10_000;
  const coins = Math.floor(absolute / minorUnit);
  if (coins * minorUnit !== absolute) return undefined;
  const sign = millionths < 0 ? '-' : '';
  if (scale === 0) return `${sign}${coins}`;
  const whole = Math.floor(coins / 100);
  const cents = coins - whole * 100;
  return `${sign}${whole}.${cents < 10 ? '0' : ''}${cents}`;
}

/**
 * An amount in millionths as a JSON number, exact, with at most six decimal places. `scale`: decimal places of the
 * currency, 0 or 2; `choice`: random bits that choose the spelling.
 */
export function numberText(millionths: number | bigint, scale: number, choice: number): string {
  const spelling = choice % spellingCount;
  if (typeof millionths === 'number' && spelling >= 7) {
    // The fast path for most amounts.
    const usual = millionths === 0 && spelling % 4 === 1 ? undefined : usualText(millionths, scale);
    if (usual !== undefined) return usual;
  }
  const isNegative = millionths < 0;
  const text = String(millionths);
  const digits = (isNegative ? text.slice(1) : text).padStart(7, '0');
  const whole = digits.slice(0, -6);
  const fraction = digits.slice(-6);
  const least = trimmed(fraction);
  const isZero = least === '' && whole === '0';
  // Zero may have a minus sign.
  const sign = isNegative || (isZero && spelling % 4 === 1) ? '-' : '';
  const withDecimals = (digits: number) =>
    digits === 0 ? sign + whole : `${sign}${whole}.${fraction.slice(0, digits)}`;
  switch (spelling) {
    case 0:
    case 1:
      return withDecimals(least.length);
    case 2:
      return withDecimals(Math.max(least.length, 3));
    case 3:
      return isZero ? `${sign}0E0` : withExponent(sign, digits, 'E');
    case 4:
      return isZero ? `${sign}0e+2` : withExponent(sign, digits, 'e');
    case 5:
      return withDecimals(6);
    case 6:
      return withDecimals(Math.max(least.length, 1));
    default:
      return withDecimals(Math.max(least.length, scale));
  }
}

/** Writes an event's JSON as text, so that numbers and strings keep their chosen spelling. */
export class JsonSink implements EventSink {
  readonly #orderIds: OrderIds;
  #json = '';
  #hasMember = false;
  readonly #oddities: boolean;
  #marketplace: SellerMarketplace;
  #variety = 0;
  #order = NaN;
  #orderId = '';
  #minute = NaN;
  #minuteText = '';

  constructor(orderIds: OrderIds, { marketplaces, oddities }: Profile) {
    this.#orderIds = orderIds;
    this.#marketplace = marketplaces[0];
    this.#oddities = oddities;
  }

  /** The event's JSON. */
  finish(): string {
    return `${this.#json}}`;
  }

  begin(marketplace: SellerMarketplace, variety: number): void {
    this.#json = '{';
    this.#hasMember = false;
    this.#marketplace = marketplace;
    this.#variety = variety;
  }

  text(key: string, value: string): void {
    this.#key(key);
    this.#json += `"${value}"`;
  }

  words(key: string, value: Spellings): void {
    this.#key(key);
    this.#json += value[this.#choice() % value.length] ?? value[0];
  }

  number(key: string, value: string | number): void {
    this.#key(key);
    this.#json += String(value);
  }

  instant(key: string, at: number): void {
    this.text(key, this.#instantText(at));
  }

  order(key: string, ordinal: number): void {
    // Most events contain their order's id twice.
    if (this.#order !== ordinal) {
      this.#order = ordinal;
      this.#orderId = this.#orderIds.idOf(ordinal);
    }
    this.text(key, this.#orderId);
  }

  net(key: string, millionths: number): void {
    this.#key(key);
    this.#json += this.#moneyText(millionths);
  }

  memo(key: string, millionths: number): void {
    this.net(key, millionths);
  }

  /** The most frequent call: it writes the whole element at once. */
  line(kind: EventLineKind, type: string, millionths: number): void {
    const comma = this.#hasMember ? ',' : '';
    this.#hasMember = true;
    this.#json += `${comma}{"${kind}Type":"${type}","${kind}Amount":${this.#moneyText(millionths)}}`;
  }

  beginObject(key: string): void {
    this.#key(key);
    this.#json += '{';
    this.#hasMember = false;
  }

  endObject(): void {
    this.#json += '}';
    this.#hasMember = true;
  }

  beginList(key: string): void {
    this.#key(key);
    this.#json += '[';
    this.#hasMember = false;
  }

  beginElement(): void {
    this.#json += this.#hasMember ? ',{' : '{';
    this.#hasMember = false;
  }

  endElement(): void {
    this.endObject();
  }

  endList(): void {
    this.#json += ']';
    this.#hasMember = true;
  }

  /** Like `shortInstant`, optimised for consecutive instants in the same minute. */
  #instantText(at: number): string {
    const minute = Math.floor(at / 60_000);
    const rest = at - minute * 60_000;
    if (rest % 1000 !== 0) return shortInstant(at);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#minuteText = shortInstant(minute * 60_000).slice(0, 17);
    }
    const second = rest / 1000;
    return `${this.#minuteText}${second < 10 ? '0' : ''}${second}Z`;
  }

  #key(key: string): void {
    this.#json += this.#hasMember ? `,"${key}":` : `"${key}":`;
    this.#hasMember = true;
  }

  #choice(): number {
    if (!this.#oddities) return usualChoice;
    this.#variety = (Math.imul(this.#variety, 1_664_525) + 1_013_904_223) | 0;
    return this.#variety >>> 16;
  }

  #moneyText(millionths: number): string {
    const { currency, scale } = this.#marketplace;
    const choice = this.#choice();
    const amount = numberText(millionths, scale, choice);
    // The order of members has no meaning, so it varies.
    return choice >>> 11 === 0
      ? `{"CurrencyAmount":${amount},"CurrencyCode":"${currency}"}`
      : `{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
  }
}
