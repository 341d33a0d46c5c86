import { dayMs, dayStart } from '../../../core/windows.js';
import { clamped, pageInstants, type DatesOfPage } from '../../../sources/finances/api-v0/effective-instants.js';

/** The dates of an input's pages, page by page. */
export interface PageDates {
  /** The earliest date of each page, in microseconds since 1970; `noDate` for a page without dates. */
  readonly first: BigInt64Array;
  /** The latest one. */
  readonly last: BigInt64Array;
  /** 1 where the page has a `NextToken`: the next page goes on with the same answer. */
  readonly hasNext: Uint8Array;
}

/** Less than any date. */
export const noDate = -(2n ** 63n);

/** The days that the undated events of each page can be of. */
export interface PageSpans {
  /** Start of the first day and end of the last one, in milliseconds since 1970. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  /** An instant of the span: the nearest that the order of pages allows, in microseconds since 1970. */
  readonly instants: BigInt64Array;
}

/**
 * The spans of an input's pages for events without a date (see `undated-events.ts`). Pages that ascend by date are in this order; so are
 * those of each answer, from a page to the first one without `NextToken`, where all answers ascend. Other pages have no order: a page's
 * neighbours are then the nearest other pages by date. Where there is no neighbour, the span ends with the first or last date of the input.
 *
 * @returns undefined where no page has a date
 */
export function pageSpans(dates: PageDates): PageSpans | undefined {
  const pages = new Pages(dates);
  if (pages.first === undefined || pages.last === undefined) return undefined;
  const all = [{ start: 0, end: pages.length }];
  if (pages.ascend(all)) return pages.spansWithin(all);
  const answers = pages.answers();
  return pages.ascend(answers) ? pages.spansWithin(answers) : pages.spansByDate();
}

/** Consecutive pages: `end` is not among them. */
interface PageRange {
  readonly start: number;
  readonly end: number;
}

class Pages {
  /** Of all pages; undefined where none has a date. */
  readonly first: bigint | undefined;
  readonly last: bigint | undefined;
  readonly #dates: PageDates;
  readonly #spans: PageSpans;

  constructor(dates: PageDates) {
    this.#dates = dates;
    const { length } = dates.first;
    this.#spans = {
      starts: new Float64Array(length),
      ends: new Float64Array(length),
      instants: new BigInt64Array(length),
    };
    for (let page = 0; page < length; page++) {
      const [first, last] = this.#datesOf(page) ?? [];
      if (first !== undefined && (this.first === undefined || first < this.first)) this.first = first;
      if (last !== undefined && (this.last === undefined || last > this.last)) this.last = last;
    }
  }

  get length(): number {
    return this.#dates.first.length;
  }

  #datesOf(page: number): readonly [first: bigint, last: bigint] | undefined {
    const first = this.#dates.first[page];
    const last = this.#dates.last[page];
    return first === undefined || last === undefined || first === noDate ? undefined : [first, last];
  }

  answers(): PageRange[] {
    const ranges: PageRange[] = [];
    let start = 0;
    for (let page = 0; page < this.length; page++) {
      if (this.#dates.hasNext[page] === 1 && page + 1 < this.length) continue;
      ranges.push({ start, end: page + 1 });
      start = page + 1;
    }
    return ranges;
  }

  ascend(ranges: readonly PageRange[]): boolean {
    return ranges.every(({ start, end }) => {
      let before: bigint | undefined;
      for (let page = start; page < end; page++) {
        const [first, last] = this.#datesOf(page) ?? [];
        if (first === undefined) continue;
        if (before !== undefined && first < before) return false;
        before = last;
      }
      return true;
    });
  }

  spansWithin(ranges: readonly PageRange[]): PageSpans {
    for (const { start, end } of ranges) {
      const pages = Array.from({ length: end - start }, (_, at): DatesOfPage => {
        const [first, last] = this.#datesOf(start + at) ?? [];
        return { first, last };
      });
      for (const [at, { instant, before, after }] of pageInstants(pages).entries())
        this.#set(start + at, before ?? this.first, after ?? this.last, instant ?? this.first);
    }
    return this.#spans;
  }

  spansByDate(): PageSpans {
    const firsts = this.#dates.first.filter((date) => date !== noDate).sort();
    const lasts = this.#dates.last.filter((date) => date !== noDate).sort();
    for (let page = 0; page < this.length; page++) {
      const [first, last] = this.#datesOf(page) ?? [];
      if (first === undefined || last === undefined) {
        this.#set(page, this.first, this.last, this.first);
        continue;
      }
      // A page with a single date is its own neighbour on both sides.
      const itself = first === last ? 1 : 0;
      const before = lasts[countUpTo(lasts, first) - 1 - itself];
      const after = firsts[countUpTo(firsts, last - 1n) + itself];
      this.#set(page, before ?? first, after ?? last, first);
    }
    return this.#spans;
  }

  #set(page: number, from = 0n, to = 0n, instant = 0n): void {
    const start = dayStart(millisOf(from));
    const end = dayStart(millisOf(to)) + dayMs;
    this.#spans.starts[page] = start;
    this.#spans.ends[page] = end;
    this.#spans.instants[page] = clamped(instant, BigInt(start) * 1000n, BigInt(end) * 1000n);
  }
}

/** How many of some dates in order are at most `most`. */
function countUpTo(dates: BigInt64Array, most: bigint): number {
  let [low, high] = [0, dates.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((dates[middle] ?? 0n) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Milliseconds of an instant in microseconds, rounded down. */
export function millisOf(micros: bigint): number {
  const number = Number(micros);
  // Doubles are exact for the instants of five centuries, and a division of bigints allocates.
  if (Number.isSafeInteger(number)) return Math.floor(number / 1000);
  const millis = micros / 1000n;
  return Number(micros % 1000n < 0n ? millis - 1n : millis);
}
