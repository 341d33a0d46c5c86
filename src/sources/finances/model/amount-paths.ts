import { type Tape, kind as nodeKind } from '../../../core/json/tape.js';
import { type Role, recordOf } from './records.js';

/** What a key says about the object it stands in, where it is no attribute: nothing, or a part of money. */
export const meaning = { none: -1, currencyCode: -2, currencyAmount: -3 } as const;

/** Attributes that only the event itself has, and no item. */
const eventOnly: ReadonlySet<Attribute | undefined> = new Set([
  'amazonOrderId',
  'sellerOrderId',
  'marketplace',
  'store',
  'date',
]);

const dateFields = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];
const sellerOrderFields = ['SellerOrderId', 'MerchantOrderId'];

/** Attributes of an event or of an item that become columns, each with its fields in the order of preference, for one list. */
function attributeFields(list: string) {
  const record = recordOf(list);
  const recordDate = record?.date === undefined ? [] : [record.date];
  const orderFields = (record?.orderIds ?? ['OrderId']).filter((field) => !sellerOrderFields.includes(field));
  return {
    sku: ['SellerSKU', 'SKU'],
    fnsku: ['FnSKU', 'FulfillmentNetworkSKU'],
    asin: ['ASIN', 'ParentASIN'],
    orderItemId: ['OrderItemId', 'OrderAdjustmentItemId', 'RemovalShipmentItemId'],
    // The model grows: a record that names no such field today may tomorrow.
    amazonOrderId: [
      ...new Set(record === undefined ? ['AmazonOrderId', ...orderFields] : [...orderFields, 'AmazonOrderId']),
    ],
    sellerOrderId: sellerOrderFields,
    marketplace: ['MarketplaceName', 'MarketplaceId'],
    store: ['StoreName', 'SellerStoreName'],
    quantity: ['QuantityShipped', 'Quantity', 'AdjustedQuantity', 'quantity'],
    date: [...recordDate, ...dateFields.filter((field) => !recordDate.includes(field))],
  };
}

type Attribute = keyof ReturnType<typeof attributeFields>;

/** The slots of one attribute's fields, the best field's first. */
export interface Slots {
  readonly first: number;
  /** The slot behind the last one. */
  readonly end: number;
}

/** One slot for each field that gives an attribute. */
interface FieldSlots {
  readonly ofField: ReadonlyMap<string, { readonly slot: number; readonly attribute: Attribute }>;
  readonly ofAttribute: Readonly<Record<Attribute, Slots>>;
}

/** @throws Error where a field gives two attributes: a fault of this file */
function fieldSlots(list: string): FieldSlots {
  const ofField = new Map<string, { readonly slot: number; readonly attribute: Attribute }>();
  const slots = Object.entries(attributeFields(list)).map(([attribute, fields]) => {
    const first = ofField.size;
    for (const field of fields) {
      if (ofField.has(field)) throw new Error(`${list}: the field ${field} gives two attributes`);
      ofField.set(field, { slot: ofField.size, attribute: attribute as Attribute });
    }
    return [attribute, { first, end: ofField.size }];
  });
  return { ofField, ofAttribute: Object.fromEntries(slots) as Record<Attribute, Slots> };
}

const moneyFields: ReadonlyMap<string, number> = new Map([
  ['CurrencyCode', meaning.currencyCode],
  ['CurrencyAmount', meaning.currencyAmount],
]);

/** A place in the events of one list: the list itself, a member, or the elements of an array. */
export class PathNode {
  readonly list: ListPaths;
  /** As in the `path` column: relative to the event, `[]` for elements. */
  readonly path: string;
  readonly role: Role;
  readonly kind: string;
  /** A `meaning`, or the slot of a field that gives an attribute. */
  readonly meaning: number;
  readonly eventOnly: boolean;
  readonly isQuantity: boolean;
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
    const field = list.fields.get(name);
    this.meaning = moneyFields.get(name) ?? field?.slot ?? meaning.none;
    this.eventOnly = eventOnly.has(field?.attribute);
    this.isQuantity = field?.attribute === 'quantity';
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
    const keyBytes = Buffer.from(bytes.subarray(start, end));
    const name = tape.stringValue(key);
    const child = new PathNode(this.list, this === this.list.root ? name : `${this.path}.${name}`, name, keyBytes);
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
  readonly fields: FieldSlots['ofField'];
  readonly slots: FieldSlots['ofAttribute'];
  /** While an event is walked: the node that each field's slot holds, of the event itself and of the item being walked. */
  readonly eventFields: Int32Array;
  readonly itemFields: Int32Array;
  readonly amounts: ReadonlyMap<string, { readonly role: Role; readonly kind: string }>;
  readonly root: PathNode;

  constructor(name: string) {
    const record = recordOf(name);
    this.name = name;
    this.isKnown = record !== undefined;
    const { ofField, ofAttribute } = fieldSlots(name);
    this.fields = ofField;
    this.slots = ofAttribute;
    this.eventFields = new Int32Array(ofField.size);
    this.itemFields = new Int32Array(ofField.size);
    this.amounts = new Map(record?.amounts.map((amount) => [amount.path, amount]));
    this.root = new PathNode(this, '');
  }
}
