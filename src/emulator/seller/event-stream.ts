import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { accountWriters } from './account-writers.js';
import { dayMs, type Window } from '../../core/windows.js';
import { createCalendar, createPeriods, type Period, type Periods } from './event-calendar.js';
import { createEventMix, createFollowUps, type EventMix } from './event-mix.js';
import type { EventContext, EventSink, EventWriter } from './event-writer.js';
import { orderWriters } from './order-writers.js';
import { createOrderIds, Draw, hash, seedKey, type OrderIds } from '../profiles/seeded-random.js';
import type { EventDensity, SellerMarketplace, Profile } from '../profiles/seller-profile.js';
import { shipmentWriters } from './shipment-writers.js';

const salt = { marketplace: 61, contents: 62, order: 64, variety: 66 };

/** The writer of each list's events. */
const writers: Readonly<Record<EventListName, EventWriter>> = {
  ...accountWriters,
  ...orderWriters,
  ...shipmentWriters,
};

/** The properties of an event besides its contents. */
export interface EventFacts {
  /** Number of the event in order of time; it never changes. */
  readonly ordinal: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly list: EventListName;
  /** Number among its list's events in its block, from 0. */
  readonly nth: number;
  readonly marketplace: SellerMarketplace;
  /** The order that it concerns, as the ordinal of the event that started it; undefined: none. */
  readonly order: number | undefined;
  /** Ordinal of the event whose contents it has: its own, or that of the event that it repeats. */
  readonly source: number;
}

/** All events of a seller, past and future; a `SellerHistory` selects those up to an instant. */
export interface EventStream {
  readonly profile: Profile;
  readonly density: EventDensity;
  readonly periods: Periods;
  readonly orderIds: OrderIds;
  factsOf: (ordinal: number) => EventFacts;
  /** Ordinal of the first event at or after an instant. */
  firstAt: (instant: number) => number;
  /** Ordinals of the events that concern an order, ascending; empty where the event with this ordinal starts none. */
  eventsOf: (order: number) => number[];
  /** Writes an event to the sink. */
  write: (facts: EventFacts, sink: EventSink) => void;
}

/** The events of a seed: `count` in `days` days. */
export function createEventStream(seed: number, count: number, days: number, profile: Profile): EventStream {
  const key = seedKey(seed);
  const density = profile.density(count, days);
  const mix = createEventMix(key, profile.blockCounts((count * 90) / days), profile.oddities);
  const followUps = createFollowUps(key, density.perDay, mix);
  const calendar = createCalendar(key, density, mix, profile.oddities);
  const periods = createPeriods(seed, key, profile);

  function factsOf(ordinal: number): EventFacts {
    const slot = mix.slotOf(ordinal);
    const order = followUps.orderOf(ordinal, slot);
    const source = mix.isDuplicate(ordinal, slot) ? ordinal - 1 : ordinal;
    return {
      ordinal,
      at: calendar.instantOf(ordinal),
      list: slot.list,
      nth: slot.nth,
      marketplace: profile.marketplaceOf(hash(key, order ?? source, salt.marketplace), slot.list),
      order,
      source,
    };
  }

  return {
    profile,
    density,
    periods,
    orderIds: createOrderIds(key),
    factsOf,
    firstAt: calendar.firstAt,
    eventsOf: (order) => (mix.slotOf(order).startsOrder ? [order, ...followUps.followUpsOf(order)] : []),
    write: createWriter(key, profile, mix, periods),
  };
}

/** Writes events with one context for all, as creating one costs more than writing a short event. */
function createWriter(key: number, profile: Profile, mix: EventMix, periods: Periods): EventStream['write'] {
  const draw = new Draw();
  const orderDraw = new Draw();
  const context: { -readonly [Key in keyof EventContext]: EventContext[Key] } = {
    profile,
    blockSize: mix.blockSize,
    at: 0,
    marketplace: profile.marketplaces[0],
    order: 0,
    block: 0,
    nth: 0,
    draw,
    drawnOrder: () => profile.drawOrder(orderDraw.begin(key, context.order, salt.order), context.marketplace),
    period: () => periods.at(context.marketplace, context.at),
    earlierPeriod: () => periods.byIndex(context.marketplace, context.period().index - 1),
    groupIdOf: periods.idOf,
  };
  return ({ ordinal, at, list, nth, marketplace, order, source }, sink) => {
    context.at = at;
    context.marketplace = marketplace;
    context.order = order ?? ordinal;
    context.block = mix.blockOf(ordinal);
    context.nth = nth;
    draw.begin(key, source, salt.contents);
    sink.begin(marketplace, hash(key, source, salt.variety));
    writers[list](context, sink);
  };
}

/** The events that a seller has at an instant. */
export interface SellerHistory {
  /** The last instant, milliseconds since 1970. */
  readonly until: number;
  /** The settlement periods that have started, by their start. */
  readonly periods: readonly Period[];
  /** The first instant over all marketplaces, milliseconds since 1970. */
  readonly begin: number;
  has: (event: EventFacts) => boolean;
  /** Whether an event isn't older than the history; it may be in the future. */
  reaches: (event: EventFacts) => boolean;
  /**
   * The events in the range, ascending: of all marketplaces or of the given one, and only those with an ordinal above
   * `after`.
   */
  events(range: Window, marketplace?: SellerMarketplace, after?: number): Generator<EventFacts>;
}

/**
 * The history at an instant: each currency's starts with the settlement period that was open `days` before that day, so
 * that no group lacks its first events; it ends at the instant itself.
 */
export function historyAt(events: EventStream, days: number, instant: number): SellerHistory {
  const until = Math.floor(instant);
  const earliest = (Math.floor(until / dayMs) - days) * dayMs;
  const firsts = events.profile.marketplaces.map((marketplace) => events.periods.at(marketplace, earliest));
  const begins = firsts.map(({ start }) => start);
  const begin = Math.min(...begins);

  const periods = firsts
    .flatMap(({ marketplace, index }) => {
      const last = events.periods.at(marketplace, until).index;
      return Array.from({ length: last - index + 1 }, (_, n) => events.periods.byIndex(marketplace, index + n));
    })
    .sort((a, b) => a.start - b.start || a.marketplace.index - b.marketplace.index);
  const reaches = ({ at, marketplace }: EventFacts) => at >= (begins[marketplace.index] ?? Infinity);
  const has = (event: EventFacts) => event.at <= until && reaches(event);

  function* within(range: Window, marketplace?: SellerMarketplace, after = -Infinity): Generator<EventFacts> {
    const from = Math.max(range.start, begin);
    const to = Math.min(range.end, until + 1);
    if (from >= to || events.density.perDay === 0) return;
    for (let ordinal = Math.max(events.firstAt(from), after + 1); ; ordinal++) {
      const event = events.factsOf(ordinal);
      if (event.at >= to) return;
      if ((marketplace === undefined || marketplace === event.marketplace) && has(event)) yield event;
    }
  }
  return { until, periods, begin, has, reaches, events: within };
}
