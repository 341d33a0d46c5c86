import { createHash } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import { shortInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type {
  LedgerPage,
  LedgerQuery,
  PayoutQuestion,
  SummaryQuestion,
  TransactionLedger,
  TransactionQuestion,
} from '../../serve/http/ledger.js';
import type { EventListName } from '../../sources/finances/model/records.js';
import { hash } from '../profiles/seeded-random.js';
import type { Marketplace } from '../profiles/seller-profile.js';
import { deferralReason, deferredSince, longestDeferral } from './deferrals.js';
import type { Period } from './event-calendar.js';
import type { EventFacts, EventStream, History } from './event-stream.js';
import { fundTransferOf, type PeriodSums } from './settlement-groups.js';
import {
  accountType,
  moneyJson,
  relatedIdentifiersJson,
  sumNode,
  transactionJson,
  type TransactionFacts,
  totalOf,
  wrappedTree,
  type Wrappers,
} from './transaction-json.js';
import { TransactionSink } from './transaction-sink.js';

const salt = { settlement: 83, payout: 84, shipment: 85, variety: 86 };

/** What the books of transactions are about: the seller's events and settlements. */
interface SellerBooks {
  readonly seed: number;
  readonly key: number;
  readonly events: EventStream;
  readonly sums: PeriodSums;
  readonly historyOf: (query: LedgerQuery) => History;
  /** What a settlement adds up to with its beginning balance, millionths. */
  readonly totalOf: (period: Period, until: number) => Promise<bigint>;
}

/** A list's events as transactions. */
interface TransactionKind {
  readonly type: string;
  readonly description: string;
  /** Whether they belong to the account and to no marketplace. */
  readonly isOfAccount?: true;
  /** Whether they have no items, and a wrapper of 0. */
  readonly isFlat?: true;
}

const refund: TransactionKind = { type: 'Refund', description: 'Refund Order' };

/** The lists whose transactions are not just called after them. Nothing tells a claim from a refund. */
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

/** An event as one of the transactions that it is: when it was deferred, or when it counted. */
interface Posting {
  readonly event: EventFacts;
  readonly stage: 'deferred' | 'counted';
  /** Milliseconds since 1970. */
  readonly postedAt: number;
}

/** Something that is found, the cursor behind it, and how it is written. */
interface Found {
  readonly cursor: string;
  readonly write: () => string | Promise<string>;
}

async function pageOf(found: AsyncIterable<Found>, limit: number): Promise<LedgerPage> {
  const items: { list: string; json: string }[] = [];
  let last = '';
  for await (const { cursor, write } of found) {
    if (items.length === limit) return { items, next: last };
    items.push({ list: '', json: await write() });
    last = cursor;
  }
  return { items, next: undefined };
}

/** What comes behind a cursor; each thing's cursor is its own. */
async function* behind(
  found: Iterable<Found> | AsyncIterable<Found>,
  cursor: string | undefined,
): AsyncGenerator<Found> {
  let isBehind = cursor === undefined;
  for await (const one of found) {
    if (isBehind) yield one;
    else isBehind = one.cursor === cursor;
  }
}

const eventCursor = /^E(?<ordinal>-?\d+)(?<stage>[dc])$/;

/**
 * The seller's events as transactions: the same money, each event once, and a sale that was deferred once more under the id and
 * the date that it had then. What is deferred, released or paid follows from the seed and the instant that is asked about.
 */
export function createTransactionBooks({
  seed,
  key,
  events,
  sums,
  historyOf,
  totalOf: settled,
}: SellerBooks): TransactionLedger {
  const { profile, periods } = events;
  const sink = new TransactionSink(profile);
  const idOf = (...thing: readonly (string | number)[]) =>
    createHash('sha256')
      .update([seed, 'transaction', ...thing].join('/'))
      .digest('base64url');
  const sellerId = `A${idOf('seller')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, 13)
    .toUpperCase()}`;
  const numberOf = ({ marketplace, index }: Period) => index * profile.marketplaces.length + marketplace.index;
  const numbered = (period: Period, use: number) =>
    String(10_000 + (hash(key, numberOf(period), use) % 90_000)) +
    String(Math.abs(numberOf(period)) % 1e6).padStart(6, '0');
  const settlementIdOf = (period: Period) => numbered(period, salt.settlement);
  const payoutIdOf = (period: Period) => numbered(period, salt.payout);
  const settlementOf = (period: Period) =>
    [
      ['FINANCIAL_EVENT_GROUP_ID', periods.idOf(period)],
      ['SETTLEMENT_ID', settlementIdOf(period)],
    ] as const;
  const partner = ({ id }: Marketplace) =>
    `"partnerMetadata":{"partnerId":"${sellerId}","accountType":"${accountType}","marketplaceId":"${id}"}`;

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
    // A product that is named beside an amount becomes an item without breakdowns.
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

  /** The settlements that were closed by the end of a history, with what they paid. */
  function closedIn({ periods: begun, until }: History): readonly Period[] {
    return begun.filter(({ end }) => end <= until);
  }

  async function transferJson(period: Period, until: number): Promise<string | undefined> {
    const paid = await settled(period, until);
    if (paid <= 0n || fundTransferOf(key, profile, period).status !== 'Succeeded') return undefined;
    // Reports differ on the sign of a transfer.
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

  /** What an event is as transactions by an instant. */
  function* postingsOf(event: EventFacts, until: number): Generator<Posting> {
    const deferredAt = deferredSince(key, event);
    if (deferredAt !== undefined && deferredAt <= until) yield { event, stage: 'deferred', postedAt: deferredAt };
    if (event.at <= until) yield { event, stage: 'counted', postedAt: Math.floor(event.at / 1000) * 1000 };
  }

  /** The events that may have transactions in question, in their order. */
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

  function isAsked(
    { marketplaceIds, accountType: type = accountType }: SummaryQuestion | PayoutQuestion,
    { id }: Marketplace,
  ) {
    return type === accountType && marketplaceIds?.includes(id) !== false;
  }

  function summaryJson(
    marketplace: Marketplace,
    net: bigint,
    ids: readonly (readonly [string, string])[],
    more: string,
  ) {
    return `{${partner(marketplace)},"netProceeds":${moneyJson(marketplace, net)},"relatedIdentifiers":${relatedIdentifiersJson(ids)},"breakdowns":[],${more}}`;
  }

  function* summariesFor(question: SummaryQuestion, history: History): Generator<Found> {
    const { settlementId, days } = question;
    const { until } = history;
    for (const period of history.periods) {
      const { marketplace, start, end } = period;
      if (settlementId !== settlementIdOf(period) || !isAsked(question, marketplace)) continue;
      const ended = end > until ? '' : `,"periodEnd":"${shortInstant(end)}"`;
      const span = `"periodStart":"${shortInstant(start)}"${ended}`;
      const ids = [['SETTLEMENT_ID', settlementId]] as const;
      const net = () => sums.netOf(period, until);
      yield { cursor: settlementId, write: async () => summaryJson(marketplace, await net(), ids, span) };
    }
    if (settlementId !== undefined || days === undefined) return;
    for (const marketplace of profile.marketplaces) {
      const begun = history.periods.find((period) => period.marketplace === marketplace)?.start ?? Infinity;
      const from = days.first * dayMs;
      const to = ((days.last ?? Math.floor(until / dayMs)) + 1) * dayMs;
      if (!isAsked(question, marketplace) || Math.max(from, begun) >= to) continue;
      const span = `"periodStart":"${shortInstant(from)}","periodEnd":"${shortInstant(to - 1000)}"`;
      const net = () => sums.netOf({ marketplace, start: Math.max(from, begun), end: to }, until);
      yield { cursor: marketplace.id, write: async () => summaryJson(marketplace, await net(), [], span) };
    }
  }

  async function payoutJson(period: Period, until: number): Promise<string> {
    const { marketplace, start, end } = period;
    const total = await settled(period, until);
    const { status, traceId, accountTail } = fundTransferOf(key, profile, period);
    const reached =
      total <= 0n ? 'NO_PAYOUT' : { Succeeded: 'PAID', Processing: 'IN_TRANSIT', Failed: 'FAILED' }[status];
    const at = shortInstant(end);
    const failure = reached === 'FAILED' ? ',"failureReason":"The bank refused the transfer"' : '';
    return `{${[
      `"id":"${payoutIdOf(period)}"`,
      partner(marketplace),
      `"currentStatus":"${reached}"`,
      `"statusHistory":[{"status":"STARTED","lastUpdatedDate":"${at}"},{"status":"${reached}","lastUpdatedDate":"${at}"${failure}}]`,
      ...(total <= 0n ? [] : ['"type":"SCHEDULED"', `"amount":${moneyJson(marketplace, total)}`]),
      `"accountTail":"${accountTail}"`,
      '"paymentMethod":"BANK_ACCOUNT"',
      `"creationDate":"${at}"`,
      `"traceId":"${traceId}"`,
      `"period":{"startDate":"${shortInstant(start)}","endDate":"${at}"}`,
      `"relatedIdentifiers":${relatedIdentifiersJson([['SETTLEMENT_ID', settlementIdOf(period)]])}`,
    ].join(',')}}`;
  }

  function payoutsFor(question: PayoutQuestion, history: History): readonly Found[] {
    const { range, payoutId } = question;
    const wanted = closedIn(history).filter(
      (period) =>
        period.end >= range.from &&
        period.end < range.to &&
        (payoutId ?? payoutIdOf(period)) === payoutIdOf(period) &&
        isAsked(question, period.marketplace),
    );
    const newestFirst = wanted.toSorted((a, b) => b.end - a.end || a.marketplace.index - b.marketplace.index);
    return newestFirst.map((period) => ({
      cursor: payoutIdOf(period),
      write: () => payoutJson(period, history.until),
    }));
  }

  return {
    transactions: (question, query) => pageOf(transactionsFor(question, historyOf(query), query.cursor), query.limit),
    summaries: (question, query) => pageOf(behind(summariesFor(question, historyOf(query)), query.cursor), query.limit),
    payouts: (question, query) => pageOf(behind(payoutsFor(question, historyOf(query)), query.cursor), query.limit),
  };
}
