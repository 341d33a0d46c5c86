import type { Spellings } from '../profiles/seller-profile.js';
import type { EventLineKind, EventSink, Weight } from './event-writer.js';

/** The part of an event that an amount is in: a component of a list, or a member of the event itself. */
type AmountPart = 'charge' | 'fee' | 'withheld' | 'promotion' | 'points' | 'direct' | 'member';

/** The item that an amount belongs to. */
interface ReportItem {
  sku: string;
  orderItemId: string;
  adjustmentItemId: string;
  quantity: string;
  /** Whether the marketplace ships it. */
  isFulfilled: boolean;
}

/** An amount that counts towards the balance. */
export interface ReportAmount {
  readonly part: AmountPart;
  /** Its type, or the member's name. */
  readonly name: string;
  readonly millionths: number;
  /** Of a promotion. */
  readonly promotionId: string;
  readonly item: ReportItem;
}

const emptyItem = (): ReportItem => ({
  sku: '',
  orderItemId: '',
  adjustmentItemId: '',
  quantity: '',
  isFulfilled: false,
});

/** Members with an amount that is a component of its own. */
const parts: Readonly<Record<string, AmountPart>> = {
  PromotionAmount: 'promotion',
  CostOfPointsGranted: 'points',
  CostOfPointsReturned: 'points',
  DirectPaymentAmount: 'direct',
  ChargeAmount: 'charge',
  FeeAmount: 'fee',
};

const ignore = () => undefined;

/** Collects an event's amounts, with what the lines of a settlement report say beside them. */
export class ReportSink implements EventSink {
  amounts: ReportAmount[] = [];
  /** The event's type as stated in the event. */
  type = '';
  /** Ordinal of the event that started the order it names. */
  orderOrdinal: number | undefined;
  /** The order as the seller numbers it: a text, or the ordinal as above. */
  merchantOrder: string | number = '';
  /** The text of a coupon or a deal. */
  description = '';
  #item = emptyItem();
  /** Keys of the lists and objects that enclose the next member, outermost first. */
  readonly #keyPath: string[] = [];
  #component = '';
  #promotionId = '';

  readonly instant = ignore;
  readonly memo = ignore;
  readonly endElement = ignore;

  begin(): void {
    this.amounts = [];
    this.type = '';
    this.orderOrdinal = undefined;
    this.merchantOrder = '';
    this.description = '';
    this.#item = emptyItem();
    this.#keyPath.length = 0;
    this.#component = '';
  }

  text(key: string, value: string): void {
    if (key === 'OrderItemId' || key === 'RemovalShipmentItemId') this.#item.orderItemId = value;
    else if (key === 'OrderAdjustmentItemId') this.#item.adjustmentItemId = value;
    else if (key === 'PromotionId') this.#promotionId = value;
    else if (key === 'SellerOrderId' || key === 'MerchantOrderId') this.merchantOrder = value;
    else if (key.endsWith('Type')) {
      this.#component = value;
      if (this.#keyPath.length === 0) this.type = value;
    }
  }

  words(key: string, value: Spellings): void {
    const text = () => JSON.parse(value[0]) as string;
    if (key === 'SellerSKU' || key === 'SKU') this.#item.sku = text();
    else if (key === 'SellerCouponDescription' || key === 'dealDescription') this.description = text();
  }

  number(key: string, value: string | number): void {
    if (key.includes('Quantity')) this.#item.quantity = String(value);
  }

  order(key: string, ordinal: number): void {
    if (key === 'SellerOrderId') this.merchantOrder = ordinal;
    else this.orderOrdinal = ordinal;
  }

  net(key: string, millionths: number): void {
    const part = parts[key] ?? 'member';
    const hasType = part !== 'member' && part !== 'points' && this.#component !== '';
    this.#add(part, hasType ? this.#component : key, millionths);
  }

  line(kind: EventLineKind, type: string, millionths: number, weight: Weight): void {
    if (weight === 'memo') return;
    if (kind === 'Charge')
      this.#add(this.#keyPath.at(-1) === 'TaxesWithheld' ? 'withheld' : 'charge', type, millionths);
    else {
      if (type.startsWith('FBA')) this.#item.isFulfilled = true;
      this.#add('fee', type, millionths);
    }
  }

  beginObject(key: string): void {
    this.#component = '';
    this.#keyPath.push(key);
  }

  endObject(): void {
    this.#keyPath.pop();
  }

  beginList(key: string): void {
    this.#keyPath.push(key);
  }

  beginElement(): void {
    this.#component = '';
    if (this.#keyPath.length === 1) this.#item = emptyItem();
  }

  endList(): void {
    this.#keyPath.pop();
    if (this.#keyPath.length === 0) this.#item = emptyItem();
  }

  #add(part: AmountPart, name: string, millionths: number): void {
    // A report has no lines of nothing.
    if (millionths === 0) return;
    const promotionId = part === 'promotion' ? this.#promotionId : '';
    this.amounts.push({ part, name, millionths, promotionId, item: this.#item });
  }
}
