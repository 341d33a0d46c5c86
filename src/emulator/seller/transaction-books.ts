import { createHash } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import { dayMs } from '../../core/windows.js';
import type { TransactionLedger, TransactionQuestion } from '../../serve/http/ledger.js';
import type { EventListName } from '../../sources/finances/model/records.js';
import { hash } from '../profiles/seeded-random.js';
import type { Period } from './event-calendar.js';
import type { EventFacts, History } from './event-stream.js';
import { behind, createSettlementBooks, type Found, pageOf, type SellerBooks } from './settlement-books.js';
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
  return Math.floor(at / 1000) * 1000 - seconds * 1000;
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
export function createTransactionBooks(books: SellerBooks): TransactionLedger {
  const { seed, key, events, historyOf, totalOf: settled } = books;
  const { profile, periods } = events;
  const sink = new TransactionSink(profile);
  const idOf = (...path: readonly (string | number)[]) =>
    createHash('sha256')
      .update([seed, 'transaction', ...path].join('/'))
      .digest('base64url');
  const { sellerId, identifiersOf: settlementOf, payoutIdOf, closedIn, ...settlements } = createSettlementBooks(books);

  function eventJson({ event, stage, postedAt }: Posting, until: number): string {
    const { ordinal, at, list, marketplace, source } = event;
    events.write(event, sink);
    const { items, loose, orderOrdinal, invoice, whole } = sink;
    const kind = kindOf(list, sink.type);
    const amounts = [...items.flatMap((item) => item.amounts), ...loose];
    const deferredAt = deferredSince(key, event);
    const isReleased = at <= until;
    const period = periods.at(marketplace, at);
    const identifiers: (readonly [string, string])[] = [
      ...(orderOrdinal === undefined ? [] : [['ORDER_ID', events.orderIds.idOf(orderOrdinal)] as const]),
      ...(list === 'ShipmentEventList'
        ? [['SHIPMENT_ID', String(1e13 + hash(key, source, salt.shipment))] as const]
        : []),
      ...(kind === refund ? [['REFUND_ID', String(1e13 + hash(key, source, salt.shipment))] as const] : []),
      ...(invoice === undefined ? [] : [['INVOICE_ID', invoice] as const]),
      ...(stage === 'counted' ? settlementOf(period) : []),
      ...(deferredAt !== undefined && stage === 'counted'
        ? [['DEFERRED_TRANSACTION_ID', idOf(ordinal, 'deferred')] as const]
        : []),
      ...(stage === 'deferred' && isReleased ? [['RELEASE_TRANSACTION_ID', idOf(ordinal, 'counted')] as const] : []),
    ];
    const wrappers =
      kind === refund ? (refundWrappers[profile.oddities ? ordinal & 1 : 0] ?? usualWrappers) : usualWrappers;
    // A product named next to an amount becomes an item without breakdowns.
    const total = totalOf(amounts);
    const single =
      items.length === 0 && whole.sku !== undefined && kind.isFlat !== true ? [{ ...whole, stated: total }] : items;
    return transactionJson({
      id: idOf(ordinal, stage),
      type: kind.type,
      status: stage === 'counted' ? 'RELEASED' : isReleased ? 'DEFERRED_RELEASED' : 'DEFERRED',
      description: kind.description,
      postedAt,
      total,
      sellerId,
      marketplace,
      isOfAccount: kind.isOfAccount === true,
      identifiers,
      items: single,
      breakdowns: wrappedTree(amounts, marketplace, wrappers, {
        isCoarse: items.some((item) => item.amounts.length > 0),
        hasBoth: kind.isFlat === true,
      }),
      deferral:
        deferredAt === undefined ? undefined : { reason: deferralReason, maturesAt: Math.floor(at / 1000) * 1000 },
      variety: profile.oddities ? hash(key, source, salt.variety) : undefined,
    });
  }

  async function transferJson(period: Period, until: number): Promise<string | undefined> {
    const paid = await settled(period, until);
    if (paid <= 0n || fundTransferOf(key, profile, period).status !== 'Succeeded') return undefined;
    // Reports disagree on the sign of a transfer.
    const total = Number(profile.oddities ? paid : -paid);
    const facts: TransactionFacts = {
      id: idOf('transfer', periods.idOf(period)),
      type: 'Transfer',
      status: 'RELEASED',
      description: 'Transfer',
      postedAt: period.end,
      total,
      sellerId,
      marketplace: period.marketplace,
      isOfAccount: true,
      identifiers: [
        ...settlementOf(period),
        ['DISBURSEMENT_ID', payoutIdOf(period)],
        ['TRANSFER_ID', fundTransferOf(key, profile, period).traceId],
      ],
      items: [],
      breakdowns: [sumNode(usualWrappers.sales, []), { type: usualWrappers.expenses, amount: total, children: [] }],
      deferral: undefined,
      variety: undefined,
    };
    return transactionJson(facts);
  }

  async function* transfersFor(question: TransactionQuestion, history: History): AsyncGenerator<Found> {
    const { range, status, groupId, orderId } = question;
    if ((status ?? 'RELEASED') !== 'RELEASED' || orderId !== undefined) return;
    for (const period of closedIn(history)) {
      const id = periods.idOf(period);
      if (period.end < range.from || period.end >= range.to || (groupId ?? id) !== id) continue;
      const json = await transferJson(period, history.until);
      if (json !== undefined) yield { cursor: `T${id}`, write: () => json };
    }
  }

  /** The transactions of an event by an instant. */
  function* postingsOf(event: EventFacts, until: number): Generator<Posting> {
    const deferredAt = deferredSince(key, event);
    if (deferredAt !== undefined && deferredAt <= until) yield { event, stage: 'deferred', postedAt: deferredAt };
    if (event.at <= until) yield { event, stage: 'counted', postedAt: Math.floor(event.at / 1000) * 1000 };
  }

  /** The events that may have requested transactions, in order. */
  function* eventsFor(
    question: TransactionQuestion,
    history: History,
    from: number | undefined,
  ): Generator<EventFacts> {
    const { range, status, groupId, orderId } = question;
    const { until } = history;
    if (events.density.perDay === 0) return;
    if (orderId !== undefined) {
      const order = events.orderIds.ordinalOf(orderId);
      const all = order === undefined ? [] : events.eventsOf(order);
      for (const ordinal of all) if (ordinal >= (from ?? -Infinity)) yield events.factsOf(ordinal);
      return;
    }
    const period = history.periods.find((candidate) => periods.idOf(candidate) === groupId);
    if (groupId !== undefined && period === undefined) return;
    const latest =
      Math.min(range.to, until + 1) + (status === 'RELEASED' || period !== undefined ? 0 : longestDeferral) + 1000;
    const first = Math.max(
      history.begin,
      range.from,
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

  function* postingsFor(question: TransactionQuestion, history: History, cursor: string | undefined): Generator<Found> {
    const { range, status, groupId, marketplaceId } = question;
    const { ordinal, stage: lastStage } = eventCursor.exec(cursor ?? '')?.groups ?? {};
    const from = ordinal === undefined ? undefined : Number(ordinal);
    for (const event of eventsFor(question, history, from)) {
      if (!history.reaches(event)) continue;
      const isElsewhere = event.marketplace.id !== marketplaceId && kindOf(event.list, '').isOfAccount !== true;
      if (marketplaceId !== undefined && isElsewhere) continue;
      for (const posting of postingsOf(event, history.until)) {
        const { stage, postedAt } = posting;
        const wasShown = event.ordinal === from && (stage === 'deferred' || lastStage === 'c');
        if (wasShown || postedAt < range.from || postedAt >= range.to) continue;
        const reached = stage === 'counted' ? 'RELEASED' : event.at <= history.until ? 'DEFERRED_RELEASED' : 'DEFERRED';
        if ((status ?? reached) !== reached || (groupId !== undefined && stage === 'deferred')) continue;
        const { until } = history;
        yield { cursor: `E${event.ordinal}${stage.charAt(0)}`, write: () => eventJson(posting, until) };
      }
    }
  }

  async function* transactionsFor(
    question: TransactionQuestion,
    history: History,
    cursor: string | undefined,
  ): AsyncGenerator<Found> {
    const isAtEvents = cursor !== undefined && eventCursor.test(cursor);
    if (cursor !== undefined && !isAtEvents && !cursor.startsWith('T')) {
      throw usageError(`expected the cursor to name a transaction that a page ended with, got "${cursor}"`);
    }
    if (!isAtEvents) yield* behind(transfersFor(question, history), cursor);
    yield* postingsFor(question, history, isAtEvents ? cursor : undefined);
  }

  return {
    transactions: (question, query) => pageOf(transactionsFor(question, historyOf(query), query.cursor), query.limit),
    ...settlements,
  };
}
