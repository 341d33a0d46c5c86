import type { EventListName } from '../../sources/finances/model/records.js';
import type { Booking } from './booking.js';
import { createCalendar } from './event-calendar.js';
import { createDensity, type Density } from './density.js';
import type { Draft } from './event-writer.js';
import { blockOf, createKinds } from './event-mix.js';
import { type Market, marketFor, markets } from './marketplaces.js';
import { drawOrder } from './order-model.js';
import { createOrderIds, type OrderIds } from './order-ids.js';
import { createPeriods, type Periods } from './settlement-periods.js';
import { Draw, hash, keyOf } from './seeded-random.js';
import { createReplies } from './replies.js';
import { writers } from './writers.js';

const salt = { market: 61, contents: 62, order: 64, variety: 66 };

/** What there is to know of an event besides its contents. */
export interface EventFacts {
  /** Its number, in the order of time; the same for ever. */
  readonly ordinal: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly list: EventListName;
  /** Which of its list's events in its block it is. */
  readonly nth: number;
  readonly market: Market;
  /** The order that it is about: the ordinal of the event that began it. */
  readonly order: number | undefined;
  /** The event that all its contents were drawn for: itself, or the one that it repeats. */
  readonly source: number;
}

/** Every event there ever was and will be: what is past and what is to come is not decided here. */
export interface Events {
  readonly density: Density;
  readonly periods: Periods;
  readonly orderIds: OrderIds;
  factsOf: (ordinal: number) => EventFacts;
  /** The first event at or after an instant. */
  firstAt: (instant: number) => number;
  /** The events about an order, in their order; empty where the event of this ordinal began none. */
  eventsOf: (order: number) => number[];
  /** Writes an event on the draft. */
  write: (facts: EventFacts, draft: Draft) => void;
}

/** The events that a seed decides, `count` in any `days` whole days. */
export function createEvents(seed: number, count: number, days: number): Events {
  const key = keyOf(seed);
  const density = createDensity(count, days);
  const kinds = createKinds(key);
  const replies = createReplies(key, density, kinds);
  const calendar = createCalendar(key, density, kinds);
  const periods = createPeriods(seed, key);
  const draw = new Draw();
  const orderDraw = new Draw();

  function factsOf(ordinal: number): EventFacts {
    const slot = kinds.slotOf(ordinal);
    const order = replies.orderOf(ordinal, slot);
    const source = kinds.isTwin(ordinal, slot) ? ordinal - 1 : ordinal;
    return {
      ordinal,
      at: calendar.instantOf(ordinal),
      list: slot.list,
      nth: slot.nth,
      market: marketFor(hash(key, order ?? source, salt.market)),
      order,
      source,
    };
  }

  // One for all events, since making one for each costs more than writing a short event.
  const booking: { -readonly [Key in keyof Booking]: Booking[Key] } = {
    at: 0,
    market: markets[0],
    order: 0,
    turn: 0,
    nth: 0,
    draw,
    orderContents: () => drawOrder(orderDraw.begin(key, booking.order, salt.order), booking.market),
    period: () => periods.at(booking.market, booking.at),
    earlierPeriod: () => periods.of(booking.market, booking.period().index - 1),
    groupIdOf: periods.idOf,
  };

  return {
    density,
    periods,
    orderIds: createOrderIds(key),
    factsOf,
    firstAt: calendar.firstAt,
    eventsOf: (order) => (kinds.slotOf(order).order ? [order, ...replies.repliesTo(order)] : []),
    write: ({ ordinal, at, list, nth, market, order, source }, draft) => {
      booking.at = at;
      booking.market = market;
      booking.order = order ?? ordinal;
      booking.turn = blockOf(ordinal);
      booking.nth = nth;
      draw.begin(key, source, salt.contents);
      draft.begin(market, hash(key, source, salt.variety));
      writers[list](booking, draft);
    },
  };
}
