import type { Draft, LineKind } from './event-writer.js';
import { type Market, markets } from './marketplaces.js';
import { numberText } from './number-text.js';
import type { OrderIds } from './order-ids.js';
import type { Spellings } from './catalogue.js';

/** ISO 8601 in UTC to the second, with milliseconds only where there are any. */
export function instantText(at: number): string {
  const text = new Date(at).toISOString();
  return at % 1000 === 0 ? `${text.slice(0, -5)}Z` : text;
}

/** Writes an event's JSON by hand, so that numbers and strings keep the spelling that was chosen for them. */
export class JsonDraft implements Draft {
  readonly #orderIds: OrderIds;
  #json = '';
  #hasMember = false;
  #market: Market = markets[0];
  #variety = 0;
  #order = NaN;
  #orderId = '';
  #minute = NaN;
  #minuteText = '';

  constructor(orderIds: OrderIds) {
    this.#orderIds = orderIds;
  }

  /** The event's JSON. */
  finish(): string {
    return `${this.#json}}`;
  }

  begin(market: Market, variety: number): void {
    this.#json = '{';
    this.#hasMember = false;
    this.#market = market;
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
    // An event mostly tells its order's id twice.
    if (this.#order !== ordinal) {
      this.#order = ordinal;
      this.#orderId = this.#orderIds.idOf(ordinal);
    }
    this.text(key, this.#orderId);
  }

  net(key: string, millionths: number): void {
    this.#money(key, millionths);
  }

  memo(key: string, millionths: number): void {
    this.#money(key, millionths);
  }

  /** Most of all calls are this one: it puts the whole element together at once. */
  line(kind: LineKind, type: string, millionths: number): void {
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

  /** As `instantText`, for a life in which most instants are near the one before. */
  #instantText(at: number): string {
    const minute = Math.floor(at / 60_000);
    const rest = at - minute * 60_000;
    if (rest % 1000 !== 0) return instantText(at);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#minuteText = instantText(minute * 60_000).slice(0, 17);
    }
    const second = rest / 1000;
    return `${this.#minuteText}${second < 10 ? '0' : ''}${second}Z`;
  }

  #key(key: string): void {
    this.#json += this.#hasMember ? `,"${key}":` : `"${key}":`;
    this.#hasMember = true;
  }

  #choice(): number {
    this.#variety = (Math.imul(this.#variety, 1_664_525) + 1_013_904_223) | 0;
    return this.#variety >>> 16;
  }

  #money(key: string, millionths: number): void {
    this.#key(key);
    this.#json += this.#moneyText(millionths);
  }

  #moneyText(millionths: number): string {
    const { currency, scale } = this.#market;
    const choice = this.#choice();
    const amount = numberText(millionths, scale, choice);
    // The order of members says nothing, so it isn't always the same.
    return choice >>> 11 === 0
      ? `{"CurrencyAmount":${amount},"CurrencyCode":"${currency}"}`
      : `{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
  }
}
