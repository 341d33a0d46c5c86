import { createHash } from 'node:crypto';
import { dayMs } from './event-calendar.js';
import { type Market, markets } from './marketplaces.js';
import { hash } from './seeded-random.js';

const salt = { start: 51, balance: 52 };
const periodMs = 14 * dayMs;
/** Ids kept at hand: far more than the groups of one history. */
const keptIds = 4096;

/** A settlement period of one currency: what a financial event group is about. */
export interface Period {
  readonly market: Market;
  /** Counts the currency's periods. */
  readonly index: number;
  /** Milliseconds since 1970, included. */
  readonly start: number;
  /** Not included. */
  readonly end: number;
}

export interface Periods {
  at(market: Market, instant: number): Period;
  of(market: Market, index: number): Period;
  idOf: (period: Period) => string;
  /** Millionths. */
  beginningBalanceOf(period: Period): bigint;
}

/** Fourteen days each, one after the other, and each currency begins at an hour of its own. */
export function createPeriods(seed: number, key: number): Periods {
  const origins = markets.map(({ index }) => (hash(key, index, salt.start) % (periodMs / 1000)) * 1000);
  const ids = new Map<string, string>();

  function of(market: Market, index: number): Period {
    const start = (origins[market.index] ?? 0) + index * periodMs;
    return { market, index, start, end: start + periodMs };
  }
  return {
    of,
    at: (market, instant) => of(market, Math.floor((instant - (origins[market.index] ?? 0)) / periodMs)),
    idOf: ({ market, index }) => {
      const name = `${seed}/${market.currency}/${index}`;
      const known = ids.get(name);
      if (known !== undefined) return known;
      const id = createHash('sha256').update(name).digest('base64url');
      if (ids.size >= keptIds) ids.clear();
      ids.set(name, id);
      return id;
    },
    beginningBalanceOf: ({ market, index }) => {
      const bits = hash(key, index * markets.length + market.index, salt.balance);
      if (bits % 2 === 0) return 0n;
      const amount = BigInt((bits >>> 8) % 500_000) * BigInt(market.level * market.unit);
      return bits % 8 === 1 ? -amount : amount;
    },
  };
}
