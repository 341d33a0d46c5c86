import { decimalScale, millionths } from '../../../core/numeric/decimal.js';
import type { Fields } from '../../../lake/delta/actions.js';

/** What makes an object money, and what the outermost value is. */
export interface MoneyRules {
  /** The keys of money. */
  readonly code: string;
  readonly amount: string;
  readonly root: Level;
}

/** Of events and groups. */
export const eventMoney: MoneyRules = { code: 'CurrencyCode', amount: 'CurrencyAmount', root: 'other' };

/** Of transactions, summaries and payouts. */
export const transactionMoney: MoneyRules = { code: 'currencyCode', amount: 'currencyAmount', root: 'transaction' };

/** A row of an entries table. */
export interface EntryRow {
  readonly entry: number;
  readonly path: string;
  readonly role: string;
  readonly kind: string;
  /** Only in entries of transactions. */
  readonly breakdown: string | null;
  /** Decimal text. */
  readonly amount: string | null;
  readonly amountText: string | null;
  readonly currency: string | null;
}

/** A money object of an event's JSON: an object that has a code and an amount, of whatever type. */
export interface WalkedAmount {
  readonly place: Place;
  /** Null where the amount is no number, and no string that is one. */
  readonly amount: number | null;
  /** Null where the code is no string. */
  readonly currency: string | null;
}

/** A transaction, an item or a breakdown: what an amount may be the total of. */
export interface WalkedNode {
  /** As JSON.parse gives it. */
  readonly object: Fields;
  readonly level: Level;
  /** The index of the node around it; -1 for the transaction. */
  readonly parent: number;
  /** The index of its own amount; -1 where it has none. */
  amount: number;
}

export interface Walked {
  /** What JSON.parse makes of the text. */
  readonly value: unknown;
  /** Outer before inner, in the order of the text, as far as JSON.parse keeps that. */
  readonly amounts: readonly WalkedAmount[];
  /** Outer before inner; only of transactions. */
  readonly nodes: readonly WalkedNode[];
  /** False where JSON.parse has reordered keys, or dropped a duplicate one. */
  readonly isOrdered: boolean;
  /**
   * The amounts in the order of the text; undefined where one is no number, is written another way than with digits and a point, or
   * can't be found with certainty.
   */
  readonly decimals: readonly Decimal[] | undefined;
  /**
   * Texts of the amounts that are numbers, normalised and unordered; undefined where they can't be found with
   * certainty.
   */
  readonly numbers: readonly string[] | undefined;
}

/**
 * Finds the money of an event by JSON.parse and a walk, independently of the scanner that wrote the entries.
 *
 * @param rootOf the place of the outermost value
 * @throws SyntaxError for a text that isn't JSON
 */
export function walkMoney(raw: string, money: MoneyRules, rootOf: (value: unknown) => Place): Walked {
  const amounts: WalkedAmount[] = [];
  const nodes: WalkedNode[] = [];
  let isOrdered = true;
  let keys = 0;
  let bare = 0;
  const parsed: unknown = JSON.parse(raw);
  // Only arrays and objects, each with its place and the node around it.
  const waiting: object[] = [];
  const places: Place[] = [];
  const around: number[] = [];
  const visit = (value: unknown, place: Place, node: number): void => {
    if (typeof value !== 'object' || value === null) return;
    waiting.push(value);
    places.push(place);
    around.push(node);
  };
  visit(parsed, rootOf(parsed), -1);
  for (;;) {
    const [value, outer, parent = -1] = [waiting.pop(), places.pop(), around.pop()];
    if (value === undefined || outer === undefined) break;
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      const place = items.length > 0 ? outer.item() : outer;
      for (let at = items.length - 1; at >= 0; at--) visit(items[at], place, parent);
      continue;
    }
    const members = value as Fields;
    const type = outer.level === 'breakdowns' ? members['breakdownType'] : undefined;
    const place = typeof type === 'string' ? outer.typed(type.toWellFormed()) : outer;
    if (Object.hasOwn(members, money.amount)) {
      const amount = numberOf(members[money.amount]);
      if (Object.hasOwn(members, money.code)) {
        const code = members[money.code];
        const node = outer.isTotal ? nodes[parent] : undefined;
        if (node !== undefined) node.amount = amounts.length;
        amounts.push({ place, amount, currency: typeof code === 'string' ? code.toWellFormed() : null });
      } else if (amount !== null) bare++;
    }
    const node =
      outer.level === 'other' ? -1 : nodes.push({ object: members, level: outer.level, parent, amount: -1 }) - 1;
    const first = waiting.length;
    // JSON.parse gives objects without inherited keys.
    for (const name in members) {
      keys++;
      if (isIndex(name)) isOrdered = false;
      const member = members[name];
      if (typeof member === 'object' && member !== null) visit(member, place.member(name), node);
    }
    // The first member is visited first; all are below the same node.
    reverseFrom(waiting, first);
    reverseFrom(places, first);
  }
  if (!hasKeys(raw, keys)) isOrdered = false;
  const texts = isOrdered && bare === 0 ? numbersIn(raw, amounts, money) : undefined;
  let numbers: readonly string[] | undefined;
  return {
    value: parsed,
    amounts,
    nodes,
    isOrdered,
    decimals: texts?.length === amounts.length ? decimalsOf(texts, amounts) : undefined,
    get numbers() {
      return (numbers ??= texts?.map(normalised).toSorted());
    },
  };
}

/** Reverses the items from an index on. */
function reverseFrom(items: unknown[], from: number): void {
  for (let low = from, high = items.length - 1; low < high; low++, high--)
    [items[low], items[high]] = [items[high], items[low]];
}

/** The same; what is wrong with the text where it isn't JSON. */
export function walkedOf(raw: string, money: MoneyRules, rootOf: (value: unknown) => Place): Walked | string {
  try {
    return walkMoney(raw, money, rootOf);
  } catch (error) {
    return `raw is not JSON: ${(error as SyntaxError).message}`;
  }
}

/** Whether a key is an index, which JSON.parse puts before the others. */
function isIndex(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39 && /^(0|[1-9]\d*)$/.test(key);
}

const jsonNumber = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const isNumber = new RegExp(`^${jsonNumber}$`);

/** The value of a number, or of a string that is one by JSON's grammar; null for another value. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && isNumber.test(value) ? Number(value) : null;
}

/** Whether a text has so many keys, duplicates included. */
function hasKeys(raw: string, keys: number): boolean {
  let found = 0;
  for (let at = raw.indexOf('":'); at !== -1; at = raw.indexOf('":', at + 2)) found++;
  // Without blanks before colons these are the keys, and what looks like one within a text.
  return found === keys && !/"\s+:/.test(raw) ? true : keysIn(raw) === keys;
}

/** Number of keys in the text, duplicates included: strings that a colon follows. */
function keysIn(raw: string): number {
  let keys = 0;
  for (const [, colon] of raw.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) keys++;
  return keys;
}

/**
 * A double can't hold every amount, so the digits are taken from the text: the numbers behind the keys, if they are as
 * many as the walk found.
 */
function numbersIn(raw: string, amounts: readonly WalkedAmount[], money: MoneyRules): readonly string[] | undefined {
  const found = amounts.reduce((sum, { amount }) => (amount === null ? sum : sum + 1), 0);
  const plain = plainNumbersIn(raw, `"${money.amount}":`);
  if (plain.length === found) return plain;
  const amount = new RegExp(`"${money.amount}"\\s*:\\s*(?:(${jsonNumber})|"(${jsonNumber})")`, 'g');
  const numbers = Array.from(raw.matchAll(amount), ([, number, text = '']) => number ?? text);
  return numbers.length === found ? numbers : undefined;
}

/** The texts directly behind a key that consist of a minus, digits and a point only, and end with the object or before another key. */
function plainNumbersIn(raw: string, key: string): readonly string[] {
  const numbers: string[] = [];
  for (let at = raw.indexOf(key); at !== -1; at = raw.indexOf(key, at)) {
    at += key.length;
    let end = at;
    for (let code = raw.charCodeAt(end); code >= 0x2d && code <= 0x39; code = raw.charCodeAt(end)) end++;
    const next = raw[end];
    if (end > at && (next === ',' || next === '}')) numbers.push(raw.slice(at, end));
  }
  return numbers;
}

/** A number of `raw` that DECIMAL(18,6) holds. */
export interface Decimal {
  readonly value: number;
  /** As DECIMAL(18,6) writes it. */
  readonly text: string;
  readonly millionths: bigint;
}

/** Numbers that were met, by their text: most amounts come again and again. Undefined: as `decimalOfText` says. */
const knownDecimals = new Map<string, Decimal | undefined>();

/** Undefined for a number that isn't written with digits and a point, or that DECIMAL(18,6) doesn't hold. */
function decimalOfText(number: string): Decimal | undefined {
  const [, whole = '', fraction = ''] = /^(-?(?:0|[1-9]\d{0,11}))(?:\.(\d{1,6}))?$/.exec(number) ?? [];
  if (whole === '') return undefined;
  const text = `${whole}.${fraction.padEnd(decimalScale, '0')}`;
  return { value: Number(number), text, millionths: millionths(text) };
}

/** The numbers of the text where they are the amounts in this order; see `Walked`. */
function decimalsOf(numbers: readonly string[], amounts: readonly WalkedAmount[]): readonly Decimal[] | undefined {
  const decimals: Decimal[] = [];
  for (const [at, number] of numbers.entries()) {
    const decimal = remembered(knownDecimals, number, decimalOfText);
    if (decimal?.value !== amounts[at]?.amount || decimal === undefined) return undefined;
    decimals.push(decimal);
  }
  return decimals;
}

/** A JSON number in canonical form: its digits without zeros around them, and a power of ten; `0` for any zero. */
export function normalised(number: string): string {
  const { sign, digits, power } = decimalOf(number);
  return digits === '' ? '0' : `${sign}${digits}e${power}`;
}

/** Whether DECIMAL(18,6) holds a JSON number exactly. */
export function fitsDecimal(number: string): boolean {
  const { digits, power } = decimalOf(number);
  return digits === '' || (power >= -6n && BigInt(digits.length) + power <= 12n);
}

function decimalOf(number: string): { sign: string; digits: string; power: bigint } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const written = (whole + fraction).replace(/^0+/, '');
  const digits = written.replace(/0+$/, '');
  const power = BigInt(exponent.replace('+', '')) - BigInt(fraction.length) + BigInt(written.length - digits.length);
  return { sign, digits, power };
}

/** What the objects at a place are: in transactions, amounts count by the items and breakdowns around them. */
export type Level = 'transaction' | 'items' | 'breakdowns' | 'other';

/** Places and numbers that are remembered at most: those of hostile events are all different. */
const mostRemembered = 100_000;

/** What is known of a key, or is made of it now and known from then on. */
export function remembered<Key, Value>(known: Map<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  if (known.size >= mostRemembered) known.clear();
  known.set(key, made);
  return made;
}

/** Places in events. Most events have the same ones, so each is put together once. */
export class Places {
  readonly #level: Level;
  readonly #roots = new Map<string, Place>();
  #count = 0;

  /** @param level of the outermost value */
  constructor(level: Level) {
    this.#level = level;
  }

  /**
   * The place of the outermost value.
   *
   * @param owner the list of an event, or the type of a transaction
   */
  root(owner: string): Place {
    if (this.#count > mostRemembered) {
      this.#roots.clear();
      this.#count = 0;
    }
    const known = this.#roots.get(owner);
    if (known !== undefined) return known;
    const root = new Place({ owner, path: '', level: this.#level, types: [], isTotal: false }, true, this.#counted);
    this.#roots.set(owner, root);
    this.#counted();
    return root;
  }

  readonly #counted = (): void => {
    this.#count++;
  };
}

interface PlaceAttributes {
  /** The list of the event, or the type of the transaction. */
  readonly owner: string;
  /** As in the column `path`. */
  readonly path: string;
  readonly level: Level;
  /** Types of the breakdowns around it, outer before inner. */
  readonly types: readonly string[];
  /** Whether money here is the total of the transaction, item or breakdown around it. */
  readonly isTotal: boolean;
}

export class Place implements PlaceAttributes {
  readonly owner: string;
  readonly path: string;
  readonly level: Level;
  readonly types: readonly string[];
  readonly isTotal: boolean;
  readonly #isRoot: boolean;
  readonly #counted: () => void;
  readonly #members = new Map<string, Place>();
  readonly #typed = new Map<string, Place>();
  #item: Place | undefined;

  /** @param counted is called for each place below this one that is new */
  constructor({ owner, path, level, types, isTotal }: PlaceAttributes, isRoot: boolean, counted: () => void) {
    this.owner = owner;
    this.path = path;
    this.level = level;
    this.types = types;
    this.isTotal = isTotal;
    this.#isRoot = isRoot;
    this.#counted = counted;
  }

  /** The place of a member of the object. */
  member(name: string): Place {
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const path = (this.#isRoot ? name : `${this.path}.${name}`).toWellFormed();
    const isTotal = name === totals[this.level];
    const place = this.#below({ path, level: memberLevel(this.level, name), isTotal });
    this.#members.set(name, place);
    return place;
  }

  /** The place of the items of the array. */
  item(): Place {
    const level = this.level === 'transaction' ? 'other' : this.level;
    return (this.#item ??= this.#below({ path: `${this.path}[]`, level, isTotal: false }));
  }

  /** The place of a breakdown with a type. */
  typed(type: string): Place {
    const known = this.#typed.get(type);
    if (known !== undefined) return known;
    const place = this.#below({ types: [...this.types, type] });
    this.#typed.set(type, place);
    return place;
  }

  #below(changes: Partial<PlaceAttributes>): Place {
    const { owner, path, level, types, isTotal } = this;
    this.#counted();
    return new Place({ owner, path, level, types, isTotal, ...changes }, false, this.#counted);
  }
}

/** The member with the total of a transaction, item or breakdown. */
const totals: Readonly<Record<Level, string | undefined>> = {
  transaction: 'totalAmount',
  items: 'totalAmount',
  breakdowns: 'breakdownAmount',
  other: undefined,
};

function memberLevel(level: Level, name: string): Level {
  if (name === 'items' && (level === 'transaction' || level === 'items')) return 'items';
  return name === 'breakdowns' && level !== 'other' ? 'breakdowns' : 'other';
}
