import type { Period } from '../../../src/emulator/seller/event-calendar.js';
import type { EventFacts } from '../../../src/emulator/seller/event-stream.js';
import type { EventSink, EventLineKind, Weight } from '../../../src/emulator/seller/event-writer.js';
import type { Seller } from '../../../src/emulator/seller/seller.js';
import type { Spellings } from '../../../src/emulator/profiles/seller-profile.js';
import {
  amountLine,
  reportHeader,
  reportText,
  type ReportFields,
} from '../../sources/finances/settlement-reports/report-file.js';

/** Transaction types of orders, by the list of their events. */
const orderTypes: Readonly<Record<string, string>> = {
  ShipmentEventList: 'Order',
  ShipmentSettleEventList: 'Order',
  RefundEventList: 'Refund',
  GuaranteeClaimEventList: 'A-to-z Guarantee Refund',
  ChargebackEventList: 'Chargeback Refund',
};

/** Lists whose amounts are one line: transaction type, amount type, description. */
const joinedTypes: Readonly<Record<string, readonly [string, string, string]>> = {
  ProductAdsPaymentEventList: ['ServiceFee', 'Cost of Advertising', 'TransactionTotalAmount'],
  CouponPaymentEventList: ['CouponRedemptionFee', 'CouponRedemptionFee', 'Save 5%'],
  SellerDealPaymentEventList: ['ServiceFee', 'Deals', 'Lightning deal'],
  SellerReviewEnrollmentPaymentEventList: ['Vine Enrollment Fee', 'Vine Enrollment Fee', 'B000000000'],
};

/** What reports call fees of services. */
const feeLabels: Readonly<Record<string, string>> = {
  Subscription: 'Subscription Fee',
  FBAStorageFee: 'Storage Fee',
  FBALongTermStorageFee: 'StorageRenewalBilling',
};

interface ReportAmount {
  readonly amountType: string;
  readonly description: string;
  readonly sku: string;
  readonly millionths: number;
}

/** Takes an event's amounts as lines of a settlement report. */
class ReportSink implements EventSink {
  amounts: ReportAmount[] = [];
  orderOrdinal: number | undefined;
  type = '';
  #list = '';
  #sku = '';
  #component = '';
  readonly #keys: string[] = [];

  /** The list of the next event. */
  expect(list: string): void {
    this.#list = list;
  }

  begin(): void {
    this.amounts = [];
    this.orderOrdinal = undefined;
    this.type = '';
    this.#sku = '';
    this.#keys.length = 0;
  }

  text(key: string, value: string): void {
    if (!key.endsWith('Type')) return;
    this.#component = value;
    if (this.#keys.length === 0) this.type = value;
  }

  words(key: string, value: Spellings): void {
    if (key === 'SellerSKU') this.#sku = JSON.parse(value[0]) as string;
  }

  number(): void {
    // Quantities are no amounts.
  }

  instant(): void {
    // The dates of lines are those of their events.
  }

  order(key: string, ordinal: number): void {
    if (key === 'AmazonOrderId') this.orderOrdinal = ordinal;
  }

  net(key: string, millionths: number): void {
    if (key === 'PromotionAmount') this.#add('Promotion', 'Principal', millionths);
    else if (key === 'CostOfPointsGranted') this.#add('Points', 'PointsGranted', millionths);
    else if (key === 'CostOfPointsReturned') this.#add('Points', 'PointsReturned', millionths);
    else if (key === 'DirectPaymentAmount') this.#add('other-transaction', this.#component, millionths);
    else this.#add('other-transaction', this.type || this.#list.replace(/EventList$/, ''), millionths);
  }

  memo(): void {
    // It repeats other amounts.
  }

  line(kind: EventLineKind, type: string, millionths: number, weight: Weight): void {
    if (weight === 'memo') return;
    const isOfOrder = orderTypes[this.#list] !== undefined;
    if (!isOfOrder) this.#add('other-transaction', feeLabels[type] ?? type, millionths);
    else if (kind === 'Fee') this.#add('ItemFees', type, millionths);
    else if (this.#keys.at(-1) === 'TaxesWithheld') this.#add('ItemWithheldTax', type, millionths);
    else this.#add('ItemPrice', type === 'ShippingCharge' ? 'Shipping' : type, millionths);
  }

  beginObject(key: string): void {
    this.#keys.push(key);
  }

  endObject(): void {
    this.#keys.pop();
  }

  beginList(key: string): void {
    this.#keys.push(key);
  }

  beginElement(): void {
    if (this.#keys.length === 1) this.#sku = '';
  }

  endElement(): void {
    // A list of items ends with it.
  }

  endList(): void {
    this.#keys.pop();
  }

  #add(amountType: string, description: string, millionths: number): void {
    this.amounts.push({ amountType, description, millionths, sku: this.#sku });
  }
}

/** An amount as reports have it: all its digits, two at least. */
function amountText(millionths: number | bigint): string {
  const text = String(millionths < 0 ? -millionths : millionths).padStart(7, '0');
  const decimals = text.slice(-6).replace(/0{1,4}$/, '');
  return `${millionths < 0 ? '-' : ''}${text.slice(0, -6)}.${decimals}`;
}

/** Writes an amount in the form of its marketplace. */
export type AmountForm = (text: string) => string;

function instantText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/**
 * The settlement reports of a synthetic seller's closed settlements, one text each, written from its own events. A settlement has the id of
 * its group.
 */
export async function sellerReports(seller: Seller, form: AmountForm = (text) => text): Promise<string[]> {
  const { stream } = seller;
  const history = seller.history();
  const sink = new ReportSink();
  const reports: string[] = [];
  for (const period of history.periods) {
    if (period.end > history.until) continue;
    const id = stream.periods.idOf(period);
    const { total, beginning } = await balancesOf(seller, id);
    const lines: string[] = [];
    const reserve = { 'transaction-type': 'other-transaction', 'order-id': '', 'amount-type': 'other-transaction' };
    const balance = { ...reserve, 'amount-description': 'Previous Reserve Amount Balance', 'posted-date-time': '' };
    if (Number(beginning) !== 0) lines.push(amountLine(id, form(beginning), balance));
    for (const event of history.events({ from: period.start, to: period.end }, period.marketplace, undefined)) {
      sink.expect(event.list);
      stream.write(event, sink);
      lines.push(...linesOf(event, sink, id, seller, form));
    }
    reports.push(reportText(headerOf(period, id, form(total)), ...lines));
  }
  return reports;
}

function headerOf({ start, end, marketplace }: Period, id: string, total: string): string {
  return reportHeader(id, total, {
    'settlement-start-date': instantText(start),
    'settlement-end-date': instantText(end),
    'deposit-date': instantText(end),
    currency: marketplace.currency,
  });
}

function linesOf(
  { list, at, marketplace }: EventFacts,
  { amounts, orderOrdinal }: ReportSink,
  id: string,
  { stream }: Seller,
  form: AmountForm,
): string[] {
  const posted = { 'posted-date': instantText(at).slice(0, 10), 'posted-date-time': instantText(at) };
  const order = { 'order-id': orderOrdinal === undefined ? '' : stream.orderIds.idOf(orderOrdinal) };
  const common: ReportFields = { ...posted, ...order, 'marketplace-name': marketplace.name };
  const joined = joinedTypes[list];
  if (joined !== undefined) {
    const sum = amounts.reduce((all, { millionths }) => all + millionths, 0);
    const [type, amountType, description] = joined;
    const types = { 'transaction-type': type, 'amount-type': amountType, 'amount-description': description };
    return [amountLine(id, form(amountText(sum)), { ...common, ...types })];
  }
  return amounts.map(({ amountType, description, sku, millionths }) => {
    const type = orderTypes[list] ?? 'other-transaction';
    const types = { 'transaction-type': type, 'amount-type': amountType, 'amount-description': description, sku };
    return amountLine(id, form(amountText(millionths)), { ...common, ...types });
  });
}

interface ListedMoney {
  readonly CurrencyAmount: number | string;
}

interface ListedGroup {
  readonly FinancialEventGroupId: string;
  readonly OriginalTotal: ListedMoney;
  readonly BeginningBalance: ListedMoney;
}

/** The total of a group and its beginning balance, as the service lists them: small enough to be exact in a double. */
async function balancesOf(seller: Seller, id: string): Promise<{ readonly total: string; readonly beginning: string }> {
  const query = { cursor: undefined, limit: 10_000, asOf: Infinity };
  const { items } = await seller.groups({ from: -Infinity, to: Infinity }, query);
  const listed = items.map(({ json }) => JSON.parse(json) as ListedGroup);
  const group = listed.find(({ FinancialEventGroupId }) => FinancialEventGroupId === id);
  const text = (money: ListedMoney | undefined) => amountText(Math.round(Number(money?.CurrencyAmount) * 1e6));
  return { total: text(group?.OriginalTotal), beginning: text(group?.BeginningBalance) };
}
