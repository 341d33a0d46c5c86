import type { Account } from './account.js';
import { operations } from './backlog.js';
import type { Scenario } from './scenario.js';
import { planOf } from './turn.js';

/** What no fleet can be faster than; milliseconds. */
export interface Bounds {
  /** Of each account's first backfill: alone, in one turn, with full buckets. */
  readonly alone: ReadonlyMap<Account, number>;
  /** Of all first backfills together: the processors, and the places were each account read in one turn. */
  readonly cpuMs: number;
  readonly placesMs: number;
}

/** To be asked before the accounts are worked on. */
export function boundsOf(accounts: readonly Account[], { workers, places, server, costs }: Scenario): Bounds {
  const alone = new Map<Account, number>();
  let cpu = 0;
  let place = 0;
  for (const account of accounts) {
    if (account.isDenied) continue;
    const { start, end, load } = planOf(
      account,
      'backfill',
      account.backfill,
      0,
      server.latency * 1000,
      costs,
      undefined,
    );
    alone.set(account, end - start);
    cpu += load * (end - start);
    place += end - start;
  }
  return { alone, cpuMs: cpu / workers, placesMs: place / (workers * places) };
}

/** Requests that an account's first backfill has left. */
export function requestsOf({ backfill }: Account): number {
  return operations.reduce((sum, operation) => sum + backfill[operation].requests, 0);
}
