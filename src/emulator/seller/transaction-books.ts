import { createHash } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import { contains, dayMs } from '../../core/windows.js';
import type { BackendPage, BackendQuery } from '../../serve/operation/backend-page.js';
import type {
  PayoutQuestion,
  SummaryQuestion,
  TransactionBackend,
  TransactionQuestion,
} from '../../serve/api-2024-06-19/transaction-backend.js';
import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { hash } from '../profiles/seeded-random.js';
import type { Period } from './event-calendar.js';
import type { EventFacts, SellerHistory } from './event-stream.js';
import type { SettlementBooks } from './settlement-books.js';
import { type FoundItem, type Identifiers, itemsAfter, pageOf, type SellerBooks } from './settlement-books.js';
import { fundTransferOf } from './settlement-groups.js';
import {
  sumNode,
  transactionJson,
  type TransactionFacts,
  totalOf,
  wrappedTree,
  type Wrappers,
} from './transaction-json.js';
import { TransactionSink } from './transaction-sink.js';

const salt = { isDeferred: 81, delay: 82, shipment: 85, variety: 86 };

/** Number of sales in 16 that are deferred until some days after delivery. */
const deferredOf16 = 12;

/** Shortest and longest time from the posting of a deferred sale to its release, seconds. */
const delays = { least: 5 * 86_400, most: 9 * 86_400 };

/** Longest deferral of a sale, milliseconds. */
const longestDeferral = (delays.most / 86_400) * dayMs;

/** Reason of a deferral: released seven days after delivery. */
const deferralReason = 'DD7';

/**
 * The instant at which a deferred sale was first posted, milliseconds since 1970 in whole seconds (v0 shows the sale on
 * the day of its release); undefined: it was never deferred. It depends on the seed and the event alone, so that it is
 * the same at any time.
 */
function deferredSince(key: number, { ordinal, list, at }: EventFacts): number | undefined {
  if (list !== 'ShipmentEventList' || hash(key, ordinal, salt.isDeferred) >>> 28 >= deferredOf16) return undefined;
  const seconds = delays.least + (hash(key, ordinal, salt.delay) % (delays.most - delays.least + 1));
  return wholeSecond(at) - seconds * 1000;
}

/** How the events of a list appear as transactions. */
interface TransactionKind {
  readonly type: string;
  readonly description: string;
  /** Whether they concern the account and no marketplace. */
  readonly isOfAccount?: true;
  /** Whether they have no items, and a wrapper with amount 0. */
  readonly isFlat?: true;
}

const refund: TransactionKind = { type: 'Refund', description: 'Refund Order' };

/** Lists whose transactions aren't simply named after them. Claims look the same as refunds. */
const kinds: Partial<Record<EventListName, TransactionKind>> = {
  ShipmentEventList: { type: 'Shipment', description: 'Order Payment' },
  RefundEventList: refund,
  GuaranteeClaimEventList: refund,
  ChargebackEventList: refund,
  PayWithAmazonEventList: { type: 'AmazonPay', description: 'Amazon Pay Order' },
  ServiceFeeEventList: { type: 'ServiceFee', description: 'Service Fee', isOfAccount: true, isFlat: true },
  ProductAdsPaymentEventList: { type: 'ProductAdsPayment', description: 'Cost of Advertising', isOfAccount: true },
  LoanServicingEventList: { type: 'LoanServicing', description: 'Loan', isOfAccount: true },
  DebtRecoveryEventList: { type: 'DebtRecovery', description: 'Debt Recovery', isOfAccount: true },
};

function kindOf(list: EventListName, eventType: string): TransactionKind {
  const name = list.replace(/EventList$/, '');
  if (list === 'AdjustmentEventList' && /Reimbursement|Clawback/.test(eventType)) {
    return { type: 'FBAInventoryReimbursement', description: 'FBA Inventory Reimbursement' };
  }
  return kinds[list] ?? { type: name, description: name.replaceAll(/([a-z])([A-Z])/g, '$1 $2') };
}

const usualWrappers: Wrappers = { sales: 'Sales', expenses: 'Expenses' };
const refundWrappers: readonly Wrappers[] = [
  { sales: 'Refunded Sales', expenses: 'Refunded Expenses' },
  { sales: 'Refund Sales', expenses: 'RefundExpenses' },
];

/** One of the transactions of an event: deferred, or counted. */
interface Posting {
  readonly event: EventFacts;
  readonly stage: 'deferred' | 'counted';
  /** Milliseconds since 1970. */
  readonly postedAt: number;
}

const eventCursor = /^E(?<ordinal>-?\d+)(?<stage>[dc])$/;

/**
 * The seller's events as transactions with the same amounts: each event once, and a deferred sale a second time with
 * the id and date that it had while it was deferred. The status follows from the seed and the instant of the request.
 */
export class TransactionBooks implements TransactionBackend {
  readonly #books: SellerBooks;
  readonly #settlements: SettlementBooks;
  readonly #sink: TransactionSink;

  constructor(books: SellerBooks, settlements: SettlementBooks) {
    this.#books = books;
    this.#settlements = settlements;
    this.#sink = new TransactionSink(books.events.profile);
  }

  transactions(question: TransactionQuestion, query: BackendQuery): Promise<BackendPage> {
    return pageOf(this.#found(question, this.#books.historyOf(query), query.cursor), query.limit);
  }

  summaries(question: SummaryQuestion, query: BackendQuery): Promise<BackendPage> {
    return this.#settlements.summaries(question, query);
  }

  payouts(question: PayoutQuestion, query: BackendQuery): Promise<BackendPage> {
    return this.#settlements.payouts(question, query);
  }

  /** The transactions in question after a cursor: transfers first, then events. */
  async *#found(
    question: TransactionQuestion,
    history: SellerHistory,
    cursor: string | undefined,
  ): AsyncGenerator<FoundItem> {
    const isAtEvents = cursor !== undefined && eventCursor.test(cursor);
    if (cursor !== undefined && !isAtEvents && !cursor.startsWith('T')) {
      throw usageError(`expected the cursor to name a transaction that a page ended with, got "${cursor}"`);
    }
    if (!isAtEvents) yield* itemsAfter(this.#transfersFor(question, history), cursor);
    yield* this.#postingsFor(question, history, isAtEvents ? cursor : undefined);
  }

  async *#transfersFor(question: TransactionQuestion, history: SellerHistory): AsyncGenerator<FoundItem> {
    const { range, status, groupId, orderId } = question;
    if ((status ?? 'RELEASED') !== 'RELEASED' || orderId !== undefined) return;
    for (const period of this.#settlements.closedIn(history)) {
      const id = this.#books.events.periods.idOf(period);
      if (!contains(range, period.end) || (groupId ?? id) !== id) continue;
      const json = await this.#transferJson(period, history.until);
      if (json !== undefined) yield { cursor: `T${id}`, write: () => json };
    }
  }

  async #transferJson(period: Period, until: number): Promise<string | undefined> {
    const { key, events } = this.#books;
    const { profile, periods } = events;
    const settlements = this.#settlements;
    const { total: paid } = await this.#books.balancesOf(period, until);
    const { status, traceId } = fundTransferOf(key, profile, period);
    if (paid <= 0n || status !== 'Succeeded') return undefined;
    // Reports differ on the sign of a transfer.
    const total = Number(profile.oddities ? paid : -paid);
    return transactionJson({
      id: this.#idOf('transfer', periods.idOf(period)),
      type: 'Transfer',
      status: 'RELEASED',
      description: 'Transfer',
      postedAt: period.end,
      total,
      sellerId: settlements.sellerId,
      marketplace: period.marketplace,
      isOfAccount: true,
      identifiers: [
        ...settlements.identifiersOf(period),
        ['DISBURSEMENT_ID', settlements.payoutIdOf(period)],
        ['TRANSFER_ID', traceId],
      ],
      items: [],
      breakdowns: [sumNode(usualWrappers.sales, []), { type: usualWrappers.expenses, amount: total, children: [] }],
      deferral: undefined,
      variety: undefined,
    });
  }

  *#postingsFor(
    question: TransactionQuestion,
    history: SellerHistory,
    cursor: string | undefined,
  ): Generator<FoundItem> {
    const { range, status, groupId, marketplaceId } = question;
    const { until } = history;
    const { ordinal, stage: lastStage } = eventCursor.exec(cursor ?? '')?.groups ?? {};
    const from = ordinal === undefined ? undefined : Number(ordinal);
    for (const event of this.#eventsFor(question, history, from)) {
      if (!history.reaches(event)) continue;
      const isOtherMarketplace = event.marketplace.id !== marketplaceId && kindOf(event.list, '').isOfAccount !== true;
      if (marketplaceId !== undefined && isOtherMarketplace) continue;
      for (const posting of postingsOf(this.#books.key, event, until)) {
        const { stage, postedAt } = posting;
        const isDelivered = event.ordinal === from && (stage === 'deferred' || lastStage === 'c');
        if (isDelivered || !contains(range, postedAt)) continue;
        const reached = transactionStatus(posting, until);
        if ((status ?? reached) !== reached || (groupId !== undefined && stage === 'deferred')) continue;
        yield { cursor: `E${event.ordinal}${stage.charAt(0)}`, write: () => this.#eventJson(posting, until) };
      }
    }
  }

  /** The events that may have transactions in question, in their order. */
  *#eventsFor(question: TransactionQuestion, history: SellerHistory, from: number | undefined): Generator<EventFacts> {
    const { range, status, groupId, orderId } = question;
    const { until } = history;
    const { events } = this.#books;
    if (events.density.perDay === 0) return;
    if (orderId !== undefined) {
      const order = events.orderIds.ordinalOf(orderId);
      const all = order === undefined ? [] : events.eventsOf(order);
      for (const ordinal of all) if (ordinal >= (from ?? -Infinity)) yield events.factsOf(ordinal);
      return;
    }
    const period = history.periods.find((candidate) => events.periods.idOf(candidate) === groupId);
    if (groupId !== undefined && period === undefined) return;
    const latest =
      Math.min(range.end, until + 1) + (status === 'RELEASED' || period !== undefined ? 0 : longestDeferral) + 1000;
    const first = Math.max(
      history.begin,
      range.start,
      status === 'DEFERRED' ? until : -Infinity,
      period?.start ?? -Infinity,
    );
    const last = Math.min(latest, status === 'DEFERRED_RELEASED' ? until + 1 : Infinity, period?.end ?? Infinity);
    if (first >= last) return;
    for (let ordinal = from ?? events.firstAt(first); ; ordinal++) {
      const event = events.factsOf(ordinal);
      if (event.at >= last) return;
      if (period === undefined || event.marketplace === period.marketplace) yield event;
    }
  }

  #eventJson(posting: Posting, until: number): string {
    const { key, events } = this.#books;
    const { event, postedAt } = posting;
    const { ordinal, at, list, marketplace, source } = event;
    events.write(event, this.#sink);
    const { items, eventAmounts, eventItem, type } = this.#sink;
    const kind = kindOf(list, type);
    const amounts = [...items.flatMap((item) => item.amounts), ...eventAmounts];
    const { oddities } = events.profile;
    const wrappers = kind === refund ? (refundWrappers[oddities ? ordinal & 1 : 0] ?? usualWrappers) : usualWrappers;
    const total = totalOf(amounts);
    // A product that is named beside an amount becomes an item without breakdowns.
    const isSingleProduct = items.length === 0 && eventItem.sku !== undefined && kind.isFlat !== true;
    return transactionJson({
      id: this.#idOf(ordinal, posting.stage),
      type: kind.type,
      status: transactionStatus(posting, until),
      description: kind.description,
      postedAt,
      total,
      sellerId: this.#settlements.sellerId,
      marketplace,
      isOfAccount: kind.isOfAccount === true,
      identifiers: this.#identifiersOf(posting, kind, until),
      items: isSingleProduct ? [{ ...eventItem, stated: total }] : items,
      breakdowns: wrappedTree(amounts, marketplace, wrappers, {
        isCoarse: items.some((item) => item.amounts.length > 0),
        hasBoth: kind.isFlat === true,
      }),
      deferral:
        deferredSince(key, event) === undefined ? undefined : { reason: deferralReason, maturesAt: wholeSecond(at) },
      variety: oddities ? hash(key, source, salt.variety) : undefined,
    });
  }

  /** What the transaction of the event on the sink is related to. */
  #identifiersOf({ event, stage }: Posting, kind: TransactionKind, until: number): Identifiers {
    const { key, events } = this.#books;
    const { ordinal, at, list, marketplace } = event;
    const { orderOrdinal, invoice } = this.#sink;
    const isCounted = stage === 'counted';
    const shipment = shipmentNumberOf(key, event);
    const candidates: readonly (readonly [name: string, value: string | undefined])[] = [
      ['ORDER_ID', orderOrdinal === undefined ? undefined : events.orderIds.idOf(orderOrdinal)],
      ['SHIPMENT_ID', list === 'ShipmentEventList' ? shipment : undefined],
      ['REFUND_ID', kind === refund ? shipment : undefined],
      ['INVOICE_ID', invoice],
      ...(isCounted ? this.#settlements.identifiersOf(events.periods.at(marketplace, at)) : []),
      [
        'DEFERRED_TRANSACTION_ID',
        isCounted && deferredSince(key, event) !== undefined ? this.#idOf(ordinal, 'deferred') : undefined,
      ],
      ['RELEASE_TRANSACTION_ID', !isCounted && at <= until ? this.#idOf(ordinal, 'counted') : undefined],
    ];
    return candidates.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  }

  #idOf(...path: readonly (string | number)[]): string {
    return createHash('sha256')
      .update([this.#books.seed, 'transaction', ...path].join('/'))
      .digest('base64url');
  }
}

/** The number of a shipment or a refund. */
export function shipmentNumberOf(key: number, { source }: EventFacts): string {
  return String(1e13 + hash(key, source, salt.shipment));
}

/** What an event is as transactions by an instant. */
function* postingsOf(key: number, event: EventFacts, until: number): Generator<Posting> {
  const deferredAt = deferredSince(key, event);
  if (deferredAt !== undefined && deferredAt <= until) yield { event, stage: 'deferred', postedAt: deferredAt };
  if (event.at <= until) yield { event, stage: 'counted', postedAt: wholeSecond(event.at) };
}

function transactionStatus({ event, stage }: Posting, until: number): TransactionFacts['status'] {
  if (stage === 'counted') return 'RELEASED';
  return event.at <= until ? 'DEFERRED_RELEASED' : 'DEFERRED';
}

function wholeSecond(instant: number): number {
  return Math.floor(instant / 1000) * 1000;
}
