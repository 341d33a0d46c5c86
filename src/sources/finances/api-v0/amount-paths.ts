import { KeyNode } from '../../../core/json/key-node.js';
import { attributes, dateFields, quantityFields } from './attributes.js';
import { Components } from './components.js';
import { type Role, recordOf } from './event-records.js';
import { none } from '../model/slice-rows.js';

/** The meaning of a key that is no attribute: none, or a member of money. */
export const meaning = { none: -1, currencyCode: -2, currencyAmount: -3 } as const;

/** The level of an object: the event, an item of it, or deeper. */
export const level = { event: 0, item: 1, inner: 2 } as const;

/** The slots of one attribute's fields, the best field's first. */
export type Slots = readonly number[];

/** A field that gives an attribute, the quantity of an item, or the date of an event. */
interface AttributeField {
  readonly slot: number;
  /** The level at which it gives nothing; every field gives nothing at the inner one. */
  readonly ignoredAt: number;
  readonly isQuantity: boolean;
}

/** The fields of a list's events, each with its slot. */
class FieldSlots {
  readonly byName = new Map<string, AttributeField>();
  /** Those of each of `attributes`. */
  readonly texts: readonly Slots[];
  readonly quantity: Slots;
  readonly date: Slots;

  /** @throws Error where a field gives attributes of different forms: an error of this file */
  constructor(list: string) {
    const record = recordOf(list);
    this.texts = attributes.map(({ fields, ofItems }) => this.#add(fields(record), ofItems ? none : level.item));
    this.quantity = this.#add(quantityFields, level.event, true);
    this.date = this.#add(dateFields(record), level.item);
  }

  #add(fields: readonly string[], ignoredAt: number, isQuantity = false): Slots {
    return fields.map((name) => {
      const field = this.byName.get(name) ?? { slot: this.byName.size, ignoredAt, isQuantity };
      if (field.ignoredAt !== ignoredAt || field.isQuantity !== isQuantity)
        throw new Error(`the field ${name} gives attributes of different forms`);
      this.byName.set(name, field);
      return field.slot;
    });
  }
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
  /** `ignoredAt` of a field, else `none`. */
  readonly ignoredAt: number;
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
    const field = list.slots.byName.get(name);
    this.meaning = moneyFields.get(name) ?? field?.slot ?? meaning.none;
    this.ignoredAt = field?.ignoredAt ?? none;
    this.isQuantity = field?.isQuantity === true;
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
  readonly slots: FieldSlots;
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
    this.slots = new FieldSlots(name);
    const { size } = this.slots.byName;
    this.eventFields = new Int32Array(size);
    this.itemFields = new Int32Array(size);
    this.eventEnds = new Int32Array(size);
    this.itemEnds = new Int32Array(size);
    this.amounts = new Map(record?.amounts.map((amount) => [amount.path, amount]));
    this.root = new PathNode(this, '');
  }
}
