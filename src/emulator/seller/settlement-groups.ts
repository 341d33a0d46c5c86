import { setImmediate as yieldToTasks } from 'node:timers/promises';
import type { EventSink, EventLineKind, Weight } from './event-writer.js';
import { dayMs } from '../../core/windows.js';
import type { Period } from './event-calendar.js';
import type { EventStream } from './event-stream.js';
import { shortInstant } from '../../core/numeric/instant.js';
import { numberText, usualChoice } from './json-sink.js';
import { hash } from '../profiles/seeded-random.js';
import type { SellerMarketplace, Profile } from '../profiles/seller-profile.js';

/** The facts of a group that the service reports; amounts in millionths. */
interface GroupFacts {
  readonly id: string;
  readonly period: Period;
  /** Whether it still receives events. */
  readonly isOpen: boolean;
  readonly beginningBalance: bigint;
  /** The beginning balance and all amounts booked since. */
  readonly total: bigint;
}

const salt = { variety: 71, trace: 72 };
const statuses = ['Succeeded', 'Succeeded', 'Processing', 'Failed'] as const;

function money(key: string, { currency, scale }: SellerMarketplace, millionths: bigint, choice: number): string {
  const amount = numberText(millionths, scale, choice);
  return `"${key}":{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
}

/** An amount in the home currency, at a constant rate, truncated to whole cents. */
function converted(millionths: bigint, marketplace: SellerMarketplace, home: SellerMarketplace): bigint {
  const cent = BigInt(home.minorUnit);
  return ((millionths * marketplace.dollars) / 1_000_000n / cent) * cent;
}

/** The status of the transfer of a closed settlement. */
function groupStatus({ oddities, isCarriedOver }: Profile, { marketplace, index }: Period, bits: number) {
  if (oddities) return statuses[bits % statuses.length] ?? statuses[0];
  return isCarriedOver(marketplace, index) ? 'Failed' : 'Succeeded';
}

/** The transfer at the end of a settlement period. */
export function fundTransferOf(
  key: number,
  profile: Profile,
  period: Period,
): {
  readonly status: (typeof statuses)[number];
  readonly traceId: string;
  /** The last digits of the bank account. */
  readonly accountTail: string;
} {
  const { marketplaces } = profile;
  const { marketplace, index } = period;
  const number = index * marketplaces.length + marketplace.index;
  const trace = hash(key, number, salt.trace);
  const bits = hash(key, number, salt.variety);
  return {
    status: groupStatus(profile, period, trace),
    traceId: `${String(trace).padStart(10, '0')}${String(bits % 1e5).padStart(5, '0')}`,
    accountTail: String(hash(key, marketplace.index, salt.trace) % 1e4).padStart(4, '0'),
  };
}

/** The JSON of a financial event group. */
export function groupJson(key: number, profile: Profile, facts: GroupFacts): string {
  const { id, period, isOpen, beginningBalance, total } = facts;
  const { marketplaces, oddities } = profile;
  const [home] = marketplaces;
  const { marketplace, index, start, end } = period;
  const number = index * marketplaces.length + marketplace.index;
  const bits = hash(key, number, salt.variety);
  const choice = oddities ? bits : usualChoice;
  const { status, traceId, accountTail } = fundTransferOf(key, profile, period);
  const members = [
    `"FinancialEventGroupId":"${id}"`,
    `"ProcessingStatus":"${isOpen ? 'Open' : 'Closed'}"`,
    ...(isOpen ? [] : [`"FundTransferStatus":"${status}"`]),
    money('OriginalTotal', marketplace, total, choice),
    ...(!isOpen && marketplace !== home && (!oddities || index % 3 !== 0)
      ? [money('ConvertedTotal', home, converted(total, marketplace, home), choice >>> 5)]
      : []),
    ...(isOpen
      ? []
      : [`"FundTransferDate":"${shortInstant(end)}"`, `"TraceId":"${traceId}"`, `"AccountTail":"${accountTail}"`]),
    money('BeginningBalance', marketplace, beginningBalance, choice >>> 10),
    `"FinancialEventGroupStart":"${shortInstant(start)}"`,
    ...(isOpen ? [] : [`"FinancialEventGroupEnd":"${shortInstant(end)}"`]),
  ];
  return `{${members.join(',')}}`;
}

const ignore = () => undefined;

/** Sums the amounts of an event that count towards the balance. */
export class SumSink implements EventSink {
  /** Sum in millionths since `begin`: that of one event, far below 2^53. */
  sum = 0;
  readonly text = ignore;
  readonly words = ignore;
  readonly number = ignore;
  readonly instant = ignore;
  readonly order = ignore;
  readonly memo = ignore;
  readonly beginObject = ignore;
  readonly endObject = ignore;
  readonly beginList = ignore;
  readonly beginElement = ignore;
  readonly endElement = ignore;
  readonly endList = ignore;

  begin(): void {
    this.sum = 0;
  }

  net(_key: string, millionths: number): void {
    this.sum += millionths;
  }

  line(_kind: EventLineKind, _type: string, millionths: number, weight: Weight): void {
    if (weight === 'net') this.sum += millionths;
  }
}

/** Largest number of days with cached sums: more than the service's two years need, a few numbers each. */
const mostCachedDays = 1024;

/** Sums of one day by marketplace, in millionths: before and from the start of the period that starts on it. */
interface DaySums {
  readonly before: readonly bigint[];
  readonly from: readonly bigint[];
}

export interface PeriodSums {
  /**
   * Net sum of a marketplace's events up to `until` (included), in millionths. It yields to other tasks between two
   * days. `span`: a settlement period, or a span whose start and end are each those of a period or of a UTC day.
   */
  netOf(span: Omit<Period, 'index'>, until: number): Promise<bigint>;
}

/** Sums periods day by day without keeping their events; a day is summed once for all currencies. */
export function createPeriodSums(events: EventStream): PeriodSums {
  const { marketplaces } = events.profile;
  const cache = new Map<number, DaySums>();
  const sink = new SumSink();

  /** At most one period of each currency starts within a day; without one the whole day is `before`. */
  function sumDay(day: number, until: number): DaySums {
    const last = (day + 1) * dayMs - 1;
    const starts = marketplaces.map((marketplace) => {
      const { start } = events.periods.at(marketplace, last);
      return start > day * dayMs ? start : Infinity;
    });
    const before = marketplaces.map(() => 0n);
    const from = marketplaces.map(() => 0n);
    const end = events.density.firstOf(day + 1);
    for (let ordinal = events.density.firstOf(day); ordinal < end; ordinal++) {
      const event = events.factsOf(ordinal);
      if (event.at > until) break;
      events.write(event, sink);
      const { index } = event.marketplace;
      const sums = event.at >= (starts[index] ?? Infinity) ? from : before;
      sums[index] = (sums[index] ?? 0n) + BigInt(sink.sum);
    }
    return { before, from };
  }

  async function sumsOf(day: number, until: number): Promise<DaySums> {
    if (until < (day + 1) * dayMs - 1) return sumDay(day, until);
    const cached = cache.get(day);
    if (cached !== undefined) return cached;
    await yieldToTasks();
    const sums = sumDay(day, Infinity);
    if (cache.size >= mostCachedDays) cache.clear();
    cache.set(day, sums);
    return sums;
  }

  return {
    netOf: async ({ marketplace, start, end }, until) => {
      if (events.density.perDay === 0) return 0n;
      const last = Math.min(end - 1, until);
      let net = 0n;
      for (let day = Math.floor(start / dayMs); day * dayMs <= last; day++) {
        const { before, from } = await sumsOf(day, until);
        // The first day of a period counts from its start on, and its last day up to its end.
        if (day * dayMs >= start) net += before[marketplace.index] ?? 0n;
        if ((day + 1) * dayMs <= end) net += from[marketplace.index] ?? 0n;
      }
      return net;
    },
  };
}
