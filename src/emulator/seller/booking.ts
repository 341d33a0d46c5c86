import type { Draft } from './event-writer.js';
import type { Market } from './marketplaces.js';
import type { Order } from './order-model.js';
import type { Period } from './settlement-periods.js';
import type { Draw } from './seeded-random.js';

/** An event as its writer sees it: all that decides what is in it. */
export interface Booking {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly market: Market;
  /** The ordinal of the event that began the order it is about; its own where it is about none. */
  readonly order: number;
  /** Counts the blocks: what should come sooner or later comes by turns, not by chance. */
  readonly turn: number;
  /** Which event of its list it is in its block. */
  readonly nth: number;
  readonly draw: Draw;
  /** The contents of the order; disturbs no other draw. */
  orderContents(): Order;
  /** The settlement period that it is booked in. */
  period(): Period;
  /** The one before that. */
  earlierPeriod(): Period;
  groupIdOf(period: Period): string;
}

export type Writer = (booking: Booking, draft: Draft) => void;

/** True in three turns of four; `offset` keeps fields from coming and going together. */
export function mostly({ turn }: Booking, offset: number): boolean {
  return (((turn + offset) % 4) + 4) % 4 !== 0;
}

/** One of a list by turns. */
export function byTurn<T>({ turn }: Booking, list: readonly [T, ...T[]]): T {
  return list[((turn % list.length) + list.length) % list.length] ?? list[0];
}

/** A price in millionths between two numbers of dollar cents, or what costs the like in the market's currency. */
export function price({ draw, market }: Booking, least: number, most: number): number {
  return draw.between(least, most) * market.level * market.unit;
}

/** A share of an amount in hundredths, cut to the currency's smallest unit. */
export function share({ market }: Booking, millionths: number, hundredths: number): number {
  return Math.trunc(((millionths / market.unit) * hundredths) / 100) * market.unit;
}
