/** The keys that make an object money. */
export interface MoneyKeys {
  readonly code: string;
  readonly amount: string;
}

/** The keys of events and groups. */
export const eventMoney: MoneyKeys = { code: 'CurrencyCode', amount: 'CurrencyAmount' };

/** The keys of transactions, summaries and payouts. */
export const laterMoney: MoneyKeys = { code: 'currencyCode', amount: 'currencyAmount' };

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
  /** As in the column `path`. */
  readonly path: string;
  /** Null where the amount is no number, and no string that is one. */
  readonly amount: number | null;
  /** Null where the code is no string. */
  readonly currency: string | null;
}

export interface Walked {
  /** What JSON.parse makes of the text. */
  readonly value: unknown;
  /** Outer before inner, in the order of the text, as far as JSON.parse keeps that. */
  readonly amounts: readonly WalkedAmount[];
  /** False where JSON.parse has reordered keys, or dropped a duplicate one. */
  readonly isOrdered: boolean;
  /**
   * The amounts in the order of the text as DECIMAL(18,6) writes them, digit for digit; undefined where one is no number, is written
   * another way than with digits and a point, or can't be found with certainty.
   */
  readonly decimals: readonly string[] | undefined;
  /**
   * Texts of the amounts that are numbers, normalised and unordered; undefined where they can't be found with
   * certainty.
   */
  readonly numbers: readonly string[] | undefined;
}

/**
 * Finds the money of an event by JSON.parse and a walk, independently of the scanner that wrote the entries.
 *
 * @throws SyntaxError for a text that isn't JSON
 */
export function walkMoney(raw: string, money = eventMoney, paths = new Paths()): Walked {
  const amounts: WalkedAmount[] = [];
  let isOrdered = true;
  let keys = 0;
  let bare = 0;
  const parsed: unknown = JSON.parse(raw);
  // Only arrays and objects, each with its path beside it.
  const waiting: object[] = [];
  const places: Path[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (typeof value !== 'object' || value === null) return;
    waiting.push(value);
    places.push(path);
  };
  visit(parsed, paths.root());
  for (let value = waiting.pop(), path = places.pop(); value && path; value = waiting.pop(), path = places.pop()) {
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      if (items.length > 0) path = paths.below(path, '[]', '[]');
      for (let at = items.length - 1; at >= 0; at--) visit(items[at], path);
      continue;
    }
    const members = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(members);
    keys += names.length;
    if (Object.hasOwn(members, money.amount)) {
      const amount = numberOf(members[money.amount]);
      const code = members[money.code];
      if (Object.hasOwn(members, money.code)) {
        amounts.push({ path: path.text, amount, currency: typeof code === 'string' ? code.toWellFormed() : null });
      } else if (amount !== null) bare++;
    }
    for (let at = names.length - 1; at >= 0; at--) {
      const name = names[at] ?? '';
      if (isIndex(name)) isOrdered = false;
      const member = members[name];
      if (typeof member === 'object') visit(member, paths.below(path, `.${name}`, path.isRoot ? name : `.${name}`));
    }
  }
  if (!hasKeys(raw, keys)) isOrdered = false;
  const texts = isOrdered && bare === 0 ? numbersIn(raw, amounts, money) : undefined;
  const isAll = texts?.length === amounts.length;
  let numbers: readonly string[] | undefined;
  return {
    ...{ value: parsed, amounts, isOrdered, decimals: isAll ? decimalsOf(texts, amounts) : undefined },
    get numbers() {
      return (numbers ??= texts?.map(normalised).toSorted());
    },
  };
}

/** A place in events: its path, and those below it that were met. */
interface Path {
  readonly text: string;
  readonly isRoot: boolean;
  readonly below: Map<string, Path>;
}

/** Paths that were met, each put together once. */
export class Paths {
  #root: Path = { text: '', isRoot: true, below: new Map() };
  #count = 0;

  root(): Path {
    if (this.#count > mostPaths) this.#root = { ...this.#root, below: new Map() };
    if (this.#root.below.size === 0) this.#count = 0;
    return this.#root;
  }

  /** @param step what leads there; @param text what the path has more */
  below({ text: above, below }: Path, step: string, text: string): Path {
    const known = below.get(step);
    if (known !== undefined) return known;
    const path = { text: (above + text).toWellFormed(), isRoot: false, below: new Map<string, Path>() };
    below.set(step, path);
    this.#count++;
    return path;
  }
}

/** Paths that are remembered at most: those of hostile events are all different. */
export const mostPaths = 100_000;

/** Whether a key is an index, which JSON.parse puts before the others. */
function isIndex(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39 && /^(0|[1-9]\d*)$/.test(key);
}

/** The same; what is wrong with the text where it isn't JSON. */
export function walkedOf(raw: string, money: MoneyKeys, paths?: Paths): Walked | string {
  try {
    return walkMoney(raw, money, paths);
  } catch (error) {
    return `raw is not JSON: ${(error as SyntaxError).message}`;
  }
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
function numbersIn(raw: string, amounts: readonly WalkedAmount[], money: MoneyKeys): readonly string[] | undefined {
  const amount = new RegExp(`"${money.amount}"\\s*:\\s*(?:(${jsonNumber})|"(${jsonNumber})")`, 'g');
  const numbers = Array.from(raw.matchAll(amount), ([, number, text = '']) => number ?? text);
  return numbers.length === amounts.filter(({ amount }) => amount !== null).length ? numbers : undefined;
}

/** Numbers of the text as DECIMAL(18,6) writes them, where they are the amounts in this order; see `Walked`. */
function decimalsOf(numbers: readonly string[], amounts: readonly WalkedAmount[]): readonly string[] | undefined {
  const decimals: string[] = [];
  for (const [at, number] of numbers.entries()) {
    const [, whole = '', fraction = ''] = /^(-?(?:0|[1-9]\d{0,11}))(?:\.(\d{1,6}))?$/.exec(number) ?? [];
    if (whole === '' || Number(number) !== amounts[at]?.amount) return undefined;
    decimals.push(`${whole}.${fraction.padEnd(6, '0')}`);
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
