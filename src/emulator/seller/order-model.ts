import { orderIdPattern } from '../../sources/finances/api-v0/operations.js';
import { hash, type NonEmpty } from './seeded-random.js';

/** One string in several spellings of JSON, quotes included: they differ in their escapes and mean the same. */
export type Spellings = NonEmpty<string>;

export interface Product {
  readonly sku: Spellings;
  readonly fnSku: string;
  readonly asin: string;
  readonly title: Spellings;
}

/** What was bought and what it cost, in the currency's smallest unit; the same for each event of the order. */
export interface OrderItem {
  readonly product: Product;
  readonly orderItemId: string;
  readonly quantity: number;
  readonly principal: number;
  readonly tax: number;
  readonly shipping: number;
  readonly shippingTax: number;
  readonly giftwrap: number;
  /** 0 or below. */
  readonly promotion: number;
  readonly promotionId: string;
  /** Below 0, as all fees. */
  readonly commission: number;
  /** 0 where the seller ships itself. */
  readonly fulfilment: number;
  /** What the marketplace passes on of its own taxes. */
  readonly digitalServices: number;
  /** 0 or below. */
  readonly points: number;
}

export interface Order {
  /** Whether the marketplace keeps the tax and pays it itself. */
  readonly facilitated: boolean;
  /** undefined: the marketplace's own id serves as the seller's. */
  readonly sellerOrderId: string | undefined;
  readonly items: NonEmpty<OrderItem>;
}

/** A share of an amount, cut to whole units. */
export function percent(amount: number, hundredths: number): number {
  return Math.trunc((amount * hundredths) / 100);
}

const high = 1e8;
const low = 1e9;
/** Keeps the numbers of events before 1970 above 0. */
const shift = 1e15;
const rounds = [41, 42, 43, 44];

export interface OrderIds {
  /** The id of the order that an event began, as 3-7-7 digits. */
  idOf(ordinal: number): string;
  /** The ordinal behind an id, were it one of the seller's; undefined where it can't be. */
  ordinalOf(id: string): number | undefined;
}

/**
 * Order ids that look drawn by lot and can be read back: the ordinal as a number of 17 digits, shuffled one to one by
 * a Feistel network over its first 8 and its last 9 digits. Most of the 10^17 ids belong to no event near our time.
 */
export function createOrderIds(key: number): OrderIds {
  return {
    idOf: (ordinal) => {
      const number = ordinal + shift;
      let a = Math.floor(number / low);
      let b = number - a * low;
      for (const salt of rounds) {
        b = (b + hash(key, a, salt)) % low;
        a = (a + hash(key, b, salt)) % high;
      }
      const digits = String(a).padStart(8, '0') + String(b).padStart(9, '0');
      return `${digits.slice(0, 3)}-${digits.slice(3, 10)}-${digits.slice(10)}`;
    },
    ordinalOf: (id) => {
      if (!orderIdPattern.test(id)) return undefined;
      const digits = id.replaceAll('-', '');
      let a = Number(digits.slice(0, 8));
      let b = Number(digits.slice(8));
      for (const salt of rounds.toReversed()) {
        a = (((a - hash(key, b, salt)) % high) + high) % high;
        b = (((b - hash(key, a, salt)) % low) + low) % low;
      }
      const ordinal = a * low + b - shift;
      return Number.isSafeInteger(ordinal) ? ordinal : undefined;
    },
  };
}
