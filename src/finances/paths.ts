import type { Tape } from '../json/tape.js';
import { kind as nodeKind } from '../json/tape.js';
import type { Role } from './records.js';
import { recordOf } from './records.js';

/** Attributes of an event or of an item that become columns; the numbers are places in arrays. */
export const attribute = {
  sku: 0,
  asin: 1,
  orderItemId: 2,
  amazonOrderId: 3,
  sellerOrderId: 4,
  marketplace: 5,
  store: 6,
  quantity: 7,
  date: 8,
} as const;
export const attributeCount = 9;

/** What a key says about the object it stands in: an attribute and how well it serves (0 best), or a part of money. */
export const meaning = { none: -1, currencyCode: -2, currencyAmount: -3 } as const;

/** Where an attribute is looked for: in the event itself, or in the item as well. */
const eventOnly: ReadonlySet<number> = new Set([
  attribute.amazonOrderId,
  attribute.sellerOrderId,
  attribute.marketplace,
  attribute.store,
  attribute.date,
]);

const dateFields = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];
const sellerOrderFields = ['SellerOrderId', 'MerchantOrderId'];

/** The fields of each attribute in the order of preference, for one list. */
function attributeFields(list: string): readonly (readonly string[])[] {
  const record = recordOf(list);
  const own = record?.date === undefined ? [] : [record.date];
  const fields: string[][] = [];
  fields[attribute.sku] = ['SellerSKU', 'SKU', 'FulfillmentNetworkSKU', 'FnSKU'];
  fields[attribute.asin] = ['ASIN', 'ParentASIN'];
  fields[attribute.orderItemId] = ['OrderItemId', 'OrderAdjustmentItemId', 'RemovalShipmentItemId'];
  const orderFields = (record?.orderIds ?? ['OrderId']).filter((field) => !sellerOrderFields.includes(field));
  // The model grows: a record that names no such field today may tomorrow.
  fields[attribute.amazonOrderId] = [
    ...new Set(record === undefined ? ['AmazonOrderId', ...orderFields] : [...orderFields, 'AmazonOrderId']),
  ];
  fields[attribute.sellerOrderId] = sellerOrderFields;
  fields[attribute.marketplace] = ['MarketplaceName', 'MarketplaceId'];
  fields[attribute.store] = ['StoreName', 'SellerStoreName'];
  fields[attribute.quantity] = ['QuantityShipped', 'Quantity', 'AdjustedQuantity', 'quantity'];
  fields[attribute.date] = [...own, ...dateFields.filter((field) => !own.includes(field))];
  return fields;
}

/** A place in the events of one list: the list itself, a member, or the elements of an array. */
export class PathNode {
  readonly list: ListPaths;
  /** As in the `path` column: relative to the event, `[]` for elements. */
  readonly path: string;
  readonly role: Role;
  readonly kind: string;
  /** A `meaning`, or the attribute that the key gives. */
  readonly meaning: number;
  /** How well the key serves its attribute: 0 is looked at first. */
  readonly rank: number;
  readonly eventOnly: boolean;
  /** Whether the key names the type of the amounts that stand beside it. */
  readonly isType: boolean;
  /** What the key is about: `fee` for `FeeType`, `FeeAmount` and `feeAmount`; elements of an array have no key. */
  readonly stem: string;
  /** Number of this path among those that carry amounts, given when the first one comes; -1 before. */
  amountPath = -1;
  /** The object in which the key was met last, to notice one that comes twice. */
  metIn = -1;
  /** The key's bytes, four in each integer, the last one padded with zeros. */
  readonly #words: Int32Array;
  /** Bits of the last word that are the key's. */
  readonly #lastMask: number;
  readonly #length: number;
  readonly #children: PathNode[] = [];
  #next = 0;
  #element: PathNode | undefined;

  constructor(list: ListPaths, path: string, name = '', key = Buffer.alloc(0)) {
    this.list = list;
    this.path = path;
    this.#length = key.length;
    this.#words = new Int32Array((key.length + 3) >> 2);
    new Uint8Array(this.#words.buffer).set(key);
    this.#lastMask = key.length % 4 === 0 ? -1 : (1 << ((key.length % 4) * 8)) - 1;
    const amount = list.amounts.get(path);
    this.role = amount?.role ?? 'unknown';
    this.kind = amount?.kind ?? 'unknown';
    const found = name === '' ? -1 : list.fields.findIndex((fields) => fields.includes(name));
    this.meaning =
      name === 'CurrencyCode' ? meaning.currencyCode : name === 'CurrencyAmount' ? meaning.currencyAmount : found;
    this.rank = list.fields[found]?.indexOf(name) ?? 0;
    this.eventOnly = eventOnly.has(found);
    this.isType = name.endsWith('Type');
    this.stem = path.endsWith('[]') && name === '' ? '[]' : name.replace(/(?:Type|Amount)$/, '').toLowerCase();
  }

  /** The member that a key of the tape names. Keys mostly come in the same order, so the last one's neighbour is tried first. */
  member(tape: Tape, key: number): PathNode {
    const children = this.#children;
    const plain = tape.kind(key) === nodeKind.string;
    const bytes = plain ? tape.bytes : padded(tape.keyBytes(key));
    const view = plain ? tape.view : new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const start = plain ? tape.start(key) + 1 : 0;
    const end = plain ? tape.end(key) - 1 : bytes.length - padding;
    for (let tried = 0, at = this.#next; tried < children.length; tried++, at++) {
      if (at >= children.length) at = 0;
      const child = children[at];
      if (child?.isNamed(view, start, end) === true) {
        this.#next = at + 1;
        return child;
      }
    }
    const own = Buffer.from(bytes.subarray(start, end));
    const name = tape.stringValue(key);
    const child = new PathNode(this.list, this === this.list.root ? name : `${this.path}.${name}`, name, own);
    children.push(child);
    this.#next = children.length;
    return child;
  }

  /** The elements of the array that stands here. */
  element(): PathNode {
    this.#element ??= new PathNode(this.list, `${this.path}[]`);
    return this.#element;
  }

  /** Whether the bytes from `start` to before `end` are the key; at least three more must lie behind them. */
  isNamed(view: DataView, start: number, end: number): boolean {
    if (this.#length !== end - start) return false;
    const words = this.#words;
    const last = words.length - 1;
    for (let at = 0; at < last; at++) if (view.getInt32(start + at * 4, true) !== words[at]) return false;
    return last < 0 || (view.getInt32(start + last * 4, true) & this.#lastMask) === words[last];
  }
}

/** Behind a key of a page there always are its quote, a colon and a value. */
const padding = 3;

function padded(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.alloc(padding)]);
}

/** The paths met so far in one list of events. */
export class ListPaths {
  readonly name: string;
  readonly isKnown: boolean;
  readonly fields: readonly (readonly string[])[];
  readonly amounts: ReadonlyMap<string, { readonly role: Role; readonly kind: string }>;
  readonly root: PathNode;

  constructor(name: string) {
    const record = recordOf(name);
    this.name = name;
    this.isKnown = record !== undefined;
    this.fields = attributeFields(name);
    this.amounts = new Map(record?.amounts.map((amount) => [amount.path, amount]));
    this.root = new PathNode(this, '');
  }
}
