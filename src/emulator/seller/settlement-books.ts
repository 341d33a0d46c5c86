import { createHash } from 'node:crypto';
import { shortInstant } from '../../core/numeric/instant.js';
import { contains, dayMs } from '../../core/windows.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../serve/operation/backend-page.js';
import type {
  PayoutQuestion,
  SummaryQuestion,
  TransactionBackend,
} from '../../serve/api-2024-06-19/transaction-backend.js';
import { hash } from '../profiles/seeded-random.js';
import type { SellerMarketplace } from '../profiles/seller-profile.js';
import type { Period } from './event-calendar.js';
import type { EventStream, SellerHistory } from './event-stream.js';
import { fundTransferOf, type PeriodSums } from './settlement-groups.js';
import { accountType, moneyJson, relatedIdentifiersJson } from './transaction-json.js';

const salt = { settlement: 83, payout: 84, report: 87 };

/** The input of a seller's books: its events, settlements and sums. */
export interface SellerBooks {
  readonly seed: number;
  readonly key: number;
  readonly events: EventStream;
  readonly sums: PeriodSums;
  readonly historyOf: (query: BackendQuery) => SellerHistory;
  /** The beginning balance of a settlement, and its total with it, in millionths. */
  readonly balancesOf: (
    period: Period,
    until: number,
  ) => Promise<{ readonly beginningBalance: bigint; readonly total: bigint }>;
}

/** An item of a page: its cursor, the list that contains it, if any, and the writer of its JSON. */
export interface FoundItem {
  readonly cursor: string;
  readonly list?: string;
  readonly write: () => string | Promise<string>;
}

/** A page of the first `limit` items, with the cursor of the next page. */
export async function pageOf(
  found: Iterable<FoundItem> | AsyncIterable<FoundItem>,
  limit: number,
): Promise<BackendPage> {
  const items: BackendItem[] = [];
  let last = '';
  for await (const { cursor, list = '', write } of found) {
    if (items.length === limit) return { items, next: last };
    items.push({ list, json: await write() });
    last = cursor;
  }
  return { items, next: undefined };
}

/** The items after a cursor. */
export async function* itemsAfter(
  found: Iterable<FoundItem> | AsyncIterable<FoundItem>,
  cursor: string | undefined,
): AsyncGenerator<FoundItem> {
  let isAfter = cursor === undefined;
  for await (const item of found) {
    if (isAfter) yield item;
    else isAfter = item.cursor === cursor;
  }
}

/** The related identifiers of a transaction or a summary. */
export type Identifiers = readonly (readonly [name: string, value: string])[];

/** A seller's settlements as the newer API has them: their ids, their totals, and their payouts. */
export class SettlementBooks implements Pick<TransactionBackend, 'summaries' | 'payouts'> {
  readonly sellerId: string;
  readonly #books: SellerBooks;

  constructor(books: SellerBooks) {
    this.#books = books;
    const digest = createHash('sha256').update(`${books.seed}/transaction/seller`).digest('base64url');
    const letters = digest.replaceAll(/[^A-Za-z0-9]/g, '');
    this.sellerId = `A${letters.slice(0, 13).toUpperCase()}`;
  }

  summaries(question: SummaryQuestion, query: BackendQuery): Promise<BackendPage> {
    const history = this.#books.historyOf(query);
    const found =
      question.settlementId === undefined
        ? this.#daySummaries(question, history)
        : this.#settlementSummaries(question, history);
    return pageOf(itemsAfter(found, query.cursor), query.limit);
  }

  /** The settlements closed in the range, the newest first. */
  payouts(question: PayoutQuestion, query: BackendQuery): Promise<BackendPage> {
    const { range, payoutId } = question;
    const history = this.#books.historyOf(query);
    const found = this.closedIn(history)
      .filter(({ end, marketplace }) => contains(range, end) && isSelected(question, marketplace))
      .toSorted((a, b) => b.end - a.end || a.marketplace.index - b.marketplace.index)
      .map((period) => ({
        cursor: this.payoutIdOf(period),
        write: () => this.#payoutJson(period, history.until),
      }))
      .filter(({ cursor }) => cursor === (payoutId ?? cursor));
    return pageOf(itemsAfter(found, query.cursor), query.limit);
  }

  /** The related identifiers of a transaction that counts towards a settlement. */
  identifiersOf(period: Period): Identifiers {
    return [
      ['FINANCIAL_EVENT_GROUP_ID', this.#books.events.periods.idOf(period)],
      ['SETTLEMENT_ID', this.settlementIdOf(period)],
    ];
  }

  settlementIdOf(period: Period): string {
    return this.#numberedId(period, salt.settlement);
  }

  payoutIdOf(period: Period): string {
    return this.#numberedId(period, salt.payout);
  }

  /** The settlements closed by the end of a history. */
  closedIn({ periods, until }: SellerHistory): readonly Period[] {
    return periods.filter(({ end }) => end <= until);
  }

  reportIdOf(period: Period): string {
    return this.#numberedId(period, salt.report);
  }

  /** Eleven digits, of which the last six number the period among those of all marketplaces. */
  #numberedId({ marketplace, index }: Period, use: number): string {
    const { key, events } = this.#books;
    const number = index * events.profile.marketplaces.length + marketplace.index;
    return String(10_000 + (hash(key, number, use) % 90_000)) + String(Math.abs(number) % 1e6).padStart(6, '0');
  }

  *#settlementSummaries(question: SummaryQuestion, history: SellerHistory): Generator<FoundItem> {
    const { sums } = this.#books;
    const { until } = history;
    for (const period of history.periods) {
      const { marketplace, start, end } = period;
      const id = this.settlementIdOf(period);
      if (question.settlementId !== id || !isSelected(question, marketplace)) continue;
      const periodEnd = end > until ? '' : `,"periodEnd":"${shortInstant(end)}"`;
      const span = `"periodStart":"${shortInstant(start)}"${periodEnd}`;
      const net = () => sums.netOf(period, until);
      yield {
        cursor: id,
        write: async () => this.#summaryJson(marketplace, await net(), [['SETTLEMENT_ID', id]], span),
      };
    }
  }

  /** One summary for each marketplace whose history reaches into the days in question. */
  *#daySummaries(question: SummaryQuestion, { periods, until }: SellerHistory): Generator<FoundItem> {
    const { days } = question;
    if (days === undefined) return;
    const { sums, events } = this.#books;
    const from = days.first * dayMs;
    const to = ((days.last ?? Math.floor(until / dayMs)) + 1) * dayMs;
    for (const marketplace of events.profile.marketplaces) {
      const begin = periods.find((period) => period.marketplace === marketplace)?.start ?? Infinity;
      const start = Math.max(from, begin);
      if (!isSelected(question, marketplace) || start >= to) continue;
      const span = `"periodStart":"${shortInstant(from)}","periodEnd":"${shortInstant(to - 1000)}"`;
      const net = () => sums.netOf({ marketplace, start, end: to }, until);
      yield { cursor: marketplace.id, write: async () => this.#summaryJson(marketplace, await net(), [], span) };
    }
  }

  #summaryJson(marketplace: SellerMarketplace, net: bigint, identifiers: Identifiers, span: string): string {
    return `{${[
      this.#partnerJson(marketplace),
      `"netProceeds":${moneyJson(marketplace, net)}`,
      `"relatedIdentifiers":${relatedIdentifiersJson(identifiers)}`,
      '"breakdowns":[]',
      span,
    ].join(',')}}`;
  }

  async #payoutJson(period: Period, until: number): Promise<string> {
    const { key, events, balancesOf } = this.#books;
    const { marketplace, start, end } = period;
    const { total } = await balancesOf(period, until);
    const { status, traceId, accountTail } = fundTransferOf(key, events.profile, period);
    const currentStatus = total <= 0n ? 'NO_PAYOUT' : payoutStatuses[status];
    const at = shortInstant(end);
    const failure = currentStatus === 'FAILED' ? ',"failureReason":"The bank refused the transfer"' : '';
    return `{${[
      `"id":"${this.payoutIdOf(period)}"`,
      this.#partnerJson(marketplace),
      `"currentStatus":"${currentStatus}"`,
      `"statusHistory":[{"status":"STARTED","lastUpdatedDate":"${at}"},{"status":"${currentStatus}","lastUpdatedDate":"${at}"${failure}}]`,
      ...(total <= 0n ? [] : ['"type":"SCHEDULED"', `"amount":${moneyJson(marketplace, total)}`]),
      `"accountTail":"${accountTail}"`,
      '"paymentMethod":"BANK_ACCOUNT"',
      `"creationDate":"${at}"`,
      `"traceId":"${traceId}"`,
      `"period":{"startDate":"${shortInstant(start)}","endDate":"${at}"}`,
      `"relatedIdentifiers":${relatedIdentifiersJson([['SETTLEMENT_ID', this.settlementIdOf(period)]])}`,
    ].join(',')}}`;
  }

  #partnerJson({ id }: SellerMarketplace): string {
    return `"partnerMetadata":{"partnerId":"${this.sellerId}","accountType":"${accountType}","marketplaceId":"${id}"}`;
  }
}

/** The status of a payout by that of its transfer. */
const payoutStatuses = { Succeeded: 'PAID', Processing: 'IN_TRANSIT', Failed: 'FAILED' } as const;

/** Whether the account of a marketplace is among those in question. */
function isSelected(
  { marketplaceIds, accountType: type = accountType }: SummaryQuestion | PayoutQuestion,
  { id }: SellerMarketplace,
): boolean {
  return type === accountType && marketplaceIds?.includes(id) !== false;
}
