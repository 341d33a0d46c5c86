import { orderIdPattern } from '../../sources/finances/api-v0/operations.js';
import { type Product, products } from './catalogue.js';
import type { Marketplace } from './marketplaces.js';
import { type Draw, hash, type NonEmpty } from './seeded-random.js';

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
function percent(amount: number, hundredths: number): number {
  return Math.trunc((amount * hundredths) / 100);
}

function itemOf(draw: Draw, marketplace: Marketplace, taxRate: number, isFulfilled: boolean): OrderItem {
  const quantity = draw.once(6) ? draw.between(2, 5) : 1;
  const price = draw.once(12) ? draw.between(10, 90) * 1000 : draw.between(4, 60) * 100 - draw.pick([1, 5, 50]);
  const principal = price * marketplace.level * quantity;
  const shipping = draw.once(5) ? draw.between(199, 899) * marketplace.level : 0;
  const promotion = draw.once(6) ? -percent(principal, draw.between(5, 20)) : 0;
  return {
    product: draw.pick(products),
    orderItemId: draw.digits(14),
    quantity,
    principal,
    tax: percent(principal, taxRate),
    shipping,
    shippingTax: percent(shipping, taxRate),
    giftwrap: draw.once(20) ? 399 * marketplace.level : 0,
    promotion,
    promotionId: promotion === 0 ? '' : draw.code(10),
    commission: -percent(principal + shipping, draw.pick([8, 12, 15])),
    fulfilment: isFulfilled ? -draw.between(250, 990) * marketplace.level * quantity : 0,
    points: marketplace.currency === 'JPY' ? -percent(principal, 1) : draw.once(8) ? -draw.between(1, 99) : 0,
  };
}

/** Draws an order. */
export function drawOrder(draw: Draw, marketplace: Marketplace): Order {
  const facilitated = draw.below(4) > 0;
  const sellerOrderId = draw.once(10) ? `WEB-${draw.digits(7)}` : undefined;
  const taxRate = draw.pick([0, 5, 7, 8, 10, 16]);
  const isFulfilled = draw.below(3) > 0;
  const first = itemOf(draw, marketplace, taxRate, isFulfilled);
  if (!draw.once(5)) return { facilitated, sellerOrderId, items: [first] };
  const more = Array.from({ length: draw.between(1, 2) }, () => itemOf(draw, marketplace, taxRate, isFulfilled));
  return { facilitated, sellerOrderId, items: [first, ...more] };
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
