import { eventBatches } from '../finances/collectors.js';
import { eventIds } from '../finances/event-ids.js';
import { Flattener } from '../finances/flatten.js';
import type { Notices } from '../finances/notices.js';
import { eachEvent, type ScannedPage } from '../finances/page.js';
import { SliceRows } from '../finances/rows.js';
import { windowSource } from '../finances/sources.js';
import { entries, events } from '../finances/tables.js';
import type { Batch } from '../run/pipeline.js';
import { dayOf } from '../run/imported-days.js';
import { monthOf } from '../run/windows.js';
import { placedByPage } from './page-order.js';

/** What the parts of one input share: it is small, however much the input holds. */
export class EventProgress {
  /** The latest date of the nearest page that has one, in microseconds since 1970. */
  latest: bigint | undefined;
  /** Events so far by the start of their day. */
  readonly events = new Map<number, number>();
}

/** A month of a part, as batches: its entries first, if it has any. */
export interface MonthBatches {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** Made when they are asked for, so that one month's are in memory at a time. */
  readonly batches: () => readonly Batch[];
}

export interface FinishedPart {
  readonly months: readonly MonthBatches[];
  /** Events that were left out, by the start of their day. */
  readonly leftOut: ReadonlyMap<number, number>;
}

/**
 * The events of some of an input's pages, as many as memory is to hold. They come by the one way that pages of the service
 * come by; but nobody knows what they were asked for, so each UTC day is a window of its own.
 */
export class EventPart {
  /** Bytes of the pages taken in. */
  bytes = 0;
  readonly #rows = new SliceRows();
  readonly #flattener: Flattener;
  readonly #progress: EventProgress;
  #dated = 0;

  constructor(notices: Notices, progress: EventProgress) {
    this.#flattener = new Flattener(this.#rows, notices);
    this.#progress = progress;
    // Which window an event is in shows when all of the part is there.
    this.#rows.begin(windowSource({ start: 0, end: 0 }));
  }

  get events(): number {
    return this.#rows.events.length;
  }

  /** Whether the days of all events can be told. */
  get isPlaceable(): boolean {
    return this.events === 0 || this.#dated > 0 || this.#progress.latest !== undefined;
  }

  /** Throws UPSTREAM_BODY, and takes in nothing then, where the page's events aren't what the model says. */
  add(page: ScannedPage, bytes: number): void {
    const before = this.events;
    this.#rows.pages++;
    eachEvent(page, (list, event) => {
      this.#flattener.add(page.tape, list, event);
    });
    if (this.events > before) this.bytes += bytes;
    for (let row = before; row < this.events; row++) if (this.#rows.events.postedAt[row] !== undefined) this.#dated++;
  }

  /** All of it by month, without the days that `isTaken`. */
  finish(isTaken: (day: number) => boolean): FinishedPart {
    const rows = this.#rows;
    const { page, postedAt, source, position } = rows.events;
    const received = {
      length: this.events,
      page: (row: number) => page.get(row),
      date: (row: number) => postedAt[row],
    };
    const { instants, last } = placedByPage(received, this.#progress.latest);
    this.#progress.latest = last;
    const sources = new Map<number, number>();
    const months = new Map<string, { days: Set<number>; chosen: number[] }>();
    const leftOut = new Map<number, number>();
    for (let row = 0; row < this.events; row++) {
      const { start, end } = dayOf(Number((instants[row] ?? 0n) / 1000n));
      let number = sources.get(start);
      if (number === undefined) sources.set(start, (number = rows.sources.push(windowSource({ start, end })) - 1));
      source.set(row, number);
      const place = this.#progress.events.get(start) ?? 0;
      position.set(row, place);
      this.#progress.events.set(start, place + 1);
      if (isTaken(start)) {
        leftOut.set(start, (leftOut.get(start) ?? 0) + 1);
        continue;
      }
      const name = monthOf(start);
      const month = months.get(name) ?? { days: new Set<number>(), chosen: [] };
      months.set(name, month);
      month.days.add(start);
      month.chosen.push(row);
    }
    const finished = { rows, ids: eventIds(rows), effective: instants };
    return {
      leftOut,
      months: [...months].map(([month, { days, chosen }]) => ({
        month,
        days: [...days].toSorted((a, b) => a - b),
        batches: () => eventBatches({ events, entries }, finished, month, chosen),
      })),
    };
  }
}
