import { monthOf, type Window } from '../../../src/core/windows.js';
import type { EventFacts } from '../../../src/emulator/seller/event-stream.js';
import type { EventSink, EventLineKind, Weight } from '../../../src/emulator/seller/event-writer.js';
import type { Seller } from '../../../src/emulator/seller/seller.js';
import { SumSink } from '../../../src/emulator/seller/settlement-groups.js';
import type { EventListName } from '../../../src/sources/finances/api-v0/event-records.js';

const ignore = () => undefined;

/** An amount of an event, without the event. */
interface PathAmount {
  /** Relative to the event; `[]` marks an element of an array. */
  readonly path: string;
  readonly role: Weight;
  /** Millionths. */
  readonly micros: bigint;
}

/** Lists the amounts of an event with their paths, in the order of the event's JSON. */
class AmountSink implements EventSink {
  amounts: PathAmount[] = [];
  readonly text = ignore;
  readonly words = ignore;
  readonly number = ignore;
  readonly instant = ignore;
  readonly order = ignore;
  readonly beginElement = ignore;
  readonly endElement = ignore;
  readonly #parents: string[] = [];

  begin(): void {
    this.amounts = [];
  }

  net(key: string, millionths: number): void {
    this.#add(key, 'net', millionths);
  }

  memo(key: string, millionths: number): void {
    this.#add(key, 'memo', millionths);
  }

  line(kind: EventLineKind, _type: string, millionths: number, weight: Weight): void {
    this.#add(`${kind}Amount`, weight, millionths);
  }

  beginObject(key: string): void {
    this.#parents.push(key);
  }

  endObject(): void {
    this.#parents.pop();
  }

  beginList(key: string): void {
    this.#parents.push(`${key}[]`);
  }

  endList(): void {
    this.#parents.pop();
  }

  #add(key: string, role: Weight, millionths: number): void {
    this.amounts.push({ path: [...this.#parents, key].join('.'), role, micros: BigInt(millionths) });
  }
}

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
export interface BookedEntry extends Omit<BookedEvent, 'net'>, PathAmount {}

/**
 * The seller's books, which are written without JSON: what a lake is compared with. They have all that happened until the
 * clock's now, in the order of the service, and keep nothing in memory but sums.
 */
export interface Books {
  eventsBooked(range: Window): Iterable<BookedEvent>;
  /** Amounts, event by event, each event's in the order of its JSON. */
  entriesBooked(range: Window): Iterable<BookedEntry>;
  /** How many events each list has; lists without any are missing. */
  countByList(range: Window): Map<EventListName, number>;
  /** Net millionths by UTC month (`2025-03`) of the event's instant, and by currency. */
  netByMonth(range: Window): Map<string, Map<string, bigint>>;
  /** Net millionths of the range's events by group. */
  netByGroup(range: Window): Map<string, bigint>;
  /** The orders that the range's events are about. */
  orderIds(range: Window): Set<string>;
}

function addTo<K>(sums: Map<K, bigint>, key: K, amount: bigint): void {
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

/** The books over a synthetic seller's events, up to now. */
export function booksOf({ stream: events, history }: Seller): Books {
  const orderIdOf = ({ order }: EventFacts) => (order === undefined ? undefined : events.orderIds.idOf(order));
  const labelsOf = (event: EventFacts): Omit<BookedEvent, 'net'> => ({
    at: event.at,
    list: event.list,
    groupId: events.periods.idOf(events.periods.at(event.marketplace, event.at)),
    orderId: orderIdOf(event),
    currency: event.marketplace.currency,
  });
  function* eventsBooked(range: Window): Generator<BookedEvent> {
    const sink = new SumSink();
    for (const event of history().events(range)) {
      events.write(event, sink);
      yield { ...labelsOf(event), net: BigInt(sink.sum) };
    }
  }

  return {
    eventsBooked,
    *entriesBooked(range) {
      const sink = new AmountSink();
      for (const event of history().events(range)) {
        events.write(event, sink);
        const labels = labelsOf(event);
        for (const amount of sink.amounts) yield { ...labels, ...amount };
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
        const month = monthOf(at);
        const sums = months.get(month) ?? new Map<string, bigint>();
        addTo(sums, currency, net);
        months.set(month, sums);
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
