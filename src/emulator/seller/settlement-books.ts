import { createHash } from 'node:crypto';
import { shortInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type {
  LedgerPage,
  LedgerQuery,
  PayoutQuestion,
  SummaryQuestion,
  TransactionLedger,
} from '../../serve/http/ledger.js';
import { hash } from '../profiles/seeded-random.js';
import type { Marketplace } from '../profiles/seller-profile.js';
import type { Period } from './event-calendar.js';
import type { EventStream, SellerHistory } from './event-stream.js';
import { fundTransferOf, type PeriodSums } from './settlement-groups.js';
import { accountType, moneyJson, relatedIdentifiersJson } from './transaction-json.js';

const salt = { settlement: 83, payout: 84 };

/** The input of a seller's books: its events, settlements and sums. */
export interface SellerBooks {
  readonly seed: number;
  readonly key: number;
  readonly events: EventStream;
  readonly sums: PeriodSums;
  readonly historyOf: (query: LedgerQuery) => SellerHistory;
  /** The total of a settlement with its beginning balance, in millionths. */
  readonly totalOf: (period: Period, until: number) => Promise<bigint>;
}

/** A found item: the cursor that names it, and a function that writes its JSON. */
export interface FoundItem {
  readonly cursor: string;
  readonly write: () => string | Promise<string>;
}

/** A page of the first `limit` items, with the cursor of the next page. */
export async function pageOf(found: AsyncIterable<FoundItem>, limit: number): Promise<LedgerPage> {
  const items: { list: string; json: string }[] = [];
  let last = '';
  for await (const { cursor, write } of found) {
    if (items.length === limit) return { items, next: last };
    items.push({ list: '', json: await write() });
    last = cursor;
  }
  return { items, next: undefined };
}

/** The items after a cursor. */
export async function* itemsAfter(
  found: Iterable<FoundItem> | AsyncIterable<FoundItem>,
  cursor: string | undefined,
): AsyncGenerator<FoundItem> {
  let isBehind = cursor === undefined;
  for await (const one of found) {
    if (isBehind) yield one;
    else isBehind = one.cursor === cursor;
  }
}

/** A seller's settlements as the newer API has them: their ids, what they add up to, and what was paid out. */
export interface SettlementBooks extends Pick<TransactionLedger, 'summaries' | 'payouts'> {
  readonly sellerId: string;
  /** The related identifiers of a transaction that counts towards a settlement. */
  readonly identifiersOf: (period: Period) => readonly (readonly [name: string, value: string])[];
  readonly payoutIdOf: (period: Period) => string;
  /** The settlements closed by the end of a history. */
  readonly closedIn: (history: SellerHistory) => readonly Period[];
}

export function createSettlementBooks({ seed, key, events, sums, historyOf, totalOf }: SellerBooks): SettlementBooks {
  const { profile, periods } = events;
  const digest = createHash('sha256').update(`${seed}/transaction/seller`).digest('base64url');
  const sellerId = `A${digest
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, 13)
    .toUpperCase()}`;
  const numberOf = ({ marketplace, index }: Period) => index * profile.marketplaces.length + marketplace.index;
  const numbered = (period: Period, use: number) =>
    String(10_000 + (hash(key, numberOf(period), use) % 90_000)) +
    String(Math.abs(numberOf(period)) % 1e6).padStart(6, '0');
  const settlementIdOf = (period: Period) => numbered(period, salt.settlement);
  const payoutIdOf = (period: Period) => numbered(period, salt.payout);
  const identifiersOf = (period: Period) =>
    [
      ['FINANCIAL_EVENT_GROUP_ID', periods.idOf(period)],
      ['SETTLEMENT_ID', settlementIdOf(period)],
    ] as const;
  const partner = ({ id }: Marketplace) =>
    `"partnerMetadata":{"partnerId":"${sellerId}","accountType":"${accountType}","marketplaceId":"${id}"}`;

  function closedIn({ periods: begun, until }: SellerHistory): readonly Period[] {
    return begun.filter(({ end }) => end <= until);
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

  function* summariesFor(question: SummaryQuestion, history: SellerHistory): Generator<FoundItem> {
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
    const total = await totalOf(period, until);
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

  function payoutsFor(question: PayoutQuestion, history: SellerHistory): readonly FoundItem[] {
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
    ...{ sellerId, identifiersOf, payoutIdOf, closedIn },
    summaries: (question, query) =>
      pageOf(itemsAfter(summariesFor(question, historyOf(query)), query.cursor), query.limit),
    payouts: (question, query) => pageOf(itemsAfter(payoutsFor(question, historyOf(query)), query.cursor), query.limit),
  };
}
