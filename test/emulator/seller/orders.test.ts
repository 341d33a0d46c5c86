import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createOrderIds } from '../../../src/emulator/profiles/seeded-random.js';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import {
  dateOf,
  day,
  ever,
  type JsonObject,
  moneyOf,
  noon,
  open,
  orderIdsOf,
  parse,
  readAll,
  text,
  textOf,
} from './reading.js';
import { booksOf } from './seller-books.js';

interface Placed {
  readonly item: BackendItem;
  readonly at: number;
}

/** The events of each order, found the slow way. */
async function byOrder(seed: number, events: number, now = noon): Promise<Map<string, Placed[]>> {
  const { seller } = open({ seed, events }, now);
  const booked = [...booksOf(seller).eventsBooked(ever)];
  const orders = new Map<string, Placed[]>();
  (await readAll((query) => seller.events(ever, query), { asOf: now })).forEach((item, n) => {
    for (const id of orderIdsOf(item)) {
      const own = orders.get(id) ?? [];
      own.push({ item, at: booked[n]?.at ?? NaN });
      orders.set(id, own);
    }
  });
  return orders;
}

const skusOf = (event: JsonObject) =>
  [
    ...((event['ShipmentItemList'] ?? []) as JsonObject[]),
    ...((event['ShipmentItemAdjustmentList'] ?? []) as JsonObject[]),
  ].map((item) => textOf(item['SellerSKU']));

describe('orders', () => {
  test.each([
    [1, 60],
    [2, 400],
    [3, 2500],
    [4, 5000],
  ])('have by id the events that name them, in order, and no others (seed %i, %i events)', async (seed, events) => {
    const { seller } = open({ seed, events });
    const orders = await byOrder(seed, events);
    expect(new Set(orders.keys())).toEqual(booksOf(seller).orderIds(ever));
    let several = 0;
    let looked = 0;
    for (const [id, placed] of orders) {
      if (events > 1000 && looked++ % 9 !== 0) continue;
      const found = await readAll((query) => seller.eventsOfOrder(id, query), { limit: () => 1 });
      expect(found.map(text)).toEqual(placed.map(({ item }) => text(item)));
      if (found.length > 1) several++;
    }
    expect(several).toBeGreaterThan(5);
  });

  test('are refunded days after they were shipped, with what was in them', async () => {
    let found = 0;
    const lags: number[] = [];
    let acrossMonths = 0;
    for (const placed of (await byOrder(7, 4000)).values()) {
      const shipped = placed.find(({ item }) => item.list === 'ShipmentEventList');
      for (const { item, at } of placed) {
        if (item.list !== 'RefundEventList' || shipped === undefined) continue;
        const [shipment, refund] = [parse(shipped.item.json), parse(item.json)];
        expect(skusOf(shipment)).toEqual(expect.arrayContaining(skusOf(refund)));
        expect(dateOf(shipped.item)).toBe(shipped.at);
        lags.push((at - shipped.at) / day);
        if (new Date(at).getUTCMonth() !== new Date(shipped.at).getUTCMonth()) acrossMonths++;
        found++;
      }
    }
    expect(found).toBeGreaterThan(200);
    expect(Math.min(...lags)).toBeGreaterThan(0.5);
    expect(Math.max(...lags)).toBeGreaterThan(30);
    expect(acrossMonths).toBeGreaterThan(20);
  });

  test('give the principal back as a negative charge and part of the commission as a positive fee', async () => {
    const { seller } = open({ seed: 8, events: 3000 });
    let seen = 0;
    for (const { list, json } of await readAll((query) => seller.events(ever, query))) {
      if (list !== 'RefundEventList') continue;
      const event = parse(json);
      for (const item of (event['ShipmentItemAdjustmentList'] ?? event['ShipmentItemList']) as JsonObject[]) {
        const charges = (item['ItemChargeAdjustmentList'] ?? item['ItemChargeList']) as JsonObject[];
        const fees = (item['ItemFeeAdjustmentList'] ?? item['ItemFeeList']) as JsonObject[];
        expect(moneyOf(charges.find((charge) => charge['ChargeType'] === 'Principal')?.['ChargeAmount'])).toBeLessThan(
          0n,
        );
        const fee = (type: string) => moneyOf(fees.find((one) => one['FeeType'] === type)?.['FeeAmount']);
        expect(fee('Commission')).toBeGreaterThan(0n);
        expect(-fee('RefundCommission')).toBeLessThan(fee('Commission'));
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(200);
  });

  test('come up with their first event, and grow', async () => {
    const orders = [...(await byOrder(9, 3000))];
    const { seller } = open({ seed: 9, events: 3000 });
    const young = orders
      .filter(([, placed]) => placed.length > 1 && (placed[0]?.at ?? 0) > noon - 60 * day)
      .slice(0, 40);
    expect(young.length).toBe(40);
    for (const [id, placed] of young) {
      const [first = NaN, ...rest] = placed.map(({ at }) => at);
      const ask = (asOf: number) => seller.eventsOfOrder(id, { cursor: undefined, limit: 100, asOf });
      expect(await ask(first - 1)).toBeUndefined();
      for (const asOf of [first, ...rest]) {
        expect((await ask(asOf))?.items).toHaveLength(placed.filter(({ at }) => at <= asOf).length);
      }
    }
  });

  test('have the currency of their first event in all others', async () => {
    for (const placed of (await byOrder(10, 2000)).values()) {
      const currencies = placed.flatMap(({ item }) => item.json.match(/(?<="CurrencyCode":")[A-Z]+/g) ?? []);
      expect(new Set(currencies).size).toBe(1);
    }
  });
});

describe('order ids', () => {
  const ordinals = fc.integer({ min: -1e12, max: 1e13 });

  test('lead back to where they came from', () => {
    fc.assert(
      fc.property(fc.nat(), ordinals, (key, ordinal) => {
        const ids = createOrderIds(key);
        expect(ids.idOf(ordinal)).toMatch(/^\d{3}-\d{7}-\d{7}$/);
        expect(ids.ordinalOf(ids.idOf(ordinal))).toBe(ordinal);
      }),
    );
  });

  test('are of the form or nothing', () => {
    const ids = createOrderIds(1);
    for (const id of ['', '902-1845936-543506', '902-1845936-54350651', 'a02-1845936-5435065']) {
      expect(ids.ordinalOf(id)).toBeUndefined();
    }
  });

  test('of neighbours have nothing in common', () => {
    const ids = createOrderIds(1);
    const heads = new Set(Array.from({ length: 100 }, (_, n) => ids.idOf(200_000_000 + n).slice(0, 3)));
    expect(heads.size).toBeGreaterThan(80);
  });
});
