import { setImmediate as nextTurn } from 'node:timers/promises';
import { dayMs } from './event-calendar.js';
import type { Events } from './event-stream.js';
import { markets } from './marketplaces.js';
import type { Period } from './settlement-periods.js';
import { SumDraft } from './sum-draft.js';

/** Days whose sums are kept: more than the service's two years would need, a few numbers each. */
const keptDays = 1024;

/** What one day brought in each currency, before and from the beginning of a period in it (millionths). */
interface DaySums {
  readonly before: readonly bigint[];
  readonly from: readonly bigint[];
}

export interface Totals {
  /** Net millionths of a period's events up to `until`, an instant included. Lets others run between two days. */
  netOf(period: Period, until: number): Promise<bigint>;
}

/** Adds periods up day by day, without holding their events; a day is added up once for all currencies. */
export function createTotals(events: Events): Totals {
  const kept = new Map<number, DaySums>();
  const draft = new SumDraft();

  /** A period begins within a day at most once for each currency; without one all is `before`. */
  function sumDay(day: number, until: number): DaySums {
    const last = (day + 1) * dayMs - 1;
    const starts = markets.map((market) => {
      const { start } = events.periods.at(market, last);
      return start > day * dayMs ? start : Infinity;
    });
    const before = markets.map(() => 0n);
    const from = markets.map(() => 0n);
    const end = events.density.firstOf(day + 1);
    for (let ordinal = events.density.firstOf(day); ordinal < end; ordinal++) {
      const event = events.factsOf(ordinal);
      if (event.at > until) break;
      events.write(event, draft);
      const { index } = event.market;
      const sums = event.at >= (starts[index] ?? Infinity) ? from : before;
      sums[index] = (sums[index] ?? 0n) + BigInt(draft.sum);
    }
    return { before, from };
  }

  async function sumsOf(day: number, until: number): Promise<DaySums> {
    if (until < (day + 1) * dayMs - 1) return sumDay(day, until);
    const known = kept.get(day);
    if (known !== undefined) return known;
    await nextTurn();
    const sums = sumDay(day, Infinity);
    if (kept.size >= keptDays) kept.clear();
    kept.set(day, sums);
    return sums;
  }

  return {
    netOf: async ({ market, start, end }, until) => {
      const last = Math.min(end - 1, until);
      let net = 0n;
      for (let day = Math.floor(start / dayMs); day * dayMs <= last; day++) {
        const { before, from } = await sumsOf(day, until);
        // On the day of its beginning a period has what came from then on, on that of its end what came before.
        if (day * dayMs >= start) net += before[market.index] ?? 0n;
        if ((day + 1) * dayMs <= end) net += from[market.index] ?? 0n;
      }
      return net;
    },
  };
}
