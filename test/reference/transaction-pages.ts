import fc, { type GeneratorValue } from 'fast-check';

/** Draws values as a property asks for them. */
type Draw = GeneratorValue;

const types = [
  ...['Sales', 'Expenses', 'ProductCharges', 'OurPricePrincipal', 'Tax', 'AmazonFees', 'Commission', 'Base', 'FBAFees'],
  ...[
    'PromoRebates',
    'TaxWithheld-US',
    'ReserveCredit',
    'BaseTax',
    'FREE_REPLACEMENT_REFUND Reimbursement',
    'Gizmo',
    '',
  ],
  ...['Refunded Sales', 'Shipping', 'ChargeDiscount', 'a/b', 'é', 'MarketplaceFacilitatorVAT-Principal'],
];
const transactionTypes = [
  ...['Shipment', 'Refund', 'ServiceFee', 'Transfer', 'Adjustment', 'Retrocharge', 'FBAInventoryReimbursement', 'New'],
];
const identifierNames = [
  ...['ORDER_ID', 'SHIPMENT_ID', 'FINANCIAL_EVENT_GROUP_ID', 'SETTLEMENT_ID', 'REFUND_ID', 'INVOICE_ID', 'TRANSFER_ID'],
  ...['DISBURSEMENT_ID', 'DEFERRED_TRANSACTION_ID', 'RELEASE_TRANSACTION_ID', 'NEW_ID'],
];
const euro = '{"currencyCode":"EUR","currencyAmount":';

/** What stands in the place of a value at times. */
const oddTexts = [
  ...['null', 'null', 'null', '5', '"odd"', 'true', '[]', '{}', '[null]', '[[]]', '{"x":[1]}', '-1e999', '""'],
  ...[`${euro}3.14}`, `[${euro}1},${euro}2}]`, `${euro}"7"}`, `${euro}1e-7}`, `${euro}123456789012345}`],
  ...['{"currencyCode":null,"currencyAmount":1}', '{"currencyCode":"EUR"}', `{"deep":{"er":[[${euro}4}]]}}`],
  ...['{"currencyCode":"EUR","currencyCode":"USD","currencyAmount":9,"currencyAmount":8}'],
];

function chance(draw: Draw, oneIn: number): boolean {
  return draw(fc.nat, { max: oneIn - 1 }) === 0;
}

/** One of some values; shrinks to the first. */
function one<T>(draw: Draw, values: readonly T[]): T {
  const value = values[draw(fc.nat, { max: values.length - 1 })];
  if (value === undefined) throw new Error('expected a value to draw');
  return value;
}

/** Mostly the value, at times something else. */
function mostly(draw: Draw, text: string): string {
  return chance(draw, 40) ? one(draw, oddTexts) : text;
}

/** Members in a drawn order, one of them twice at times. */
function object(draw: Draw, members: readonly (readonly [string, string] | undefined)[]): string {
  const present = members.filter((member) => member !== undefined);
  const shift = present.length === 0 ? 0 : draw(fc.nat, { max: present.length - 1 });
  const turned = [...present.slice(shift), ...present.slice(0, shift)];
  const [first] = turned;
  if (first !== undefined && chance(draw, 60)) turned.push([first[0], one(draw, oddTexts)]);
  return `{${turned.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** A list as it comes: an array, null, absent, or an object that holds it. */
function listMember(draw: Draw, name: string, elements: readonly string[]): [string, string] | undefined {
  const list = `[${elements.join(',')}]`;
  if (elements.length === 0 && chance(draw, 2)) return chance(draw, 2) ? undefined : [name, 'null'];
  if (chance(draw, 12)) return [name, object(draw, [[name, list]])];
  const [only] = elements;
  if (only !== undefined && elements.length === 1 && chance(draw, 12)) return [name, only];
  return [name, mostly(draw, list)];
}

/** Hundredths as one of the spellings that JSON has, at times in a string; or a string that is no number of JSON. */
function amountText(draw: Draw, cents: bigint): string {
  const sign = cents < 0n ? '-' : '';
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  const [whole, fraction] = [digits.slice(0, -2), digits.slice(-2)];
  if (chance(draw, 150)) return one(draw, ['"+1"', '"01"', '" 1"', '"1,00"', '"0x1"', '"1."', '"1e999"']);
  const quote = chance(draw, 12) ? '"' : '';
  const number = one(draw, [
    ...[`${sign}${whole}.${fraction}`, `${sign}${whole}.${fraction}0`, `${sign}${BigInt(digits)}e-2`],
    fraction === '00' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`,
  ]);
  return (
    quote +
    (quote !== '' && chance(draw, 3) ? `\\u00${number.charCodeAt(0).toString(16)}${number.slice(1)}` : number) +
    quote
  );
}

function money(draw: Draw, cents: bigint): string {
  const currency = chance(draw, 40) ? '"USD"' : '"EUR"';
  const changed = chance(draw, 25) ? cents + 1n : cents;
  return mostly(
    draw,
    object(draw, [
      ['currencyCode', mostly(draw, currency)],
      ['currencyAmount', mostly(draw, amountText(draw, changed))],
    ]),
  );
}

/** A sum in parts: none at times. */
function parts(draw: Draw, cents: bigint, most: number): bigint[] {
  const count = draw(fc.nat, { max: most });
  if (count === 0) return [];
  const others = Array.from({ length: count - 1 }, () => BigInt(draw(fc.integer, { min: -5000, max: 5000 })));
  return [...others, others.reduce((rest, part) => rest - part, cents)];
}

/** Breakdowns that add up to a sum, but for what goes wrong on the way. */
function breakdowns(draw: Draw, cents: bigint, depth: number): string[] {
  return parts(draw, cents, depth === 0 ? 0 : 3).map((part) =>
    object(draw, [
      chance(draw, 15) ? undefined : ['breakdownType', mostly(draw, JSON.stringify(one(draw, types)))],
      chance(draw, 15) ? undefined : ['breakdownAmount', money(draw, part)],
      listMember(draw, 'breakdowns', breakdowns(draw, part, depth - 1)),
      chance(draw, 30) ? ['estimate', money(draw, part)] : undefined,
    ]),
  );
}

function contexts(draw: Draw): [string, string] | undefined {
  const count = draw(fc.nat, { max: 2 });
  const text = (...texts: string[]): string => mostly(draw, JSON.stringify(one(draw, texts)));
  const each = Array.from({ length: count }, () =>
    object(draw, [
      ['contextType', text('ProductContext', 'DeferredContext', 'AmazonPayContext')],
      chance(draw, 3) ? undefined : ['sku', text('S-1', 'S-2')],
      chance(draw, 3) ? undefined : ['asin', text('A-1', 'A-2')],
      chance(draw, 3) ? undefined : ['quantityShipped', mostly(draw, one(draw, ['1', '2', '12', '"3"', '1.5']))],
      chance(draw, 3) ? undefined : ['fulfillmentNetwork', text('AFN', 'MFN')],
      chance(draw, 3) ? undefined : ['deferralReason', text('DD7', 'B2B')],
      chance(draw, 3) ? undefined : ['maturityDate', text('2024-03-20T00:00:00Z', 'soon')],
    ]),
  );
  return listMember(draw, 'contexts', each);
}

function item(draw: Draw, cents: bigint, depth = 3): string {
  return object(draw, [
    chance(draw, 15) ? undefined : ['totalAmount', money(draw, cents)],
    listMember(draw, 'breakdowns', breakdowns(draw, cents, depth)),
    contexts(draw),
    chance(draw, 30) ? ['note', money(draw, cents)] : undefined,
  ]);
}

function identifiers(draw: Draw): [string, string] | undefined {
  const count = draw(fc.nat, { max: 4 });
  const each = Array.from({ length: count }, (_, at) =>
    object(draw, [
      ['relatedIdentifierName', mostly(draw, JSON.stringify(one(draw, identifierNames)))],
      ['relatedIdentifierValue', mostly(draw, chance(draw, 10) ? '""' : `"id-${at}"`)],
    ]),
  );
  return listMember(draw, 'relatedIdentifiers', each);
}

function transaction(draw: Draw): string {
  const cents = BigInt(draw(fc.integer, { min: -20_000, max: 20_000 }));
  const text = (...texts: string[]): string => mostly(draw, JSON.stringify(one(draw, texts)));
  const optional = (name: string, value: () => string): [string, string] | undefined =>
    chance(draw, 10) ? undefined : [name, value()];
  return object(draw, [
    optional('transactionId', () => text('t-1', 't-2')),
    optional('transactionType', () => text(...transactionTypes)),
    optional('transactionStatus', () => text('RELEASED', 'Deferred', 'deferred_released')),
    optional('description', () => text('Order Payment')),
    optional('postedDate', () => text('2024-03-02T03:04:05Z', '2024-03-31T03:04:05.25Z', 'soon', '2024-03-07')),
    optional('totalAmount', () => money(draw, cents)),
    optional('marketplaceDetails', () =>
      mostly(
        draw,
        one(draw, ['{"marketplaceId":"M-1","marketplaceName":"Amazon.de"}', '{"marketplaceName":"Amazon.fr"}']),
      ),
    ),
    optional('sellingPartnerMetadata', () => mostly(draw, '{"accountType":"Standard Orders","marketplaceId":"M-2"}')),
    listMember(
      draw,
      'items',
      // One that doesn't break down itself has a rule of its own.
      chance(draw, 4) ? [item(draw, cents, 0)] : parts(draw, cents, 2).map((part) => item(draw, part)),
    ),
    listMember(draw, 'breakdowns', breakdowns(draw, cents, 3)),
    contexts(draw),
    identifiers(draw),
    chance(draw, 20) ? ['extra', one(draw, oddTexts)] : undefined,
  ]);
}

/** A page of transactions as the service might answer: mostly they add up, at times something is odd, missing or twice. */
export function transactionsPage(draw: Draw): string {
  const count = draw(fc.nat, { max: 3 });
  const each = Array.from({ length: count }, () => mostly(draw, transaction(draw)));
  const all = chance(draw, 10) ? [...each, ...each] : each;
  return `{"payload":{"transactions":[${all.join(', ')}],"nextToken":null}}`;
}
