import { type EventListName, recordOf, type Role } from '../../../src/sources/finances/api-v0/event-records.js';
import { createSeller, type Seller, type SellerOptions } from '../../../src/emulator/seller/seller.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import { type HandClock, handClock } from '../../serve/http/hand-clock.js';

export const day = 86_400_000;
/** In the middle of a day, of a second even. */
export const noon = Date.parse('2025-06-15T12:34:56.789Z');
export const ever = { start: 0, end: Date.parse('2100-01-01') };

export interface Shop {
  readonly seller: Seller;
  readonly clock: HandClock;
}

/** A seller of every oddity, unless another profile is named. */
export function open(options: Omit<SellerOptions, 'profile'> & Partial<SellerOptions>, now = noon): Shop {
  const clock = handClock(now);
  return { seller: createSeller({ profile: 'edge-cases', ...options }, clock), clock };
}

/** All pages of one question. Throws where there is nothing to ask. */
export async function readAll(
  ask: (query: BackendQuery) => Promise<BackendPage | undefined>,
  { limit = () => 100, asOf = noon }: { limit?: () => number; asOf?: number } = {},
): Promise<BackendItem[]> {
  const items: BackendItem[] = [];
  let cursor: string | undefined;
  do {
    const most = limit();
    const page = await ask({ cursor, limit: most, asOf });
    if (page === undefined) throw new Error('There is no such thing');
    if (page.items.length > most) throw new Error(`Asked for ${most} items, got ${page.items.length}`);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = Readonly<Record<string, Json>>;

/** The JSON with the text of each amount in place of its number. */
export function parse(json: string): JsonObject {
  return JSON.parse(json.replaceAll(/"([Cc])urrencyAmount":([-+.\deE]+)/g, '"$1urrencyAmount":"$2"')) as JsonObject;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A decimal number's text in millionths. Throws where six digits behind the point don't hold it. */
export function microsOf(text: string): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  if (whole === '') throw new Error(`${text} is not the text of a JSON number`);
  const shift = Number(exponent) - fraction.length + 6;
  const digits = BigInt(sign + whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  if (digits % divisor !== 0n) throw new Error(`${text} has more than six digits behind the point`);
  return digits / divisor;
}

export function textOf(value: Json | undefined): string {
  if (typeof value !== 'string') throw new Error(`${JSON.stringify(value)} is no text`);
  return value;
}

export function moneyOf(value: Json | undefined): bigint {
  const amount = isObject(value) ? value['CurrencyAmount'] : undefined;
  if (typeof amount !== 'string') throw new Error(`${JSON.stringify(value)} is no money`);
  return microsOf(amount);
}

export interface ReadAmount {
  readonly path: string;
  readonly role: Role;
  readonly currency: Json | undefined;
  readonly micros: bigint;
}

/** The amounts in an event's JSON, in its order, with their roles from the table of records. */
export function amountsOf({ list, json }: BackendItem): ReadAmount[] {
  return amountsIn(list, parse(json));
}

/** The same of an event whose JSON was read by `parse`. */
export function amountsIn(list: string, event: JsonObject): ReadAmount[] {
  const roles = new Map(recordOf(list)?.amounts.map(({ path, role }) => [path, role]));
  const found: ReadAmount[] = [];
  function walk(value: Json, path: string): void {
    if (Array.isArray(value)) for (const element of value as Json[]) walk(element, `${path}[]`);
    else if (isObject(value) && 'CurrencyAmount' in value) {
      found.push({ path, role: roles.get(path) ?? 'unknown', currency: value['CurrencyCode'], micros: moneyOf(value) });
    } else if (isObject(value)) {
      for (const [key, member] of Object.entries(value)) walk(member, path === '' ? key : `${path}.${key}`);
    }
  }
  walk(event, '');
  return found;
}

export function netOf(item: BackendItem): bigint {
  return amountsOf(item).reduce((sum, { role, micros }) => (role === 'net' ? sum + micros : sum), 0n);
}

/** The event's own date in milliseconds since 1970, or undefined where its list has none. */
export function dateOf({ list, json }: BackendItem): number | undefined {
  const field = recordOf(list)?.date;
  return field === undefined ? undefined : Date.parse(textOf(parse(json)[field]));
}

/** The order ids of 3-7-7 digits in an event. */
export function orderIdsOf({ list, json }: BackendItem): string[] {
  const event = parse(json);
  const ids = recordOf(list)?.orderIds.map((field) => event[field]) ?? [];
  return [...new Set(ids.filter((id): id is string => typeof id === 'string' && /^\d{3}-\d{7}-\d{7}$/.test(id)))];
}

/** The numbers over and over, one a call. */
export function cycle(numbers: readonly number[]): () => number {
  let n = 0;
  return () => numbers[n++ % numbers.length] ?? 1;
}

/** What tells an item from others. */
export function text({ list, json }: BackendItem): string {
  return `${list} ${json}`;
}

export const dateless: readonly EventListName[] = [
  'ServiceFeeEventList',
  'LoanServicingEventList',
  'DebtRecoveryEventList',
];
