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
import { DayCounts } from './day-counts.js';
import { placedByPage } from './page-order.js';

/** What the parts of one input share: it is bounded, however much the input holds. */
export class EventProgress {
  /** The latest date of the nearest page that has one, in microseconds since 1970. */
  latest: bigint | undefined;
  /** Events so far by the start of their day. */
  readonly events = new Map<number, number>();
  readonly counts: DayCounts;

  constructor(mostCounted: number) {
    this.counts = new DayCounts(mostCounted);
  }
}

/** A month of a part, as batches: its entries first, if it has any. */
export interface MonthBatches {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** Whether ids tell equal events of the whole input apart; where they don't, those of earlier parts must be looked up. */
  readonly isNumbered: boolean;
  /** Made when they are asked for, so that one month's are in memory at a time. */
  readonly batches: () => Iterable<Batch>;
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
    const { counts } = this.#progress;
    counts.forget();
    const { days, dayOfRow, instants } = this.#placed();
    const ids = eventIds(rows, (row, id) => counts.count(dayOfRow[row] ?? 0, id));
    const finished = { rows, ids, effective: instants };
    const leftOut = new Map<number, number>();
    const months = new Map<string, number[]>();
    for (const [start, { chosen }] of [...days].toSorted(([a], [b]) => a - b)) {
      if (isTaken(start)) leftOut.set(start, chosen.length);
      else months.set(monthOf(start), [...(months.get(monthOf(start)) ?? []), start]);
    }
    return {
      leftOut,
      months: [...months].map(([month, starts]) => ({
        month,
        days: starts,
        isNumbered: starts.every((start) => counts.knows(start)),
        batches: () => {
          const chosen = starts.flatMap((start) => days.get(start)?.chosen ?? []);
          return eventBatches({ events, entries }, finished, month, chosen);
        },
      })),
    };
  }

  /** Gives each event its instant, its day as its window, and its place in the day. */
  #placed(): {
    readonly days: ReadonlyMap<number, PartDay>;
    /** Start of the day of each row. */
    readonly dayOfRow: Float64Array;
    readonly instants: readonly (bigint | undefined)[];
  } {
    const { events: received, sources } = this.#rows;
    const progress = this.#progress;
    const { instants, last } = placedByPage(
      {
        length: this.events,
        page: (row) => received.page.get(row),
        date: (row) => received.postedAt[row],
      },
      progress.latest,
    );
    progress.latest = last;
    const days = new Map<number, PartDay>();
    const dayOfRow = new Float64Array(this.events);
    for (let row = 0; row < this.events; row++) {
      const { start, end } = dayOf(Number((instants[row] ?? 0n) / 1000n));
      let day = days.get(start);
      if (day === undefined) {
        const source = sources.push(windowSource({ start, end })) - 1;
        days.set(start, (day = { source, first: progress.events.get(start) ?? 0, chosen: [] }));
      }
      dayOfRow[row] = start;
      received.source.set(row, day.source);
      received.position.set(row, day.first + day.chosen.length);
      day.chosen.push(row);
    }
    for (const [start, { first, chosen }] of days) progress.events.set(start, first + chosen.length);
    return { days, dayOfRow, instants };
  }
}

/** A part's events of a day. */
interface PartDay {
  /** Number in `SliceRows.sources`. */
  readonly source: number;
  /** Position of the first one. */
  readonly first: number;
  /** Their rows. */
  readonly chosen: number[];
}
