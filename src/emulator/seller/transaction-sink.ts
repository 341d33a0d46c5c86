import type { EventSink, EventLineKind, Weight } from './event-writer.js';
import type { Profile, Spellings } from '../profiles/seller-profile.js';

/** An amount that counts towards the balance. */
export interface CountedAmount {
  /** Breakdown types from the top one to its own. */
  readonly path: readonly string[];
  /** Whether it is revenue of the seller rather than a cost. */
  readonly isSale: boolean;
  /** Whether it is a fee, whose amount is gross. */
  readonly isFee: boolean;
  readonly millionths: number;
}

/** An item of an event. */
export interface SoldItem {
  /** As a JSON string, quotes included. */
  sku: string | undefined;
  asin: string | undefined;
  quantity: number | undefined;
  /** Name and value of its id. */
  id: readonly [name: string, value: string] | undefined;
  /** Total stated by the item, in millionths; used only where it has no amounts. */
  stated: number | undefined;
  readonly amounts: CountedAmount[];
}

const emptyItem = (): SoldItem => ({
  sku: undefined,
  asin: undefined,
  quantity: undefined,
  id: undefined,
  stated: undefined,
  amounts: [],
});

/** Breakdown types by v0's type of charge. */
const charges: Readonly<Record<string, readonly string[]>> = {
  Principal: ['ProductCharges', 'OurPricePrincipal'],
  Goodwill: ['ProductCharges', 'GoodwillPrincipal'],
  RestockingFee: ['ProductCharges', 'RestockingDeductionPrincipal'],
  ShippingCharge: ['Shipping', 'ShippingPrincipal'],
  GiftWrap: ['Giftwrap', 'GiftwrapPrincipal'],
  Tax: ['Tax', 'OurPriceTax'],
  ShippingTax: ['Tax', 'ShippingTax'],
  GiftWrapTax: ['Tax', 'GiftwrapTax'],
  SubscriptionFee: ['AmazonFees', 'Subscription'],
};

/** Breakdown types by the name of v0's other members. */
const members: Readonly<Record<string, readonly string[]>> = {
  CostOfPointsGranted: ['PromoRebates', 'CostOfPointsGranted'],
  CostOfPointsReturned: ['PromoRebates', 'CostOfPointsReturned'],
  PromotionAmount: ['PromoRebates'],
  BaseTax: ['BaseTax'],
  ShippingTax: ['Tax', 'ShippingTax'],
  taxValue: ['Tax'],
  taxAmount: ['Tax'],
  TaxAmount: ['Tax'],
  TaxAmountAdjustment: ['Tax'],
  TaxWithheld: ['MarketplaceFacilitatorTax-Other'],
  TaxWithheldAdjustment: ['MarketplaceFacilitatorTax-Other'],
  WithheldAmount: ['TaxWithheld'],
  feeAmount: ['AmazonFees', 'RunLightningDealFee'],
  FeeAmount: ['AmazonFees', 'LiquidationFee'],
  LiquidationFeeAmount: ['AmazonFees', 'LiquidationFee'],
  LiquidationProceedsAmount: ['RecommerceLiquidation'],
  Amount: ['Reimbursement'],
  Revenue: ['RecommerceLiquidation'],
  RevenueAdjustment: ['RecommerceLiquidation'],
  ReimbursedAmount: ['Reimbursement'],
  RentalReimbursement: ['RentalReimbursement'],
};

/** Breakdown types by v0's type of event, for amounts that have no other name. */
const typeNames: Readonly<Record<string, string>> = {
  'Disbursed to Amazon Gift Card balance': 'Disbursement',
  'FBA Inventory Fee': 'FBAInventoryFee',
  'Other Support Service fees': 'OtherSupportServiceFees',
  ReimbursementClawback: 'FBAReversedReimbursement',
  ReserveEvent: 'ReserveDebit',
};

/** Top breakdown types that are expenses whatever the sign of the amount. */
const costs = new Set(['AmazonFees', 'PromoRebates', 'MarketplaceFacilitatorTax', 'TaxWithheld']);

/**
 * Splits an event's amounts by item into the breakdowns of a transaction. It takes the same calls that write v0's JSON,
 * so that both APIs show the same money.
 */
export class TransactionSink implements EventSink {
  /** The event's type as stated in the event. */
  type = '';
  /** Ordinal of the event that started the order it names. */
  orderOrdinal: number | undefined;
  invoice: string | undefined;
  /** Amounts that belong to no item. */
  eventAmounts: CountedAmount[] = [];
  items: SoldItem[] = [];
  /** The product and quantity of an event without items. */
  eventItem = emptyItem();
  #item: SoldItem | undefined;
  /** Keys of the lists and objects that enclose the next member, outermost first. */
  readonly #keyPath: string[] = [];
  #componentType = '';
  readonly #asinOf: ReadonlyMap<Spellings, string>;

  constructor({ products }: Profile) {
    this.#asinOf = new Map(products.map(({ sku, asin }) => [sku, asin]));
  }

  begin(): void {
    this.type = '';
    this.orderOrdinal = undefined;
    this.invoice = undefined;
    this.eventAmounts = [];
    this.items = [];
    this.eventItem = emptyItem();
    this.#item = undefined;
    this.#keyPath.length = 0;
  }

  text(key: string, value: string): void {
    const item = this.#item ?? this.eventItem;
    if (key === 'ASIN') item.asin = value;
    else if (key === 'Quantity') item.quantity = Number(value);
    else if (key === 'OrderAdjustmentItemId') item.id = ['ORDER_ADJUSTMENT_ITEM_ID', value];
    else if (key === 'RemovalShipmentItemId') item.id = ['REMOVAL_SHIPMENT_ITEM_ID', value];
    else if (key === 'invoiceId') this.invoice = value;
    else if (key.endsWith('Type')) {
      this.#componentType = value;
      if (this.#keyPath.length === 0) this.type = value;
    }
  }

  words(key: string, value: Spellings): void {
    if (key !== 'SellerSKU' && key !== 'SKU') return;
    const item = this.#item ?? this.eventItem;
    [item.sku] = value;
    item.asin ??= this.#asinOf.get(value);
  }

  number(key: string, value: string | number): void {
    if (key.includes('Quantity')) (this.#item ?? this.eventItem).quantity = Number(value);
  }

  instant(): void {
    // A transaction has no date but that of its posting.
  }

  order(key: string, ordinal: number): void {
    if (key !== 'SellerOrderId') this.orderOrdinal = ordinal;
  }

  net(key: string, millionths: number): void {
    const component = this.#componentType;
    if (key === 'ChargeAmount') this.#charge(component, millionths);
    else if (key === 'FeeAmount' && component !== '') this.#fee(component, millionths);
    else if (key === 'DirectPaymentAmount') this.#add([component], millionths, millionths > 0);
    else {
      const path = members[key] ?? [this.#plainName(key)];
      this.#add(path, millionths, millionths > 0 && !costs.has(path[0] ?? ''));
    }
  }

  memo(key: string, millionths: number): void {
    if (this.#item !== undefined && key === 'TotalAmount') this.#item.stated = millionths;
  }

  line(kind: EventLineKind, type: string, millionths: number, weight: Weight): void {
    if (weight === 'memo') return;
    if (kind === 'Fee') this.#fee(type, millionths);
    else this.#charge(type, millionths);
  }

  beginObject(key: string): void {
    this.#keyPath.push(key);
    this.#componentType = '';
  }

  endObject(): void {
    this.#keyPath.pop();
  }

  beginList(key: string): void {
    this.#keyPath.push(key);
  }

  beginElement(): void {
    this.#componentType = '';
    if (this.#keyPath.length === 1 && this.#keyPath[0]?.includes('Item') === true) this.#item = emptyItem();
  }

  endElement(): void {
    if (this.#keyPath.length !== 1 || this.#item === undefined) return;
    if (this.#item.amounts.length > 0 || this.#item.stated !== undefined) this.items.push(this.#item);
    this.#item = undefined;
  }

  endList(): void {
    this.#keyPath.pop();
  }

  /** The name of an amount without a component: that of the event's type, or of its member. */
  #plainName(key: string): string {
    const name = key.replace(/Amount$/, '');
    if (this.type !== '' && ['Adjustment', 'Transaction', 'Recovery'].includes(name)) {
      return typeNames[this.type] ?? this.type.replaceAll(/[^A-Za-z0-9]/g, '');
    }
    // Only a provider's credit may have no type.
    if (name === 'Transaction') return 'SolutionProviderCredit';
    return name.charAt(0).toUpperCase() + name.slice(1);
  }

  #charge(type: string, millionths: number): void {
    if (type.startsWith('MarketplaceFacilitator')) this.#add(['MarketplaceFacilitatorTax', type], millionths, false);
    else this.#add(charges[type] ?? ['ProductCharges', type], millionths, true);
  }

  #fee(type: string, millionths: number): void {
    this.#add(['AmazonFees', type], millionths, false);
  }

  #add(path: readonly string[], millionths: number, isSale: boolean): void {
    // The newer API leaves out zero amounts.
    if (millionths === 0) return;
    const amounts = this.#item?.amounts ?? this.eventAmounts;
    amounts.push({ path, isFee: path[0] === 'AmazonFees', isSale, millionths });
  }
}
