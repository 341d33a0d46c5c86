import { micros } from '../model/event-ids.js';
import type { Subject, SliceRows } from '../model/slice-rows.js';

/**
 * `effective_at` of each event, in order of receipt: microseconds since 1970, or undefined for an order's event where
 * the order has no date at all. Events without a date have that of their page (`pageInstants`), else the subject's fallback.
 */
export function effectiveInstants(rows: SliceRows): (bigint | undefined)[] {
  const { events, subjects } = rows;
  const effective = [...events.postedAt];
  for (let first = 0; first < events.length;) {
    const subject = subjects[events.subject.get(first)];
    let end = first;
    while (end < events.length && events.subject.get(end) === events.subject.get(first)) end++;
    if (subject !== undefined) dateUndated(rows, first, end, subject, effective);
    first = end;
  }
  return effective;
}

function dateUndated(
  { events }: SliceRows,
  first: number,
  end: number,
  subject: Subject,
  effective: (bigint | undefined)[],
): void {
  const { page, postedAt } = events;
  const instants = instantsByPage({
    length: end - first,
    page: (row) => page.get(first + row),
    date: (row) => postedAt[first + row],
  });
  const start = micros(subject.windowStart);
  const last = micros(subject.windowEnd);
  for (let row = first; row < end; row++) {
    if (postedAt[row] !== undefined) continue;
    const instant = instants.get(page.get(row)) ?? micros(subject.fallback);
    const isClamped = subject.clamp && instant !== undefined && start !== undefined && last !== undefined;
    effective[row] = isClamped ? clamped(instant, start, last) : instant;
  }
}

/** Events or groups in order of receipt. */
interface ReceivedRows {
  readonly length: number;
  /** The number of a row's page. */
  readonly page: (row: number) => number;
  /** Its own date, in microseconds since 1970. */
  readonly date: (row: number) => bigint | undefined;
}

/** The instants of rows without a date (`pageInstants`), by the number of their page. */
export function instantsByPage({ length, page, date }: ReceivedRows): ReadonlyMap<number, bigint | undefined> {
  const pages = new Map<number, DatesOfPage>();
  for (let row = 0; row < length; row++) {
    const own = date(row);
    const dates = pages.get(page(row));
    if (dates === undefined) pages.set(page(row), { first: own, last: own });
    else if (own !== undefined) {
      if (dates.first === undefined || own < dates.first) dates.first = own;
      if (dates.last === undefined || own > dates.last) dates.last = own;
    }
  }
  const instants = pageInstants([...pages.values()]);
  return new Map([...pages.keys()].map((number, at) => [number, instants[at]?.instant]));
}

/** The earliest and the latest date of a page's events, in microseconds since 1970; undefined: it has none. */
export interface DatesOfPage {
  first: bigint | undefined;
  last: bigint | undefined;
}

/** The instant of a page's events without a date, and the dates around it. */
interface PageInstant {
  readonly instant: bigint | undefined;
  /** The latest date of the pages before it. */
  readonly before: bigint | undefined;
  /** The earliest date of the first later page with a date. */
  readonly after: bigint | undefined;
}

/**
 * The instants of events without a date, by page. Pages are in order of time, but within a page events are in order of list. So the
 * instant is that at which the page begins: the page's earliest date, else the latest date of the pages before it, else the
 * earliest of the first later page with a date.
 */
export function pageInstants(pages: readonly DatesOfPage[]): PageInstant[] {
  let before: bigint | undefined;
  let after: bigint | undefined;
  const afters = pages
    .toReversed()
    .map(({ first }) => {
      const found = after;
      after = first ?? after;
      return found;
    })
    .reverse();
  return pages.map(({ first, last }, at) => {
    const found = { instant: first ?? before ?? afters[at], before, after: afters[at] };
    if (last !== undefined && (before === undefined || last > before)) before = last;
    return found;
  });
}

/** The instant of a range, from `start` to before `end`, that is nearest to an instant, all in microseconds. */
export function clamped(instant: bigint, start: bigint, end: bigint): bigint {
  if (instant < start) return start;
  return instant < end ? instant : end - 1n;
}
