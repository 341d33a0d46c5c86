import type { Dictionary } from '../../../core/columns/dictionary.js';
import { parseDigits, smallIntegers } from '../../../core/json/node-values.js';
import {
  quote,
  comma,
  bracket,
  backslash,
  bracketEnd,
  brace,
  braceEnd,
  escapeEnd,
  FixedText,
  isDigit,
  plainEnd,
  unescapeUtf8,
  type JsonBytes,
} from '../../../core/json/text.js';
import { numberEnd, readDecimal, readInteger, type Int64Halves } from '../../../core/numeric/decimal.js';
import { readInstantBytes } from '../../../core/numeric/instant.js';
import { level, meaning, type ListPaths, type PathNode, type Slots } from './amount-paths.js';
import type { Component } from './components.js';
import { none, type SliceRows } from '../model/slice-rows.js';

/** Maximal nesting of objects and arrays: the model has five levels. */
const deepest = 32;

const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;

const two32 = 0x1_0000_0000;
/** Factors to millionths, by number of decimals. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1];

const codeFirst = { start: new FixedText('{"CurrencyCode":"'), middle: new FixedText(',"CurrencyAmount":') };
const amountFirst = { start: new FixedText('{"CurrencyAmount":'), middle: new FixedText(',"CurrencyCode":"') };
const nullText = new FixedText('null');
const words = [new FixedText('true'), new FixedText('false'), nullText];

/** A value with the type of the amounts in the same object. */
interface TypeText {
  readonly stem: string;
  /** Its quote. */
  readonly start: number;
  readonly end: number;
}

/**
 * Turns events into rows directly from their bytes, if they have the service's usual form: no white space, only known keys, no
 * duplicates, each amount a code and a number. `Flattener` reads all others, and chooses the reader of each event. Both give the
 * same rows.
 */
export class DirectFlattener {
  readonly #rows: SliceRows;
  readonly #amount: Int64Halves = { low: 0, high: 0 };
  #json: JsonBytes = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)) };
  /** The next byte to read. */
  #at = 0;
  /** Counts down, while `Flattener` counts up: `lastObject` of a path stores both. */
  #objects = -1;
  #item: number = none;
  #postedAt: bigint | undefined;
  #codeStart = 0;
  #codeEnd = 0;
  #decoded = Buffer.alloc(256);

  constructor(rows: SliceRows) {
    this.#rows = rows;
  }

  /**
   * Adds the event of a list that begins at a byte of a UTF-8 text.
   *
   * @returns its end; `none` for another form: nothing is added then
   */
  add(json: JsonBytes, list: ListPaths, start: number): number {
    const { events, entries, items } = this.#rows;
    const firstEntry = entries.length;
    const firstItem = items.length;
    this.#json = json;
    this.#at = start;
    this.#item = none;
    list.eventFields.fill(none);
    if (json.bytes[start] !== brace || !this.#object(list.root, level.event, 0) || !this.#readDate(list)) {
      entries.truncate(firstEntry);
      items.truncate(firstItem);
      return none;
    }
    this.#rows.addEvent(listNumber(this.#rows, list), firstEntry, json.bytes, start, this.#at);
    this.#addTexts(list, level.event);
    events.postedAt.push(this.#postedAt);
    return this.#at;
  }

  /** Reads the next value; false for another form. */
  #value(path: PathNode, holder: number, at: number, depth: number): boolean {
    const first = this.#json.bytes[this.#at];
    if (first === bracket) return this.#array(path, holder, depth);
    if (first !== brace) return this.#scalar();
    if (this.#skip(codeFirst.start)) {
      const isRead = this.#readCode() && this.#skip(codeFirst.middle) && this.#readAmount();
      return isRead && this.#addEntry(path, holder);
    }
    if (this.#skip(amountFirst.start)) {
      const isRead = this.#readAmount() && this.#skip(amountFirst.middle) && this.#readCode();
      return isRead && this.#addEntry(path, holder);
    }
    return this.#object(path, at, depth);
  }

  /** Skips a text; false where the next bytes are others. */
  #skip(text: FixedText): boolean {
    const isMatch = text.matchesAt(this.#json, this.#at);
    if (isMatch) this.#at += text.length;
    return isMatch;
  }

  #object(path: PathNode, at: number, depth: number): boolean {
    if (depth === deepest) return false;
    const { bytes, view } = this.#json;
    const id = --this.#objects;
    const firstEntry = this.#rows.entries.length;
    let typeStart: number = none;
    let typeEnd = 0;
    let typeStem = '';
    let further: TypeText[] | undefined;
    if (bytes[++this.#at] === braceEnd) {
      this.#at++;
      return true;
    }
    for (;;) {
      const child = path.memberAt(view, this.#at);
      if (child === undefined || child.lastObject === id) return false;
      child.lastObject = id;
      const start = (this.#at += child.writtenLength);
      const first = bytes[start];
      if (first === brace || first === bracket) {
        if (child.meaning !== meaning.none || !this.#value(child, id, level.inner, depth + 1)) return false;
      } else {
        if (!this.#scalar()) return false;
        if (child.meaning !== meaning.none && !this.#field(child, start, at)) return false;
        if (child.isType && first === quote) {
          if (typeStart === none) {
            typeStart = start;
            typeEnd = this.#at;
            typeStem = child.stem;
          } else if (child.stem !== typeStem) (further ??= []).push({ stem: child.stem, start, end: this.#at });
        }
      }
      const next = bytes[this.#at++];
      if (next === braceEnd) break;
      if (next !== comma) return false;
    }
    if (typeStart !== none) this.#nameEntries(firstEntry, id, typeStart, typeEnd, further);
    return true;
  }

  #array(path: PathNode, holder: number, depth: number): boolean {
    if (depth === deepest) return false;
    const { bytes } = this.#json;
    const { items } = this.#rows;
    const element = path.element();
    const { components } = element;
    let component: Component<PathNode> | undefined;
    // The outermost array: its elements are the items that amounts belong to.
    const isOutermost = this.#item === none;
    if (bytes[++this.#at] === bracketEnd) {
      this.#at++;
      return true;
    }
    for (let index = 0; ; index++) {
      if (isOutermost) {
        this.#item = items.length;
        path.list.itemFields.fill(none);
        items.index.push(index);
      }
      const start = this.#at;
      const expected = components.at(this.#json, start, component);
      if (expected !== undefined && this.#addComponent(expected, start)) component = expected;
      else {
        if (!this.#value(element, holder, isOutermost ? level.item : level.inner, depth + 1)) return false;
        component = this.#componentOf(element, start, component);
      }
      if (isOutermost && !this.#addItem(path.list)) return false;
      const next = bytes[this.#at++];
      if (next === bracketEnd) break;
      if (next !== comma) return false;
    }
    if (isOutermost) this.#item = none;
    return true;
  }

  /** Adds the amount of a component that begins at a byte; false for a long number, or where more members follow. */
  #addComponent(component: Component<PathNode>, start: number): boolean {
    const { entries, names, currencies, generation } = this.#rows;
    const { bytes } = this.#json;
    this.#at = start + component.text.length;
    if (!this.#readShortAmount() || bytes[this.#at] !== braceEnd || bytes[this.#at + 1] !== braceEnd) {
      this.#at = start;
      return false;
    }
    this.#at += 2;
    if (component.numberedIn !== generation) {
      component.currency = currencies.addString(component.code);
      component.name = names.addString(component.type);
      component.numberedIn = generation;
    }
    // It has its type already: no object may name it.
    entries.add(amountPath(this.#rows, component.path), this.#item, none, component.currency, this.#amount);
    entries.name[entries.length - 1] = component.name;
    return true;
  }

  /** The component of the element that ends here; undefined for another kind of element. */
  #componentOf(
    element: PathNode,
    start: number,
    before: Component<PathNode> | undefined,
  ): Component<PathNode> | undefined {
    const { bytes, view } = this.#json;
    const type = bytes[start] === brace ? element.repeatedMemberAt(view, start + 1) : undefined;
    if (type?.isType !== true || type.meaning !== meaning.none) return undefined;
    const typeStart = start + 1 + type.writtenLength + 1;
    const typeEnd = plainEnd(bytes, view, typeStart);
    if (bytes[typeStart - 1] !== quote || bytes[typeEnd] !== quote || bytes[typeEnd + 1] !== comma) return undefined;
    const path = element.repeatedMemberAt(view, typeEnd + 2);
    if (path === undefined) return undefined;
    const amount = typeEnd + 2 + path.writtenLength;
    if (!codeFirst.start.matchesAt(this.#json, amount)) return undefined;
    const codeStart = amount + codeFirst.start.length;
    const codeEnd = plainEnd(bytes, view, codeStart);
    if (bytes[codeEnd] !== quote || !codeFirst.middle.matchesAt(this.#json, codeEnd + 1)) return undefined;
    const end = codeEnd + 1 + codeFirst.middle.length;
    // The first brace after a number ends its object; the next one ends the component.
    if (bytes.indexOf(braceEnd, end) !== this.#at - 2) return undefined;
    const textBetween = (from: number, to: number): string => bytes.toString('utf8', from, to);
    const text = textBetween(start, end);
    const { components } = element;
    const component =
      components.known(text) ??
      components.add(text, path, textBetween(typeStart, typeEnd), textBetween(codeStart, codeEnd));
    return component && components.addFollower(component, before);
  }

  /** Stores the scalar that ends here for its event or item; false for a value of another type. */
  #field(child: PathNode, start: number, at: number): boolean {
    if (child.meaning < 0) return false;
    const { bytes } = this.#json;
    const first = bytes[start];
    if (at === level.inner || at === child.ignoredAt || first === nullText.first) return true;
    if (first !== quote && !(child.isQuantity && (first === minus || isDigit(first ?? 0)))) return false;
    const { eventFields, eventEnds, itemFields, itemEnds } = child.list;
    (at === level.event ? eventFields : itemFields)[child.meaning] = start;
    (at === level.event ? eventEnds : itemEnds)[child.meaning] = this.#at;
    return true;
  }

  /** Reads a string, a number or a word; false for anything else. */
  #scalar(): boolean {
    const json = this.#json;
    const { bytes, view } = json;
    const first = bytes[this.#at];
    if (first === quote) {
      let end = plainEnd(bytes, view, this.#at + 1);
      while (bytes[end] === backslash) {
        end = escapeEnd(bytes, end + 1);
        if (end < 0) return false;
        end = plainEnd(bytes, view, end);
      }
      this.#at = end + 1;
      return bytes[end] === quote;
    }
    for (const word of words) {
      if (first !== word.first) continue;
      if (!word.matchesAt(json, this.#at)) return false;
      this.#at += word.length;
      return true;
    }
    return this.#number();
  }

  #number(): boolean {
    const end = numberEnd(this.#json.bytes, this.#at);
    if (end < 0) return false;
    this.#at = end;
    return true;
  }

  /** Adds the amount with the code and number that were read; false where more members follow, and for an unknown path. */
  #addEntry(path: PathNode, holder: number): boolean {
    const { entries, currencies } = this.#rows;
    const { bytes } = this.#json;
    if (bytes[this.#at++] !== braceEnd || path.role === 'unknown') return false;
    const currency = currencies.add(bytes, this.#codeStart, this.#codeEnd);
    entries.add(amountPath(this.#rows, path), this.#item, holder, currency, this.#amount);
    return true;
  }

  /** Reads a currency's code, after its first quote. */
  #readCode(): boolean {
    const { bytes, view } = this.#json;
    this.#codeStart = this.#at;
    this.#codeEnd = plainEnd(bytes, view, this.#at);
    this.#at = this.#codeEnd + 1;
    return bytes[this.#codeEnd] === quote;
  }

  /** Reads a number that the column holds exactly. */
  #readAmount(): boolean {
    const { bytes } = this.#json;
    const start = this.#at;
    return (
      this.#readShortAmount() ||
      ((this.#at = start), this.#number() && readDecimal(bytes, start, this.#at, this.#amount))
    );
  }

  /** Reads a number of at most nine digits before the point and six after it: its millionths are an integer below 2^53. */
  #readShortAmount(): boolean {
    const { bytes } = this.#json;
    let at = this.#at;
    const isNegative = bytes[at] === minus;
    if (isNegative) at++;
    const first = at;
    let value = 0;
    for (let digit = (bytes[at] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (bytes[++at] ?? 0) - zero) {
      value = value * 10 + digit;
      if (at - first === 9) return false;
    }
    if (at === first || (bytes[first] === zero && at > first + 1)) return false;
    let decimals = 0;
    if (bytes[at] === point) {
      at++;
      for (let digit = (bytes[at] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (bytes[++at] ?? 0) - zero) {
        if (++decimals > 6) return false;
        value = value * 10 + digit;
      }
      if (decimals === 0) return false;
    }
    // Otherwise the number continues, or is invalid.
    if (bytes[at] !== braceEnd && bytes[at] !== comma) return false;
    this.#at = at;
    value *= scales[decimals] ?? 1;
    if (isNegative) value = -value;
    const high = Math.floor(value / two32);
    this.#amount.high = high | 0;
    this.#amount.low = (value - high * two32) | 0;
    return true;
  }

  /** Assigns the types of an object to its direct amounts, as `Flattener` does. */
  #nameEntries(row: number, holder: number, start: number, end: number, further?: readonly TypeText[]): void {
    const { entries, names } = this.#rows;
    for (let at = row; at < entries.length; at++) {
      if (entries.holder[at] !== holder) continue;
      const named = further && this.#typeOf(at, further);
      entries.name[at] = this.#addText(named?.start ?? start, named?.end ?? end, names);
    }
  }

  /** The type of an amount among several. */
  #typeOf(row: number, types: readonly TypeText[]): TypeText | undefined {
    const stem = this.#rows.amountPaths[this.#rows.entries.path[row] ?? none]?.stem;
    return types.find((type) => type.stem === stem);
  }

  /** Completes the current item; false for an invalid quantity. */
  #addItem(list: ListPaths): boolean {
    const { slots, itemFields, itemEnds } = list;
    const { items } = this.#rows;
    this.#addTexts(list, level.item);
    const slot = bestSlot(itemFields, slots.quantity);
    const quantity = slot === none ? undefined : this.#integer(itemFields[slot] ?? 0, itemEnds[slot] ?? 0);
    items.quantity.push(quantity);
    return slot === none || quantity !== undefined;
  }

  /** An integer, or a string of digits; undefined for another form. */
  #integer(start: number, end: number): bigint | undefined {
    const { bytes } = this.#json;
    if (bytes[start] === quote) return parseDigits(bytes.toString('latin1', start + 1, end - 1));
    return end - start === 1
      ? smallIntegers[(bytes[start] ?? 0) - zero]
      : readInteger(bytes.toString('latin1', start, end));
  }

  /** Adds the attributes of the event, or those of the current item. */
  #addTexts({ slots, eventFields, eventEnds, itemFields, itemEnds }: ListPaths, at: number): void {
    const { attributes } = this.#rows;
    const fields = at === level.event ? eventFields : itemFields;
    const ends = at === level.event ? eventEnds : itemEnds;
    for (let number = 0; number < attributes.length; number++) {
      const attribute = attributes[number];
      const texts = at === level.event ? attribute?.numbers : attribute?.items;
      if (attribute === undefined || texts === undefined) continue;
      const slot = bestSlot(fields, slots.texts[number]);
      texts.push(slot === none ? none : this.#addText(fields[slot] ?? 0, ends[slot] ?? 0, attribute.values));
    }
  }

  /** The number of a string's value in a dictionary. */
  #addText(start: number, end: number, dictionary: Dictionary): number {
    const { bytes, view } = this.#json;
    if (plainEnd(bytes, view, start + 1) === end - 1) return dictionary.add(bytes, start + 1, end - 1);
    // An escape is never shorter than its character.
    if (this.#decoded.length < end - start) this.#decoded = Buffer.alloc(2 * (end - start));
    return dictionary.add(this.#decoded, 0, unescapeUtf8(bytes, start + 1, end - 1, this.#decoded));
  }

  /** Reads the first of the event's dates; false for an invalid one. */
  #readDate({ slots, eventFields, eventEnds }: ListPaths): boolean {
    const slot = bestSlot(eventFields, slots.date);
    this.#postedAt = undefined;
    if (slot === none) return true;
    this.#postedAt = readInstantBytes(this.#json.bytes, (eventFields[slot] ?? 0) + 1, (eventEnds[slot] ?? 0) - 1);
    return this.#postedAt !== undefined;
  }
}

/** The number of a list, assigned with its first event. */
export function listNumber({ lists, generation }: SliceRows, list: ListPaths): number {
  if (list.numberedIn !== generation) {
    list.number = lists.addString(list.name);
    list.numberedIn = generation;
  }
  return list.number;
}

/** The number of an amount's path, assigned with its first amount. */
export function amountPath({ amountPaths, generation }: SliceRows, path: PathNode): number {
  if (path.numberedIn !== generation) {
    path.amountPath = amountPaths.push(path) - 1;
    path.numberedIn = generation;
  }
  return path.amountPath;
}

function bestSlot(fields: Int32Array, slots: Slots | undefined): number {
  if (slots === undefined) return none;
  for (const slot of slots) if (fields[slot] !== none) return slot;
  return none;
}
