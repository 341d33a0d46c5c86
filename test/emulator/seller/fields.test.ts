import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EventListName, eventLists, records } from '../../../src/sources/finances/api-v0/event-records.js';
import { fieldTable, groupFields, pathsOf } from './field-table.js';
import { ever, isObject, type Json, noon, open, parse, readAll } from './reading.js';
import { booksOf } from './seller-books.js';

/** The paths in a value, in the notation of the table; whole numbers are told by their text. */
function pathsIn(value: Json, path = ''): string[] {
  if (Array.isArray(value)) return (value as Json[]).flatMap((element) => pathsIn(element, `${path}[]`));
  if (isObject(value)) {
    if ('CurrencyAmount' in value) {
      return [Object.keys(value).sort().join() === 'CurrencyAmount,CurrencyCode' ? `${path} money` : `${path} ???`];
    }
    return Object.entries(value).flatMap(([key, member]) => pathsIn(member, path === '' ? key : `${path}.${key}`));
  }
  if (typeof value === 'number') return [`${path} whole`];
  const isInstant = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/.test(value);
  return [`${path} ${isInstant ? 'instant' : typeof value === 'string' ? 'text' : typeof value}`];
}

async function fieldsByList(seed: number, events: number): Promise<Map<string, Set<string>>> {
  const { seller } = open({ seed, events });
  const found = new Map<string, Set<string>>();
  for (const { list, json } of await readAll((query) => seller.events(ever, query))) {
    const paths = found.get(list) ?? new Set();
    found.set(list, paths);
    for (const path of pathsIn(parse(json))) paths.add(path);
  }
  return found;
}

const byName = (names: Iterable<string>) => [...new Set(names)].sort();
const isShipment = (list: string) => eventLists[list as EventListName] === 'ShipmentEvent';

describe('what comes', () => {
  test('every list comes among a few hundred events, whatever the seed', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 239, max: 500 }), (seed, events) => {
        const { seller } = open({ seed, events });
        expect(byName(booksOf(seller).countByList(ever).keys())).toEqual(byName(Object.keys(eventLists)));
      }),
      { numRuns: 20 },
    );
  });

  test('shipments and refunds are as frequent as in a shop', () => {
    const { seller } = open({ seed: 3, events: 12_000 });
    const counts = booksOf(seller).countByList({ start: noon - 80 * 86_400_000, end: noon });
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    expect((counts.get('ShipmentEventList') ?? 0) / all).toBeCloseTo(0.57, 2);
    expect((counts.get('RefundEventList') ?? 0) / all).toBeCloseTo(0.083, 2);
  });

  test.each([1, 2, 77, 2 ** 40 + 5])(
    'two thousand events have every field of every record, and no other (seed %i)',
    async (seed) => {
      const found = await fieldsByList(seed, 2000);
      for (const list of Object.keys(eventLists) as EventListName[]) {
        if (isShipment(list)) continue;
        expect({ list, fields: byName(found.get(list) ?? []) }).toEqual({
          list,
          fields: byName(pathsOf(fieldTable[eventLists[list]])),
        });
      }
      // The five lists of shipments share a record: each has its part of it, and together they have it all.
      const shipments = [...found].filter(([list]) => isShipment(list)).flatMap(([, paths]) => [...paths]);
      expect(byName(shipments)).toEqual(byName(pathsOf(fieldTable.ShipmentEvent)));
      expect(byName(found.get('RefundEventList') ?? [])).toEqual(
        expect.arrayContaining([
          'ShipmentItemAdjustmentList[].ItemChargeAdjustmentList[].ChargeAmount money',
          'ShipmentItemAdjustmentList[].ItemFeeAdjustmentList[].FeeAmount money',
          'ShipmentItemAdjustmentList[].PromotionAdjustmentList[].PromotionAmount money',
          'ShipmentItemAdjustmentList[].ItemTaxWithheldList[].TaxesWithheld[].ChargeAmount money',
          'ShipmentItemAdjustmentList[].CostOfPointsReturned money',
        ]),
      );
    },
  );

  test('the groups have every field of a group, and no other', async () => {
    const { seller } = open({ seed: 5, events: 200 });
    const groups = await readAll((query) => seller.groups(ever, query));
    expect(byName(groups.flatMap(({ json }) => pathsIn(parse(json))))).toEqual(byName(pathsOf(groupFields)));
  });

  test('the table has a record for each of the 34 lists', () => {
    expect(Object.keys(eventLists)).toHaveLength(34);
    expect(byName(Object.keys(fieldTable))).toEqual(byName(Object.keys(records)));
  });
});

describe('how it is written', () => {
  const shop = open({ seed: 9, events: 3000 }).seller;
  const jsons = readAll((query) => shop.events(ever, query)).then((items) => items.map(({ json }) => json));

  test.each([
    ['a name with umlauts', /Müller & Söhne/],
    ['an escaped quote', /\\"Radhaus\\"/],
    ['a backslash', /PO\\\\ST/],
    ['an escaped slash', /LAMP\\\/7/],
    ['a tab and a line feed', /Rope\\tø 8 mm,\\n20 m/],
    ['a Japanese name', /"山田商店"/],
    ['an escape for a character', /M\\u00fcller/],
    ['an emoji', /🛒/],
    ['two escapes for one emoji', /\\ud83d\\uded2/],
    ['an amount with two digits behind the point', /"CurrencyAmount":-?\d+\.\d\d[,}]/],
    ['one with a digit', /"CurrencyAmount":-?[1-9]\d*\.[1-9][,}]/],
    ['a whole one', /"CurrencyAmount":-?[1-9]\d*[,}]/],
    ['one with an exponent', /"CurrencyAmount":-?[1-9](\.\d+)?E\d[,}]/],
    ['one with a small e', /"CurrencyAmount":-?[1-9](\.\d+)?e\d[,}]/],
    ['a negative zero', /"CurrencyAmount":-0\.00[,}]/],
    ['three digits behind the point', /"CurrencyAmount":-?[1-9]\d*\.\d\d0[,}]/],
    ['six that matter', /"CurrencyAmount":-0\.\d{5}[1-9][,}]/],
    ['an amount before its currency', /\{"CurrencyAmount":[^,]+,"CurrencyCode":"[A-Z]{3}"\}/],
    ['a count that a double does not hold', /"ClipOrRedemptionCount":9007199254740993[,}]/],
    ['the largest count of 64 bits', /"ClipOrRedemptionCount":9223372036854775807[,}]/],
    ['a quantity as text', /"Quantity":"\d+"/],
    ['an empty list', /"\w+List":\[\]/],
    ['an instant with milliseconds', /"PostedDate":"[^"]+:\d\d\.\d{3}Z"/],
  ])('there is %s', async (_what, pattern) => {
    expect((await jsons).some((json) => pattern.test(json))).toBe(true);
  });

  test('there is more than one currency, and an event has only one', async () => {
    const currencies = (await jsons).map((json) =>
      [...new Set(json.match(/(?<="CurrencyCode":")[A-Z]+/g) ?? [])].join(),
    );
    expect(byName(currencies)).toEqual(['CAD', 'JPY', 'MXN', 'USD']);
  });
});
