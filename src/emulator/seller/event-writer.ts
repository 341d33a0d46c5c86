import { type Draw, inTurn, type NonEmpty } from '../profiles/seeded-random.js';
import { prices, type Marketplace, type Order, type Profile, type Spellings } from '../profiles/seller-profile.js';
import type { Period } from './event-calendar.js';

/**
 * What an event is written on. The same calls make its JSON, add up its money, or list its amounts, so that the
 * seller's books and its JSON have one source and neither depends on the other.
 */
export interface EventSink {
  /** Begins an event; `variety`: random bits that choose among spellings that mean the same. */
  begin(marketplace: Marketplace, variety: number): void;
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

/** A list of objects. */
export function elements<T>(sink: EventSink, key: string, items: readonly T[], write: (item: T) => void): void {
  sink.beginList(key);
  for (const item of items) {
    sink.beginElement();
    write(item);
    sink.endElement();
  }
  sink.endList();
}

/** A list of ChargeComponent. */
export function charges(sink: EventSink, key: string, amounts: Amounts, weight: Weight = 'net'): void {
  sink.beginList(key);
  for (const [type, millionths] of amounts) sink.line('Charge', type, millionths, weight);
  sink.endList();
}

/** A list of FeeComponent. */
export function fees(sink: EventSink, key: string, amounts: Amounts): void {
  sink.beginList(key);
  for (const [type, millionths] of amounts) sink.line('Fee', type, millionths, 'net');
  sink.endList();
}

/** A single ChargeComponent. */
export function charge(sink: EventSink, key: string, type: string, millionths: number): void {
  sink.beginObject(key);
  sink.text('ChargeType', type);
  sink.net('ChargeAmount', millionths);
  sink.endObject();
}

/** A single FeeComponent. */
export function fee(sink: EventSink, key: string, type: string, millionths: number): void {
  sink.beginObject(key);
  sink.text('FeeType', type);
  sink.net('FeeAmount', millionths);
  sink.endObject();
}

/** A list with one TaxWithheldComponent; by the standard model nothing is withheld. */
export function taxWithheld(sink: EventSink, key: string, facilitated: boolean, amounts: Amounts): void {
  elements(sink, key, [facilitated], () => {
    sink.text('TaxCollectionModel', facilitated ? 'MarketplaceFacilitator' : 'Standard');
    charges(sink, 'TaxesWithheld', facilitated ? amounts : []);
  });
}

/** An event as its writer sees it: all that decides what is in it. */
export interface EventContext {
  readonly profile: Profile;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly marketplace: Marketplace;
  /** The ordinal of the event that began the order it is about; its own where it is about none. */
  readonly order: number;
  /** Counts the blocks: what should come sooner or later comes by turns, not by chance. */
  readonly turn: number;
  /** How many events a block has. */
  readonly blockSize: number;
  /** Which event of its list it is in its block. */
  readonly nth: number;
  readonly draw: Draw;
  /** The contents of the order; disturbs no other draw. */
  drawnOrder(): Order;
  /** The settlement period that it is booked in. */
  period(): Period;
  /** The one before that. */
  earlierPeriod(): Period;
  groupIdOf(period: Period): string;
}

export type EventWriter = (context: EventContext, sink: EventSink) => void;

/** True in three turns of four; `offset` keeps fields from coming and going together. */
export function mostly({ turn }: EventContext, offset: number): boolean {
  return (((turn + offset) % 4) + 4) % 4 !== 0;
}

/** One of a list by turns. */
export function byTurn<T>({ turn }: EventContext, list: NonEmpty<T>): T {
  return inTurn(turn, list);
}

/** So many dollar cents in millionths, or what costs the like in the marketplace's currency. */
export function millionthsOf({ marketplace: { level, unit } }: EventContext, cents: number): number {
  return Math.round(cents * level) * unit;
}

/** A price of the profile in millionths. */
export function price(context: EventContext, name: keyof typeof prices): number {
  const [least, most] = prices[name][context.profile.oddities ? 1 : 0];
  return millionthsOf(context, context.draw.between(least, most));
}

/** A share of an amount in hundredths, cut to the currency's smallest unit. */
export function share({ marketplace }: EventContext, millionths: number, hundredths: number): number {
  return Math.trunc(((millionths / marketplace.unit) * hundredths) / 100) * marketplace.unit;
}
