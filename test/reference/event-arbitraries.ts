import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { eventLists, recordOf } from '../../src/sources/finances/api-v0/event-records.js';
import { arrayText, jsonText, memberText, nameText, numberText, objectText, scalarText } from './arbitraries.js';
import {
  deepText,
  kindMember,
  moneyText,
  mostly,
  named,
  oddName,
  someOf,
  wildText,
  wordText,
} from './money-arbitraries.js';

const digits2 = (max: number): Arbitrary<string> => fc.nat(max).map((value) => String(value).padStart(2, '0'));
const zone = fc.constantFrom('Z', 'Z', 'Z', 'Z', '', '+00:00', '-00:00', '+05:30', '-0800', '+14:00', '+23:59');
const fraction = fc.oneof(
  fc.constant(''),
  fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 9 }).map((text) => `.${text}`),
);
const plausibleDate = fc
  .tuple(
    fc.constantFrom('2024-02', '2024-03', '2024-03', '2024-04'),
    digits2(31),
    digits2(24),
    digits2(60),
    digits2(60),
    fraction,
    zone,
  )
  .map(
    ([month, day, hour, minute, second, part, offset]) => `${month}-${day}T${hour}:${minute}:${second}${part}${offset}`,
  );
const oddDate = fc.constantFrom(
  ...['2024-03-01', '2024-03-01T10:00Z', '2024-03-01T10:00+0100', '2024-03-01T10:00', '2024-02-29T00:00:00Z'],
  ...['2023-02-29T00:00:00Z', '2100-02-29', '2000-02-29', '2024-04-31', '2024-00-10', '2024-13-01', '2024-03-00'],
  ...[
    '2024-03-01T24:00:00Z',
    '2024-03-01T23:59:60Z',
    '2024-03-01T10:60:00Z',
    '2024-03-01t10:00:00Z',
    '2024-03-01T10:00:00z',
  ],
  ...['2024-03-01 10:00:00Z', '2024-03-01T10:00:00.Z', '2024-03-01T10:00:00,5Z', '2024-03-01T10:00:00.1234567890Z'],
  ...['2024-03-01T10Z', '2024-03-01T10:00:00+1', '2024-03-01T10:00:00+01', '2024-03-01T10:00:00+24:00', '2024-3-1'],
  ...['2024-03-01T10:00:00+01:60', '2024-03-01Z', '2024-03-01T', '20240301T100000Z', ' 2024-03-01', '2024-03-01\n', ''],
  ...[
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '0000-12-31T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '+002024-03-01',
    '-2024-03-01',
  ],
  ...[
    '1969-12-31T23:59:59.9999999Z',
    '1582-10-10',
    '0099-12-31T00:00:00Z',
    '1709287200',
    '2024-03-01T10:00:00.000001Z',
  ],
  ...['２０２４-03-01', '2024-03-01T10:00:00Zé', '2024-03-01T10:00:00−01:00', '2024-03-01T10:00:00.123456999-00:30'],
);
/** A date's text as JSON, of which one in ten isn't a date. */
const dateText = fc.oneof(
  { weight: 8, arbitrary: plausibleDate.chain(nameText) },
  { weight: 2, arbitrary: oddDate.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: scalarText },
);

const quantityText = fc.oneof(
  fc.constantFrom('1', '2', '2.0', '2e0', '20e-1', '-3', '0', '-0', '"4"', '"-5"', '"007"', '"\\u0038"', '"-0"'),
  fc.constantFrom(
    '1.5',
    '1e-1',
    '1e19',
    '"1.0"',
    '"+1"',
    '" 1"',
    '""',
    '"-"',
    '"٣"',
    '"9223372036854775808"',
    'null',
    'true',
  ),
  numberText,
  numberText.map((text) => `"${text}"`),
  jsonText,
);

const dateNames = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];
/** Names, ids and countries of marketplaces, and texts that are none. */
const marketplaceText = fc
  .constantFrom(
    'Amazon.com',
    'amazon.co.jp',
    'Amazon.jp',
    'AMAZON.DE',
    'Non-Amazon',
    'A1PA6795UKMFR9',
    'GB',
    'uk',
    'XX',
    '',
  )
  .map((text) => JSON.stringify(text));
const marketplaceNames = ['MarketplaceName', 'MarketplaceId', 'MarketplaceCountryCode', 'StoreName', 'SellerStoreName'];
const idNames = [
  ...['AmazonOrderId', 'OrderId', 'SellerOrderId', 'MerchantOrderId', 'TDSOrderId', 'OriginalRemovalOrderId'],
  ...['MarketplaceName', 'MarketplaceId', 'StoreName', 'SellerStoreName'],
];
const itemNames = [
  ...['SellerSKU', 'SKU', 'FulfillmentNetworkSKU', 'FnSKU', 'ASIN', 'ParentASIN'],
  ...['OrderItemId', 'OrderAdjustmentItemId', 'RemovalShipmentItemId'],
];
const quantityNames = ['QuantityShipped', 'Quantity', 'AdjustedQuantity', 'quantity'];

const itemMember = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...itemNames).chain((name) => named(name, wordText)) },
  { weight: 3, arbitrary: fc.constantFrom(...quantityNames).chain((name) => named(name, quantityText)) },
  { weight: 3, arbitrary: kindMember },
  { weight: 1, arbitrary: memberText(oddName, mostly(wildText, deepText)) },
);
const eventMember = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...idNames).chain((name) => named(name, wordText)) },
  { weight: 1, arbitrary: fc.constantFrom(...marketplaceNames).chain((name) => named(name, marketplaceText)) },
  { weight: 1, arbitrary: fc.constantFrom(...dateNames).chain((name) => named(name, dateText)) },
  { weight: 3, arbitrary: itemMember },
);

/** The amounts of a record as a tree: names, those of lists with `[]`, down to the money itself. */
interface Shape {
  readonly [name: string]: Shape | 'money';
}

function shapeOf(paths: readonly string[]): Shape {
  const names = [...new Set(paths.map((path) => path.split('.')[0] ?? ''))];
  return Object.fromEntries(
    names.map((name) => {
      const below = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
      return [name, below.length === 0 ? 'money' : shapeOf(below)];
    }),
  );
}

function shapedText(shape: Shape, attribute: Arbitrary<string>, own: readonly Arbitrary<string>[]): Arbitrary<string> {
  const amounts = Object.entries(shape).map(([name, below]) => {
    const value = below === 'money' ? moneyText : shapedText(below, itemMember, []);
    const list = arrayText(fc.array(mostly(value, wildText), { maxLength: 2 }));
    // A list that came as one object, or an object that came as a list.
    const usual = name.endsWith('[]') ? mostly(list, value) : mostly(value, list);
    return named(name.replace('[]', ''), mostly(usual, fc.oneof(wildText, scalarText)));
  });
  return objectText(someOf([...own, ...amounts, attribute, attribute, attribute], 0.5));
}

function eventText(list: string): Arbitrary<string> {
  const record = recordOf(list);
  const dates = record?.date === undefined ? [] : [named(record.date, dateText)];
  const ids = (record?.orderIds ?? ['AmazonOrderId', 'OrderId']).map((name) => named(name, wordText));
  const shape = shapeOf(record?.amounts.map(({ path }) => path) ?? ['FeeList[].FeeAmount', 'Amount', 'A.B[].C']);
  const event = shapedText(shape, eventMember, [...dates, ...dates, ...ids]);
  return mostly(event, fc.oneof(scalarText, wildText, moneyText, arrayText(fc.array(wildText, { maxLength: 3 }))));
}

const unknownLists = [
  'PerformanceBondRefundEventList',
  'shipmentEventList',
  '',
  '__proto__',
  'constructor',
  'A.B[]',
  'Ünbekannt😀',
  '\ud83d',
  '\udfff',
  '\ufffd',
];
/** A list with its name: mostly a few events, at times empty, null, one event without its array, or a scalar. */
const listMember = fc.oneof(
  ...[...Object.keys(eventLists), ...unknownLists].map((list) => {
    const event = eventText(list);
    const fixed = fc.constantFrom('{"A":{"CurrencyCode":"EUR","CurrencyAmount":1}}', 'null', '7', '"x"');
    const events = fc.array(fc.oneof({ weight: 6, arbitrary: event }, { weight: 1, arbitrary: fixed }), {
      maxLength: 4,
    });
    return named(list, mostly(arrayText(events), fc.oneof(fc.constant('null'), scalarText, event)));
  }),
);

const pageMembers = fc
  .tuple(
    fc.constantFrom(
      '',
      '',
      '"NextToken":"AAAA\\/BBBB+==",',
      '"NextToken":null,',
      '"errors":[],"FinancialEvents":{"X":[1]},',
    ),
    objectText(fc.array(listMember, { maxLength: 5 })),
    fc.constantFrom('', '', ',"NextToken":"\\u0041"', ',"more":{"FinancialEvents":{"X":[1]}}'),
  )
  .map(([before, events, after]) => `${before}"FinancialEvents":${events}${after}`);

/**
 * A response body of the event operations: known and unknown lists, events as the model has them among ones that no
 * model would have. Always valid JSON, always with an object for `payload` and for `FinancialEvents`.
 */
export const eventsPage: Arbitrary<string> = fc
  .tuple(
    pageMembers,
    fc.constantFrom('', '', '', '"payload":null,', '"payload":{"FinancialEvents":{"X":[1]}},'),
    fc.constantFrom('', '\n'),
  )
  .map(([members, before, space]) => `{${space}${before}"payload":${space}{${members}}${space}}`);
