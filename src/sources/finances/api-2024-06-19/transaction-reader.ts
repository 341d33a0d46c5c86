import { addText, instantValue, integerValue } from '../../../core/json/node-values.js';
import { kind, type Tape } from '../../../core/json/tape.js';
import { marketplaceNamed } from '../model/marketplaces.js';
import { countWarning, none, type EventWarnings } from '../model/slice-rows.js';
import { AmountTree } from './amount-tree.js';
import { BreakdownChain } from './breakdown-kinds.js';
import { type Field, fields, TransactionPath } from './transaction-paths.js';
import { type TextName, textColumns, type TransactionRows } from './transaction-rows.js';

/** The list name that is hashed into ids. */
export const listName = 'transactions';

/** Identifiers that become columns. */
const identifierColumns: ReadonlyMap<string, TextName> = new Map([
  ['ORDER_ID', 'amazon_order_id'],
  ['SHIPMENT_ID', 'shipment_id'],
  ['FINANCIAL_EVENT_GROUP_ID', 'group_id'],
  ['SETTLEMENT_ID', 'settlement_id'],
  ['REFUND_ID', 'refund_id'],
  ['INVOICE_ID', 'invoice_id'],
  ['DISBURSEMENT_ID', 'disbursement_id'],
  ['TRANSFER_ID', 'transfer_id'],
  ['DEFERRED_TRANSACTION_ID', 'deferred_transaction_id'],
  ['RELEASE_TRANSACTION_ID', 'release_transaction_id'],
]);

/** Columns from fields of the transaction, the preferred field first. */
const fieldColumns: readonly (readonly [TextName, readonly Field[]])[] = [
  ['transaction_id', ['transactionId']],
  ['transaction_type', ['transactionType']],
  ['description', ['description']],
  ['account_type', ['sellerAccountType']],
  ['marketplace_id', ['marketplaceId', 'sellerMarketplaceId']],
  ['marketplace', ['marketplaceName']],
];

/** Index of the first field that belongs to the current object. */
const firstLocal = fields.indexOf('breakdownType' satisfies Field);

function numbered<Name extends string>(names: readonly Name[]): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name, at) => [name, at])) as Record<Name, number>;
}

const fieldNumbers = numbered(fields);
const columnNumbers = numbered(textColumns);

/** An amount of the current transaction, with the properties that determine the number of its path. */
interface Amount {
  readonly path: TransactionPath;
  readonly chain: BreakdownChain;
  isNet: boolean;
}

/**
 * Reads transactions into rows: one per transaction, one per amount (tables `transactions` and `transaction_entries`), from the
 * tape of their page. A field of an unexpected type is null, and counted as a warning.
 */
export class TransactionReader {
  readonly #rows: TransactionRows;
  readonly #warnings: EventWarnings;
  readonly #root = new TransactionPath('transaction');
  /** By type of transaction. */
  readonly #chains = new Map<string, BreakdownChain>();
  readonly #tree = new AmountTree();
  /** Nodes of the fields' values. */
  readonly #fields = new Int32Array(fields.length);
  readonly #texts = new Int32Array(textColumns.length);
  /** The amounts of the current transaction, in the order of its rows in `slice.entries`. */
  #amounts: Amount[] = [];
  #items: { readonly item: number; readonly node: number }[] = [];
  #oddFields: string[] = [];
  /** Paths of the current transaction's amounts that are strings. */
  #textAmounts: string[] = [];
  #maturityAt: bigint | undefined;
  #total: number = none;
  #objects = 0;
  #product = 0;
  /** Row of the current item. */
  #item: number = none;
  /** Index of the current element of the outermost array. */
  #index: number = none;
  #isDuplicate = false;

  constructor(rows: TransactionRows, warnings: EventWarnings) {
    this.#rows = rows;
    this.#warnings = warnings;
  }

  /** Adds one transaction: `node` is its value on the page's tape. */
  add(tape: Tape, node: number): void {
    const { slice, items, indexes } = this.#rows;
    const { events, entries } = slice;
    const firstEntry = entries.length;
    const firstItem = items.length;
    this.#product = this.#rows.products.add();
    this.#walk(tape, node);
    if (this.#isDuplicate) {
      // Rare: an object has a duplicate key, of which the last one counts. The duplicates are shadowed, and it is read again.
      entries.truncate(firstEntry);
      indexes.truncate(firstEntry);
      items.truncate(firstItem);
      this.#rows.products.truncate(this.#product);
      this.#product = this.#rows.products.add();
      tape.shadowDuplicates(node);
      this.#walk(tape, node);
    }
    this.#addColumns(tape);
    this.#setPaths(firstEntry);
    slice.addEvent(slice.lists.addString(listName), firstEntry, tape.bytes, tape.start(node), tape.end(node));
    events.postedAt.push(this.#instant(tape, 'postedDate'));
    for (const path of this.#oddFields) countWarning(this.#warnings.oddFields, `${listName}: ${path}`);
    for (const path of this.#textAmounts) countWarning(this.#warnings.textAmounts, `${listName}: ${path}`);
    if (tape.isRepaired(node)) countWarning(this.#warnings.repaired, listName);
  }

  #walk(tape: Tape, node: number): void {
    this.#fields.fill(none);
    this.#texts.fill(none);
    this.#amounts = [];
    this.#items = [];
    this.#oddFields = [];
    this.#textAmounts = [];
    this.#maturityAt = undefined;
    this.#total = none;
    this.#item = none;
    this.#index = none;
    this.#isDuplicate = false;
    this.#tree.begin();
    if (tape.kind(node) === kind.null) this.#addOddField(this.#root);
    this.#value(tape, node, this.#root, undefined, none);
  }

  /** @param owner the tree's node of the breakdowns; `none` for the transaction */
  #value(tape: Tape, node: number, path: TransactionPath, chain: BreakdownChain | undefined, owner: number): void {
    const valueKind = tape.kind(node);
    if (valueKind === kind.object) this.#object(tape, node, path, chain, owner);
    else {
      if (path.isContainer && valueKind !== kind.null && !(path.isList && valueKind === kind.array))
        this.#addOddField(path);
      if (valueKind === kind.array) this.#array(tape, node, path, chain, owner);
    }
  }

  #array(tape: Tape, node: number, path: TransactionPath, chain: BreakdownChain | undefined, owner: number): void {
    const element = path.element();
    const end = tape.next(node);
    const isOutermost = this.#index === none;
    for (let at = node + 1, index = 0; at < end; at = tape.next(at), index++) {
      if (isOutermost) this.#index = index;
      this.#value(tape, at, element, chain, owner);
    }
    if (isOutermost) this.#index = none;
  }

  #object(tape: Tape, node: number, path: TransactionPath, above: BreakdownChain | undefined, owner: number): void {
    const { kind: pathKind } = path;
    const id = ++this.#objects;
    const end = tape.next(node);
    let code: number = none;
    let amount: number = none;
    let hasContainers = false;
    let isList = false;
    if (pathKind !== 'transaction') this.#fields.fill(none, firstLocal);
    for (let key = node + 1; key < end; key = tape.next(key + 1)) {
      if (tape.kind(key) === kind.shadowed) continue;
      const child = path.member(tape, key);
      if (child.lastObject === id) this.#isDuplicate = true;
      child.lastObject = id;
      const value = key + 1;
      const valueKind = tape.kind(value);
      if (child.field >= 0) this.#field(tape, value, child);
      else if (child.kind === 'currencyCode') code = value;
      else if (child.kind === 'currencyAmount') amount = value;
      if (child.isContainer || valueKind === kind.object || valueKind === kind.array) hasContainers = true;
      if (child.kind === 'items' && valueKind !== kind.null) isList = true;
    }

    let chain = above ?? this.#chainOf(tape);
    let tree = owner;
    const outerItem = this.#item;
    if (pathKind === 'items') {
      tree = this.#tree.add(owner === none ? this.#tree.items : owner);
      this.#item = this.#rows.items.add();
      // A list of items in the form of an object is not an item.
      if (!isList) this.#items.push({ item: this.#item, node: tree });
    } else if (pathKind === 'breakdowns') {
      tree = this.#tree.add(owner === none ? this.#tree.breakdowns : owner);
      const type = this.#node('breakdownType');
      if (type !== none) chain = chain.child(this.#number(tape, type), () => tape.stringValue(type));
    } else if (pathKind === 'contexts') this.#context(tape, path);
    else if (pathKind === 'identifiers') this.#identifier(tape);

    const isMoney = code !== none && amount !== none;
    if (isMoney) {
      const row = this.#addEntry(tape, path, chain, code, amount);
      if (pathKind === 'total') this.#setTotal(tree, row);
    } else if (pathKind === 'total') this.#addOddField(path);

    if (hasContainers) {
      for (let key = node + 1; key < end; key = tape.next(key + 1)) {
        if (tape.kind(key) !== kind.shadowed) this.#value(tape, key + 1, path.member(tape, key), chain, tree);
      }
    }
    this.#item = outerItem;
  }

  /** Stores a field's value, unless it is null or of an unexpected type. */
  #field(tape: Tape, value: number, path: TransactionPath): void {
    if (tape.kind(value) === kind.null) return;
    if (path.kind === 'quantityShipped' || tape.isString(value)) this.#fields[path.field] = value;
    else this.#addOddField(path);
  }

  #node(field: Field): number {
    return this.#fields[fieldNumbers[field]] ?? none;
  }

  /** The chain of an amount outside of breakdowns. */
  #chainOf(tape: Tape): BreakdownChain {
    const node = this.#node('transactionType');
    const type = node === none ? '' : tape.stringValue(node);
    let chain = this.#chains.get(type);
    if (chain === undefined) this.#chains.set(type, (chain = new BreakdownChain(type)));
    return chain;
  }

  /** Number of a breakdown's type. */
  #number(tape: Tape, type: number): number {
    return addText(tape, type, this.#rows.slice.names);
  }

  #setTotal(owner: number, row: number): void {
    if (owner !== none) {
      this.#tree.setRow(owner, row);
      return;
    }
    this.#total = row;
    this.#tree.setRow(this.#tree.items, row);
    this.#tree.setRow(this.#tree.breakdowns, row);
  }

  /** Reads a context: the product of an item or of the transaction, or the reason of a deferral. */
  #context(tape: Tape, path: TransactionPath): void {
    const node = this.#node('contextType');
    const type = node === none ? '' : tape.stringValue(node);
    if (type === 'ProductContext') this.#productContext(tape, path);
    if (type !== 'DeferredContext') return;
    this.#setText('deferral_reason', tape, this.#node('deferralReason'));
    this.#maturityAt ??= this.#instant(tape, 'maturityDate');
  }

  #productContext(tape: Tape, path: TransactionPath): void {
    const { products, items, skus, asins, networks } = this.#rows;
    const rows = this.#item === none ? products : items;
    const row = this.#item === none ? this.#product : this.#item;
    for (const [field, column, values] of [
      ['sku', rows.sku, skus],
      ['asin', rows.asin, asins],
      ['fulfillmentNetwork', rows.network, networks],
    ] as const) {
      const node = this.#node(field);
      if (node !== none && column.get(row) === none) column.set(row, addText(tape, node, values));
    }
    const quantity = this.#node('quantityShipped');
    if (quantity === none) return;
    const shipped = integerValue(tape, quantity);
    if (shipped === undefined) this.#addOddField(path, 'quantityShipped');
    rows.quantity[row] ??= shipped;
  }

  #identifier(tape: Tape): void {
    const node = this.#node('identifierName');
    const column = node === none ? undefined : identifierColumns.get(tape.stringValue(node));
    const value = this.#node('identifierValue');
    // An empty id is ignored: as the id of a released sale it would remove the amount from the earned basis.
    if (column === undefined || value === none || tape.stringValue(value) === '') return;
    this.#setText(column, tape, value);
  }

  /** Sets a column of the transaction to a text; the first one counts. */
  #setText(column: TextName, tape: Tape, node: number): void {
    const at = columnNumbers[column];
    if (node === none || this.#texts[at] !== none) return;
    this.#texts[at] = addText(tape, node, this.#rows.texts[column].values);
  }

  #instant(tape: Tape, field: Field): bigint | undefined {
    const node = this.#node(field);
    const instant = node === none ? undefined : instantValue(tape, node);
    if (node !== none && instant === undefined) this.#addOddField(this.#root, field);
    return instant;
  }

  #addEntry(tape: Tape, path: TransactionPath, chain: BreakdownChain, code: number, amount: number): number {
    const { indexes, slice } = this.#rows;
    const { entries, currencies, amountTexts } = slice;
    const row = entries.length;
    entries.insert(row);
    indexes.push(this.#index);
    entries.item[row] = this.#item;
    this.#amounts.push({ path, chain, isNet: false });
    if (tape.isString(code)) entries.currency[row] = addText(tape, code, currencies);
    else this.#addOddField(path, 'currencyCode');
    if (!entries.setAmount(row, tape, amount, amountTexts)) this.#addOddField(path, 'currencyAmount');
    else if (tape.kind(amount) !== kind.number) this.#textAmounts.push(path.path);
    return row;
  }

  #addColumns(tape: Tape): void {
    const { texts, total, maturityAt } = this.#rows;
    for (const [column, candidates] of fieldColumns) {
      for (const field of candidates) this.#setText(column, tape, this.#node(field));
    }
    const { marketplace_id: ids } = texts;
    const name = this.#node('marketplaceName');
    if (this.#texts[columnNumbers.marketplace_id] === none && name !== none) {
      const id = marketplaceNamed(tape.stringValue(name));
      if (id !== undefined) this.#texts[columnNumbers.marketplace_id] = ids.values.addString(id);
    }
    const status = this.#node('transactionStatus');
    for (const [at, name] of textColumns.entries()) texts[name].numbers.push(this.#texts[at] ?? none);
    if (status !== none) {
      const { values, numbers } = texts.status;
      numbers.set(numbers.length - 1, values.addString(tape.stringValue(status).toUpperCase()));
    }
    total.push(this.#total);
    maturityAt.push(this.#maturityAt);
  }

  /** Determines the amounts that count, and the number of each path. */
  #setPaths(firstEntry: number): void {
    const { entries } = this.#rows.slice;
    if (this.#amounts[0]?.chain.isMemo === false) this.#markNet(firstEntry);
    for (const [at, { path, chain, isNet }] of this.#amounts.entries()) {
      const row = firstEntry + at;
      entries.path[row] = this.#pathNumber(path, chain, isNet);
      if (chain.kind === 'unknown' && (isNet || chain.isTyped)) {
        countWarning(this.#warnings.unknownPaths, `${listName}: ${chain.text ?? path.path}`);
      }
      if (entries.text[row] !== none) countWarning(this.#warnings.inexactAmounts, this.#rows.slice.currencyOf(row));
    }
  }

  /** Marks the amounts that count: they add up to the total. */
  #markNet(firstEntry: number): void {
    const { entries } = this.#rows.slice;
    const tree = this.#tree;
    tree.addUp(entries);
    const [item, ...others] = this.#items;
    const isByItem = tree.addsUp(tree.items);
    // The breakdowns of a transaction with one item that has none belong to the item.
    const isBare = item !== undefined && others.length === 0 && !tree.hasChildren(item.node);
    const isShared = isByItem && isBare && tree.addsUp(tree.breakdowns);
    const root = isByItem && !isShared ? tree.items : tree.breakdowns;
    tree.cut(root, (row) => {
      const amount = this.#amounts[row - firstEntry];
      if (amount !== undefined) amount.isNet = true;
      if (isShared) entries.item[row] = item.item;
    });
    if (!tree.addsUp(root))
      countWarning(this.#warnings.unreconciled, this.#rows.typeOf(this.#rows.slice.events.length));
  }

  #pathNumber(path: TransactionPath, chain: BreakdownChain, isNet: boolean): number {
    const key = path.number * 2 + Number(isNet);
    let number = chain.pathNumbers.get(key);
    if (number === undefined) {
      const { text: breakdown, name } = chain;
      const role = isNet ? 'net' : 'memo';
      number = this.#rows.addPath({ path: path.path, stem: '', kind: chain.kind, role, breakdown, name });
      chain.pathNumbers.set(key, number);
    }
    return number;
  }

  #addOddField(path: TransactionPath, field?: string): void {
    const text = [path.path, field].filter(Boolean).join('.');
    this.#oddFields.push(text === '' ? 'the transaction itself' : text);
  }
}
