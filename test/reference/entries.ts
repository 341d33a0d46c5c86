import { recordOf } from '../../src/sources/finances/api-v0/event-records.js';
import { int64Of, int64OfDigits, millionthsOf, numberOf } from './decimals.js';
import { memberOf, type JsonNode, type JsonObject } from './json-text.js';

/** What an amount says of itself; the keys are column names. */
export interface AmountColumns {
  readonly entry: number;
  readonly path: string;
  readonly item: number | null;
  readonly sku: string | null;
  readonly fnsku: string | null;
  readonly asin: string | null;
  readonly order_item_id: string | null;
  readonly quantity: bigint | null;
  readonly kind: string;
  readonly name: string | null;
  readonly role: string;
  /** Millionths. */
  readonly amount: bigint | null;
  readonly amount_text: string | null;
  readonly currency: string | null;
}

/** A money object and where it stands in its event. */
interface Money {
  readonly node: JsonObject;
  readonly path: string;
  /** Its index in, and the element itself of, the outermost array on the path. */
  readonly element: Element | undefined;
  /** The nearest object around it. */
  readonly holder: JsonObject | undefined;
  /** Its own key; undefined for an element of an array and for the event itself. */
  readonly key: string | undefined;
}

interface Element {
  readonly index: number;
  readonly node: JsonNode;
}

/** Every amount of an event, outer before inner, in the order of the text. */
export function amountsOf(list: string, event: JsonNode): AmountColumns[] {
  return moneyWithin(event, undefined, undefined, undefined).map(({ node, path, element, holder, key }, entry) => {
    const ofItemElseEvent = (...names: string[]): string | null =>
      firstString(element?.node, names) ?? firstString(event, names);
    return {
      entry,
      path: wellFormed(path),
      item: element?.index ?? null,
      sku: ofItemElseEvent('SellerSKU', 'SKU'),
      fnsku: ofItemElseEvent('FnSKU', 'FulfillmentNetworkSKU'),
      asin: ofItemElseEvent('ASIN', 'ParentASIN'),
      order_item_id: ofItemElseEvent('OrderItemId', 'OrderAdjustmentItemId', 'RemovalShipmentItemId'),
      quantity: quantityOf(element?.node),
      ...meaningOf(list, path),
      name: nameOf(holder, key),
      ...amountOf(memberOf(node, 'CurrencyAmount')),
      currency: firstString(node, ['CurrencyCode']),
    };
  });
}

/** `path` is undefined for the event itself, whose members' paths begin without a dot, also that of a nameless member. */
function moneyWithin(
  node: JsonNode,
  path: string | undefined,
  element: Element | undefined,
  holder: JsonObject | undefined,
  own?: string,
): Money[] {
  if (node.type === 'array') {
    return node.items.flatMap((item, index) =>
      moneyWithin(item, `${path ?? ''}[]`, element ?? { index, node: item }, holder),
    );
  }
  if (node.type !== 'object') return [];
  const isMoney = memberOf(node, 'CurrencyCode') !== undefined && memberOf(node, 'CurrencyAmount') !== undefined;
  const inner = node.members.flatMap(({ key, value }) =>
    moneyWithin(value, path === undefined ? key : `${path}.${key}`, element, node, key),
  );
  return isMoney ? [{ node, path: path ?? '', element, holder, key: own }, ...inner] : inner;
}

function meaningOf(list: string, path: string): { kind: string; role: string } {
  const known = recordOf(list)?.amounts.find((amount) => amount.path === path);
  return { kind: known?.kind ?? 'unknown', role: known?.role ?? 'unknown' };
}

/** Among the holder's types the one that is named like the amount (`feeType` for `feeAmount`), else the first. */
function nameOf(holder: JsonObject | undefined, amountKey: string | undefined): string | null {
  const types = (holder?.members ?? []).flatMap(({ key, value }) =>
    key.endsWith('Type') && value.type === 'string' ? [{ about: aboutOf(key), name: value.value }] : [],
  );
  const about = amountKey === undefined ? undefined : aboutOf(amountKey);
  const own = types.find((type) => type.about === about) ?? types[0];
  return own === undefined ? null : wellFormed(own.name);
}

function aboutOf(key: string): string {
  return key.replace(/(Type|Amount)$/, '').toLowerCase();
}

function amountOf(value: JsonNode | undefined): { amount: bigint | null; amount_text: string | null } {
  const number = numberOf(value);
  if (number === null) return { amount: null, amount_text: null };
  const amount = millionthsOf(number);
  return { amount, amount_text: amount === null ? number : null };
}

/** The first name with a value decides, whatever it is; null is none. */
function quantityOf(item: JsonNode | undefined): bigint | null {
  const names = ['QuantityShipped', 'Quantity', 'AdjustedQuantity', 'quantity'];
  const value = names
    .map((name) => memberOf(item, name))
    .find((found) => found !== undefined && !(found.type === 'literal' && found.value === null));
  if (value?.type === 'number') return int64Of(value.text);
  if (value?.type === 'string') return int64OfDigits(value.value);
  return null;
}

/** The first of the named members that is a string. */
export function firstString(node: JsonNode | undefined, names: readonly string[]): string | null {
  for (const name of names) {
    const value = memberOf(node, name);
    if (value?.type === 'string') return wellFormed(value.value);
  }
  return null;
}

/** Text that UTF-8 can carry: half a surrogate pair becomes U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
