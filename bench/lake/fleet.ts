import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/core/clock.js';
import type { Emit } from '../../src/core/events/run-event.js';
import { existingLake } from '../../src/lake/existing-lake.js';
import { exportIceberg } from '../../src/lake/iceberg/export-lake.js';
import type { ExportFormat } from '../../src/app/export/export-formats.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { backfill } from '../../src/app/load/backfill.js';
import { compact } from '../../src/app/maintenance/compact-lake.js';
import type { RunContext } from '../../src/app/context.js';
import { importPages } from '../../src/app/import/import-pages.js';
import { sync } from '../../src/app/load/sync.js';
import { createSeller, type Seller } from '../../src/emulator/seller/seller.js';
import { pageBody } from '../../src/serve/api-v0/event-operations.js';
import { startApiServer } from '../../src/serve/http/server.js';

/** A lake of many accounts, each of a synthetic seller of its own, all of the same size. */
export interface Fleet {
  readonly folder: string;
  readonly accounts: number;
  /** Of each seller in 90 days; an event has about ten entries. */
  readonly events: number;
  /** How many of the accounts nights see to. */
  readonly nightly: number;
}

/** When the lake was first filled, so that the same sizes give the same lake. */
const firstDay = Date.parse('2026-03-15T12:00:00Z');
const dayMs = 86_400_000;
const historyDays = 90;
/** What is read over HTTP at first, for the nights to go on from. */
const readDays = 2;
const entriesPerEvent = 10;

export function fleetOf(folder: string, accounts: number, entries: number, nightly: number): Fleet {
  return { folder, accounts, nightly, events: Math.round(entries / accounts / entriesPerEvent) };
}

export function lakeOf({ folder }: Pick<Fleet, 'folder'>): string {
  return join(folder, 'lake');
}

export function accountOf(number: number): string {
  return `shop-${String(number).padStart(5, '0')}`;
}

/** Which accounts one of several workers sees to. */
export interface Share {
  readonly worker: number;
  readonly workers: number;
}

/**
 * Fills the lake as one is that takes over from another tool: 90 days of every account from saved pages, and the last of
 * them read anew for those that nights see to, which is what nights go on from. `done` hears of each account.
 */
export async function fill(fleet: Fleet, share: Share, done: () => void): Promise<void> {
  const context = contextAt(0);
  const to = Math.floor(firstDay / dayMs) * dayMs;
  await eachAccount(fleet, fleet.accounts, share, context.clock, async (given, seller, number) => {
    const { lake, account } = given;
    const stdin = () => savedPages(seller, { from: to - historyDays * dayMs, to }, firstDay);
    await importPages({ lake, account, files: ['-'], stdin, skipBroken: false }, context);
    const from = new Date(to - readDays * dayMs).toISOString();
    const rest = { to: undefined, refresh: false, pipelines: [], orders: undefined };
    if (number <= fleet.nightly) await backfill({ ...given, ...rest, from }, context);
    done();
  });
}

/**
 * The nightly sync of the accounts, `night` days after the lake was filled; `formats` are exported at the end of each, and `emit`
 * hears of it.
 */
export async function syncAll(
  fleet: Fleet,
  share: Share,
  night: number,
  done: () => void,
  { formats = [], emit }: { readonly formats?: readonly ExportFormat[]; readonly emit?: Emit } = {},
): Promise<void> {
  const context = { ...contextAt(night), ...(emit && { emit }) };
  const rest = { pipelines: [], orders: undefined, lookBack: undefined, maxLag: undefined, export: formats };
  await eachAccount(fleet, fleet.nightly, share, context.clock, async (given) => {
    await sync({ ...given, ...rest }, context);
    done();
  });
}

export async function compactAll(fleet: Fleet, night: number): Promise<void> {
  await compact({ lake: lakeOf(fleet), pipelines: [], account: undefined }, contextAt(night));
}

/** Iceberg metadata of the whole lake at once; bytes written, and files that they name. */
export async function exportAll(
  fleet: Fleet,
  night: number,
): Promise<{ readonly bytes: number; readonly files: number }> {
  const { clock } = contextAt(night);
  const lake = await existingLake({ lake: lakeOf(fleet) }, tables, { clock });
  const { bytes } = await exportIceberg(lake, clock);
  return { bytes, files: lake.files().length };
}

interface Given {
  readonly lake: string;
  readonly endpoint: string;
  readonly account: string;
  readonly rate: number;
  readonly burst: number;
}

/** As a worker does it: commands for one account after the other, from services that aren't throttled. */
async function eachAccount(
  fleet: Fleet,
  last: number,
  { worker, workers }: Share,
  clock: Clock,
  load: (given: Given, seller: Seller, number: number) => Promise<void>,
): Promise<void> {
  for (let number = worker; number <= last; number += workers) {
    const seller = createSeller({ seed: number, events: fleet.events, profile: 'edge-cases' }, clock);
    const server = await startApiServer({ backend: seller, clock });
    try {
      const quota = { rate: 1e6, burst: 1e6 };
      await load({ lake: lakeOf(fleet), endpoint: server.url, account: accountOf(number), ...quota }, seller, number);
    } finally {
      await server.close();
    }
  }
}

/** Response bodies of a seller's events, one a line, day by day. */
async function* savedPages(
  seller: Seller,
  { from, to }: { readonly from: number; readonly to: number },
  asOf: number,
): AsyncGenerator<Buffer> {
  for (let start = from; start < to; start += dayMs) {
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await seller.events({ start, end: start + dayMs }, { cursor, limit: 100, asOf });
      yield Buffer.from(`${pageBody('FinancialEvents', page.items, page.next)}\n`);
      cursor = page.next;
    }
  }
}

function contextAt(night: number): RunContext {
  const began = Date.now();
  // It goes on, as leases are told apart by their instants.
  const clock: Clock = { ...systemClock, now: () => firstDay + night * dayMs + Date.now() - began };
  return {
    clock,
    signal: new AbortController().signal,
    emit: () => undefined,
  };
}
