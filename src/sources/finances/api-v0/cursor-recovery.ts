import { parseInstant } from '../../../core/numeric/instant.js';
import type { RequestOnePage, CursorRecovery, FoundCursor } from '../../../engine/paging/paged-api.js';
import { count } from '../../../core/count.js';
import { resultText } from '../selling-partner/scanned-page.js';
import { eachEventOrGroup, type CountedPage } from './finances-page.js';
import { eventOperations, type EventOperation, type EventOperationName } from './operations.js';
import type { EventQuery, RequestParameters } from './request-path.js';

/** Stored pages before the last one. Several in a row without a date are rare. */
const mostPagesBefore = 3;

/** Empty pages in a row that a recovery follows. */
const mostEmptyPages = 3;

type Ask = RequestOnePage<EventQuery, CountedPage>;

/**
 * Finds the end of the received pages of a query by dates after their last token has expired. The query is sent again from a
 * later instant `s`. If its first pages contain exactly the results of the last received page P, the rest of the answer is what
 * would have followed P. Undefined where that is uncertain.
 *
 * This relies on two properties only: a query by dates returns the results dated at or after its lower bound, and its pages are
 * in order of time. The order of results at the same instant may differ between answers. Each result is at an instant, its
 * date; that of a result without a date is unknown. Then:
 *
 *   If (1) all results on the pages before P are before s, and (2) all results on P are at s or later, the answer from s is P
 *   and what follows P, and nothing else: all results before s are on the pages before P, because P contains a result of s or
 *   later and pages are in order. So if the first pages of the answer contain the same results as P, the rest of it is what
 *   follows P. Results with equal bytes may swap positions, which leaves the rows the same.
 *
 * Results that arrived since the first reading do no harm: those before s are left to the next look-back, as they would have been
 * with the token; those at s or later are in the rest of the answer, or make the first pages differ from P.
 *
 * (1) For dated results it follows from their dates. Let m be the latest of them, e and l the earliest and latest date on P,
 * with m < s <= e. An undated result X of an earlier page can't be later than e, and it can be later than m only on the pages
 * from the last one with a date. If it were between s and e, it would be in the answer before all results later than e, so with
 * e < l before the result of l, and so among the results compared with P. It isn't, if P contains no undated result equal to X:
 * this is checked below (`before.undated`).
 *
 * (2) For dated results it follows from s <= e. An undated result of P can't be before m, or where no page before it has a date,
 * before the query. So where P has any, the span from there to s is requested too: unless it contains a result equal to one of
 * them, none of them is in it.
 *
 * Two instants are tried: s = e, which is right whatever undated results the page before P ends with, and s = m + 1 ms, which is
 * right whatever undated results P begins with.
 */
export class DateRecovery implements CursorRecovery<EventQuery, CountedPage> {
  readonly #query: EventQuery;
  /** The latest pages with results, the newest last. They are decoded on demand. */
  readonly #pages: CountedPage[] = [];
  /** Whether earlier pages were discarded. */
  #hasDiscarded = false;

  constructor(query: EventQuery) {
    this.#query = query;
  }

  add(page: CountedPage): void {
    if (page.results === 0) return;
    this.#pages.push(page);
    if (this.#pages.length <= mostPagesBefore + 1) return;
    this.#pages.shift();
    this.#hasDiscarded = true;
  }

  async find(ask: Ask): Promise<FoundCursor | undefined> {
    const { operation, parameters } = this.#query;
    const page = this.#pages.at(-1);
    if (page === undefined) return { cursor: undefined };
    const last = contentsOf(page, operation);
    const before = this.#before();
    if (before === undefined) return undefined;
    // From the beginning of any query both conditions hold.
    if (before.isNothing) return matched(this.#query, last, ask);
    const { range }: EventOperation = eventOperations[operation];
    if (range === undefined) return undefined;

    const { earliest, latest, undated } = last;
    if (earliest === undefined || latest === undefined || earliest === latest) return undefined;
    if (before.latest !== undefined && before.latest >= earliest) return undefined;
    if (undated.some((result) => before.undated.has(result))) return undefined;

    const lowest = parameters[range.after];
    const highest = parameters[range.before];
    const floor = before.latest ?? (typeof lowest === 'number' ? lowest : undefined);
    const within = (dates: RequestParameters) => ({ operation, parameters: { ...parameters, ...dates } });
    for (const from of new Set([earliest, before.latest === undefined ? earliest : before.latest + 1])) {
      // Dates outside the query: then the service orders by others.
      if (typeof lowest === 'number' && from < lowest) return undefined;
      if (typeof highest === 'number' && from >= highest) return undefined;
      const found = await matched(within({ [range.after]: from }), last, ask);
      if (found === undefined) continue;
      if (undated.length === 0) return found;
      const gap = within({ [range.before]: from, ...(floor !== undefined && { [range.after]: floor }) });
      if (floor === from || (floor !== undefined && (await isFree(gap, undated, ask)))) return found;
    }
    return undefined;
  }

  /** The results right before the last page; undefined where too few pages are stored. */
  #before(): Before | undefined {
    const undated = new Set<string>();
    for (const page of this.#pages.slice(0, -1).reverse()) {
      const contents = contentsOf(page, this.#query.operation);
      for (const result of contents.undated) undated.add(result);
      // Results on a page before a date are no later than it.
      if (contents.latest !== undefined) return { isNothing: false, latest: contents.latest, undated };
    }
    return this.#hasDiscarded ? undefined : { isNothing: this.#pages.length < 2, latest: undefined, undated };
  }
}

/** The pages back to the nearest one with a date. */
interface Before {
  /** No page came before. */
  readonly isNothing: boolean;
  /** The latest date on them. */
  readonly latest: number | undefined;
  /** The results without a date on them. */
  readonly undated: ReadonlySet<string>;
}

/** Reads a query until as many results as `wanted` were received; the next cursor if they are the same. */
async function matched(query: EventQuery, wanted: Contents, ask: Ask): Promise<FoundCursor | undefined> {
  const missing = new Map<string, number>();
  for (const result of wanted.results) count(missing, result);
  let left = wanted.results.length;
  let page = await ask(query);
  for (let empty = 0; ;) {
    const { results } = contentsOf(page, query.operation);
    for (const result of results) {
      const times = missing.get(result) ?? 0;
      if (times === 0) return undefined;
      missing.set(result, times - 1);
    }
    left -= results.length;
    // The received page had a cursor, so an answer that ends here is a different one.
    if (page.cursor === undefined) return undefined;
    if (left === 0) return { cursor: page.cursor };
    if (results.length === 0 && ++empty > mostEmptyPages) return undefined;
    page = await ask(query, page.cursor);
  }
}

/** Whether a short span contains none of these results; false where it has more than one page. */
async function isFree(span: EventQuery, results: readonly string[], ask: Ask): Promise<boolean> {
  const page = await ask(span);
  const found = new Set(contentsOf(page, span.operation).results);
  return page.cursor === undefined && !results.some((result) => found.has(result));
}

/** The results of a page, for a comparison with another one. Only dates are decoded. */
interface Contents {
  /** A text for each result, in order: equal texts mean equal results. */
  readonly results: readonly string[];
  /** Results without a date. */
  readonly undated: readonly string[];
  /** The first and the last of the other results' dates: whole milliseconds since 1970, rounded down. */
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
}

/**
 * Members with the date on which a result was posted, or a group was opened. `TransactionCreationDate` isn't among them: it is
 * unknown whether the service orders by it.
 */
const dateMembers: Readonly<Record<EventOperation['result'], readonly string[]>> = {
  FinancialEvents: ['PostedDate', 'postedDate', 'TransactionPostedDate'],
  FinancialEventGroupList: ['FinancialEventGroupStart'],
};

function contentsOf(page: CountedPage, name: EventOperationName): Contents {
  const { result } = eventOperations[name];
  const results: string[] = [];
  const undated: string[] = [];
  let earliest: number | undefined;
  let latest: number | undefined;
  eachEventOrGroup(page, (list, node) => {
    const text = resultText(page, list, node);
    results.push(text);
    const date = dateOf(page, node, dateMembers[result]);
    if (date === undefined) undated.push(text);
    else {
      earliest = Math.min(date, earliest ?? date);
      latest = Math.max(date, latest ?? date);
    }
  });
  return { results, undated, earliest, latest };
}

function dateOf({ tape }: CountedPage, node: number, members: readonly string[]): number | undefined {
  const dates = members.flatMap((name) => {
    const value = tape.member(node, name);
    return value === undefined ? [] : [tape.isString(value) ? parseInstant(tape.stringValue(value)) : undefined];
  });
  // Two different dates, or an unreadable one, count as none.
  return dates.every((date) => date === dates[0]) ? dates[0] : undefined;
}
