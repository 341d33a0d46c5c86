import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { latestBound } from '../../src/app/configuration/range.js';
import type { Clock } from '../../src/core/clock.js';
import { dayMs } from '../../src/core/windows.js';
import type { Faults, FaultSettings } from '../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import { allOf, openShop, postedIn } from './virtual-shop.js';

export const begin = '2026-03-01T02:00:00Z';
export const seller = (clock: Clock) => createSeller({ seed: 3, events: 1200, days: 90, profile: 'plausible' }, clock);
/** Two days before the run ends: what is posted later may still change within it. */
export const range = { start: Date.parse('2026-01-25'), end: Date.parse('2026-02-27') };

/** A folder with a lake of transactions, and orders of it. */
export interface LoadedShop extends AsyncDisposable {
  readonly lake: string;
  readonly orders: readonly string[];
}

export async function loadedShop(): Promise<LoadedShop> {
  await using shop = await openShop({ seller, now: begin });
  const { failure } = await shop.load({ pipelines: ['transactions'], range });
  expect(failure).toBeUndefined();
  const orders = new Set(await shop.texts('transactions', "coalesce(amazon_order_id, '')"));
  orders.delete('');
  const lake = await mkdtemp(join(tmpdir(), 'ledgerlake-loaded-'));
  await cp(shop.folder, lake, { recursive: true });
  const dispose = () => rm(lake, { recursive: true, force: true });
  return { lake, orders: [...orders].slice(0, 12), [Symbol.asyncDispose]: dispose };
}

/** Chooses the first requests of each kind that a fault can show in: two, or as many as it is told. */
type FirstOfEach = (count?: number) => Pick<FaultSettings, 'when'>;

type FaultsOf = (first: FirstOfEach) => Faults;

/** Faults that hit the first requests of each kind, and for each of them which kinds it met. */
export function hitting(faultsOf: FaultsOf, kindOf: (request: FaultRequest) => string | undefined) {
  const met: Map<string, number>[] = [];
  const faults = faultsOf((count = 2) => {
    const hits = new Map<string, number>();
    met.push(hits);
    return {
      when: (request) => {
        const kind = kindOf(request);
        const before = hits.get(kind ?? '') ?? 0;
        if (kind === undefined || before === count) return false;
        hits.set(kind, before + 1);
        return true;
      },
    };
  });
  return { faults, met: () => met.map((hits) => [...hits.keys()].toSorted()) };
}

/** What hits single requests, which then succeed. */
export const passing: Readonly<Record<string, FaultsOf>> = {
  throttled: (first) => ({ throttled: first() }),
  'throttled-retry-after': (first) => ({ 'throttled-retry-after': first() }),
  'throttled-spell': (first) => ({ 'throttled-spell': { ...first(1), amount: 4 } }),
  'rate-missing': () => ({ 'rate-missing': { share: 1 } }),
  'rate-changed': (first) => ({ 'rate-changed': { ...first(1), amount: 0.4 } }),
  'invalid-input': (first) => ({ 'invalid-input': first() }),
  'server-error': (first) => ({ 'server-error': first() }),
  unavailable: (first) => ({ unavailable: first() }),
  'unavailable-html': (first) => ({ 'unavailable-html': first() }),
  html: (first) => ({ html: first() }),
  'access-token-expired': (first) => ({ 'access-token-expired': first(1) }),
  'cut-body': (first) => ({ 'cut-body': first() }),
  'wrong-length': (first) => ({ 'wrong-length': first() }),
  reset: (first) => ({ reset: first() }),
  'no-answer': (first) => ({ 'no-answer': first(1) }),
  'no-body': (first) => ({ 'no-body': first(1) }),
  'empty-page': (first) => ({ 'empty-page': first() }),
  'page-twice': (first) => ({ 'page-twice': first() }),
  'null-token': (first) => ({ 'null-token': first() }),
  'no-list': (first) => ({ 'no-list': first() }),
  // One page holds all that these ask for: an empty one before it gives them a token.
  'token-expired': (first) => ({ 'empty-page': first(), 'token-expired': first() }),
  'token-loop': (first) => ({ 'empty-page': first(1), 'token-loop': first(1) }),
  'token-without-arguments': (first) => ({ 'empty-page': first(), 'token-without-arguments': {} }),
  'chain-limit': (first) => ({ 'empty-page': first(1), 'chain-limit': { ...first(1), amount: 1 } }),
};

/** What hits all or a share of them. */
export const always: Readonly<Record<string, FaultsOf>> = {
  'clock-fast': () => ({ 'clock-fast': {} }),
  'clock-slow': () => ({ 'clock-slow': {} }),
  'null-lists': () => ({ 'null-lists': { share: 0.5 } }),
  'breakdown-object': () => ({ 'breakdown-object': { share: 0.5 } }),
  'status-case': () => ({ 'status-case': { share: 0.5 } }),
  all: () => ({ all: { share: 0.2 } }),
};
/** Transactions that are answered in another shape are kept in it: their amounts are compared. */
export const reshaping: readonly string[] = ['null-lists', 'breakdown-object', 'status-case'];
export const amounts = "concat_ws(' ', transaction_id, status, breakdown, item, sku, role, amount, currency)";

const nights = 2;

/** Syncs of some nights, after each of which the lake has what the service has. */
export async function synchronized(lake: string, faults: Faults | undefined, isReshaped = false) {
  await using shop = await openShop({ seller, now: begin, lake, ...(faults && { faults }) });
  for (let night = 1; night <= nights; night++) {
    await shop.clock.advanceTo(Date.parse(begin) + night * dayMs);
    const until = latestBound(shop.clock.now());
    const { failure } = await shop.load({ pipelines: ['transactions'] });
    expect(failure).toBeUndefined();
    if (isReshaped) continue;
    const posted = await allOf(
      (query) => shop.backend.transactions(postedIn({ start: range.start, end: until }), query),
      shop.clock.now(),
    );
    expect(await shop.texts('transactions', 'raw')).toEqual(posted);
  }
  const released = await shop.texts(
    'event_history',
    "change || ' ' || json_extract_string(raw, '$.transactionStatus')",
  );
  return {
    entries: await shop.texts('transaction_entries', amounts),
    released: released.filter((text) => text.toUpperCase() === 'VANISHED DEFERRED').length,
    struck: shop.struck(),
  };
}

/** What too large an answer is, or too long a list: windows and lists are read in parts. */
export const tooLarge: Readonly<Record<string, FaultsOf>> = {
  'body-limit': () => ({ 'body-limit': { amount: 30_000 } }),
  'deep-500': (first) => ({ 'empty-page': first(4), 'deep-500': { amount: 2 } }),
};
