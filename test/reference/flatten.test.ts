import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventsPage } from './event-arbitraries.js';
import { referenceRows, type ReferenceEntry, type ReferenceEvent, type ReferenceSlice } from './flatten.js';

const day = (iso: string): bigint => BigInt(Date.parse(iso)) * 1000n;
const march: ReferenceSlice = { windowStart: day('2024-03-01'), windowEnd: day('2024-03-08') };
const page = (lists: string): string => `{"payload":{"FinancialEvents":{${lists}}}}`;
const rows = (lists: string, slice = march): ReturnType<typeof referenceRows> => referenceRows([page(lists)], slice);
const eur = (amount: string): string => `{"CurrencyCode":"EUR","CurrencyAmount":${amount}}`;
const sha = (...parts: string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 32);

function onlyEvent(lists: string, slice = march): ReferenceEvent {
  const { events } = rows(lists, slice);
  const [event] = events;
  if (event === undefined || events.length > 1) throw new Error(`expected one event, got ${events.length}`);
  return event;
}

const column = <K extends keyof ReferenceEntry>(lists: string, key: K): ReferenceEntry[K][] =>
  rows(lists).entries.map((entry) => entry[key]);

describe('events', () => {
  test('come list by list in the order of the text, with their bytes', () => {
    const { events } = rows('"B":[ {"x": 1.0} ,2],"ServiceFeeEventList":[{}],"A":[null]');
    expect(events.map(({ event_list, raw, position }) => [event_list, raw, position])).toEqual([
      ['B', '{"x": 1.0}', 0n],
      ['B', '2', 1n],
      ['ServiceFeeEventList', '{}', 2n],
      ['A', 'null', 3n],
    ]);
  });

  test('are none for null, one for an object or a scalar in place of a list, and those of the last of two lists', () => {
    expect(rows('"A":null,"B":{"x":1},"C":"s","D":[],"E":[1],"F":true,"E":[2]').events.map(({ raw }) => raw)).toEqual([
      ...['{"x":1}', '"s"', 'true', '2'],
    ]);
  });

  test('are dated by their own field, else by any known one that holds a date', () => {
    const posted = (list: string, event: string): bigint | null => onlyEvent(`"${list}":[${event}]`).posted_at;
    const both = '{"PostedDate":"2024-03-02","postedDate":"2024-03-03"}';
    expect(posted('ShipmentEventList', both)).toBe(day('2024-03-02'));
    expect(posted('ProductAdsPaymentEventList', both)).toBe(day('2024-03-03'));
    expect(posted('Unknown', '{"TransactionCreationDate":"2024-03-04"}')).toBe(day('2024-03-04'));
    expect(posted('PayWithAmazonEventList', '{"TransactionPostedDate":"soon","PostedDate":"2024-03-05"}')).toBe(
      day('2024-03-05'),
    );
    expect(posted('ShipmentEventList', '{"PostedDate":5,"Inner":{"PostedDate":"2024-03-02"}}')).toBeNull();
  });

  test('have the hash of list and bytes, and without a date an id of their window', () => {
    const dated = onlyEvent('"Ünlist":[{"PostedDate":"2024-03-02", "a":"é"}]');
    expect(dated.content_hash).toBe(sha('Ünlist', '{"PostedDate":"2024-03-02", "a":"é"}'));
    expect(dated.event_id).toBe(dated.content_hash);
    const undated = onlyEvent('"ServiceFee\\u0045ventList":[{}]');
    expect(undated.content_hash).toBe(sha('ServiceFeeEventList', '{}'));
    expect(undated.event_id).toBe(sha('ServiceFeeEventList', '{}', '2024-03-01T00:00:00.000Z'));
  });

  test('that are identical are counted over all pages of the slice', () => {
    const { events } = referenceRows([page('"A":[{},{"x":1}]'), page('"A":[{},{}],"B":[{}]')], march);
    const id = sha('A', '{}', '2024-03-01T00:00:00.000Z');
    expect(events.filter(({ raw }) => raw === '{}').map(({ event_id }) => event_id)).toEqual([
      ...[id, `${id}-2`, `${id}-3`, sha('B', '{}', '2024-03-01T00:00:00.000Z')],
    ]);
  });

  test('of a group or an order carry its id in front of theirs', () => {
    const group = onlyEvent('"A":[{}]', { ...march, idPrefix: 'G1:', groupId: 'G1' });
    expect(group.event_id).toBe(`G1:${sha('A', '{}', '2024-03-01T00:00:00.000Z')}`);
    expect([group.group_id, group.requested_order_id]).toEqual(['G1', null]);
    const order = { windowStart: null, windowEnd: null, idPrefix: 'O1:', requestedOrderId: 'O1' };
    expect(onlyEvent('"A":[{}]', order)).toMatchObject({
      event_id: `O1:${sha('A', '{}')}`,
      effective_at: null,
      requested_order_id: 'O1',
      window_start: null,
    });
  });

  test('without a date stand by the dates around them', () => {
    const undated = page('"ServiceFeeEventList":[{}]');
    const dated = (...dates: string[]): string =>
      page(`"A":[${dates.map((date) => `{"PostedDate":"2024-03-${date}"}`).join()}],"ServiceFeeEventList":[{}]`);
    const effective = (pages: string[], slice = march): (bigint | null)[] =>
      referenceRows(pages, slice)
        .events.filter(({ posted_at }) => posted_at === null)
        .map(({ effective_at }) => effective_at);
    expect(effective([undated, undated, dated('05', '03'), undated, dated('02'), undated])).toEqual(
      ['03', '03', '03', '05', '02', '05'].map((date) => day(`2024-03-${date}`)),
    );
    expect(effective([undated])).toEqual([day('2024-03-01')]);
    expect(effective([dated('20')])).toEqual([day('2024-03-08') - 1n]);
    expect(effective([dated('20')], { ...march, groupId: 'G' })).toEqual([day('2024-03-20')]);
  });

  test('name their order, their marketplace and their store', () => {
    expect(onlyEvent('"A":[{"AmazonOrderId":1,"OrderId":"","MerchantOrderId":"m","MarketplaceId":"i"}]')).toMatchObject(
      {
        amazon_order_id: '',
        seller_order_id: 'm',
        marketplace: 'i',
        store: null,
      },
    );
    expect(onlyEvent('"TDSReimbursementEventList":[{"TDSOrderId":"t","AmazonOrderId":"a"}]').amazon_order_id).toBe('t');
    expect(onlyEvent('"RemovalShipmentEventList":[{"MerchantOrderId":"m","OrderId":"o"}]').amazon_order_id).toBe('o');
    expect(onlyEvent('"PayWithAmazonEventList":[{"SellerOrderId":"s","StoreName":"\\ud800x"}]')).toMatchObject({
      amazon_order_id: null,
      seller_order_id: 's',
      store: '\ufffdx',
    });
  });
});

describe('entries', () => {
  test('are all money objects, outer before inner, wherever they stand', () => {
    const inner = `{"CurrencyCode":"EUR","CurrencyAmount":${eur('2')},"":{"B":${eur('3')}}}`;
    const lists = `"L":[{"A":[[${eur('1')}],{"M":${inner}}],"":{"C":${eur('4')}},"a.b[]":${eur('5')},"X":{"CurrencyCode":1}}]`;
    expect(rows(lists).entries.map(({ entry, path, amount }) => [entry, path, amount])).toEqual([
      [0, 'A[][]', 1_000_000n],
      [1, 'A[].M', null],
      [2, 'A[].M.CurrencyAmount', 2_000_000n],
      [3, 'A[].M..B', 3_000_000n],
      [4, '.C', 4_000_000n],
      [5, 'a.b[]', 5_000_000n],
    ]);
    expect(column(`"L":[${eur('1')},[${eur('2')},{"A":${eur('3')}}]]`, 'path')).toEqual(['', '[]', '[].A']);
  });

  test('take the item of the outermost array, else the event', () => {
    const item = (own: string): string => `{${own}"FeeList":[{"SKU":"no","F":${eur('1')}}]}`;
    const { entries } = rows(
      `"L":[{"SellerSKU":"e","ParentASIN":"p","Quantity":9,"T":${eur('0')},"I":[` +
        `${item('"FnSKU":"f","SKU":5,"Quantity":"-3",')},${item('"OrderItemId":"i","QuantityShipped":null,"Quantity":2,')}]}]`,
    );
    expect(entries.map((of) => [of.item, of.sku, of.fnsku, of.asin, of.order_item_id, of.quantity])).toEqual([
      [null, 'e', null, 'p', null, null],
      [0, 'e', 'f', 'p', null, -3n],
      [1, 'e', null, 'p', 'i', 2n],
    ]);
  });

  test('take the first string among the types of the object that holds the money', () => {
    const lists = `"L":[{"ZType":1,"FeeType":"f","ChargeType":"c","A":${eur('1')},"B":[[${eur('2')}]],"C":{"type":"t","D":${eur('3')}}},${eur('4')}]`;
    expect(column(lists, 'name')).toEqual(['f', 'f', null, null]);
    expect(column(`"L":[{"FeeType":"a","XType":"b","FeeType":"c","A":${eur('1')}}]`, 'name')).toEqual(['b']);
  });

  test('have the role and kind of their list and path', () => {
    const event = `{"AdjustmentAmount":${eur('1')},"AdjustmentItemList":[{"TotalAmount":${eur('1')}}],"New":${eur('1')}}`;
    expect(rows(`"AdjustmentEventList":[${event}]`).entries.map(({ kind, role }) => [kind, role])).toEqual([
      ['adjustment', 'net'],
      ['adjustment', 'memo'],
      ['unknown', 'unknown'],
    ]);
    expect(column(`"toString":[${event}]`, 'role')).toEqual(['unknown', 'unknown', 'unknown']);
  });

  test('keep the text of a number that does not fit, and nothing of what is no number', () => {
    const { entries } = rows(
      `"L":[{"A":${eur('1e-7')},"B":${eur('"05"')},"C":{"CurrencyCode":7,"CurrencyAmount":-0.0}}]`,
    );
    expect(entries.map(({ amount, amount_text, currency }) => [amount, amount_text, currency])).toEqual([
      [null, '1e-7', 'EUR'],
      [null, null, 'EUR'],
      [0n, null, null],
    ]);
  });
});

test('strings that are numbers of JSON count as numbers', () => {
  const texts = ['"10.00"', '"-1e2"', '"\\u0031"', '"1e-7"', '"+1"', '" 1"'];
  const { entries } = rows(`"L":[{"A":[${texts.map(eur).join()}]}]`);
  expect(entries.map(({ amount, amount_text }) => [amount, amount_text])).toEqual([
    ...[10_000_000n, -100_000_000n, 1_000_000n].map((amount) => [amount, null]),
    ...[
      [null, '1e-7'],
      [null, null],
      [null, null],
    ],
  ]);
});

describe('generated pages', () => {
  const sample = fc.sample(eventsPage, { numRuns: 1500, seed: 20240301 });

  test('are rows whose ids are unique, whose bytes are in the page and whose entries belong to events', () => {
    fc.assert(
      fc.property(fc.array(eventsPage, { maxLength: 3 }), (pages) => {
        const { events, entries } = referenceRows(pages, march);
        expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
        expect(new Set(entries.map(({ event_id, entry }) => `${event_id} ${entry}`)).size).toBe(entries.length);
        for (const { raw, effective_at } of events) {
          expect(pages.some((text) => text.includes(raw))).toBe(true);
          expect(effective_at).not.toBeNull();
        }
      }),
      { numRuns: 150 },
    );
  });

  test('reach every rule', () => {
    const results = sample.map((text) => referenceRows([text], march));
    const events = results.flatMap((result) => result.events);
    const entries = results.flatMap((result) => result.entries);
    const repeated = events.filter(({ event_id }) => event_id.includes('-'));
    const seen = {
      lists: new Set(events.map(({ event_list }) => event_list)).size >= 40,
      scalarEvents: events.some(({ raw }) => raw === 'null') && events.some(({ raw }) => raw.startsWith('"')),
      arrayEvents: events.some(({ raw }) => raw.startsWith('[')),
      dated: events.filter(({ posted_at }) => posted_at !== null).length > events.length / 4,
      undated: events.some(({ posted_at }) => posted_at === null),
      repeated: repeated.length > 0,
      orders: events.some(({ amazon_order_id }) => amazon_order_id === ''),
      moneyEvents: entries.some(({ path }) => path === ''),
      moneyInMoney: entries.some(({ path }) => path.endsWith('.CurrencyAmount')),
      arraysOfArrays: entries.some(({ path }) => path.includes('[][]')),
      net: entries.filter(({ role, amount }) => role === 'net' && amount !== null).length > 500,
      memo: entries.some(({ role }) => role === 'memo'),
      unknown: entries.some(({ role }) => role === 'unknown'),
      misfits: entries.some(({ amount_text }) => amount_text !== null),
      noNumber: entries.some(({ amount, amount_text }) => amount === null && amount_text === null),
      noCurrency: entries.some(({ currency }) => currency === null),
      quantities: entries.some(({ quantity }) => quantity !== null && quantity < 0n),
      items: entries.some(({ item, sku }) => item === 1 && sku !== null),
      names: entries.some(({ name }) => name === 'Commission'),
      halfPairs: events.some(({ event_list }) => event_list === '\ufffd'),
      escapedNames: sample.some((text) => text.includes('"C\\u0075rrency')),
    };
    expect(Object.entries(seen).filter(([, reached]) => !reached)).toEqual([]);
  });
});
