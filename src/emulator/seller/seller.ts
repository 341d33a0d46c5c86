import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { InstantRange, Ledger, LedgerItem, LedgerPage, LedgerQuery } from '../../serve/http/ledger.js';
import { createEventStream, type EventFacts, type EventStream, type SellerHistory, historyAt } from './event-stream.js';
import { JsonSink } from './json-sink.js';
import { edgeCases } from '../profiles/edge-cases-profile.js';
import { plausible } from '../profiles/plausible-profile.js';
import { keyOf } from '../profiles/seeded-random.js';
import type { Profile } from '../profiles/seller-profile.js';
import { createPeriodSums, groupJson } from './settlement-groups.js';
import type { Period } from './event-calendar.js';
import { createTransactionBooks } from './transaction-books.js';

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

const ever: InstantRange = { from: -Infinity, to: Infinity };

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
function cut<T>(items: Iterable<T>, limit: number): { shown: T[]; last: T | undefined } {
  const shown: T[] = [];
  for (const item of items) {
    if (shown.length === limit) return { shown, last: shown.at(-1) };
    shown.push(item);
  }
  return { shown, last: undefined };
}

/** The result as a promise, rejected with what `ask` throws. */
function answer<T>(ask: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(ask());
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
  const profile: Profile = profiles[options.profile];
  const events = createEventStream(seed, count, days, profile);
  const periodSums = createPeriodSums(events);
  const sink = new JsonSink(events.orderIds, profile);
  const historyOf = ({ asOf }: LedgerQuery) => historyAt(events, days, Math.min(asOf, clock.now()));

  function itemOf(event: EventFacts): LedgerItem {
    events.write(event, sink);
    return { list: event.list, json: sink.finish() };
  }
  function page(found: Iterable<EventFacts>, { limit }: LedgerQuery): LedgerPage {
    const { shown, last } = cut(found, limit);
    return { items: shown.map(itemOf), next: last === undefined ? undefined : String(last.ordinal) };
  }
  async function balancesOf(period: Period, until: number) {
    const netOf = async (one: Period) => (count === 0 ? 0n : periodSums.netOf(one, until));
    const previous = events.periods.of(period.marketplace, period.index - 1);
    const carried = profile.isCarriedOver(period.marketplace, previous.index) ? await netOf(previous) : 0n;
    const beginningBalance = events.periods.openingBalanceOf(period) + carried;
    return { beginningBalance, total: beginningBalance + (await netOf(period)) };
  }
  async function groupItem(period: Period, { until }: SellerHistory): Promise<LedgerItem> {
    const { beginningBalance, total } = await balancesOf(period, until);
    const facts = { id: events.periods.idOf(period), period, isOpen: period.end > until, beginningBalance, total };
    return { list: '', json: groupJson(key, profile, facts) };
  }
  async function groups({ from, to }: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    const history = historyOf(query);
    const position = history.periods.findIndex((period) => events.periods.idOf(period) === query.cursor);
    if (position === -1 && query.cursor !== undefined) {
      throw usageError(`expected the cursor to be the id of a group that a page ended with, got "${query.cursor}"`);
    }
    const wanted = history.periods.slice(position + 1).filter(({ start }) => start >= from && start < to);
    const { shown, last } = cut(wanted, query.limit);
    const items: LedgerItem[] = [];
    for (const period of shown) items.push(await groupItem(period, history));
    return { items, next: last === undefined ? undefined : events.periods.idOf(last) };
  }

  const byTransaction = createTransactionBooks({
    ...{ seed, key, events, historyOf },
    sums: { netOf: (span, until) => (count === 0 ? Promise.resolve(0n) : periodSums.netOf(span, until)) },
    totalOf: async (period, until) => (await balancesOf(period, until)).total,
  });

  return {
    stream: events,
    byTransaction,
    history: () => historyAt(events, days, clock.now()),
    groups,
    events: (range, query) =>
      answer(() => page(historyOf(query).events(range, undefined, ordinalIn(query.cursor)), query)),
    eventsOfGroup: (groupId, query, asked = ever) =>
      answer(() => {
        const history = historyOf(query);
        const period = history.periods.find((candidate) => events.periods.idOf(candidate) === groupId);
        if (period === undefined) return undefined;
        const range = { from: Math.max(period.start, asked.from), to: Math.min(period.end, asked.to) };
        return page(history.events(range, period.marketplace, ordinalIn(query.cursor)), query);
      }),
    eventsOfOrder: (orderId, query) =>
      answer(() => {
        const order = events.orderIds.ordinalOf(orderId);
        if (order === undefined || count === 0) return undefined;
        const history = historyOf(query);
        const found = events.eventsOf(order).map(events.factsOf).filter(history.has);
        const after = ordinalIn(query.cursor) ?? -Infinity;
        const rest = found.filter(({ ordinal }) => ordinal > after);
        return found.length === 0 ? undefined : page(rest, query);
      }),
  };
}
