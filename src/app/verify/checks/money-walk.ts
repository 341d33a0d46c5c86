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
export function walkMoney(raw: string, money = eventMoney): Walked {
  const amounts: WalkedAmount[] = [];
  let isOrdered = true;
  let keys = 0;
  let bare = 0;
  const parsed: unknown = JSON.parse(raw);
  const waiting: { value: unknown; path: string | undefined }[] = [{ value: parsed, path: undefined }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      const items: unknown[] = value;
      for (const item of items.toReversed()) waiting.push({ value: item, path: `${path ?? ''}[]` });
      continue;
    }
    const members = Object.entries(value as Readonly<Record<string, unknown>>);
    keys += members.length;
    if (members.some(([key]) => /^(0|[1-9]\d*)$/.test(key))) isOrdered = false;
    const code = members.find(([key]) => key === money.code);
    const amount = members.find(([key]) => key === money.amount);
    if (code !== undefined && amount !== undefined) {
      amounts.push({
        path: (path ?? '').toWellFormed(),
        amount: numberOf(amount[1]),
        currency: typeof code[1] === 'string' ? code[1].toWellFormed() : null,
      });
    } else if (amount !== undefined && numberOf(amount[1]) !== null) bare++;
    for (const [key, member] of members.toReversed()) {
      waiting.push({ value: member, path: path === undefined ? key : `${path}.${key}` });
    }
  }
  if (keysIn(raw) !== keys) isOrdered = false;
  const numbers = isOrdered && bare === 0 ? numbersIn(raw, amounts, money) : undefined;
  return { value: parsed, amounts, isOrdered, numbers };
}

/** The same; what is wrong with the text where it isn't JSON. */
export function walkedOf(raw: string, money: MoneyKeys): Walked | string {
  try {
    return walkMoney(raw, money);
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
  const numbers = [...raw.matchAll(amount)].map(([, number, text = '']) => normalised(number ?? text));
  return numbers.length === amounts.filter(({ amount }) => amount !== null).length ? numbers.toSorted() : undefined;
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
