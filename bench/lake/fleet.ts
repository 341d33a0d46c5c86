import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/clock.js';
import { backfill } from '../../src/commands/backfill.js';
import { compact } from '../../src/commands/compact.js';
import type { RunContext } from '../../src/commands/context.js';
import { sync } from '../../src/commands/sync.js';
import { createSeller } from '../../src/seller/seller.js';
import { startService } from '../../src/service/server.js';

/** A lake of many accounts, all of them of made-up sellers of the same size. */
export interface Fleet {
  readonly folder: string;
  readonly accounts: number;
  /** Of each seller in 90 days; an event has about ten entries. */
  readonly events: number;
}

/** The day that the fleet was first loaded on, so that the same sizes give the same lake. */
const firstDay = Date.parse('2026-03-15T12:00:00Z');
const dayMs = 86_400_000;
/** Events that a seller's history holds beyond the 90 days asked for don't come into the lake. */
const entriesPerEvent = 10;

export function fleetOf(folder: string, accounts: number, entries: number): Fleet {
  return { folder, accounts, events: Math.round(entries / accounts / entriesPerEvent) };
}

export function lakeOf({ folder }: Fleet): string {
  return join(folder, 'lake');
}

export function accountOf(number: number): string {
  return `shop-${String(number).padStart(5, '0')}`;
}

/** A first backfill of 90 days of every account, one after the other; `loaded` hears of each. */
export async function backfillAll(fleet: Fleet, loaded: (number: number) => void): Promise<void> {
  await eachAccount(fleet, 0, loaded, async (upstream, context) => {
    const range = { from: undefined, to: undefined, refresh: false, pipelines: [], orders: undefined };
    await backfill({ ...range, ...upstream, json: false }, context);
  });
}

/** The nightly sync of every account, `night` days after the first backfill. */
export async function syncAll(fleet: Fleet, night: number, loaded: (number: number) => void): Promise<void> {
  await eachAccount(fleet, night, loaded, async (upstream, context) => {
    const rules = { pipelines: [], orders: undefined, lookBack: undefined, maxLag: undefined };
    await sync({ ...rules, ...upstream, json: false }, context);
  });
}

export async function compactAll(fleet: Fleet, night: number): Promise<void> {
  await compact({ lake: lakeOf(fleet), pipelines: [], account: undefined, json: false }, contextAt(night));
}

interface Upstream {
  readonly lake: string;
  readonly endpoint: string;
  readonly account: string;
  readonly rate: number;
  readonly burst: number;
}

/** As a worker does it: a command for each account, from services that aren't throttled. */
async function eachAccount(
  fleet: Fleet,
  night: number,
  loaded: (number: number) => void,
  load: (upstream: Upstream, context: RunContext) => Promise<void>,
): Promise<void> {
  const context = contextAt(night);
  const { clock } = context;
  for (let number = 1; number <= fleet.accounts; number++) {
    const service = await startService({ ledger: createSeller({ seed: number, events: fleet.events }, clock), clock });
    try {
      const quota = { rate: 1e6, burst: 1e6 };
      await load({ lake: lakeOf(fleet), endpoint: service.url, account: accountOf(number), ...quota }, context);
    } finally {
      await service.close();
    }
    loaded(number);
  }
}

function contextAt(night: number): RunContext {
  const began = Date.now();
  // It goes on, as leases and bars are told apart by their instants.
  const clock: Clock = { ...systemClock, now: () => firstDay + night * dayMs + Date.now() - began };
  return { clock, signal: new AbortController().signal, print: () => undefined, tell: () => undefined };
}
