import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import {
  amountsOf,
  dateOf,
  day,
  ever,
  type Json,
  type JsonObject,
  moneyOf,
  netOf,
  noon,
  open,
  parse,
  readAll,
  type Shop,
  textOf,
} from './reading.js';
import { booksOf } from './seller-books.js';

const groupsOf = async ({ seller }: Shop, asOf = noon) =>
  (await readAll((query) => seller.groups(ever, query), { asOf })).map(({ json }) => parse(json));
const eventsOf = async ({ seller }: Shop, group: JsonObject) =>
  readAll((query) => seller.eventsOfGroup(textOf(group['FinancialEventGroupId']), query));
const currencyOf = (money: Json | undefined) => (money as JsonObject)['CurrencyCode'];
const sum = (items: readonly BackendItem[]) => items.reduce((total, item) => total + netOf(item), 0n);
const start = (group: JsonObject) => Date.parse(textOf(group['FinancialEventGroupStart']));
const end = (group: JsonObject) => Date.parse(textOf(group['FinancialEventGroupEnd']));

test('events of a group by date are those of the group in the range', async () => {
  const shop = open({ seed: 3, events: 600 });
  for (const group of await groupsOf(shop)) {
    const all = await eventsOf(shop, group);
    const id = textOf(group['FinancialEventGroupId']);
    const cut = start(group) + 5 * day + 1;
    const parts = await Promise.all(
      [
        { start: 0, end: cut },
        { start: cut, end: noon + 1 },
      ].map((range) => readAll((query) => shop.seller.eventsOfGroup(id, query, range))),
    );
    expect(parts.flat()).toEqual(all);
    for (const item of parts[0] ?? []) expect(dateOf(item) ?? 0).toBeLessThan(cut);
  }
});

describe('groups', () => {
  test('total the beginning balance and the net amounts of their events, exactly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 1500 }), async (seed, events) => {
        const shop = open({ seed, events });
        for (const group of await groupsOf(shop)) {
          const items = await eventsOf(shop, group);
          expect(moneyOf(group['OriginalTotal'])).toBe(moneyOf(group['BeginningBalance']) + sum(items));
          expect(currencyOf(group['BeginningBalance'])).toBe(currencyOf(group['OriginalTotal']));
          for (const item of items) {
            expect(new Set(amountsOf(item).map(({ currency }) => currency))).toEqual(
              new Set([currencyOf(group['OriginalTotal'])]),
            );
            const at = dateOf(item);
            if (at === undefined) continue;
            expect(at).toBeGreaterThanOrEqual(start(group));
            if (group['ProcessingStatus'] === 'Closed') expect(at).toBeLessThan(end(group));
          }
        }
      }),
      { numRuns: 8 },
    );
  });

  test('agree with the books by group', async () => {
    const shop = open({ seed: 41, events: 1200 });
    const booked = booksOf(shop.seller).netByGroup(ever);
    const groups = await groupsOf(shop);
    for (const group of groups) {
      const net = booked.get(textOf(group['FinancialEventGroupId'])) ?? 0n;
      expect(moneyOf(group['OriginalTotal']) - moneyOf(group['BeginningBalance'])).toBe(net);
    }
    expect(groups.map((group) => group['FinancialEventGroupId'])).toEqual(expect.arrayContaining([...booked.keys()]));
  });

  test('follow each other without a gap in each currency, fourteen days each, and the last one is open', async () => {
    const groups = await groupsOf(open({ seed: 42, events: 300 }));
    const byCurrency = new Map<Json | undefined, JsonObject[]>();
    for (const group of groups) {
      const currency = currencyOf(group['OriginalTotal']);
      byCurrency.set(currency, [...(byCurrency.get(currency) ?? []), group]);
    }
    expect([...byCurrency.keys()].sort()).toEqual(['CAD', 'JPY', 'MXN', 'USD']);
    for (const own of byCurrency.values()) {
      const open = own.at(-1);
      const closed = own.slice(0, -1);
      expect(open).toMatchObject({ ProcessingStatus: 'Open' });
      for (const field of [
        'FinancialEventGroupEnd',
        'FundTransferDate',
        'FundTransferStatus',
        'TraceId',
        'AccountTail',
      ]) {
        expect(open).not.toHaveProperty(field);
      }
      expect(closed.length).toBeGreaterThanOrEqual(6);
      closed.forEach((group, n) => {
        expect(group).toMatchObject({ ProcessingStatus: 'Closed' });
        expect(group['AccountTail']).toMatch(/^\d{4}$/);
        expect(group['TraceId']).toMatch(/^\d{15}$/);
        expect(Date.parse(textOf(group['FundTransferDate']))).toBeGreaterThanOrEqual(end(group));
        expect(end(group) - start(group)).toBe(14 * day);
        expect(end(group)).toBe(start(own[n + 1] ?? {}));
      });
      // No group lacks its beginning: the first one was running 90 days before the day.
      expect(start(own[0] ?? {})).toBeLessThanOrEqual(Math.floor(noon / day) * day - 90 * day);
    }
    expect(new Set(groups.map(start)).size).toBeGreaterThan(byCurrency.size);
  });

  test('keep their balance, sum and id once they are closed, also when they had been listed while open', async () => {
    const shop = open({ seed: 43, events: 2000 });
    const before = await groupsOf(shop);
    const running = before.filter((group) => group['ProcessingStatus'] === 'Open');
    shop.clock.move(20 * day);
    const after = new Map(
      (await groupsOf(shop, noon + 20 * day)).map((group) => [group['FinancialEventGroupId'], group]),
    );
    for (const group of before.filter((one) => one['ProcessingStatus'] === 'Closed').slice(12)) {
      expect(after.get(group['FinancialEventGroupId'] ?? '')).toEqual(group);
    }
    for (const group of running) {
      const closed = after.get(group['FinancialEventGroupId'] ?? '') ?? {};
      expect(closed).toMatchObject({ ProcessingStatus: 'Closed' });
      const items = await readAll((query) => shop.seller.eventsOfGroup(textOf(group['FinancialEventGroupId']), query), {
        asOf: noon + 20 * day,
      });
      expect(moneyOf(closed['OriginalTotal'])).toBe(moneyOf(closed['BeginningBalance']) + sum(items));
    }
  });

  test('count an event from its very instant on', async () => {
    const shop = open({ seed: 48, events: 900 });
    for (const { at, currency, net } of [...booksOf(shop.seller).eventsBooked(ever)].slice(-20)) {
      const totalAt = async (asOf: number) => {
        const groups = await groupsOf(shop, asOf);
        const running = groups.filter((group) => group['ProcessingStatus'] === 'Open');
        return moneyOf(running.find((group) => currencyOf(group['OriginalTotal']) === currency)?.['OriginalTotal']);
      };
      expect((await totalAt(at)) - (await totalAt(at - 1))).toBe(net);
    }
  });

  test('begin at nothing, at more and at less', async () => {
    const balances: bigint[] = [];
    for (const seed of [1, 2, 3, 4]) {
      for (const group of await groupsOf(open({ seed, events: 0 }))) balances.push(moneyOf(group['BeginningBalance']));
    }
    expect(balances.some((balance) => balance === 0n)).toBe(true);
    expect(balances.some((balance) => balance > 0n)).toBe(true);
    expect(balances.some((balance) => balance < 0n)).toBe(true);
  });

  test('are what a trial shipment names', async () => {
    const shop = open({ seed: 44, events: 2000 });
    let found = 0;
    for (const group of await groupsOf(shop)) {
      for (const { list, json } of await eventsOf(shop, group)) {
        if (list !== 'TrialShipmentEventList') continue;
        expect(parse(json)['FinancialEventGroupId']).toBe(group['FinancialEventGroupId']);
        found++;
      }
    }
    expect(found).toBeGreaterThan(10);
  });
});

describe('the books', () => {
  test('hold every amount of the JSON, in its order, with the roles of the table', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const { seller } = open({ seed, events: 1000 });
        const items = await readAll((query) => seller.events(ever, query));
        const read = items.flatMap((item) => amountsOf(item).map((amount) => ({ list: item.list, ...amount })));
        const booked = [...booksOf(seller).entriesBooked(ever)].map(({ list, path, role, currency, micros }) => ({
          list,
          path,
          role,
          currency,
          micros,
        }));
        expect(booked).toEqual(read);
      }),
      { numRuns: 4 },
    );
  });

  test('give the net of each month and currency', async () => {
    const { seller } = open({ seed: 45, events: 900 });
    const range = { start: noon - 80 * day, end: noon };
    const items = await readAll((query) => seller.events(range, query));
    const booked = [...booksOf(seller).eventsBooked(range)];
    const sums = new Map<string, Map<string, bigint>>();
    items.forEach((item, n) => {
      const { at = NaN, currency = '', net } = booked[n] ?? {};
      const month = new Date(at).toISOString().slice(0, 7);
      const own = sums.get(month) ?? new Map<string, bigint>();
      sums.set(month, own.set(currency, (own.get(currency) ?? 0n) + netOf(item)));
      expect(net).toBe(netOf(item));
    });
    expect(sums.size).toBe(4);
    expect(booksOf(seller).netByMonth(range)).toEqual(sums);
  });

  test('count the events of each list', async () => {
    const { seller } = open({ seed: 46, events: 900 });
    const counts = new Map<string, number>();
    for (const { list } of await readAll((query) => seller.events(ever, query))) {
      counts.set(list, (counts.get(list) ?? 0) + 1);
    }
    expect(booksOf(seller).countByList(ever)).toEqual(counts);
  });
});

/** What must be equal in the events of a list. */
const identities: Readonly<Record<string, (event: JsonObject) => readonly [bigint, bigint]>> = {
  ProductAdsPaymentEventList: (e) => [moneyOf(e['transactionValue']), moneyOf(e['baseValue']) + moneyOf(e['taxValue'])],
  SellerDealPaymentEventList: (e) => [moneyOf(e['totalAmount']), moneyOf(e['feeAmount']) + moneyOf(e['taxAmount'])],
  AffordabilityExpenseEventList: (e) => [
    moneyOf(e['TotalExpense']),
    ['BaseExpense', 'TaxTypeCGST', 'TaxTypeSGST', 'TaxTypeIGST'].reduce((total, key) => total + moneyOf(e[key]), 0n),
  ],
  CouponPaymentEventList: (e) => [moneyOf(e['TotalAmount']), inside(e, 'FeeComponent') + inside(e, 'ChargeComponent')],
  SellerReviewEnrollmentPaymentEventList: (e) => [
    moneyOf(e['TotalAmount']),
    inside(e, 'FeeComponent') + inside(e, 'ChargeComponent'),
  ],
  AdjustmentEventList: (e) => {
    const items = (e['AdjustmentItemList'] ?? []) as JsonObject[];
    const amount = moneyOf(e['AdjustmentAmount']);
    return [amount, items.length === 0 ? amount : total(items, 'TotalAmount')];
  },
  SAFETReimbursementEventList: (e) => [
    moneyOf(e['ReimbursedAmount']),
    (e['SAFETReimbursementItemList'] as JsonObject[]).reduce(
      (sum, item) => sum + total(item['itemChargeList'] as JsonObject[], 'ChargeAmount'),
      0n,
    ),
  ],
  DebtRecoveryEventList: (e) => {
    const items = total(e['DebtRecoveryItemList'] as JsonObject[], 'RecoveryAmount');
    expect(total(e['ChargeInstrumentList'] as JsonObject[], 'Amount')).toBe(items);
    return [moneyOf(e['RecoveryAmount']), items];
  },
};

function inside(event: JsonObject, component: string): bigint {
  const { FeeAmount, ChargeAmount } = event[component] as JsonObject;
  return moneyOf(FeeAmount ?? ChargeAmount);
}

function total(items: readonly JsonObject[], field: string): bigint {
  return items.reduce((sum, item) => sum + moneyOf(item[field]), 0n);
}

test('totals within an event say what its parts add up to', async () => {
  const { seller } = open({ seed: 47, events: 4000 });
  const checked = new Set<string>();
  for (const { list, json } of await readAll((query) => seller.events(ever, query))) {
    const [whole, parts] = identities[list]?.(parse(json)) ?? [0n, 0n];
    expect(whole).toBe(parts);
    if (whole !== 0n) checked.add(list);
  }
  expect(checked).toEqual(new Set(Object.keys(identities)));
});
