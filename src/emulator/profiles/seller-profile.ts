import { eventLists, type EventListName } from '../../sources/finances/api-v0/event-records.js';
import type { Draw, NonEmpty } from './seeded-random.js';

/** One string in several JSON spellings, quotes included, which differ in their escapes alone. */
export type Spellings = NonEmpty<string>;

export interface Product {
  readonly sku: Spellings;
  readonly fnSku: string;
  readonly asin: string;
  readonly title: Spellings;
}

/** An item of an order with its amounts, in the currency's smallest minorUnit; the same for each event of the order. */
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
  /** Below 0, like all fees. */
  readonly commission: number;
  /** 0 where the seller ships the item. */
  readonly fulfilment: number;
  /** Fee by which the marketplace passes on digital services taxes. */
  readonly digitalServices: number;
  /** 0 or below. */
  readonly points: number;
}

export interface Order {
  /** Whether the marketplace withholds the tax and remits it. */
  readonly facilitated: boolean;
  /** Undefined: the marketplace's id serves as the seller's. */
  readonly sellerOrderId: string | undefined;
  readonly items: NonEmpty<OrderItem>;
}

/** A share of an amount in per cent, truncated to whole units. */
export function percent(amount: number, hundredths: number): number {
  return Math.trunc((amount * hundredths) / 100);
}

/** A marketplace with its currency; the seller has one marketplace for each currency. */
export interface SellerMarketplace {
  /** Position in the profile's list. */
  readonly index: number;
  readonly currency: string;
  /** Millionths in the currency's smallest minorUnit: 10,000 for a cent. */
  readonly minorUnit: number;
  /** Decimal places of the currency: 0 or 2. */
  readonly scale: number;
  /** Price level: the number of smallest units that correspond to one US dollar cent. */
  readonly level: number;
  /** US dollars for a million units of the currency, for converted totals. */
  readonly dollars: bigint;
  readonly name: string;
  readonly id: string;
  readonly country: string;
  readonly stores: NonEmpty<Spellings>;
}

/**
 * Smallest and largest value of each price in US dollar cents: for a plausible seller, then for the one with edge
 * cases.
 */
export const prices = {
  adhocDisbursement: [1000, 4000, 1000, 90_000],
  adjustment: [900, 3200, 50, 6000],
  affordability: [50, 300, 100, 3000],
  capacity: [500, 2500, 500, 20_000],
  commingling: [40, 250, 200, 4000],
  comminglingTax: [4, 40, 10, 500],
  debt: [150, 900, 100, 30_000],
  debtMargin: [0, 0, 0, 500],
  deal: [3000, 7000, 3000, 50_000],
  ebtRefund: [300, 2500, 100, 4000],
  failedTransfer: [1000, 4000, 1000, 90_000],
  imaging: [900, 2000, 2000, 9000],
  liquidation: [200, 1500, 100, 9000],
  overpayment: [10, 90, 1, 500],
  payWithAmazon: [1999, 6999, 500, 20_000],
  productAds: [18_000, 46_000, 100, 50_000],
  providerCredit: [100, 900, 100, 5000],
  removal: [100, 1200, 50, 5000],
  removalAdjustment: [50, 300, 50, 900],
  rental: [900, 2500, 1000, 9000],
  rentalHandling: [100, 300, 100, 500],
  rentalReimbursement: [900, 2500, 1000, 9000],
  rentalValue: [2500, 6000, 2000, 9000],
  retrocharge: [20, 250, 10, 900],
  retrochargeShipping: [0, 30, 0, 90],
  review: [1500, 4000, 1000, 6000],
  reviewTax: [100, 300, 10, 500],
  safet: [900, 2800, 300, 8000],
  storage: [350, 1900, 5, 2000],
  storageTax: [10, 60, 0, 99],
  subscriptionRefund: [399, 999, 3999, 3999],
  subscriptionRefundTax: [0, 60, 0, 400],
  tds: [5, 60, 10, 900],
  trialFulfilment: [332, 512, 200, 900],
  trialTransport: [10, 60, 10, 90],
  valueAdded: [500, 2500, 1000, 40_000],
  withholdingBase: [2000, 20_000, 5000, 900_000],
} as const satisfies Record<string, readonly [least: number, most: number, oddLeast: number, oddMost: number]>;

/** Facts of a marketplace that are the same for every seller. */
const marketplaceFacts = {
  USD: { name: 'Amazon.com', id: 'ATVPDKIKX0DER', country: 'US', dollars: 1_000_000n },
  CAD: { name: 'Amazon.ca', id: 'A2EUQ1WTGCTBG2', country: 'CA', dollars: 731_250n },
  MXN: { name: 'Amazon.com.mx', id: 'A1AM78C64UM0Y8', country: 'MX', dollars: 54_321n },
  GBP: { name: 'Amazon.co.uk', id: 'A1F83G8C2ARO7P', country: 'GB', dollars: 1_268_000n },
  EUR: { name: 'Amazon.de', id: 'A1PA6795UKMFR9', country: 'DE', dollars: 1_083_000n },
  JPY: { name: 'Amazon.co.jp', id: 'A1VC38T7YXB528', country: 'JP', dollars: 6_789n },
} as const;

export function marketplaceIn<T extends Pick<SellerMarketplace, 'index' | 'level' | 'stores'>>(
  currency: keyof typeof marketplaceFacts,
  sellerFacts: T,
): SellerMarketplace & T {
  const coin = currency === 'JPY' ? { minorUnit: 1_000_000, scale: 0 } : { minorUnit: 10_000, scale: 2 };
  return { currency, ...coin, ...marketplaceFacts[currency], ...sellerFacts };
}

type DescriptionName =
  'coupon' | 'deal' | 'service' | 'capacity' | 'fee' | 'instrument' | 'payment' | 'refundReason' | 'provider';

/** A loan event: its type, and the change of the balance in US dollar cents. */
export interface LoanEvent {
  readonly type: 'LoanAdvance' | 'LoanPayment' | 'LoanRefund';
  readonly cents: number;
}

/** The distribution of events over days. Ordinals increase from day to day without a first one. */
export interface EventDensity {
  readonly perDay: number;
  /** The ordinal of the first event on or after a day (days since 1970-01-01). */
  firstOf: (day: number) => number;
  /** The day of an event (days since 1970-01-01). */
  dayOf: (ordinal: number) => number;
}

/** A kind of seller: its marketplaces, the number of events of each list, and their amounts. */
export interface Profile {
  /** The seller's marketplaces; the first one is its home. */
  readonly marketplaces: NonEmpty<SellerMarketplace>;
  /**
   * Whether to generate rare input that a client must handle: numbers and strings in every legal spelling, amounts
   * below the smallest coin, members in another order, lists in unusual positions, identical events, instants with
   * milliseconds.
   */
  readonly oddities: boolean;
  readonly products: NonEmpty<Product>;
  readonly descriptions: Readonly<Record<DescriptionName, NonEmpty<Spellings>>>;
  /** The marketplace of an event, or of the order that it concerns, by 32 random bits. */
  marketplaceOf(bits: number, list: EventListName): SellerMarketplace;
  /** Number of events of each list in a block, for a seller with `quarterly` events in 90 days. */
  blockCounts(quarterly: number): ReadonlyMap<EventListName, number>;
  density(events: number, days: number): EventDensity;
  drawOrder(draw: Draw, marketplace: SellerMarketplace): Order;
  /** The loan event of a block of `size` events. */
  drawLoan(draw: Draw, block: number, size: number): LoanEvent;
  /** Whether the transfer of a settlement period fails, so that the next period starts with its total. */
  isCarriedOver: (marketplace: SellerMarketplace, period: number) => boolean;
  /** The beginning balance of a period without a carried-over total, in US dollar cents, by 32 random bits. */
  openingCents(bits: number): number;
}

const repeatedLists: readonly EventListName[] = [
  'ShipmentEventList',
  'RefundEventList',
  'ServiceFeeEventList',
  'AdjustmentEventList',
  'ProductAdsPaymentEventList',
  'CouponPaymentEventList',
];

/** Lists with one event in each block, in every profile: rare kinds such as claims and loans. */
export const onceEach: readonly (readonly [EventListName, number])[] = (Object.keys(eventLists) as EventListName[])
  .filter((list) => !repeatedLists.includes(list))
  .map((list) => [list, 1]);

/**
 * A density with the same number of events every day: day d has floor(N(d+1)/days) - floor(N·d/days) events, so that
 * any `days` consecutive whole days have exactly N, wherever counting starts. Products stay below 2^53 for up to 10^9
 * events.
 */
export function createEvenDensity(events: number, days: number): EventDensity {
  return {
    perDay: events / days,
    firstOf: (day) => Math.floor((events * day) / days),
    dayOf: (ordinal) => Math.ceil(((ordinal + 1) * days) / events) - 1,
  };
}
