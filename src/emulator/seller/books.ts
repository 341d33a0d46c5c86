import type { EventListName } from '../../sources/finances/model/records.js';
import type { InstantRange } from '../../serve/http/ledger.js';
import { BookDraft } from './book-draft.js';
import type { EventFacts, Events } from './event-stream.js';
import type { History } from './history.js';
import { SumDraft } from './sum-draft.js';

/** An event as the seller booked it. */
export interface BookedEvent {
  /** Milliseconds since 1970: its date, or the hidden instant of one without a date. */
  readonly at: number;
  readonly list: EventListName;
  readonly groupId: string;
  /** The order that it is about, 3-7-7 digits. */
  readonly orderId: string | undefined;
  readonly currency: string;
  /** What it adds to the balance, in millionths. */
  readonly net: bigint;
}

/** An amount as the seller booked it. */
export interface BookedEntry extends Omit<BookedEvent, 'net'> {
  /** Relative to the event; `[]` marks an element of an array. */
  readonly path: string;
  readonly role: 'net' | 'memo';
  readonly micros: bigint;
}

/**
 * The seller's own books, which no JSON went through: what to hold a lake against. All that has happened by the
 * clock's now, in the order of the service. Nothing is held in memory but the sums.
 */
export interface Books {
  eventsBooked(range: InstantRange): Iterable<BookedEvent>;
  /** Amounts, event by event, each event's in the order of its JSON. */
  entriesBooked(range: InstantRange): Iterable<BookedEntry>;
  /** How many events each list has; lists without any are missing. */
  countByList(range: InstantRange): Map<EventListName, number>;
  /** Net millionths by UTC month (`2025-03`) of the event's instant, and by currency. */
  netByMonth(range: InstantRange): Map<string, Map<string, bigint>>;
  /** Net millionths of the range's events by group. */
  netByGroup(range: InstantRange): Map<string, bigint>;
  /** The orders that the range's events are about. */
  orderIds(range: InstantRange): Set<string>;
}

type Labels = Omit<BookedEvent, 'net'>;

function addTo<K>(sums: Map<K, bigint>, key: K, amount: bigint): void {
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

/** The books over a seller's events; `history` gives what has happened by now. */
export function createBooks(events: Events, history: () => History): Books {
  const orderIdOf = ({ order }: EventFacts) => (order === undefined ? undefined : events.orderIds.idOf(order));
  const labelsOf = (event: EventFacts): Labels => ({
    at: event.at,
    list: event.list,
    groupId: events.periods.idOf(events.periods.at(event.market, event.at)),
    orderId: orderIdOf(event),
    currency: event.market.currency,
  });
  function* eventsBooked(range: InstantRange): Generator<BookedEvent> {
    const draft = new SumDraft();
    for (const event of history().events(range)) {
      events.write(event, draft);
      yield { ...labelsOf(event), net: BigInt(draft.sum) };
    }
  }

  return {
    eventsBooked,
    *entriesBooked(range) {
      const draft = new BookDraft();
      for (const event of history().events(range)) {
        events.write(event, draft);
        const labels = labelsOf(event);
        for (const amount of draft.amounts) yield { ...labels, ...amount };
      }
    },
    countByList: (range) => {
      const counts = new Map<EventListName, number>();
      for (const { list } of history().events(range)) counts.set(list, (counts.get(list) ?? 0) + 1);
      return counts;
    },
    netByMonth: (range) => {
      const months = new Map<string, Map<string, bigint>>();
      for (const { at, currency, net } of eventsBooked(range)) {
        const month = new Date(at).toISOString().slice(0, 7);
        const sums = months.get(month) ?? new Map<string, bigint>();
        months.set(month, sums);
        addTo(sums, currency, net);
      }
      return months;
    },
    netByGroup: (range) => {
      const sums = new Map<string, bigint>();
      for (const { groupId, net } of eventsBooked(range)) addTo(sums, groupId, net);
      return sums;
    },
    orderIds: (range) => {
      const ids = new Set<string>();
      for (const event of history().events(range)) {
        const id = orderIdOf(event);
        if (id !== undefined) ids.add(id);
      }
      return ids;
    },
  };
}
