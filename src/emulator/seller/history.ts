import type { InstantRange } from '../../serve/http/ledger.js';
import { dayMs } from './event-calendar.js';
import type { EventFacts, Events } from './event-stream.js';
import { type Market, markets } from './marketplaces.js';
import type { Period } from './settlement-periods.js';

/** What of all events the seller has at an instant. */
export interface History {
  /** Its last instant, milliseconds since 1970. */
  readonly until: number;
  /** The periods that have begun, by their start. */
  readonly periods: readonly Period[];
  has: (event: EventFacts) => boolean;
  /** Its events within the range, in their order, only those of a market where one is given, and behind `after`. */
  events(range: InstantRange, market?: Market, after?: number): Generator<EventFacts>;
}

/**
 * The history at an instant: for each currency it begins with the settlement period that was running `days` before
 * that day, so that no group lacks its first events, and it ends at the instant itself.
 */
export function historyAt(events: Events, days: number, instant: number): History {
  const until = Math.floor(instant);
  const earliest = (Math.floor(until / dayMs) - days) * dayMs;
  const firsts = markets.map((market) => events.periods.at(market, earliest));
  const begins = firsts.map(({ start }) => start);
  const begin = Math.min(...begins);

  const periods = firsts
    .flatMap(({ market, index }) => {
      const last = events.periods.at(market, until).index;
      return Array.from({ length: last - index + 1 }, (_, n) => events.periods.of(market, index + n));
    })
    .sort((a, b) => a.start - b.start || a.market.index - b.market.index);
  const has = ({ at, market }: EventFacts) => at <= until && at >= (begins[market.index] ?? Infinity);

  function* within(range: InstantRange, market?: Market, after = -Infinity): Generator<EventFacts> {
    const from = Math.max(range.from, begin);
    const to = Math.min(range.to, until + 1);
    if (from >= to || events.density.perDay === 0) return;
    for (let ordinal = Math.max(events.firstAt(from), after + 1); ; ordinal++) {
      const event = events.factsOf(ordinal);
      if (event.at >= to) return;
      if ((market === undefined || market === event.market) && has(event)) yield event;
    }
  }
  return { until, periods, has, events: within };
}
