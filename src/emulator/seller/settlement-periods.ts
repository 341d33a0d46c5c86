import { createHash } from 'node:crypto';
import { dayMs } from './event-calendar.js';
import { hash } from './seeded-random.js';
import type { Marketplace, Profile } from './seller-profile.js';

const salt = { start: 51, balance: 52 };
const periodMs = 14 * dayMs;
/** Ids kept at hand: far more than the groups of one history. */
const keptIds = 4096;

/** A settlement period of one currency: what a financial event group is about. */
export interface Period {
  readonly marketplace: Marketplace;
  /** Counts the currency's periods. */
  readonly index: number;
  /** Milliseconds since 1970, included. */
  readonly start: number;
  /** Not included. */
  readonly end: number;
}

export interface Periods {
  at(marketplace: Marketplace, instant: number): Period;
  of(marketplace: Marketplace, index: number): Period;
  idOf: (period: Period) => string;
  /** The balance that a period begins with where none was carried over: millionths. */
  openingBalanceOf(period: Period): bigint;
}

/** Fourteen days each, one after the other, and each currency begins at an hour of its own. */
export function createPeriods(seed: number, key: number, profile: Profile): Periods {
  const { marketplaces } = profile;
  const origins = marketplaces.map(({ index }) => (hash(key, index, salt.start) % (periodMs / 1000)) * 1000);
  const ids = new Map<string, string>();

  function of(marketplace: Marketplace, index: number): Period {
    const start = (origins[marketplace.index] ?? 0) + index * periodMs;
    return { marketplace, index, start, end: start + periodMs };
  }
  return {
    of,
    at: (marketplace, instant) => of(marketplace, Math.floor((instant - (origins[marketplace.index] ?? 0)) / periodMs)),
    idOf: ({ marketplace, index }) => {
      const name = `${seed}/${marketplace.currency}/${index}`;
      const known = ids.get(name);
      if (known !== undefined) return known;
      const id = createHash('sha256').update(name).digest('base64url');
      if (ids.size >= keptIds) ids.clear();
      ids.set(name, id);
      return id;
    },
    openingBalanceOf: ({ marketplace, index }) => {
      const bits = hash(key, index * marketplaces.length + marketplace.index, salt.balance);
      return BigInt(profile.openingCents(bits) * marketplace.level * marketplace.unit);
    },
  };
}
