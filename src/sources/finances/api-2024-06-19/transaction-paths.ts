import { KeyNode } from '../../../core/json/key-node.js';

/** The kind of the value at a path. */
type PathKind =
  | 'transaction'
  | 'items'
  | 'breakdowns'
  | 'contexts'
  | 'identifiers'
  | 'marketplace'
  | 'seller'
  /** The amount of its object: of the transaction, an item or a breakdown. */
  | 'total'
  | 'currencyCode'
  | 'currencyAmount'
  | Field
  | 'other';

/** The values that become columns, or determine them. */
export const fields = [
  'transactionId',
  'transactionType',
  'transactionStatus',
  'description',
  'postedDate',
  'marketplaceId',
  'marketplaceName',
  'sellerAccountType',
  'sellerMarketplaceId',
  // Of the current object: a breakdown, a context or an identifier.
  'breakdownType',
  'contextType',
  'sku',
  'asin',
  'quantityShipped',
  'fulfillmentNetwork',
  'deferralReason',
  'maturityDate',
  'identifierName',
  'identifierValue',
] as const;

export type Field = (typeof fields)[number];

/** Members whose kind has their name. */
function same(...names: readonly PathKind[]): Readonly<Record<string, PathKind>> {
  return Object.fromEntries(names.map((name) => [name, name]));
}

/** The known members of each kind. A list may arrive as an object that contains it: `{"breakdowns":[…]}`. */
const members: Readonly<Partial<Record<PathKind, Readonly<Record<string, PathKind>>>>> = {
  transaction: {
    ...same('transactionId', 'transactionType', 'transactionStatus', 'description', 'postedDate'),
    ...same('items', 'breakdowns', 'contexts'),
    totalAmount: 'total',
    relatedIdentifiers: 'identifiers',
    marketplaceDetails: 'marketplace',
    sellingPartnerMetadata: 'seller',
  },
  items: { ...same('items', 'breakdowns', 'contexts'), totalAmount: 'total' },
  breakdowns: { ...same('breakdowns', 'breakdownType'), breakdownAmount: 'total' },
  contexts: {
    ...same('contexts', 'contextType', 'sku', 'asin', 'quantityShipped', 'fulfillmentNetwork'),
    ...same('deferralReason', 'maturityDate'),
  },
  identifiers: {
    relatedIdentifiers: 'identifiers',
    relatedIdentifierName: 'identifierName',
    relatedIdentifierValue: 'identifierValue',
  },
  marketplace: same('marketplaceId', 'marketplaceName'),
  seller: { accountType: 'sellerAccountType', marketplaceId: 'sellerMarketplaceId' },
};

/** Lists: their elements have the same kind. */
const lists: ReadonlySet<PathKind> = new Set(['items', 'breakdowns', 'contexts', 'identifiers']);

const containers: ReadonlySet<PathKind> = new Set([...lists, 'transaction', 'marketplace', 'seller', 'total']);

const money = same('currencyCode', 'currencyAmount');

function kindOf(parent: PathKind, name: string): PathKind {
  const known = members[parent];
  if (known !== undefined && Object.hasOwn(known, name)) return known[name] ?? 'other';
  return Object.hasOwn(money, name) ? (money[name] ?? 'other') : 'other';
}

/** A path in transactions: the transaction itself, a member, or the elements of an array. */
export class TransactionPath extends KeyNode<TransactionPath> {
  /** The value of the `path` column: relative to the transaction, `[]` for elements. */
  readonly path: string;
  readonly kind: PathKind;
  /** Index of a field in `fields`; -1: none. */
  readonly field: number;
  /** Whether an array is of an expected type. */
  readonly isList: boolean;
  /** Whether anything but an object, or the array of a list, is of an unexpected type. */
  readonly isContainer: boolean;
  /** Number among the paths of its root. */
  readonly number: number;
  /** The last object with this key, to detect duplicates. */
  lastObject = -1;
  readonly #all: TransactionPath[];
  #element: TransactionPath | undefined;

  constructor(kind: PathKind, path = '', key: Uint8Array = new Uint8Array(), all: TransactionPath[] = []) {
    super(key);
    this.kind = kind;
    this.path = path;
    this.field = (fields as readonly string[]).indexOf(kind);
    this.isList = lists.has(kind);
    this.isContainer = containers.has(kind);
    this.#all = all;
    this.number = all.push(this) - 1;
  }

  protected override child(name: string, key: Uint8Array): TransactionPath {
    const path = this.number === 0 ? name : `${this.path}.${name}`;
    return new TransactionPath(kindOf(this.kind, name), path, key, this.#all);
  }

  /** The path of the elements of the array at this path; those of a list have its kind. */
  element(): TransactionPath {
    const kind = this.isList ? this.kind : 'other';
    return (this.#element ??= new TransactionPath(kind, `${this.path}[]`, undefined, this.#all));
  }
}
