import type { Market } from './marketplaces.js';
import { type Draw, type NonEmpty } from './seeded-random.js';
import { type Product, products } from './catalogue.js';

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

function itemOf(draw: Draw, market: Market, taxRate: number, isFulfilled: boolean): OrderItem {
  const quantity = draw.once(6) ? draw.between(2, 5) : 1;
  const price = draw.once(12) ? draw.between(10, 90) * 1000 : draw.between(4, 60) * 100 - draw.pick([1, 5, 50]);
  const principal = price * market.level * quantity;
  const shipping = draw.once(5) ? draw.between(199, 899) * market.level : 0;
  const promotion = draw.once(6) ? -percent(principal, draw.between(5, 20)) : 0;
  return {
    product: draw.pick(products),
    orderItemId: draw.digits(14),
    quantity,
    principal,
    tax: percent(principal, taxRate),
    shipping,
    shippingTax: percent(shipping, taxRate),
    giftwrap: draw.once(20) ? 399 * market.level : 0,
    promotion,
    promotionId: promotion === 0 ? '' : draw.code(10),
    commission: -percent(principal + shipping, draw.pick([8, 12, 15])),
    fulfilment: isFulfilled ? -draw.between(250, 990) * market.level * quantity : 0,
    points: market.currency === 'JPY' ? -percent(principal, 1) : draw.once(8) ? -draw.between(1, 99) : 0,
  };
}

/** Draws an order. */
export function drawOrder(draw: Draw, market: Market): Order {
  const facilitated = draw.below(4) > 0;
  const sellerOrderId = draw.once(10) ? `WEB-${draw.digits(7)}` : undefined;
  const taxRate = draw.pick([0, 5, 7, 8, 10, 16]);
  const isFulfilled = draw.below(3) > 0;
  const first = itemOf(draw, market, taxRate, isFulfilled);
  if (!draw.once(5)) return { facilitated, sellerOrderId, items: [first] };
  const more = Array.from({ length: draw.between(1, 2) }, () => itemOf(draw, market, taxRate, isFulfilled));
  return { facilitated, sellerOrderId, items: [first, ...more] };
}
