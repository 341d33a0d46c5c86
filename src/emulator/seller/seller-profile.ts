import type { EventListName } from '../../sources/finances/model/records.js';
import type { Density } from './event-calendar.js';
import type { Order, Product, Spellings } from './order-model.js';
import type { Draw, NonEmpty } from './seeded-random.js';

/** A marketplace, and with it a currency: the seller has one of each. */
export interface Marketplace {
  /** Position in the profile's list. */
  readonly index: number;
  readonly currency: string;
  /** Millionths in the currency's smallest unit: 10 000 for a cent. */
  readonly unit: number;
  /** Digits behind the point that the currency has: 0 or 2. */
  readonly scale: number;
  /** What costs a dollar's cent costs this many of the smallest unit. */
  readonly level: number;
  /** US dollars for a million of the currency, for converted totals. */
  readonly dollars: bigint;
  readonly name: string;
  readonly id: string;
  readonly country: string;
  readonly stores: NonEmpty<Spellings>;
}

/** What the writers of events draw prices for. */
export type PriceName =
  | 'adhocDisbursement'
  | 'adjustment'
  | 'affordability'
  | 'capacity'
  | 'commingling'
  | 'comminglingTax'
  | 'debt'
  | 'debtMargin'
  | 'deal'
  | 'ebtRefund'
  | 'failedTransfer'
  | 'imaging'
  | 'liquidation'
  | 'overpayment'
  | 'payWithAmazon'
  | 'productAds'
  | 'providerCredit'
  | 'removal'
  | 'removalAdjustment'
  | 'rental'
  | 'rentalHandling'
  | 'rentalReimbursement'
  | 'rentalValue'
  | 'retrocharge'
  | 'retrochargeShipping'
  | 'review'
  | 'reviewTax'
  | 'safet'
  | 'storage'
  | 'storageTax'
  | 'subscriptionRefund'
  | 'subscriptionRefundTax'
  | 'tds'
  | 'trialFulfilment'
  | 'trialTransport'
  | 'valueAdded'
  | 'withholdingBase';

/** The least and the most of each price, in dollar cents. */
export type PriceRanges = Readonly<Record<PriceName, readonly [least: number, most: number]>>;

export type DescriptionName =
  'coupon' | 'deal' | 'service' | 'capacity' | 'fee' | 'instrument' | 'payment' | 'refundReason' | 'provider';

/** A loan event: its type, and the dollar cents by which it changes the balance. */
export interface LoanEvent {
  readonly type: 'LoanAdvance' | 'LoanPayment' | 'LoanRefund';
  readonly cents: number;
}

/** What sort of seller it is: which marketplaces, how many events of each list, and what they are worth. */
export interface Profile {
  /** The first one is the seller's home. */
  readonly marketplaces: NonEmpty<Marketplace>;
  /**
   * Whether to have what a client must handle and rarely meets: numbers and texts in every legal spelling, amounts below
   * the smallest coin, members in another order, lists in unusual positions, identical events, instants with milliseconds.
   */
  readonly oddities: boolean;
  readonly products: NonEmpty<Product>;
  readonly descriptions: Readonly<Record<DescriptionName, NonEmpty<Spellings>>>;
  readonly prices: PriceRanges;
  /** The marketplace of an event, or of the order that it is about, by 32 random bits. */
  marketplaceOf(bits: number, list: EventListName): Marketplace;
  /** How many events of each list a block has, for so many events in 90 days. */
  blockCounts(quarterly: number): ReadonlyMap<EventListName, number>;
  density(events: number, days: number): Density;
  drawOrder(draw: Draw, marketplace: Marketplace): Order;
  /** The loan event of a block of so many events. */
  drawLoan(draw: Draw, block: number, size: number): LoanEvent;
  /** Whether the transfer of a settlement period fails, so that the next one begins with its total. */
  isCarriedOver: (marketplace: Marketplace, period: number) => boolean;
  /** The balance, in dollar cents, that a period begins with where none was carried over, by 32 random bits. */
  openingCents(bits: number): number;
}
