import { isUtf8 } from 'node:buffer';
import { bufferOf, type ByteRange } from '../../../core/columns/byte-ranges.js';
import { addText, instantValue, integerValue } from '../../../core/json/node-values.js';
import { scan, scanValue } from '../../../core/json/scan.js';
import { kind, Tape } from '../../../core/json/tape.js';
import type { JsonBytes } from '../../../core/json/text.js';
import { type PathNode, level, ListPaths, meaning, type Slots } from './amount-paths.js';
import { amountPath, DirectFlattener, listNumber } from './flatten-direct.js';
import { type EventWarnings, countWarning, none, type SliceRows } from '../model/slice-rows.js';

/** A type field after the first one of its object. */
interface TypeField {
  readonly stem: string;
  readonly value: number;
}

/** Maxima of cached lists, and of cached paths: far more than the model has. */
const mostLists = 1000;
const mostPaths = 20_000;

/**
 * Turns events into rows: one per event, one per amount (tables `events` and `entries`), from the tape of their page. A field of
 * an unexpected type is null, and counted as a warning.
 */
export class Flattener {
  readonly #rows: SliceRows;
  readonly #warnings: EventWarnings;
  readonly #lists = new Map<string, ListPaths>();
  readonly #direct: DirectFlattener;
  /** For an event that isn't read directly. */
  readonly #tape = new Tape();
  /** The last page of `addWithin`, and its bytes if they are UTF-8. */
  #page: Uint8Array | undefined;
  #json: JsonBytes | undefined;
  #objects = 0;
  #item: number = none;
  #duplicate = false;
  /** Whether an amount of the current event causes a warning. */
  #hasWarnings = false;
  /** Fields of the current event with a value of an unexpected type. */
  #oddFields: string[] = [];
  /** Paths of the current event's amounts that are strings. */
  #textAmounts: string[] = [];

  constructor(rows: SliceRows, warnings: EventWarnings) {
    this.#rows = rows;
    this.#warnings = warnings;
    this.#direct = new DirectFlattener(rows);
  }

  /** Clears the rows. Known paths stay, as an event with a new one isn't read directly. */
  clear(): void {
    this.#rows.clear();
    this.#page = undefined;
    this.#json = undefined;
    let paths = 0;
    for (const { size } of this.#lists.values()) paths += size;
    if (paths > mostPaths) this.#lists.clear();
  }

  /**
   * Adds one event of a list, which begins at a byte of a UTF-8 text. Returns its end.
   *
   * @param outerDepth objects and arrays around it
   * @throws LedgerlakeError JSON_SYNTAX for invalid JSON: earlier events stay
   */
  addAt(json: JsonBytes, list: string, start: number, outerDepth: number): number {
    const paths = this.#pathsOf(list);
    const end = paths.isKnown ? this.#direct.add(json, paths, start) : none;
    if (end !== none) return end;
    const behind = scanValue(json, start, this.#tape, outerDepth);
    this.add(this.#tape, list, 0);
    return behind;
  }

  /**
   * Adds one event of a list from a separate text, usually one of many in the same page.
   *
   * @throws LedgerlakeError JSON_SYNTAX, and adds nothing then
   */
  addWithin(text: ByteRange, list: string): void {
    const { page, start, end } = text;
    if (page !== this.#page) {
      this.#page = page;
      const bytes = bufferOf({ page, start: 0, end: page.length });
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      // Within UTF-8 a text that begins and ends with a brace is UTF-8 too.
      this.#json = isUtf8(bytes) ? { bytes, view } : undefined;
    }
    const paths = this.#pathsOf(list);
    const { mark } = this.#rows;
    if (paths.isKnown && this.#json !== undefined && this.#direct.add(this.#json, paths, start) === end) return;
    this.#rows.truncate(mark);
    scan(bufferOf(text), this.#tape);
    this.add(this.#tape, list, 0);
  }

  /** Adds one event of a list: `node` is its value on the page's tape. */
  add(tape: Tape, list: string, node: number): void {
    const { entries, items } = this.#rows;
    const paths = this.#pathsOf(list);
    const firstEntry = entries.length;
    const firstItem = items.length;
    if (!paths.isKnown) countWarning(this.#warnings.unknownLists, list);
    if (tape.isRepaired(node)) countWarning(this.#warnings.repaired, list);
    this.#walkEvent(tape, node, paths.root);
    if (this.#duplicate) {
      // Rare: an object has a duplicate key, of which the last one counts. The duplicates are shadowed, and the event is read again.
      entries.truncate(firstEntry);
      items.truncate(firstItem);
      tape.shadowDuplicates(node);
      this.#walkEvent(tape, node, paths.root);
    }
    if (this.#hasWarnings) this.#countAmountWarnings(paths, firstEntry);
    const number = listNumber(this.#rows, paths);
    this.#rows.addEvent(number, firstEntry, tape.bytes, tape.start(node), tape.end(node));
    this.#addTexts(tape, paths, level.event);
    this.#rows.events.postedAt.push(this.#postedAt(tape, paths.root));
    for (const field of this.#oddFields) countWarning(this.#warnings.oddFields, `${list}: ${field}`);
    for (const text of this.#textAmounts) countWarning(this.#warnings.textAmounts, `${list}: ${text}`);
  }

  #pathsOf(list: string): ListPaths {
    let paths = this.#lists.get(list);
    // A limited cache: a page can contain as many lists as it has bytes.
    if (paths === undefined && this.#lists.size === mostLists) this.#lists.clear();
    if (paths === undefined) this.#lists.set(list, (paths = new ListPaths(list)));
    return paths;
  }

  #walkEvent(tape: Tape, node: number, root: PathNode): void {
    this.#duplicate = false;
    this.#hasWarnings = false;
    if (this.#oddFields.length > 0) this.#oddFields = [];
    if (this.#textAmounts.length > 0) this.#textAmounts = [];
    this.#item = none;
    root.list.eventFields.fill(none);
    if (tape.kind(node) !== kind.object) this.#addOddField(root);
    this.#value(tape, node, root, none, level.event);
  }

  #value(tape: Tape, node: number, path: PathNode, holder: number, at: number): void {
    const valueKind = tape.kind(node);
    if (valueKind === kind.object) this.#object(tape, node, path, holder, at);
    else if (valueKind === kind.array) this.#array(tape, node, path, holder);
  }

  #array(tape: Tape, node: number, path: PathNode, holder: number): void {
    const element = path.element();
    const end = tape.next(node);
    if (this.#item !== none) {
      for (let at = node + 1; at < end; at = tape.next(at)) this.#value(tape, at, element, holder, level.inner);
      return;
    }
    // The outermost array: its elements are the items that amounts belong to.
    for (let at = node + 1, index = 0; at < end; at = tape.next(at), index++) {
      this.#item = this.#rows.items.length;
      path.list.itemFields.fill(none);
      this.#rows.items.index.push(index);
      this.#value(tape, at, element, holder, level.item);
      this.#addItem(tape, element);
    }
    this.#item = none;
  }

  #object(tape: Tape, node: number, path: PathNode, holder: number, at: number): void {
    const { entries } = this.#rows;
    const id = ++this.#objects;
    const firstEntry = entries.length;
    const end = tape.next(node);
    let currency: number = none;
    let amount: number = none;
    let type: number = none;
    let typeStem = '';
    let further: TypeField[] | undefined;
    for (let key = node + 1; key < end; key = tape.next(key + 1)) {
      if (tape.kind(key) === kind.shadowed) continue;
      const value = key + 1;
      const child = path.member(tape, key);
      if (child.lastObject === id) this.#duplicate = true;
      child.lastObject = id;
      if (child.meaning >= 0) this.#field(tape, value, child, at);
      else if (child.meaning === meaning.currencyCode) currency = value;
      else if (child.meaning === meaning.currencyAmount) amount = value;
      if (child.isType && tape.isString(value)) {
        if (type === none) {
          type = value;
          typeStem = child.stem;
        } else if (child.stem !== typeStem) (further ??= []).push({ stem: child.stem, value });
      }
      const valueKind = tape.kind(value);
      if (valueKind === kind.object) this.#object(tape, value, child, id, level.inner);
      else if (valueKind === kind.array) this.#array(tape, value, child, id);
    }
    if (currency !== none && amount !== none) this.#addEntry(tape, path, firstEntry, currency, amount, holder);
    if (type !== none) this.#nameEntries(tape, firstEntry, id, type, further);
  }

  /** Stores a field's value for its event or item. */
  #field(tape: Tape, value: number, child: PathNode, at: number): void {
    const valueKind = tape.kind(value);
    if (valueKind === kind.null || at === level.inner || at === child.ignoredAt) return;
    if (!tape.isString(value) && !child.isQuantity) {
      this.#addOddField(child);
      return;
    }
    const { eventFields, itemFields } = child.list;
    const fields = at === level.event ? eventFields : itemFields;
    fields[child.meaning] = value;
  }

  #addEntry(tape: Tape, path: PathNode, row: number, currency: number, amount: number, holder: number): void {
    const { entries } = this.#rows;
    // Nested money follows the outer money.
    entries.insert(row);
    entries.path[row] = amountPath(this.#rows, path);
    entries.item[row] = this.#item;
    entries.holder[row] = holder;
    if (path.role === 'unknown') this.#hasWarnings = true;
    if (tape.isString(currency)) entries.currency[row] = addText(tape, currency, this.#rows.currencies);
    else this.#addOddField(path, 'CurrencyCode');
    if (!entries.setAmount(row, tape, amount, this.#rows.amountTexts)) this.#addOddField(path, 'CurrencyAmount');
    else {
      if (tape.kind(amount) !== kind.number) this.#textAmounts.push(path.path);
      if (entries.text[row] !== none) this.#hasWarnings = true;
    }
  }

  /**
   * Assigns the types of an object to its direct amounts: each gets the type with the same stem (`feeType` for `feeAmount`), else
   * the first.
   */
  #nameEntries(tape: Tape, start: number, holder: number, first: number, further?: readonly TypeField[]): void {
    const { entries, amountPaths, names } = this.#rows;
    for (let row = start; row < entries.length; row++) {
      if (entries.holder[row] !== holder) continue;
      let chosen = first;
      if (further !== undefined) {
        const stem = amountPaths[entries.path[row] ?? none]?.stem;
        chosen = further.find((type) => type.stem === stem)?.value ?? first;
      }
      entries.name[row] = addText(tape, chosen, names);
    }
  }

  /** Completes the current item. */
  #addItem(tape: Tape, element: PathNode): void {
    const { items } = this.#rows;
    const { itemFields, slots } = element.list;
    this.#addTexts(tape, element.list, level.item);
    const node = bestNode(itemFields, slots.quantity);
    const quantity = node === none ? undefined : integerValue(tape, node);
    if (node !== none && quantity === undefined) this.#addOddField(element, 'quantity');
    items.quantity.push(quantity);
  }

  /** Adds the attributes of the event, or those of the current item. */
  #addTexts(tape: Tape, { slots, eventFields, itemFields }: ListPaths, at: number): void {
    const { attributes } = this.#rows;
    const fields = at === level.event ? eventFields : itemFields;
    for (let number = 0; number < attributes.length; number++) {
      const attribute = attributes[number];
      const texts = at === level.event ? attribute?.numbers : attribute?.items;
      if (attribute === undefined || texts === undefined) continue;
      const node = bestNode(fields, slots.texts[number]);
      texts.push(node === none ? none : addText(tape, node, attribute.values));
    }
  }

  /** The first valid date of the event. */
  #postedAt(tape: Tape, root: PathNode): bigint | undefined {
    const { eventFields, slots } = root.list;
    for (const slot of slots.date) {
      const node = eventFields[slot] ?? none;
      if (node === none) continue;
      const instant = instantValue(tape, node);
      if (instant !== undefined) return instant;
      this.#addOddField(root, 'date');
    }
    return undefined;
  }

  #countAmountWarnings(paths: ListPaths, firstEntry: number): void {
    const { entries, amountPaths } = this.#rows;
    for (let row = firstEntry; row < entries.length; row++) {
      const amountPath = amountPaths[entries.path[row] ?? none];
      if (amountPath?.role === 'unknown')
        countWarning(this.#warnings.unknownPaths, `${paths.name}: ${amountPath.path}`);
      if (entries.text[row] !== none) countWarning(this.#warnings.inexactAmounts, this.#rows.currencyOf(row));
    }
  }

  #addOddField(path: PathNode, field?: string): void {
    const text = [path.path, field].filter(Boolean).join('.');
    this.#oddFields.push(text === '' ? 'the event itself' : text);
  }
}

function bestNode(fields: Int32Array, slots: Slots | undefined): number {
  if (slots === undefined) return none;
  for (const slot of slots) {
    const node = fields[slot] ?? none;
    if (node !== none) return node;
  }
  return none;
}
