import { parseInstant } from '../../core/numeric/instant.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type {
  InstantRange,
  Ledger,
  LedgerItem,
  LedgerPage,
  LedgerQuery,
  TransactionLedger,
} from '../../serve/http/ledger.js';
import { dayMs, hourMs } from '../../core/windows.js';
import type { FaultInjector } from './fault-injector.js';
import type { FaultKind } from './fault-settings.js';
import { faultyTransactions } from './faulty-transactions.js';

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

/** Kinds of faults that change what a ledger has. */
const ledgerFaults: readonly FaultKind[] = [
  'deferred-events',
  'recent-incomplete',
  'total-missing',
  'unknown-list',
  'history-limit',
];

/**
 * A ledger with the live service's worst behaviour: late events, a limited history, groups without a total, events in
 * an unknown list. Whether an event is hidden depends on its content and the instant of the chain's first request, so
 * that all pages of a chain are consistent and all operations hide the same events. An event without a date is never
 * late or too old. A page may have fewer items than requested.
 */
export function faultyLedger(ledger: Ledger, injector: FaultInjector): Ledger {
  const byTransaction = ledger.byTransaction && faultyTransactions(ledger.byTransaction, injector);
  const isFaulty = ledgerFaults.some((kind) => injector.has(kind)) || byTransaction !== ledger.byTransaction;
  return isFaulty ? new FaultyLedger(ledger, byTransaction, injector) : ledger;
}

class FaultyLedger implements Ledger {
  readonly byTransaction: TransactionLedger | undefined;
  readonly #ledger: Ledger;
  readonly #injector: FaultInjector;

  constructor(ledger: Ledger, byTransaction: TransactionLedger | undefined, injector: FaultInjector) {
    this.#ledger = ledger;
    this.byTransaction = byTransaction;
    this.#injector = injector;
  }

  async groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    const page = await this.#recent(range, query, (recent) => this.#ledger.groups(recent, query));
    return { ...page, items: page.items.map((item) => this.#sentGroup(item, query.asOf)) };
  }

  async events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    const page = await this.#recent(range, query, (recent) => this.#ledger.events(recent, query));
    return this.#sentEvents(page, query);
  }

  async eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined> {
    const page = await this.#ledger.eventsOfGroup(groupId, query, range);
    return page && this.#sentEvents(page, query);
  }

  async eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined> {
    const page = await this.#ledger.eventsOfOrder(orderId, query);
    return page && this.#sentEvents(page, query);
  }

  /** Requests the page of a range without what is older than the history limit. */
  async #recent(
    { from, to }: InstantRange,
    { asOf }: LedgerQuery,
    ask: (range: InstantRange) => Promise<LedgerPage>,
  ): Promise<LedgerPage> {
    const range = { from: Math.max(from, this.#injector.oldest(asOf)), to };
    if (range.from > from) this.#injector.count('history-limit');
    return range.from < to ? ask(range) : { items: [], next: undefined };
  }

  #sentEvents({ items, next }: LedgerPage, { asOf }: LedgerQuery): LedgerPage {
    const visible = items.filter((item) => !this.#isHidden(item, asOf));
    return { items: visible.map((item) => this.#sentEvent(item)), next };
  }

  #isHidden({ list, json }: LedgerItem, asOf: number): boolean {
    const injector = this.#injector;
    const hiding = ['deferred-events', 'recent-incomplete', 'history-limit'] as const;
    if (!hiding.some((kind) => injector.has(kind))) return false;
    const date = instantIn(membersOf(json), dateNames);
    if (date === undefined) return false;
    if (injector.hidesOld(date, asOf)) return true;
    const key = list + json;
    const isDeferred =
      asOf < date + injector.amount('deferred-events') * dayMs && injector.hitsItem('deferred-events', key);
    if (isDeferred) injector.count('deferred-events');
    return isDeferred || injector.hidesRecent(key, date, asOf);
  }

  #sentEvent(item: LedgerItem): LedgerItem {
    if (!this.#injector.hitsItem('unknown-list', item.list + item.json)) return item;
    this.#injector.count('unknown-list');
    return { ...item, list: unknownList };
  }

  #sentGroup(item: LedgerItem, asOf: number): LedgerItem {
    const injector = this.#injector;
    if (!injector.has('total-missing')) return item;
    const members = membersOf(item.json);
    const end = instantIn(members, ['FinancialEventGroupEnd']);
    const isFresh = end !== undefined && end <= asOf && asOf < end + injector.amount('total-missing') * hourMs;
    const id = String(members['FinancialEventGroupId']);
    if (!isFresh || members['OriginalTotal'] === undefined || !injector.hitsItem('total-missing', id)) return item;
    injector.count('total-missing');
    return { ...item, json: withoutMember(item.json, 'OriginalTotal') };
  }
}
