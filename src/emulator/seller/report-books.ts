import { createHash } from 'node:crypto';
import { isoInstant } from '../../core/numeric/instant.js';
import type { ReportDocument, ReportBackend, SettlementReport } from '../../serve/reports-2021-06-30/report-backend.js';
import { reportLimits } from '../../sources/finances/settlement-reports/report-operations.js';
import {
  namesLine,
  writtenLine,
  type WrittenFields,
} from '../../sources/finances/settlement-reports/report-writing.js';
import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { hash } from '../profiles/seeded-random.js';
import type { Period } from './event-calendar.js';
import type { EventFacts, SellerHistory } from './event-stream.js';
import { beginningBalance, labelledAmounts, type LabelledAmount } from './report-labels.js';
import { ReportSink } from './report-sink.js';
import type { SellerBooks, SettlementBooks } from './settlement-books.js';
import { shipmentNumberOf } from './transaction-books.js';

const salt = { created: 88 };

/** The time between the end of a settlement and its report, and until that is done, in minutes. */
const delays = { created: { least: 30, most: 300 }, done: 12 };
const minuteMs = 60_000;
/** The time from the end of a settlement to its deposit, which the report forecasts. */
const depositMs = 48 * 60 * minuteMs;

/** Lists whose lines name a shipment or a refund. */
const shipped: readonly EventListName[] = ['ShipmentEventList'];
const refunded: readonly EventListName[] = ['RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList'];
/** Lists that concern the account and no marketplace. */
const ofAccount: readonly EventListName[] = [
  'ServiceFeeEventList',
  'ProductAdsPaymentEventList',
  'LoanServicingEventList',
  'DebtRecoveryEventList',
];

/** An amount with all its digits, two decimals at least. */
export function reportAmountText(millionths: number | bigint): string {
  const text = String(millionths < 0 ? -millionths : millionths).padStart(7, '0');
  const decimals = text.slice(-6).replace(/0{1,4}$/, '');
  return `${millionths < 0 ? '-' : ''}${text.slice(0, -6)}.${decimals}`;
}

function instantText(ms: number): string {
  return `${isoInstant(ms).slice(0, 19).replace('T', ' ')} UTC`;
}

/**
 * A seller's closed settlements as settlement reports: one document each, written from the events when it is asked for, so that memory holds
 * no document.
 */
export class ReportBooks implements ReportBackend {
  readonly #books: SellerBooks;
  readonly #settlements: SettlementBooks;
  readonly #sink = new ReportSink();

  constructor(books: SellerBooks, settlements: SettlementBooks) {
    this.#books = books;
    this.#settlements = settlements;
  }

  reports(asOf: number): Promise<readonly SettlementReport[]> {
    const oldest = asOf - reportLimits.keptMs;
    return Promise.resolve(this.allReports(asOf).filter(({ createdAt }) => createdAt <= asOf && createdAt >= oldest));
  }

  async documentOf(report: SettlementReport): Promise<ReportDocument> {
    const history = this.#history(report.createdAt);
    const period = this.#settlements.closedIn(history).find((each) => this.#settlements.reportIdOf(each) === report.id);
    const lines = period === undefined ? [] : await this.#linesOf(period, history);
    return { text: `${[namesLine, ...lines].join('\n')}\n`, encoding: 'utf-8' };
  }

  /** The reports of all settlements closed by an instant: those too that are no longer kept, or not created yet. */
  allReports(asOf: number): readonly SettlementReport[] {
    return this.#settlements.closedIn(this.#history(asOf)).map((period) => this.#reportOf(period));
  }

  #history(asOf: number): SellerHistory {
    return this.#books.historyOf({ cursor: undefined, limit: 1, asOf });
  }

  #reportOf(period: Period): SettlementReport {
    const { seed, key } = this.#books;
    const { marketplace, index, start, end } = period;
    const { least, most } = delays.created;
    const minutes = least + (hash(key, index * 64 + marketplace.index, salt.created) % (most - least));
    const id = this.#settlements.reportIdOf(period);
    const digest = createHash('sha256').update(`${seed}/report/${id}`).digest('hex');
    const uuid = [
      digest.slice(0, 8),
      digest.slice(8, 12),
      digest.slice(12, 16),
      digest.slice(16, 20),
      digest.slice(20, 32),
    ];
    return {
      id,
      documentId: `amzn1.spdoc.1.4.na.${uuid.join('-')}.T${digest.slice(32, 45).toUpperCase()}`,
      marketplaceIds: [marketplace.id],
      start,
      end,
      createdAt: end + minutes * minuteMs,
      doneAt: end + (minutes + delays.done) * minuteMs,
      isCompressed: index % 2 === 0,
    };
  }

  /** The lines of a settlement: its header, its beginning balance and its amounts. */
  async #linesOf(period: Period, history: SellerHistory): Promise<readonly string[]> {
    const { start, end, marketplace } = period;
    const id = { 'settlement-id': this.#settlements.settlementIdOf(period) };
    const balances = await this.#books.balancesOf(period, history.until);
    const header = writtenLine({
      ...id,
      'settlement-start-date': instantText(start),
      'settlement-end-date': instantText(end),
      'deposit-date': instantText(end + depositMs),
      'total-amount': reportAmountText(balances.total),
      currency: marketplace.currency,
    }).text;
    const lines = [header];
    if (balances.beginningBalance !== 0n) {
      const [type, amountType, description] = beginningBalance;
      lines.push(
        writtenLine({
          ...id,
          'transaction-type': type,
          'amount-type': amountType,
          'amount-description': description,
          amount: reportAmountText(balances.beginningBalance),
          'posted-date': instantText(start).slice(0, 10),
          'posted-date-time': instantText(start),
        }).text,
      );
    }
    for (const event of history.events({ start, end }, marketplace)) {
      this.#books.events.write(event, this.#sink);
      const ofEvent = { ...id, ...this.#eventFields(event) };
      for (const amount of labelledAmounts(event.list, marketplace, this.#sink)) {
        lines.push(writtenLine({ ...ofEvent, ...amountFields(amount) }).text);
      }
    }
    return lines;
  }

  /** What all lines of an event have. */
  #eventFields(event: EventFacts): WrittenFields {
    const { key, events } = this.#books;
    const { list, at, marketplace } = event;
    const { orderOrdinal, merchantOrder } = this.#sink;
    return {
      'order-id': orderOrdinal === undefined ? '' : events.orderIds.idOf(orderOrdinal),
      'merchant-order-id': typeof merchantOrder === 'string' ? merchantOrder : events.orderIds.idOf(merchantOrder),
      'adjustment-id': refunded.includes(list) ? shipmentNumberOf(key, event) : '',
      'shipment-id': shipped.includes(list) ? shipmentNumberOf(key, event) : '',
      'marketplace-name': ofAccount.includes(list) ? '' : marketplace.name,
      'posted-date': instantText(at).slice(0, 10),
      'posted-date-time': instantText(at),
    };
  }
}

function amountFields({ labels, millionths, source }: LabelledAmount): WrittenFields {
  const [transactionType, amountType, description] = labels;
  const { promotionId = '', item } = source ?? {};
  const isOfItem = item !== undefined && item.sku !== '';
  return {
    'transaction-type': transactionType,
    'amount-type': amountType,
    'amount-description': description,
    amount: reportAmountText(millionths),
    'promotion-id': promotionId,
    ...(isOfItem && {
      'fulfillment-id': item.isFulfilled ? 'AFN' : 'MFN',
      'order-item-code': item.orderItemId,
      'merchant-adjustment-item-id': item.adjustmentItemId,
      sku: item.sku,
      'quantity-purchased': description === 'Principal' && amountType === 'ItemPrice' ? item.quantity : '',
    }),
  };
}
