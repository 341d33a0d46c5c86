import { parseInstant } from '../../core/numeric/instant.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../serve/operation/backend-page.js';
import type { EventBackend } from '../../serve/api-v0/event-backend.js';
import { dayMs, hourMs, type Window } from '../../core/windows.js';
import type { FaultInjector } from './fault-injector.js';
import { itemOrder, reordered, type ItemOrder } from './item-order.js';

/** A list of events that the live service sends and its public model lacks. */
export const unknownList = 'PerformanceBondRefundEventList';

/** Members with the date of an event, by which faults hide it. */
const dateNames = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];

type Members = Readonly<Record<string, unknown>>;

function membersOf(json: string): Members {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function instantIn(members: Members, names: readonly string[]): number | undefined {
  const text = names.map((name) => members[name]).find((value) => typeof value === 'string');
  return text === undefined ? undefined : parseInstant(text);
}

/** An object's JSON without one member; all others unchanged, byte for byte. */
export function withoutMember(json: string, name: string): string {
  const tape = new Tape();
  scan(Buffer.from(json), tape);
  const others = [...tape.keys(0)].filter((key) => tape.stringValue(key) !== name);
  return `{${others.map((key) => `${tape.text(key)}:${tape.text(key + 1)}`).join(',')}}`;
}

/**
 * Events and groups with the live service's worst behaviour: late events, a limited history, groups without a total, events
 * in an unknown list, another order. Whether an event is hidden depends on its content and the instant of the chain's first
 * request, so that all pages of a chain are consistent and all operations hide the same events. An event without a date is
 * never late or too old. A page may have fewer items than requested.
 */
export function faultyEvents(backend: EventBackend, injector: FaultInjector): EventBackend {
  const faulty = withFaults(backend, injector);
  const order = itemOrder(injector);
  return order === undefined ? faulty : withOrder(faulty, order);
}

function withFaults(backend: EventBackend, injector: FaultInjector): EventBackend {
  /** Requests the page of a range without what is older than the history limit. */
  async function recent(
    { start, end }: Window,
    { asOf }: BackendQuery,
    ask: (range: Window) => Promise<BackendPage>,
  ): Promise<BackendPage> {
    const range = { start: Math.max(start, injector.oldest(asOf)), end };
    if (range.start > start) injector.count('history-limit');
    return range.start < end ? ask(range) : { items: [], next: undefined };
  }

  const sentEvents = ({ items, next }: BackendPage, { asOf }: BackendQuery) => ({
    items: items.filter((item) => !isHidden(injector, item, asOf)).map((item) => sentEvent(injector, item)),
    next,
  });
  return {
    groups: async (range, query) => {
      const page = await recent(range, query, (instants) => backend.groups(instants, query));
      return { ...page, items: page.items.map((item) => sentGroup(injector, item, query.asOf)) };
    },
    events: async (range, query) =>
      sentEvents(await recent(range, query, (instants) => backend.events(instants, query)), query),
    eventsOfGroup: async (groupId, query, range) => {
      const page = await backend.eventsOfGroup(groupId, query, range);
      return page && sentEvents(page, query);
    },
    eventsOfOrder: async (orderId, query) => {
      const page = await backend.eventsOfOrder(orderId, query);
      return page && sentEvents(page, query);
    },
  };
}

function withOrder(backend: EventBackend, order: ItemOrder): EventBackend {
  return {
    groups: (range, query) => reordered(order, query, (each) => backend.groups(range, each)),
    events: (range, query) => reordered(order, query, (each) => backend.events(range, each)),
    eventsOfGroup: async (groupId, query, range) => {
      const first = await backend.eventsOfGroup(groupId, { ...query, cursor: undefined }, range);
      const ask = async (each: BackendQuery) => (await backend.eventsOfGroup(groupId, each, range)) ?? empty;
      return first && reordered(order, query, ask);
    },
    eventsOfOrder: async (orderId, query) => {
      const first = await backend.eventsOfOrder(orderId, { ...query, cursor: undefined });
      return first && reordered(order, query, async (each) => (await backend.eventsOfOrder(orderId, each)) ?? empty);
    },
  };
}

const empty: BackendPage = { items: [], next: undefined };

function isHidden(injector: FaultInjector, { list, json }: BackendItem, asOf: number): boolean {
  const date = instantIn(membersOf(json), dateNames);
  if (date === undefined) return false;
  if (injector.hidesOld(date, asOf)) return true;
  const key = list + json;
  const isDeferred =
    asOf < date + injector.amount('deferred-events') * dayMs && injector.hitsItem('deferred-events', key);
  if (isDeferred) injector.count('deferred-events');
  return isDeferred || injector.hidesRecent(key, date, asOf);
}

function sentEvent(injector: FaultInjector, item: BackendItem): BackendItem {
  if (!injector.hitsItem('unknown-list', item.list + item.json)) return item;
  injector.count('unknown-list');
  return { ...item, list: unknownList };
}

function sentGroup(injector: FaultInjector, item: BackendItem, asOf: number): BackendItem {
  if (!injector.has('total-missing')) return item;
  const members = membersOf(item.json);
  const end = instantIn(members, ['FinancialEventGroupEnd']);
  const isFresh = end !== undefined && end <= asOf && asOf < end + injector.amount('total-missing') * hourMs;
  const id = String(members['FinancialEventGroupId']);
  if (!isFresh || members['OriginalTotal'] === undefined || !injector.hitsItem('total-missing', id)) return item;
  injector.count('total-missing');
  return { ...item, json: withoutMember(item.json, 'OriginalTotal') };
}
