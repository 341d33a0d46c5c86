import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../src/core/windows.js';
import type { Faults } from '../../src/emulator/faults/fault-settings.js';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import {
  always,
  amounts,
  begin,
  hitting,
  loadedShop,
  passing,
  range,
  reshaping,
  seller,
  type LoadedShop,
} from './transaction-faults.js';
import { allOf, openShop, postedIn, type Shop } from './virtual-shop.js';

// Whole nights over real sockets, on machines that have others to do.
let loaded: LoadedShop;
let undisturbed: Awaited<ReturnType<typeof loadedOthers>>;

beforeAll(async () => {
  loaded = await loadedShop();
  undisturbed = await loadedOthers(undefined);
});
afterAll(() => loaded[Symbol.asyncDispose]());

const pipelines = ['payouts', 'settlement-summaries', 'order-transactions'];
const anyAccount = { marketplaceIds: undefined, accountType: undefined };

/** What the service has of what these pipelines read. */
async function owned(shop: Shop) {
  const { backend, clock } = shop;
  const now = clock.now();
  const settlements = new Set(await shop.texts('transactions', "coalesce(settlement_id, '')"));
  settlements.delete('');
  const summaries: string[] = [];
  for (const settlementId of settlements) {
    const question = { ...anyAccount, settlementId, days: undefined };
    summaries.push(...(await allOf((query) => backend.summaries(question, query), now)));
  }
  const ofOrders: string[] = [];
  for (const orderId of loaded.orders) {
    const question = { ...postedIn({ start: -Infinity, end: Infinity }), orderId };
    ofOrders.push(...(await allOf((query) => backend.transactions(question, query), now)));
  }
  const question = { ...anyAccount, range: { start: range.start, end: range.end }, payoutId: undefined };
  const payouts = await allOf((query) => backend.payouts(question, query), now);
  return { summaries: summaries.toSorted(), payouts, orders: ofOrders.toSorted() };
}

async function loadedOthers(faults: Faults | undefined) {
  await using shop = await openShop({ seller, now: begin, lake: loaded.lake, ...(faults && { faults }) });
  const { failure } = await shop.load({ pipelines, range, orders: loaded.orders });
  return {
    failure,
    owned: await owned(shop),
    struck: shop.struck(),
    held: {
      summaries: await shop.texts('settlement_summaries', 'raw'),
      payouts: await shop.texts('payouts', 'raw'),
      orders: await shop.texts('order_transactions', 'raw'),
    },
    entries: await shop.texts('order_transaction_entries', amounts),
  };
}

/** The operation, but for what another pipeline reads: the transactions of a range. */
function operationOf({ operation, parameters }: FaultRequest): string | undefined {
  if (operation === 'SignIn') return undefined;
  return operation === 'listTransactions' && parameters['relatedIdentifierValue'] === undefined ? undefined : operation;
}

test.each(Object.entries({ ...passing, ...always }))(
  '%s: payouts, summaries and orders are what the service has',
  async (kind, faultsOf) => {
    const { faults, met } = hitting(faultsOf, operationOf);
    const { failure, owned, held, entries, struck } = await loadedOthers(faults);
    expect(failure).toBeUndefined();
    for (const all of Object.values(owned)) expect(all.length).toBeGreaterThan(5);
    expect({ ...held, ...(reshaping.includes(kind) && { orders: owned.orders }) }).toEqual(owned);
    expect(entries).toEqual(undisturbed.entries);
    for (const operations of met()) expect(operations).toEqual(['listPayouts', 'listSummary', 'listTransactions']);
    if (!kind.startsWith('clock-')) expect(struck).toBeGreaterThan(0);
  },
);

test('body-limit: payouts are read in parts, an order or a settlement that is too large is left open, and the others load', async () => {
  // Larger than a payout or a summary, smaller than a month's payouts and the largest orders.
  const { failure, owned, held } = await loadedOthers({ 'body-limit': { amount: 3500, when: isOther } });
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(held.payouts).toEqual(owned.payouts);
  expect(held.summaries).toEqual(owned.summaries);
  expect(held.orders.length).toBeGreaterThan(0);
  expect(held.orders.length).toBeLessThan(owned.orders.length);
  expect(held.orders.filter((json) => !owned.orders.includes(json))).toEqual([]);
});

function isOther(request: FaultRequest): boolean {
  return operationOf(request) !== undefined;
}

test('access-denied stops the run at once, and what the lake holds stays', async () => {
  const { failure, held } = await loadedOthers({ 'access-denied': { when: isOther } });
  expect(failure).toMatchObject({ kind: 'denied', exitCode: 1 });
  expect(Object.values(held).flat()).toEqual([]);
});

test.each([
  [30_000, undefined],
  // Not even a minute of them: what the lake holds stays.
  [100, { code: 'INCOMPLETE', exitCode: 1 }],
] as const)(
  'loaded windows whose answers are larger than %d bytes are refreshed in parts, each as one slice',
  async (amount, expected) => {
    await using shop = await openShop({ seller, now: begin, lake: loaded.lake, faults: { 'body-limit': { amount } } });
    const before = await shop.texts('transactions', 'raw');
    const windows = await shop.texts('transactions', "window_start || ' ' || window_end");
    await shop.clock.advanceTo(Date.parse(begin) + 3 * dayMs);
    const { summaries, failure } = await shop.load({ pipelines: ['transactions'], range, refresh: true });
    if (expected === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject(expected);
    const now = shop.clock.now();
    const posted = await allOf((query) => shop.backend.transactions(postedIn(range), query), now);
    expect(posted).not.toEqual(before);
    expect(await shop.texts('transactions', 'raw')).toEqual(expected === undefined ? posted : before);
    expect(await shop.texts('transactions', "window_start || ' ' || window_end")).toEqual(windows);
    expect(summaries[0]?.slices).toBe(expected === undefined ? new Set(windows).size : 0);
  },
);
