import { Dictionary } from '../../../core/columns/dictionary.js';
import { Int32List } from '../../../core/columns/memory.js';
import { none, SliceRows, type AmountPath } from '../model/slice-rows.js';

/** The text columns of `transactions`. */
export const textColumns = [
  'transaction_id',
  'transaction_type',
  'status',
  'description',
  'account_type',
  'marketplace_id',
  'marketplace',
  'amazon_order_id',
  'shipment_id',
  'group_id',
  'settlement_id',
  'refund_id',
  'invoice_id',
  'disbursement_id',
  'transfer_id',
  'deferred_transaction_id',
  'release_transaction_id',
  'deferral_reason',
] as const;

export type TextName = (typeof textColumns)[number];

/** A column of texts: the distinct texts, and for each row the number of its text, `none` for null. */
class TextColumn {
  readonly values = new Dictionary();
  readonly numbers = new Int32List();
}

/** The product of a transaction, or of an item: numbers in the dictionaries of `TransactionRows`. */
class ProductRows {
  readonly sku = new Int32List();
  readonly asin = new Int32List();
  readonly network = new Int32List();
  readonly quantity: (bigint | undefined)[] = [];

  get length(): number {
    return this.quantity.length;
  }

  /** Adds an empty row; returns its number. */
  add(): number {
    this.sku.push(none);
    this.asin.push(none);
    this.network.push(none);
    return this.quantity.push(undefined) - 1;
  }

  truncate(length: number): void {
    for (const column of [this.sku, this.asin, this.network]) column.truncate(length);
    this.quantity.length = length;
  }
}

/** The properties shared by amounts of one path number: they determine `path`, `breakdown`, `kind`, `name` and `role`. */
interface TransactionAmountPath extends AmountPath {
  readonly breakdown: string | undefined;
  readonly name: string | undefined;
}

/** The rows of one slice so far, in order of receipt, with strings as numbers in dictionaries. */
export class TransactionRows {
  /** Data shared with events: subjects, raw bytes, dates and amounts. */
  readonly slice: SliceRows;
  readonly texts: Readonly<Record<TextName, TextColumn>>;
  /** Number of the row in `slice.entries` with the total; `none` without a total. */
  readonly total = new Int32List();
  /** Microseconds since 1970. */
  readonly maturityAt: (bigint | undefined)[] = [];
  /** One row per transaction. */
  readonly products = new ProductRows();
  /** One row per item. */
  readonly items = new ProductRows();
  /** For each row in `slice.entries` the index of its element in the outermost array; `none` without an array. */
  readonly indexes = new Int32List();
  readonly skus = new Dictionary();
  readonly asins = new Dictionary();
  readonly networks = new Dictionary();
  /** The paths of `slice.amountPaths`. */
  readonly paths: TransactionAmountPath[] = [];

  /** @param keepsRaw whether the transactions' pages stay in memory */
  constructor(keepsRaw = true) {
    this.slice = new SliceRows([], keepsRaw);
    const texts = Object.fromEntries(textColumns.map((name) => [name, new TextColumn()]));
    this.texts = texts as Record<TextName, TextColumn>;
  }

  /**
   * The duplicate rows of transactions that appear more than once in one answer: a page may be repeated, and a transaction that
   * changes during the reading may be on two pages. The last one with an id counts; of equal ones the first.
   */
  repeated(): Set<number> {
    const { events } = this.slice;
    const { values, numbers } = this.texts.transaction_id;
    const left = new Set<number>();
    const known = new Map<string, number>();
    for (let row = 0; row < events.length; row++) {
      const id = numbers.get(row);
      if (id === none || values.value(id) === '') continue;
      const key = `${events.subject.get(row)}/${id}`;
      const before = known.get(key);
      const isEqual = before !== undefined && this.#isEqual(before, row);
      if (before !== undefined) left.add(isEqual ? row : before);
      if (!isEqual) known.set(key, row);
    }
    return left;
  }

  /** The subject of a warning about a row's transaction. */
  typeOf(row: number): string {
    const { values, numbers } = this.texts.transaction_type;
    const type = numbers.get(row);
    return type === none ? 'no type' : values.value(type);
  }

  #isEqual(first: number, second: number): boolean {
    const { raw } = this.slice.events;
    return Buffer.compare(raw.bytes(first), raw.bytes(second)) === 0;
  }

  /** Adds a path; returns its number. */
  addPath(path: TransactionAmountPath): number {
    this.slice.amountPaths.push(path);
    return this.paths.push(path) - 1;
  }
}
