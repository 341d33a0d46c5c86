import { parseInstant } from '../../core/numeric/instant.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { InstantRange, Ledger, LedgerItem, LedgerPage } from '../../serve/http/ledger.js';
import type { FaultInjector } from './fault-injector.js';
import { faultyTransactions } from './faulty-transactions.js';

const hour = 3_600_000;
const day = 24 * hour;

/** A list of events that the live service sends and its public model lacks. */
export const unknownList = 'PerformanceBondRefundEventList';

/** Members that hold the date of an event, by which faults hide it. */
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
  const kept = [...tape.keys(0)].filter((key) => tape.stringValue(key) !== name);
  return `{${kept.map((key) => `${tape.text(key)}:${tape.text(key + 1)}`).join(',')}}`;
}

/**
 * A ledger with the live service's worst behaviour: late events, a limited history, groups without a total, events in
 * an unknown list. Whether an event is hidden depends on its content and the instant of the chain's first request, so
 * that all pages of a chain are consistent and all operations hide the same events. An event without a date is never
 * late or too old. A page may have fewer items than requested.
 */
export function faultyLedger(ledger: Ledger, injector: FaultInjector): Ledger {
  const on = {
    deferred: injector.has('deferred-events'),
    recent: injector.has('recent-incomplete'),
    total: injector.has('total-missing'),
    list: injector.has('unknown-list'),
    history: injector.has('history-limit'),
  };
  const byTransaction = ledger.byTransaction && faultyTransactions(ledger.byTransaction, injector);
  if (!Object.values(on).includes(true) && byTransaction === ledger.byTransaction) return ledger;
  const oldest = (asOf: number) => (on.history ? asOf - injector.amount('history-limit') * day : -Infinity);

  function isHidden({ list, json }: LedgerItem, asOf: number): boolean {
    if (!on.deferred && !on.recent && !on.history) return false;
    const date = instantIn(membersOf(json), dateNames);
    if (date === undefined) return false;
    if (date < oldest(asOf)) {
      injector.count('history-limit');
      return true;
    }
    const key = list + json;
    const lateBy = (kind: 'deferred-events' | 'recent-incomplete', ms: number) => {
      const hidden = asOf < date + ms && injector.hitsItem(kind, key);
      if (hidden) injector.count(kind);
      return hidden;
    };
    // The hour of arrival uses a second random number, independent of the one that selected the event.
    const arrives = injector.chance('recent-incomplete', key, 'arrival') * injector.amount('recent-incomplete') * hour;
    return lateBy('deferred-events', injector.amount('deferred-events') * day) || lateBy('recent-incomplete', arrives);
  }

  function shownEvent(item: LedgerItem): LedgerItem {
    if (!on.list || !injector.hitsItem('unknown-list', item.list + item.json)) return item;
    injector.count('unknown-list');
    return { ...item, list: unknownList };
  }

  function shownGroup(item: LedgerItem, asOf: number): LedgerItem {
    if (!on.total) return item;
    const members = membersOf(item.json);
    const ended = instantIn(members, ['FinancialEventGroupEnd']);
    const isFresh = ended !== undefined && ended <= asOf && asOf < ended + injector.amount('total-missing') * hour;
    const id = String(members['FinancialEventGroupId']);
    if (!isFresh || members['OriginalTotal'] === undefined || !injector.hitsItem('total-missing', id)) return item;
    injector.count('total-missing');
    return { ...item, json: withoutMember(item.json, 'OriginalTotal') };
  }

  const eventsOf = ({ items, next }: LedgerPage, asOf: number): LedgerPage => ({
    items: items.filter((item) => !isHidden(item, asOf)).map(shownEvent),
    next,
  });

  /** Asks for the part of a range that isn't older than the history limit. */
  async function within(
    { from, to }: InstantRange,
    asOf: number,
    ask: (range: InstantRange) => Promise<LedgerPage>,
  ): Promise<LedgerPage> {
    const range = { from: Math.max(from, oldest(asOf)), to };
    if (range.from > from) injector.count('history-limit');
    return range.from < to ? ask(range) : { items: [], next: undefined };
  }

  return {
    byTransaction,
    groups: async (range, query) => {
      const page = await within(range, query.asOf, (left) => ledger.groups(left, query));
      return { ...page, items: page.items.map((item) => shownGroup(item, query.asOf)) };
    },
    events: async (range, query) =>
      eventsOf(await within(range, query.asOf, (left) => ledger.events(left, query)), query.asOf),
    eventsOfGroup: async (groupId, query, range) => {
      const page = await ledger.eventsOfGroup(groupId, query, range);
      return page && eventsOf(page, query.asOf);
    },
    eventsOfOrder: async (orderId, query) => {
      const page = await ledger.eventsOfOrder(orderId, query);
      return page && eventsOf(page, query.asOf);
    },
  };
}
