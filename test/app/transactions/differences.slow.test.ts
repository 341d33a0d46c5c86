import { expect, test } from 'vitest';
import { rewritten } from '../../../src/emulator/faults/faulty-transactions.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { TransactionBackend } from '../../../src/serve/api-2024-06-19/transaction-backend.js';
import { withTransactions } from '../../serve/http/array-backend.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';
import { forget } from '../../../src/app/forget/forget.js';
import { found, verified } from '../verify/verified.js';

const clock = setClock('2026-03-10T02:00:00Z');
const dayMs = 86_400_000;
const loaded = { account: 'shop', from: '2026-01-01', api: 'both' as const };

interface Transaction {
  readonly transactionId: string;
  readonly transactionStatus: string;
  readonly postedDate: string;
  readonly relatedIdentifiers: readonly { relatedIdentifierName: string; relatedIdentifierValue: string }[];
}

function read(json: string) {
  const { transactionStatus: status, postedDate, relatedIdentifiers } = JSON.parse(json) as Transaction;
  const ids = new Map(relatedIdentifiers.map((each) => [each.relatedIdentifierName, each.relatedIdentifierValue]));
  return {
    status,
    postedAt: Date.parse(postedDate),
    order: ids.get('ORDER_ID'),
    isRelease: ids.has('DEFERRED_TRANSACTION_ID'),
  };
}

/** The same seller, whose transactions come as a function makes them; undefined: not at all. */
function changed(backend: Backend, change: (json: string) => string | undefined): Backend {
  const { byTransaction } = backend;
  if (byTransaction === undefined) throw new Error('the seller has no transactions');
  const transactions: TransactionBackend['transactions'] = async (question, query) => {
    const { items, next } = await byTransaction.transactions(question, query);
    return {
      next,
      items: items.flatMap((item) =>
        [change(item.json)].filter((json) => json !== undefined).map((json) => ({ ...item, json })),
      ),
    };
  };
  return { ...backend, byTransaction: withTransactions(byTransaction, transactions) };
}

/** Orders that consist of one sale, deferred and released between two instants. */
async function released(backend: Backend, from: number, to: number): Promise<string[]> {
  const range = { start: from - 60 * dayMs, end: clock.now() };
  const narrow = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  const orders = new Map<string, ReturnType<typeof read>[]>();
  let cursor: string | undefined;
  do {
    const page = await backend.byTransaction?.transactions(
      { range, ...narrow },
      { cursor, limit: 500, asOf: clock.now() },
    );
    for (const each of (page?.items ?? []).map(({ json }) => read(json))) {
      if (each.order !== undefined) orders.set(each.order, [...(orders.get(each.order) ?? []), each]);
    }
    cursor = page?.next;
  } while (cursor !== undefined);
  return [...orders].flatMap(([order, all]) =>
    all.length === 2 && all.some(({ isRelease, postedAt }) => isRelease && postedAt >= from && postedAt < to)
      ? [order]
      : [],
  );
}

test('each difference between both APIs has its reason, and verify says which settlements it is in', async () => {
  const seller = createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock);
  const [absent = '', deferred = '', cent = ''] = await released(
    seller,
    Date.parse('2026-01-20'),
    Date.parse('2026-02-10'),
  );
  const [late = ''] = await released(seller, clock.now() - 2 * dayMs, clock.now());
  const backend = changed(seller, (json) => {
    const { order, status, isRelease } = read(json);
    if (order === absent || (order === late && isRelease) || (order === deferred && isRelease)) return undefined;
    if (order === late) return json;
    return rewritten(json, (name, value) => {
      if (order === deferred && name === 'transactionStatus') return '"DEFERRED"';
      if (order !== cent || status !== 'RELEASED' || name !== 'currencyAmount') return value;
      return String(Number(value) + 0.01);
    });
  });
  const lake = await temporaryFolder();
  const endpoint = await serving({ backend, clock });
  await ran({ ...loaded, lake, endpoint }, { clock });
  await ran({ ...loaded, lake, endpoint, pipelines: ['settlement-summaries'] }, { clock });
  const views = await database(lake, clock);

  const differences = await views.rows("SELECT id, reason FROM api_differences WHERE subject = 'order'");
  expect(new Map(differences.map(({ id, reason }) => [id, reason]))).toEqual(
    new Map([
      [absent, 'not there at all'],
      [deferred, 'deferred'],
      [cent, 'other'],
      [late, 'late'],
    ]),
  );
  const settlements = await views.rows("SELECT id, reason FROM api_differences WHERE subject = 'settlement'");
  expect(settlements.length).toBeGreaterThan(0);
  for (const { reason } of settlements) expect(['not there at all', 'deferred', 'other']).toContain(reason);

  const result = await verified({ root: lake, clock });
  expect(result.verdict).toBe('findings');
  // The amounts that are a cent off have the noise of floats, so that no sum has them.
  expect(found(result)).toEqual(['amounts note', 'paid-totals finding', 'net-proceeds finding']);
  const groups = result.problems.filter(({ check }) => check === 'paid-totals').map(({ slice }) => slice);
  expect(groups.toSorted()).toEqual(settlements.map(({ id }) => `group/${String(id)}`).toSorted());
});

test('verify does not compare settlements of which transactions were forgotten', async () => {
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 800, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  await ran({ ...loaded, lake, endpoint }, { clock });
  await ran({ ...loaded, lake, endpoint, pipelines: ['settlement-summaries'] }, { clock });
  const before = '2026-02-01';
  const { signal } = new AbortController();
  const silent = { emit: () => undefined };
  await forget({ lake, account: 'shop', before, yes: true }, { clock, signal, confirm: undefined, ...silent });
  const result = await verified({ root: lake, clock }, true);
  expect(new Set(found(result))).toEqual(new Set(['group-totals note', 'paid-totals note', 'net-proceeds note']));
  expect(result).toMatchObject({ code: 0, verdict: 'whole' });
  expect(result.checks.find(({ check }) => check === 'paid-totals')?.checked).toBeGreaterThan(0);
});

test('an account that Finances 2024-06-19 has nothing of is a finding', async () => {
  const seller = createSeller({ seed: 5, events: 800, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: changed(seller, () => undefined), clock });
  const lake = await temporaryFolder();
  await ran({ ...loaded, lake, endpoint }, { clock });
  const result = await verified({ root: lake, clock });
  expect(found(result)).toContain('both-apis finding');
  expect(result.problems.find(({ check }) => check === 'both-apis')?.problem).toMatch(
    /^Finances 2024-06-19 returned nothing for days in which v0 has \d+ events of shop: continue with --api v0/,
  );
  expect((await verified({ root: lake, clock }, true)).code).toBe(1);
});
