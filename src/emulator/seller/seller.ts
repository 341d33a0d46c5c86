import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { InstantRange, Ledger, LedgerItem, LedgerPage, LedgerQuery } from '../../serve/http/ledger.js';
import { createEventStream, type EventFacts, type EventStream, type SellerHistory, historyAt } from './event-stream.js';
import { JsonSink } from './json-sink.js';
import { edgeCases } from '../profiles/edge-cases-profile.js';
import { plausible } from '../profiles/plausible-profile.js';
import { keyOf } from '../profiles/seeded-random.js';
import type { Profile } from '../profiles/seller-profile.js';
import { createPeriodSums, groupJson, type PeriodSums } from './settlement-groups.js';
import type { Period } from './event-calendar.js';
import { TransactionBooks } from './transaction-books.js';

export interface SellerOptions {
  /** Seed of all events: a whole number from 0. */
  readonly seed: number;
  /**
   * Number of events in `days` days, 0 to 10^9: exactly, in any consecutive whole days (edge-cases), or on average
   * (plausible).
   */
  readonly events: number;
  /** `plausible`: a typical seller; `edge-cases`: many occurrences of everything that a client must handle. */
  readonly profile: ProfileName;
  /** Minimum length of the history in days; default 90. */
  readonly days?: number | undefined;
}

const profiles = { plausible, 'edge-cases': edgeCases } as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof profiles;

/** A synthetic seller: a ledger for the service, and its events, with which tests compare a lake. */
export interface Seller extends Ledger {
  readonly stream: EventStream;
  /** The events up to now. */
  readonly history: () => SellerHistory;
}

const allTime: InstantRange = { from: -Infinity, to: Infinity };

const limits = { events: 1e9, days: 3650 };

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw usageError(
      `expected the synthetic seller's ${name} to be a whole number from ${least} to ${most}, got ${value}`,
    );
  }
}

/**
 * The ordinal that a cursor names.
 *
 * @throws LedgerlakeError USAGE for a cursor that no page of this seller has
 */
function ordinalIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const ordinal = /^-?\d+$/.test(cursor) ? Number(cursor) : NaN;
  if (!Number.isSafeInteger(ordinal))
    throw usageError(`expected the cursor to be the number of an event, got "${cursor}"`);
  return ordinal;
}

/** At most `limit` items, and the last of them where more follow. */
function firstItems<T>(items: Iterable<T>, limit: number): { first: T[]; last: T | undefined } {
  const first: T[] = [];
  for (const item of items) {
    if (first.length === limit) return { first, last: first.at(-1) };
    first.push(item);
  }
  return { first, last: undefined };
}

/** A promise of the result, rejected with what `compute` throws. */
function promised<T>(compute: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(compute());
  });
}

/**
 * A synthetic seller on several marketplaces, each with its currency and its groups of fourteen days. The events of a
 * day depend on the seed, the density and that day alone; the clock decides only how many of them have happened. Memory
 * holds the sums of days and nothing else, so that the number of events doesn't matter.
 *
 * An order is unknown where none of its events is in the history, because they are too old or in the future.
 *
 * @throws LedgerlakeError USAGE for options that are invalid
 */
export function createSeller(options: SellerOptions, clock: Clock): Seller {
  const { seed, events: count, days = 90 } = options;
  checkWhole('seed', seed, 0, Number.MAX_SAFE_INTEGER);
  checkWhole('number of events', count, 0, limits.events);
  checkWhole('number of days', days, 1, limits.days);

  const key = keyOf(seed);
  const events = createEventStream(seed, count, days, profiles[options.profile]);
  const sums = createPeriodSums(events);
  const historyOf = ({ asOf }: LedgerQuery) => historyAt(events, days, Math.min(asOf, clock.now()));
  const groups = new GroupPages(key, events, sums);
  const pages = new EventPages(events);
  return {
    stream: events,
    history: () => historyAt(events, days, clock.now()),
    groups: async (range, query) => groups.page(range, historyOf(query), query),
    events: (range, query) => promised(() => pages.inRange(range, historyOf(query), query)),
    eventsOfGroup: (groupId, query, range) => promised(() => pages.ofGroup(groupId, range, historyOf(query), query)),
    eventsOfOrder: (orderId, query) => promised(() => pages.ofOrder(orderId, historyOf(query), query)),
    byTransaction: new TransactionBooks({
      ...{ seed, key, events, sums, historyOf },
      totalOf: async (period, until) => (await groups.balancesOf(period, until)).total,
    }),
  };
}

/** Pages of a seller's events. */
class EventPages {
  readonly #events: EventStream;
  readonly #sink: JsonSink;

  constructor(events: EventStream) {
    this.#events = events;
    this.#sink = new JsonSink(events.orderIds, events.profile);
  }

  inRange(range: InstantRange, history: SellerHistory, query: LedgerQuery): LedgerPage {
    return this.#page(history.events(range, undefined, ordinalIn(query.cursor)), query);
  }

  ofGroup(groupId: string, within = allTime, history: SellerHistory, query: LedgerQuery): LedgerPage | undefined {
    const period = history.periods.find((candidate) => this.#events.periods.idOf(candidate) === groupId);
    if (period === undefined) return undefined;
    const range = { from: Math.max(period.start, within.from), to: Math.min(period.end, within.to) };
    return this.#page(history.events(range, period.marketplace, ordinalIn(query.cursor)), query);
  }

  ofOrder(orderId: string, history: SellerHistory, query: LedgerQuery): LedgerPage | undefined {
    const order = this.#events.orderIds.ordinalOf(orderId);
    if (order === undefined || this.#events.density.perDay === 0) return undefined;
    const found = this.#events.eventsOf(order).map(this.#events.factsOf).filter(history.has);
    const after = ordinalIn(query.cursor) ?? -Infinity;
    const remaining = found.filter(({ ordinal }) => ordinal > after);
    return found.length === 0 ? undefined : this.#page(remaining, query);
  }

  #page(found: Iterable<EventFacts>, { limit }: LedgerQuery): LedgerPage {
    const { first, last } = firstItems(found, limit);
    return { items: first.map((event) => this.#itemOf(event)), next: last && String(last.ordinal) };
  }

  #itemOf(event: EventFacts): LedgerItem {
    this.#events.write(event, this.#sink);
    return { list: event.list, json: this.#sink.finish() };
  }
}

/** Pages of a seller's financial event groups. */
class GroupPages {
  readonly #key: number;
  readonly #events: EventStream;
  readonly #sums: PeriodSums;

  constructor(key: number, events: EventStream, sums: PeriodSums) {
    this.#key = key;
    this.#events = events;
    this.#sums = sums;
  }

  async page({ from, to }: InstantRange, history: SellerHistory, { cursor, limit }: LedgerQuery): Promise<LedgerPage> {
    const { idOf } = this.#events.periods;
    const position = history.periods.findIndex((period) => idOf(period) === cursor);
    if (position === -1 && cursor !== undefined) {
      throw usageError(`expected the cursor to be the id of a group that a page ended with, got "${cursor}"`);
    }
    const found = history.periods.slice(position + 1).filter(({ start }) => start >= from && start < to);
    const { first, last } = firstItems(found, limit);
    const items: LedgerItem[] = [];
    for (const period of first) items.push(await this.#itemOf(period, history.until));
    return { items, next: last && idOf(last) };
  }

  /** The beginning balance of a settlement period and its total at an instant, in millionths. */
  async balancesOf(period: Period, until: number) {
    const { profile, periods } = this.#events;
    const previous = periods.byIndex(period.marketplace, period.index - 1);
    const isCarriedOver = profile.isCarriedOver(period.marketplace, previous.index);
    const carriedOver = isCarriedOver ? await this.#sums.netOf(previous, until) : 0n;
    const beginningBalance = periods.openingBalanceOf(period) + carriedOver;
    return { beginningBalance, total: beginningBalance + (await this.#sums.netOf(period, until)) };
  }

  async #itemOf(period: Period, until: number): Promise<LedgerItem> {
    const { profile, periods } = this.#events;
    const balances = await this.balancesOf(period, until);
    const facts = { id: periods.idOf(period), period, isOpen: period.end > until, ...balances };
    return { list: '', json: groupJson(this.#key, profile, facts) };
  }
}
