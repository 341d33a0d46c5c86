import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { BackendQuery } from '../../serve/operation/backend-page.js';
import { contains, type Window } from '../../core/windows.js';
import type { Backend } from '../../serve/served-apis.js';
import { createEventStream, type EventFacts, type EventStream, type SellerHistory, historyAt } from './event-stream.js';
import { JsonSink } from './json-sink.js';
import { edgeCases } from '../profiles/edge-cases-profile.js';
import { plausible } from '../profiles/plausible-profile.js';
import { seedKey } from '../profiles/seeded-random.js';
import type { Profile } from '../profiles/seller-profile.js';
import { createPeriodSums, groupJson } from './settlement-groups.js';
import type { Period } from './event-calendar.js';
import { ReportBooks } from './report-books.js';
import { pageOf, SettlementBooks, type FoundItem, type SellerBooks } from './settlement-books.js';
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

/** A synthetic seller: a backend for the server, and its events, with which tests compare a lake. */
export interface Seller extends Backend {
  readonly byReport: ReportBooks;
  readonly stream: EventStream;
  /** The events up to now. */
  readonly history: () => SellerHistory;
}

const allTime: Window = { start: -Infinity, end: Infinity };

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

  const key = seedKey(seed);
  const stream = createEventStream(seed, count, days, profiles[options.profile]);
  const sums = createPeriodSums(stream);
  const historyOf = ({ asOf }: BackendQuery) => historyAt(stream, days, Math.min(asOf, clock.now()));
  const { profile, periods } = stream;
  const sink = new JsonSink(stream.orderIds, profile);

  function* eventItems(found: Iterable<EventFacts>): Generator<FoundItem> {
    for (const event of found) {
      const write = () => {
        stream.write(event, sink);
        return sink.finish();
      };
      yield { cursor: String(event.ordinal), list: event.list, write };
    }
  }

  /** The beginning balance of a settlement period and its total at an instant, in millionths. */
  async function balancesOf(period: Period, until: number) {
    const previous = periods.byIndex(period.marketplace, period.index - 1);
    const isCarriedOver = profile.isCarriedOver(period.marketplace, previous.index);
    const carriedOver = isCarriedOver ? await sums.netOf(previous, until) : 0n;
    const beginningBalance = periods.openingBalanceOf(period) + carriedOver;
    return { beginningBalance, total: beginningBalance + (await sums.netOf(period, until)) };
  }

  function groupItem(period: Period, until: number): FoundItem {
    const cursor = periods.idOf(period);
    const write = async () => {
      const facts = { id: cursor, period, isOpen: period.end > until, ...(await balancesOf(period, until)) };
      return groupJson(key, profile, facts);
    };
    return { cursor, write };
  }

  const books: SellerBooks = { seed, key, events: stream, sums, historyOf, balancesOf };
  const settlements = new SettlementBooks(books);
  return {
    stream,
    history: () => historyAt(stream, days, clock.now()),
    groups: async (range, query) => {
      const { cursor, limit } = query;
      const history = historyOf(query);
      const position = history.periods.findIndex((period) => periods.idOf(period) === cursor);
      if (position === -1 && cursor !== undefined) {
        throw usageError(`expected the cursor to be the id of a group that a page ended with, got "${cursor}"`);
      }
      const found = history.periods.slice(position + 1).filter(({ start }) => contains(range, start));
      return pageOf(
        found.map((period) => groupItem(period, history.until)),
        limit,
      );
    },
    events: async (range, query) => {
      const found = historyOf(query).events(range, undefined, ordinalIn(query.cursor));
      return pageOf(eventItems(found), query.limit);
    },
    eventsOfGroup: async (groupId, query, within = allTime) => {
      const history = historyOf(query);
      const period = history.periods.find((candidate) => periods.idOf(candidate) === groupId);
      if (period === undefined) return undefined;
      const range = { start: Math.max(period.start, within.start), end: Math.min(period.end, within.end) };
      const found = history.events(range, period.marketplace, ordinalIn(query.cursor));
      return pageOf(eventItems(found), query.limit);
    },
    eventsOfOrder: async (orderId, query) => {
      const order = stream.orderIds.ordinalOf(orderId);
      if (order === undefined || stream.density.perDay === 0) return undefined;
      const found = stream.eventsOf(order).map(stream.factsOf).filter(historyOf(query).has);
      const after = ordinalIn(query.cursor) ?? -Infinity;
      const remaining = found.filter(({ ordinal }) => ordinal > after);
      return found.length === 0 ? undefined : pageOf(eventItems(remaining), query.limit);
    },
    byTransaction: new TransactionBooks(books, settlements),
    byReport: new ReportBooks(books, settlements),
  };
}
