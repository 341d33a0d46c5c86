import { KeyNode } from '../../../core/json/key-node.js';
import { Components } from './components.js';
import { type Role, recordOf } from './records.js';

/** The meaning of a key that is no attribute: none, or a member of money. */
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
    // A record may gain this field in a later version of the model.
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
  /** Exclusive. */
  readonly end: number;
}

/** One slot for each field that gives an attribute. */
interface FieldSlots {
  readonly byField: ReadonlyMap<string, { readonly slot: number; readonly attribute: Attribute }>;
  readonly byAttribute: Readonly<Record<Attribute, Slots>>;
}

/** @throws Error where a field gives two attributes: an error of this file */
function fieldSlots(list: string): FieldSlots {
  const byField = new Map<string, { readonly slot: number; readonly attribute: Attribute }>();
  const slots = Object.entries(attributeFields(list)).map(([attribute, fields]) => {
    const first = byField.size;
    for (const field of fields) {
      if (byField.has(field)) throw new Error(`${list}: the field ${field} gives two attributes`);
      byField.set(field, { slot: byField.size, attribute: attribute as Attribute });
    }
    return [attribute, { first, end: byField.size }];
  });
  return { byField, byAttribute: Object.fromEntries(slots) as Record<Attribute, Slots> };
}

const moneyFields: ReadonlyMap<string, number> = new Map([
  ['CurrencyCode', meaning.currencyCode],
  ['CurrencyAmount', meaning.currencyAmount],
]);

/** A path in the events of one list: the list itself, a member, or the elements of an array. */
export class PathNode extends KeyNode<PathNode> {
  readonly list: ListPaths;
  /** The value of the `path` column: relative to the event, `[]` for elements. */
  readonly path: string;
  readonly role: Role;
  readonly kind: string;
  /** A `meaning`, or the slot of a field that gives an attribute. */
  readonly meaning: number;
  readonly eventOnly: boolean;
  readonly isQuantity: boolean;
  /** Whether the key names the type of the amounts beside it. */
  readonly isType: boolean;
  /** The stem of the key: `fee` for `FeeType`, `FeeAmount` and `feeAmount`; elements of an array have no key. */
  readonly stem: string;
  /** Number of this path among those with amounts, assigned with its first amount. */
  amountPath = -1;
  /** The `generation` of the rows that its number is of; -1 before it has one. */
  numberedIn = -1;
  /** The last object with this key, to detect duplicates. */
  lastObject = -1;
  #element: PathNode | undefined;
  #components: Components<PathNode> | undefined;

  constructor(list: ListPaths, path: string, name = '', key: Uint8Array = new Uint8Array()) {
    super(key);
    list.size++;
    this.list = list;
    this.path = path;
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

  protected override child(name: string, key: Uint8Array): PathNode {
    return new PathNode(this.list, this === this.list.root ? name : `${this.path}.${name}`, name, key);
  }

  /** The elements of the array at this path. */
  element(): PathNode {
    this.#element ??= new PathNode(this.list, `${this.path}[]`);
    return this.#element;
  }

  /** Components found among the elements of this array. */
  get components(): Components<PathNode> {
    return (this.#components ??= new Components());
  }
}

/** The paths met so far in one list of events. */
export class ListPaths {
  readonly name: string;
  readonly isKnown: boolean;
  readonly fields: FieldSlots['byField'];
  readonly slots: FieldSlots['byAttribute'];
  /**
   * While an event is read: for each field's slot the node of its value, or its first byte, of the event itself and of the current
   * item.
   */
  readonly eventFields: Int32Array;
  readonly itemFields: Int32Array;
  /** The ends of the same values, where the slots contain bytes. */
  readonly eventEnds: Int32Array;
  readonly itemEnds: Int32Array;
  readonly amounts: ReadonlyMap<string, { readonly role: Role; readonly kind: string }>;
  readonly root: PathNode;
  /** Number of the list among those of a slice, assigned with its first event. */
  number = -1;
  /** The `generation` of the rows that its number is of; -1 before it has one. */
  numberedIn = -1;
  /** Number of paths and components so far. */
  size = 0;

  constructor(name: string) {
    const record = recordOf(name);
    this.name = name;
    this.isKnown = record !== undefined;
    const { byField, byAttribute } = fieldSlots(name);
    this.fields = byField;
    this.slots = byAttribute;
    this.eventFields = new Int32Array(byField.size);
    this.itemFields = new Int32Array(byField.size);
    this.eventEnds = new Int32Array(byField.size);
    this.itemEnds = new Int32Array(byField.size);
    this.amounts = new Map(record?.amounts.map((amount) => [amount.path, amount]));
    this.root = new PathNode(this, '');
  }
}
