import type { Market } from './marketplaces.js';
import type { Spellings } from './catalogue.js';

/**
 * What an event is written on. The same calls make its JSON, add up its money, or list its amounts, so that the
 * seller's books and what it says about itself come from one place and not from each other.
 */
export interface Draft {
  /** Begins an event; `variety`: random bits that choose among spellings that mean the same. */
  begin(market: Market, variety: number): void;
  /** A string without anything that JSON would escape. */
  text(key: string, value: string): void;
  /** A string in one of its spellings. */
  words(key: string, value: Spellings): void;
  /** A number as its text. */
  number(key: string, value: string | number): void;
  /** Milliseconds since 1970. */
  instant(key: string, at: number): void;
  /** The id of the order that the event of this ordinal began. */
  order(key: string, ordinal: number): void;
  /** Money in millionths that counts towards the seller's balance. */
  net(key: string, millionths: number): void;
  /** Money in millionths that only says what other amounts count. */
  memo(key: string, millionths: number): void;
  /** An element of a list: a type and its money, as ChargeComponent (`Charge`) and FeeComponent (`Fee`) have them. */
  line(kind: LineKind, type: string, millionths: number, weight: Weight): void;
  beginObject(key: string): void;
  endObject(): void;
  beginList(key: string): void;
  beginElement(): void;
  endElement(): void;
  endList(): void;
}

export type LineKind = 'Charge' | 'Fee';
export type Weight = 'net' | 'memo';
export type Amounts = readonly (readonly [type: string, millionths: number])[];

/** A list of ChargeComponent. */
export function charges(draft: Draft, key: string, amounts: Amounts, weight: Weight = 'net'): void {
  draft.beginList(key);
  for (const [type, millionths] of amounts) draft.line('Charge', type, millionths, weight);
  draft.endList();
}

/** A list of FeeComponent. */
export function fees(draft: Draft, key: string, amounts: Amounts): void {
  draft.beginList(key);
  for (const [type, millionths] of amounts) draft.line('Fee', type, millionths, 'net');
  draft.endList();
}

/** A single ChargeComponent. */
export function charge(draft: Draft, key: string, type: string, millionths: number): void {
  draft.beginObject(key);
  draft.text('ChargeType', type);
  draft.net('ChargeAmount', millionths);
  draft.endObject();
}

/** A single FeeComponent. */
export function fee(draft: Draft, key: string, type: string, millionths: number): void {
  draft.beginObject(key);
  draft.text('FeeType', type);
  draft.net('FeeAmount', millionths);
  draft.endObject();
}

/** A list with one TaxWithheldComponent; by the standard model nothing is withheld. */
export function taxWithheld(draft: Draft, key: string, facilitated: boolean, amounts: Amounts): void {
  draft.beginList(key);
  draft.beginElement();
  draft.text('TaxCollectionModel', facilitated ? 'MarketplaceFacilitator' : 'Standard');
  charges(draft, 'TaxesWithheld', facilitated ? amounts : []);
  draft.endElement();
  draft.endList();
}
