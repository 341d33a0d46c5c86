import { type Draw, inTurn, type NonEmpty } from '../profiles/seeded-random.js';
import {
  prices,
  type SellerMarketplace,
  type Order,
  type Profile,
  type Spellings,
} from '../profiles/seller-profile.js';
import type { Period } from './event-calendar.js';

/**
 * Receives the members of an event. Different sinks turn the same calls into its JSON, its sum or a list of its
 * amounts, so that the seller's books and its JSON have one source and don't depend on each other.
 */
export interface EventSink {
  /** Starts an event. `variety`: random bits that choose among equivalent spellings. */
  begin(marketplace: SellerMarketplace, variety: number): void;
  /** A string without characters that JSON escapes. */
  text(key: string, value: string): void;
  /** A string, written in one of its spellings. */
  words(key: string, value: Spellings): void;
  /** A number, written as the given text. */
  number(key: string, value: string | number): void;
  /** Milliseconds since 1970. */
  instant(key: string, at: number): void;
  /** The id of the order that the event with this ordinal started. */
  order(key: string, ordinal: number): void;
  /** An amount in millionths that counts towards the seller's balance. */
  net(key: string, millionths: number): void;
  /** An amount in millionths that repeats other amounts and doesn't count. */
  memo(key: string, millionths: number): void;
  /** An element of a list with a type and an amount: a ChargeComponent (`Charge`) or a FeeComponent (`Fee`). */
  line(kind: EventLineKind, type: string, millionths: number, weight: Weight): void;
  beginObject(key: string): void;
  endObject(): void;
  beginList(key: string): void;
  beginElement(): void;
  endElement(): void;
  endList(): void;
}

export type EventLineKind = 'Charge' | 'Fee';
export type Weight = 'net' | 'memo';
export type Amounts = readonly (readonly [type: string, millionths: number])[];

/** Writes a list of objects. */
export function elements<T>(sink: EventSink, key: string, items: readonly T[], write: (item: T) => void): void {
  sink.beginList(key);
  for (const item of items) {
    sink.beginElement();
    write(item);
    sink.endElement();
  }
  sink.endList();
}

/** Writes a list of ChargeComponent. */
export function charges(sink: EventSink, key: string, amounts: Amounts, weight: Weight = 'net'): void {
  sink.beginList(key);
  for (const [type, millionths] of amounts) sink.line('Charge', type, millionths, weight);
  sink.endList();
}

/** Writes a list of FeeComponent. */
export function fees(sink: EventSink, key: string, amounts: Amounts): void {
  sink.beginList(key);
  for (const [type, millionths] of amounts) sink.line('Fee', type, millionths, 'net');
  sink.endList();
}

/** Writes a single ChargeComponent. */
export function charge(sink: EventSink, key: string, type: string, millionths: number): void {
  sink.beginObject(key);
  sink.text('ChargeType', type);
  sink.net('ChargeAmount', millionths);
  sink.endObject();
}

/** Writes a single FeeComponent. */
export function fee(sink: EventSink, type: string, millionths: number): void {
  sink.beginObject('FeeComponent');
  sink.text('FeeType', type);
  sink.net('FeeAmount', millionths);
  sink.endObject();
}

/** Writes a list with one TaxWithheldComponent; in the standard model nothing is withheld. */
export function taxWithheld(sink: EventSink, key: string, facilitated: boolean, amounts: Amounts): void {
  elements(sink, key, [facilitated], () => {
    sink.text('TaxCollectionModel', facilitated ? 'MarketplaceFacilitator' : 'Standard');
    charges(sink, 'TaxesWithheld', facilitated ? amounts : []);
  });
}

/** The input of an event's writer, which determines its contents. */
export interface EventContext {
  readonly profile: Profile;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly marketplace: SellerMarketplace;
  /** Ordinal of the event that started the order it concerns; its own where it concerns none. */
  readonly order: number;
  /** Number of the block: members that must all occur over time are chosen by turn, not at random. */
  readonly block: number;
  /** Number of events in a block. */
  readonly blockSize: number;
  /** Number among its list's events in its block, from 0. */
  readonly nth: number;
  readonly draw: Draw;
  /** The contents of the order; it doesn't affect other random numbers. */
  drawnOrder(): Order;
  /** The settlement period in which it is booked. */
  period(): Period;
  /** The settlement period before that. */
  earlierPeriod(): Period;
  groupIdOf(period: Period): string;
}

export type EventWriter = (context: EventContext, sink: EventSink) => void;

/** True in three turns of four; `offset` prevents fields from always occurring together. */
export function mostly({ block }: EventContext, offset: number): boolean {
  return (((block + offset) % 4) + 4) % 4 !== 0;
}

/** The element of a list for the event's turn. */
export function byTurn<T>({ block }: EventContext, list: NonEmpty<T>): T {
  return inTurn(block, list);
}

/** US dollar cents as millionths of the marketplace's currency, by its price level. */
export function millionthsOf({ marketplace: { level, minorUnit } }: EventContext, cents: number): number {
  return Math.round(cents * level) * minorUnit;
}

/** A random price of the profile in millionths. */
export function price(context: EventContext, name: keyof typeof prices): number {
  const [least, most, oddLeast, oddMost] = prices[name];
  const { draw, profile } = context;
  return millionthsOf(context, profile.oddities ? draw.between(oddLeast, oddMost) : draw.between(least, most));
}

/** A share of an amount in hundredths, truncated to the currency's smallest minorUnit. */
export function share({ marketplace }: EventContext, millionths: number, hundredths: number): number {
  return Math.trunc(((millionths / marketplace.minorUnit) * hundredths) / 100) * marketplace.minorUnit;
}
