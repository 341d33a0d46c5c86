import { createHash } from 'node:crypto';
import { recordOf } from '../../sources/finances/model/records.js';
import { fitsDecimal, normalised, walkMoney, type WalkedAmount } from './money-walk.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** A row of an events table. */
export interface EventRow {
  readonly eventId: string;
  readonly contentHash: string;
  readonly list: string;
  readonly isDated: boolean;
  /** Milliseconds since 1970. */
  readonly windowStart: number | null;
  readonly groupId: string | null;
  readonly requestedOrderId: string | null;
  readonly raw: string;
}

/** A row of an entries table. */
export interface EntryRow {
  readonly entry: number;
  readonly path: string;
  readonly role: string;
  readonly kind: string;
  /** Decimal text. */
  readonly amount: string | null;
  readonly amountText: string | null;
  readonly currency: string | null;
}

/** What is wrong with an event's hash or id, or undefined. */
export function idFault(event: EventRow): string | undefined {
  const hash = createHash('sha256').update(event.list).update('\0').update(event.raw);
  const content = hash.copy().digest('hex').slice(0, 32);
  if (content !== event.contentHash) return `content_hash is ${event.contentHash}, raw gives ${content}`;
  const owner = event.requestedOrderId ?? event.groupId;
  const own =
    event.isDated || event.windowStart === null
      ? content
      : hash
          .update(`\0${isoInstant(event.windowStart)}`)
          .digest('hex')
          .slice(0, 32);
  const id = owner === null ? own : `${owner}:${own}`;
  const rest = event.eventId.startsWith(id) ? event.eventId.slice(id.length) : undefined;
  if (rest === '' || (rest !== undefined && suffix(rest) >= 2)) return undefined;
  return `event_id is ${event.eventId}, raw gives ${id}`;
}

/** The number of the second, third … identical event, as it ends an `event_id`; NaN where there is none. */
function suffix(text: string): number {
  return Number(/^-([1-9]\d*)$/.exec(text)?.[1] ?? Number.NaN);
}

/** What is wrong with the entries of an event, or undefined: each money object of `raw` must be one, to the digit. */
export function entriesFault(raw: string, entries: readonly EntryRow[]): string | undefined {
  let walked;
  try {
    walked = walkMoney(raw);
  } catch (error) {
    return `raw is no JSON: ${(error as SyntaxError).message}`;
  }
  const { amounts, isOrdered, numbers } = walked;
  if (amounts.length !== entries.length) return `raw has ${amounts.length} amounts, entries ${entries.length}`;
  const odd = entries.findIndex(({ entry }, index) => entry !== index);
  if (odd >= 0) return `expected entry ${odd}, found ${entries[odd]?.entry ?? 'none'}`;
  const inText = isOrdered ? amounts : amounts.toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  const inTable = isOrdered ? entries : entries.toSorted((a, b) => compare(rowKey(a), rowKey(b)));
  for (const [index, amount] of inText.entries()) {
    const fault = amountFault(amount, inTable[index]);
    if (fault !== undefined) return `${amount.path}: ${fault}`;
  }
  const held = entries.flatMap(({ amount, amountText }) => amount ?? amountText ?? []).map(normalised);
  if (numbers !== undefined && numbers.join() !== held.toSorted().join()) return 'amounts differ in digits from raw';
  return undefined;
}

function amountFault(amount: WalkedAmount, row: EntryRow | undefined): string | undefined {
  if (row === undefined) return 'no entry';
  if (row.path !== amount.path) return `the entry says ${row.path}`;
  if (row.currency !== amount.currency) return `currency ${String(amount.currency)}, entry ${String(row.currency)}`;
  if (amount.amount === null) {
    return row.amount === null && row.amountText === null ? undefined : `no number, entry ${String(row.amount)}`;
  }
  if (row.amount !== null && row.amountText !== null) return `${row.amount} and amount_text ${row.amountText}`;
  const text = row.amount ?? row.amountText;
  if (text === null) return `${amount.amount}, entry without an amount`;
  if (Number(text) !== amount.amount) return `${amount.amount}, entry ${text}`;
  if (row.amountText !== null && fitsDecimal(row.amountText))
    return `amount_text ${row.amountText}, which amount holds`;
  return undefined;
}

/** What is wrong with the role or kind of an event's entries, or undefined. */
export function rolesFault(list: string, entries: readonly EntryRow[]): string | undefined {
  const known = recordOf(list)?.amounts;
  for (const { path, role, kind } of entries) {
    const place = known?.find((amount) => amount.path === path);
    const expected = `${place?.role ?? 'unknown'} ${place?.kind ?? 'unknown'}`;
    if (`${role} ${kind}` !== expected) return `${list} ${path}: expected ${expected}, found ${role} ${kind}`;
  }
  return undefined;
}

function keyOf({ path, amount, currency }: WalkedAmount): string {
  return JSON.stringify([path, amount === null ? null : String(amount + 0), currency]);
}

function rowKey({ path, amount, amountText, currency }: EntryRow): string {
  const text = amount ?? amountText;
  return keyOf({ path, amount: text === null ? null : Number(text), currency });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
