import { createHash } from 'node:crypto';
import { recordOf } from '../../src/sources/finances/api-v0/event-records.js';
import { amountsOf, firstString, wellFormed, type AmountColumns } from './entries.js';
import { instantOf } from './instants.js';
import { marketplaceIdOf } from './marketplaces.js';
import { memberOf, parseJsonText, type JsonNode } from './json-text.js';

/** What was asked for. Instants are microseconds since 1970. */
export interface ReferenceSlice {
  readonly windowStart: bigint | null;
  readonly windowEnd: bigint | null;
  /** Stands before every event id, its colon included; left out: nothing. */
  readonly idPrefix?: string;
  /** The group whose events these are. */
  readonly groupId?: string;
  /** The order whose events these are. */
  readonly requestedOrderId?: string;
}

/** A row of `events`, `group_events` or `order_events`: the keys are column names, instants microseconds since 1970. */
export interface ReferenceEvent {
  readonly content_hash: string;
  readonly event_id: string;
  readonly event_list: string;
  readonly posted_at: bigint | null;
  readonly effective_at: bigint | null;
  readonly amazon_order_id: string | null;
  readonly seller_order_id: string | null;
  readonly marketplace: string | null;
  readonly marketplace_id: string | null;
  readonly store: string | null;
  readonly group_id: string | null;
  readonly window_start: bigint | null;
  readonly window_end: bigint | null;
  readonly requested_order_id: string | null;
  readonly position: bigint;
  readonly raw: string;
}

type SharedColumns =
  | 'event_id'
  | 'event_list'
  | 'posted_at'
  | 'effective_at'
  | 'amazon_order_id'
  | 'marketplace'
  | 'marketplace_id'
  | 'group_id';

/** A row of `entries`, `group_entries` or `order_entries`. */
export type ReferenceEntry = Pick<ReferenceEvent, SharedColumns> & AmountColumns;

/** An event as it came. */
interface Received {
  readonly page: number;
  /** The list's name, decoded. */
  readonly list: string;
  readonly node: JsonNode;
  readonly raw: string;
  readonly postedAt: bigint | null;
}

/**
 * The rows that a slice's response bodies must come to, in the order of receipt: the contract's columns, one rule
 * after the other, slowly. It judges the product's flattener and therefore shares nothing with it but the tables of
 * records. Throws a SyntaxError for a body that isn't JSON.
 */
export function referenceRows(
  pages: readonly string[],
  slice: ReferenceSlice,
): { events: ReferenceEvent[]; entries: ReferenceEntry[] } {
  const received = pages.flatMap((body, page) => eventsOf(body, page));
  const ids = eventIds(received, slice);
  const events: ReferenceEvent[] = [];
  const entries: ReferenceEntry[] = [];
  for (const [position, event] of received.entries()) {
    const { list, node, raw, postedAt } = event;
    const row: ReferenceEvent = {
      content_hash: hashOf(list, raw),
      event_id: ids[position] ?? '',
      event_list: wellFormed(list),
      posted_at: postedAt,
      effective_at: postedAt ?? withinWindow(neighbouringInstant(event, received, slice), slice),
      amazon_order_id: firstString(node, orderIdFields(list)),
      seller_order_id: firstString(node, ['SellerOrderId', 'MerchantOrderId']),
      marketplace: firstString(node, ['MarketplaceName', 'MarketplaceId']),
      marketplace_id: marketplaceIdOf(
        [firstString(node, ['MarketplaceName', 'MarketplaceId']), firstString(node, ['StoreName', 'SellerStoreName'])],
        firstString(node, ['MarketplaceId', 'MarketplaceCountryCode']),
      ),
      store: firstString(node, ['StoreName', 'SellerStoreName']),
      group_id: slice.groupId ?? null,
      window_start: slice.windowStart,
      window_end: slice.windowEnd,
      requested_order_id: slice.requestedOrderId ?? null,
      position: BigInt(position),
      raw,
    };
    events.push(row);
    entries.push(...amountsOf(list, node).map((amount) => ({ ...sharedColumns(row), ...amount })));
  }
  return { events, entries };
}

function sharedColumns(row: ReferenceEvent): Pick<ReferenceEvent, SharedColumns> {
  const { event_id, event_list, posted_at, effective_at, amazon_order_id, marketplace, marketplace_id, group_id } = row;
  return { event_id, event_list, posted_at, effective_at, amazon_order_id, marketplace, marketplace_id, group_id };
}

/** The events of a body: list by list in the order of the text, of any type whatever. */
function eventsOf(body: string, page: number): Received[] {
  const lists = memberOf(memberOf(parseJsonText(body), 'payload'), 'FinancialEvents');
  if (lists?.type !== 'object') return [];
  return lists.members.flatMap(({ key: list, value }) =>
    elementsOf(value).map((node) => ({
      page,
      list,
      node,
      raw: body.slice(node.start, node.end),
      postedAt: postedAt(list, node),
    })),
  );
}

/** An array's elements; nothing for null; anything else stands for one event. */
function elementsOf(list: JsonNode): readonly JsonNode[] {
  if (list.type === 'array') return list.items;
  return list.type === 'literal' && list.value === null ? [] : [list];
}

function postedAt(list: string, event: JsonNode): bigint | null {
  const own = recordOf(list)?.date;
  const others = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];
  for (const field of own === undefined ? others : [own, ...others]) {
    const value = memberOf(event, field);
    const instant = value?.type === 'string' ? instantOf(value.value) : null;
    if (instant !== null) return instant;
  }
  return null;
}

function orderIdFields(list: string): readonly string[] {
  const known = recordOf(list)?.orderIds;
  const fields = known === undefined ? ['AmazonOrderId', 'OrderId'] : [...known, 'AmazonOrderId'];
  return fields.filter((field) => field !== 'SellerOrderId' && field !== 'MerchantOrderId');
}

function eventIds(received: readonly Received[], slice: ReferenceSlice): string[] {
  const seen = new Map<string, number>();
  return received.map(({ list, raw, postedAt }) => {
    const start = slice.windowStart;
    const hash = postedAt === null && start !== null ? hashOf(list, raw, isoOf(start)) : hashOf(list, raw);
    const count = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, count);
    return `${slice.idPrefix ?? ''}${hash}${count === 1 ? '' : `-${count}`}`;
  });
}

/** The first 128 bits of SHA-256 over the parts, a zero byte between them, in hex. */
function hashOf(...parts: string[]): string {
  return createHash('sha256')
    .update(Buffer.from(parts.join('\0'), 'utf8'))
    .digest('hex')
    .slice(0, 32);
}

/** ISO 8601 with milliseconds and `Z`. */
function isoOf(instant: bigint): string {
  const below = ((instant % 1000n) + 1000n) % 1000n;
  return new Date(Number((instant - below) / 1000n)).toISOString();
}

/** Where an event without a date stands by the dates of the others, page by page. */
function neighbouringInstant(event: Received, received: readonly Received[], slice: ReferenceSlice): bigint | null {
  const dated = received.flatMap(({ page, postedAt }) => (postedAt === null ? [] : [{ page, postedAt }]));
  const same = dated.filter(({ page }) => page === event.page);
  const before = dated.filter(({ page }) => page < event.page);
  const after = dated.filter(({ page }) => page > event.page);
  const next = after.filter(({ page }) => page === after[0]?.page);
  return (
    earliest(same.map(({ postedAt }) => postedAt)) ??
    latest(before.map(({ postedAt }) => postedAt)) ??
    earliest(next.map(({ postedAt }) => postedAt)) ??
    slice.windowStart
  );
}

function earliest(instants: readonly bigint[]): bigint | null {
  return instants.reduce<bigint | null>(
    (least, instant) => (least === null || instant < least ? instant : least),
    null,
  );
}

function latest(instants: readonly bigint[]): bigint | null {
  return instants.reduce<bigint | null>((most, instant) => (most === null || instant > most ? instant : most), null);
}

/** Only the window of `events` is one of dates; a group's start and end say nothing of when its events were posted. */
function withinWindow(instant: bigint | null, slice: ReferenceSlice): bigint | null {
  const { windowStart, windowEnd, groupId, requestedOrderId } = slice;
  if (instant === null || groupId !== undefined || requestedOrderId !== undefined) return instant;
  if (windowStart !== null && instant < windowStart) return windowStart;
  if (windowEnd !== null && instant >= windowEnd) return windowEnd - 1n;
  return instant;
}
