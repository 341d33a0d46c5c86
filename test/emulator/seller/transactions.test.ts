import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import type { TransactionBackend, TransactionQuestion } from '../../../src/serve/api-2024-06-19/transaction-backend.js';
import { SumSink } from '../../../src/emulator/seller/settlement-groups.js';
import { idOf, isPaid, listIn, micros, sum, totalOf } from '../../serve/transactions/seller-server.js';
import { cycle, day, type JsonObject, noon, open, parse, readAll, type Shop } from './reading.js';

const any = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };

function bookOf({ seller: { byTransaction } }: Shop): TransactionBackend {
  return byTransaction ?? expect.fail('expected a seller with transactions');
}

async function all(shop: Shop, question: TransactionQuestion, limit?: () => number): Promise<BackendItem[]> {
  return readAll((query) => bookOf(shop).transactions(question, query), limit && { limit });
}

/** Whether a node's children add up to it, and theirs to them. */
function addsUp(node: JsonObject, total: string): boolean {
  const children = listIn(node, 'breakdowns');
  const isWhole =
    children.length === 0 || sum(children.map((child) => micros(child['breakdownAmount']))) === micros(node[total]);
  return isWhole && children.every((child) => addsUp(child, 'breakdownAmount'));
}

const profiles = fc.constantFrom('plausible' as const, 'edge-cases' as const);
const seeds = fc.nat(1e9);

test('released transactions are the events of any seller, to the millionth, and every tree adds up', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, profiles, fc.integer({ min: 0, max: 80 }), async (seed, profile, daysBack) => {
      const shop = open({ seed, profile, events: 2000 });
      const range = {
        start: Math.floor(noon / day) * day - daysBack * day,
        end: Math.floor(noon / day) * day - (daysBack - 4) * day,
      };
      const transactions = (await all(shop, { ...any, range })).map(({ json }) => parse(json));
      const sink = new SumSink();
      const nets = [...shop.seller.history().events(range)].map((event) => {
        shop.seller.stream.write(event, sink);
        return BigInt(sink.sum);
      });
      const order = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
      expect(transactions.filter(isPaid).map(totalOf).sort(order)).toEqual(nets.sort(order));
      for (const one of transactions) {
        expect(
          [one, ...listIn(one, 'items')].every((node) => addsUp(node, 'totalAmount')),
          JSON.stringify(one),
        ).toBe(true);
      }
    }),
    { numRuns: 25 },
  );
});

test('pages of any sizes have the same transactions, each once', async () => {
  await fc.assert(
    fc.asyncProperty(
      seeds,
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 }),
      fc.constantFrom(undefined, 'DEFERRED', 'RELEASED', 'DEFERRED_RELEASED'),
      fc.integer({ min: 1, max: 20 * day }),
      fc.integer({ min: 1, max: 5 * day }),
      async (seed, sizes, status, back, length) => {
        const shop = open({ seed, profile: 'plausible', events: 3000 });
        const question = { ...any, status, range: { start: noon - back, end: noon - back + length } };
        const whole = await all(shop, question);
        const paged = await all(shop, question, cycle(sizes));
        expect(paged).toEqual(whole);
        const ids = whole.map(({ json }) => idOf(parse(json)));
        expect(new Set(ids).size).toBe(ids.length);
      },
    ),
    { numRuns: 40 },
  );
});
