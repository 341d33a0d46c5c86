import { dayMs, type Window } from '../../core/windows.js';
import type { EventMix } from './event-mix.js';
import { hash } from '../profiles/seeded-random.js';
import { createHash } from 'node:crypto';
import type { EventDensity, SellerMarketplace, Profile } from '../profiles/seller-profile.js';

const salt = { tie: 31, position: 32, precision: 33, start: 51, balance: 52 };

interface Calendar {
  /** Instant at which an event was booked, milliseconds since 1970; not before that of the previous ordinal. */
  instantOf(ordinal: number): number;
  /** Ordinal of the first event at or after an instant. */
  firstAt: (instant: number) => number;
}

/**
 * Assigns instants to events: each event has a slice of its day and an instant within it, independent of all other
 * events. One event in sixteen has the instant of the previous one. Truncation to the second is decided for
 * each second as a whole, so that it doesn't change the order.
 */
export function createCalendar(key: number, density: EventDensity, mix: EventMix, oddities: boolean): Calendar {
  const isTied = (ordinal: number) =>
    hash(key, ordinal, salt.tie) >>> 28 === 0 || mix.isDuplicate(ordinal, mix.slotOf(ordinal));

  function instantOf(ordinal: number): number {
    const day = density.dayOf(ordinal);
    const first = density.firstOf(day);
    const count = density.firstOf(day + 1) - first;
    let leader = ordinal;
    while (leader > first && isTied(leader)) leader--;
    const position = (leader - first + hash(key, leader, salt.position) / 0x1_0000_0000) / count;
    const instant = day * dayMs + Math.min(Math.floor(position * dayMs), dayMs - 1);
    const second = Math.floor(instant / 1000);
    return oddities && hash(key, second, salt.precision) >>> 29 === 0 ? instant : second * 1000;
  }

  return {
    instantOf,
    firstAt: (instant) => {
      const day = Math.floor(instant / dayMs);
      let from = density.firstOf(day);
      let to = density.firstOf(day + 1);
      while (from < to) {
        const middle = Math.floor((from + to) / 2);
        if (instantOf(middle) < instant) from = middle + 1;
        else to = middle;
      }
      return from;
    },
  };
}

const periodMs = 14 * dayMs;
/** Largest number of cached ids: far more than the groups of one history. */
const mostCachedIds = 4096;

/** A settlement period of one currency, which becomes a financial event group. */
export interface Period extends Window {
  readonly marketplace: SellerMarketplace;
  /** Number of the period within its currency. */
  readonly index: number;
}

export interface Periods {
  at(marketplace: SellerMarketplace, instant: number): Period;
  byIndex(marketplace: SellerMarketplace, index: number): Period;
  idOf: (period: Period) => string;
  /** The beginning balance of a period without a carried-over total, in millionths. */
  openingBalanceOf(period: Period): bigint;
}

/** Settlement periods of fourteen days, one after the other; each currency's periods start at another hour. */
export function createPeriods(seed: number, key: number, profile: Profile): Periods {
  const { marketplaces } = profile;
  const origins = marketplaces.map(({ index }) => (hash(key, index, salt.start) % (periodMs / 1000)) * 1000);
  const ids = new Map<string, string>();

  function byIndex(marketplace: SellerMarketplace, index: number): Period {
    const start = (origins[marketplace.index] ?? 0) + index * periodMs;
    return { marketplace, index, start, end: start + periodMs };
  }
  return {
    byIndex,
    at: (marketplace, instant) =>
      byIndex(marketplace, Math.floor((instant - (origins[marketplace.index] ?? 0)) / periodMs)),
    idOf: ({ marketplace, index }) => {
      const name = `${seed}/${marketplace.currency}/${index}`;
      const cached = ids.get(name);
      if (cached !== undefined) return cached;
      const id = createHash('sha256').update(name).digest('base64url');
      if (ids.size >= mostCachedIds) ids.clear();
      ids.set(name, id);
      return id;
    },
    openingBalanceOf: ({ marketplace, index }) => {
      const bits = hash(key, index * marketplaces.length + marketplace.index, salt.balance);
      return BigInt(profile.openingCents(bits) * marketplace.level * marketplace.minorUnit);
    },
  };
}
