import { parseInstant } from '../../../core/numeric/instant.js';
import type { AskPage, CursorRecovery, FoundCursor } from '../../../engine/paging/paged-api.js';
import { eachResult, resultText, type FinancesPage } from './finances-page.js';
import { operations, type Operation, type OperationName } from './operations.js';
import type { FinancesQuery, RequestParameters } from './request-path.js';

/** Pages before the last one that are kept. Several in a row without any date are rare. */
const mostPagesBefore = 3;

/** Empty pages in a row that are followed to find the position. */
const mostEmptyPages = 3;

type Ask = AskPage<FinancesQuery, FinancesPage>;

/**
 * Finds where the received pages of a query by dates end, once their last token has expired: the query is asked again from a later instant `s` on, and when its first pages hold exactly what the last received
 * page P holds, what follows them is what would have followed P. Undefined where that can't be said for certain.
 *
 * That rests on two things only: a query by dates gives what is dated at or after its lower bound, and its pages come
 * in order of time. The order of results at the same instant may differ from one answer to the next. Each result has an
 * instant, its date; that of a result without a date isn't known. Then this holds:
 *
 *   If (1) everything on the pages before P stands before s, and (2) everything on P stands at s or later, the answer
 *   from s on is P and what follows P, and nothing else: all that stands before s is on the pages before P, because P
 *   holds a result of s or later and pages come in order. So when the first pages of the answer hold the same as P, the
 *   rest of it is the same as what follows P. What is the same in bytes may swap positions: rows don't tell it apart.
 *
 * What arrived since the first reading doesn't harm that: before s it is left to the next look back, as it would have
 * been behind the token; at s or later it is either in the answer's rest, or it makes the first pages differ from P.
 *
 * (1) For dated results it is seen from their dates. Let m be the latest of them, e and l the earliest and latest date on
 * P, with m < s <= e. An undated result X of an earlier page can't stand later than e, and only on the pages from the
 * last one with a date on can it stand later than m. If it stood between s and e, it would be in the answer before
 * anything later than e, so with e < l before the result of l, and so among what is compared with P. It is not if P
 * holds no undated result equal to X: that is asked for below (`before.undated`).
 *
 * (2) For dated results it follows from s <= e. An undated result of P can't stand before m, or where no page before
 * has a date, before the query. So where P has any, the span from there to s is asked for too: unless it holds a
 * result that is equal to one of them, none of them stands in it.
 *
 * Two instants are tried: s = e, which is right whatever undated results the page before P ends with, and s = m + 1 ms,
 * which is right whatever undated results P begins with.
 */
export class DateRecovery implements CursorRecovery<FinancesQuery, FinancesPage> {
  readonly #query: FinancesQuery;
  /** The latest pages that hold anything, the newest last: nothing of them is looked at before it is needed. */
  readonly #pages: FinancesPage[] = [];
  #forgotten = false;

  constructor(query: FinancesQuery) {
    this.#query = query;
  }

  add(page: FinancesPage): void {
    if (page.results === 0) return;
    this.#pages.push(page);
    if (this.#pages.length <= mostPagesBefore + 1) return;
    this.#pages.shift();
    this.#forgotten = true;
  }

  async find(ask: Ask): Promise<FoundCursor | undefined> {
    const { operation, parameters } = this.#query;
    const page = this.#pages.at(-1);
    if (page === undefined) return { cursor: undefined };
    const last = contentsOf(page, operation);
    const before = this.#before();
    if (before === undefined) return undefined;
    // From the beginning of the query on, whatever it asks for, both conditions hold as they are.
    if (before.isNothing) return matched(this.#query, last, ask);
    const { range }: Operation = operations[operation];
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
      // Dates outside the query: then they aren't what the service goes by.
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

  /** The results right before the last page; undefined where too little of them is kept. */
  #before(): Before | undefined {
    const undated = new Set<string>();
    for (const page of this.#pages.slice(0, -1).reverse()) {
      const contents = contentsOf(page, this.#query.operation);
      for (const result of contents.undated) undated.add(result);
      // Whatever is on a page before a date is no later than it.
      if (contents.latest !== undefined) return { isNothing: false, latest: contents.latest, undated };
    }
    return this.#forgotten ? undefined : { isNothing: this.#pages.length < 2, latest: undefined, undated };
  }
}

/** The pages back to the nearest one that has a date. */
interface Before {
  /** Nothing came before. */
  readonly isNothing: boolean;
  /** The latest date on them. */
  readonly latest: number | undefined;
  /** What has no date on them. */
  readonly undated: ReadonlySet<string>;
}

/** Reads from the beginning of a query until as much as `wanted` has come; the cursor behind it if it was the same. */
async function matched(query: FinancesQuery, wanted: Contents, ask: Ask): Promise<FoundCursor | undefined> {
  const missing = new Map<string, number>();
  for (const result of wanted.results) missing.set(result, (missing.get(result) ?? 0) + 1);
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
    // The received page had a cursor; an answer that ends with it is another one.
    if (page.cursor === undefined) return undefined;
    if (left === 0) return { cursor: page.cursor };
    if (results.length === 0 && ++empty > mostEmptyPages) return undefined;
    page = await ask(query, page.cursor);
  }
}

/** Whether a short span holds none of these results; false too where it takes more than one page to find out. */
async function isFree(span: FinancesQuery, results: readonly string[], ask: Ask): Promise<boolean> {
  const page = await ask(span);
  const found = new Set(contentsOf(page, span.operation).results);
  return page.cursor === undefined && !results.some((result) => found.has(result));
}

/** What a page holds, for comparing it with another one: nothing of it is decoded but the dates. */
interface Contents {
  /** A text for each result, in order: equal texts are equal results. */
  readonly results: readonly string[];
  /** Those of the results whose position in time is unknown. */
  readonly undated: readonly string[];
  /** The first and the last of the other results' dates: whole milliseconds since 1970, rounded down. */
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
}

/**
 * Members that say when a result was posted, or a group was opened. `TransactionCreationDate` isn't among them: nobody
 * says that it is what the service orders by.
 */
const dateMembers: Readonly<Record<Operation['result'], readonly string[]>> = {
  FinancialEvents: ['PostedDate', 'postedDate', 'TransactionPostedDate'],
  FinancialEventGroupList: ['FinancialEventGroupStart'],
};

function contentsOf(page: FinancesPage, name: OperationName): Contents {
  const { result } = operations[name];
  const results: string[] = [];
  const undated: string[] = [];
  let earliest: number | undefined;
  let latest: number | undefined;
  eachResult(page, (list, node) => {
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

function dateOf({ tape }: FinancesPage, node: number, members: readonly string[]): number | undefined {
  const dates = members.flatMap((name) => {
    const value = tape.member(node, name);
    return value === undefined ? [] : [tape.isString(value) ? parseInstant(tape.stringValue(value)) : undefined];
  });
  // Two dates that differ, or one that can't be read, give no position.
  return dates.every((date) => date === dates[0]) ? dates[0] : undefined;
}
