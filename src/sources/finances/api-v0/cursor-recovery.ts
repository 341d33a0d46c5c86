import { contentsOf, type Contents } from './contents.js';
import { operations, type Operation, type OperationName } from './operations.js';
import { resultsOf } from './page-results.js';
import type { ScannedPage } from './finances-page.js';
import { followUp, type RequestParameters } from './request-path.js';

/** Pages before the last one that are kept. Several in a row without any date are rare. */
const mostPagesBefore = 3;

/** What is kept of the pages of a question that were received, to find the place again where they end. */
export class ReceivedSoFar {
  readonly #name: OperationName;
  /** The latest pages that hold anything, the newest last: nothing of them is looked at before it is needed. */
  #pages: ScannedPage[] = [];
  #forgotten = false;

  constructor(name: OperationName) {
    this.#name = name;
  }

  /** Takes in the page that follows. */
  add(page: ScannedPage): void {
    if (resultsOf(page, operations[this.#name].result) === 0) return;
    this.#pages.push(page);
    if (this.#pages.length <= mostPagesBefore + 1) return;
    this.#pages.shift();
    this.#forgotten = true;
  }

  /** The last page that holds anything. */
  get last(): Contents | undefined {
    const page = this.#pages.at(-1);
    return page && contentsOf(page, this.#name);
  }

  /** What stands right before the last page; undefined where too little of it is kept. */
  get before(): Before | undefined {
    const undated = new Set<string>();
    for (const page of this.#pages.slice(0, -1).reverse()) {
      const contents = contentsOf(page, this.#name);
      for (const result of contents.undated) undated.add(result);
      // Whatever stands on a page before a date is no later than it.
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

/** Where a chain goes on. */
export interface Continuation {
  /** Undefined: at the beginning of the question, as nothing was received of it yet. */
  readonly token: string | undefined;
}

/** Asks for one page of the question's operation. */
export type Ask = (parameters: RequestParameters) => Promise<ScannedPage>;

/**
 * Finds the place again where the received pages of a question by dates end, once their last token is worth nothing:
 * the question is asked again from a later instant `s` on, and when its first pages hold exactly what the last received
 * page P holds, what follows them is what would have followed P. Undefined where that can't be said for certain.
 *
 * That rests on two things only: a question by dates gives what stands at or after its lower bound, and its pages come
 * in order of time. The order of results at the same instant may differ from one answer to the next. Each result has an
 * instant, its date; that of a result without a date isn't known. Then this holds:
 *
 *   If (1) everything on the pages before P stands before s, and (2) everything on P stands at s or later, the answer
 *   from s on is P and what follows P, and nothing else: all that stands before s is on the pages before P, because P
 *   holds a result of s or later and pages come in order. So when the first pages of the answer hold the same as P, the
 *   rest of it is the same as what follows P. What is the same in bytes may change places: rows don't tell it apart.
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
 * has a date, before the question. So where P has any, the span from there to s is asked for too: unless it holds a
 * result that is equal to one of them, none of them stands in it.
 *
 * Two instants are tried: s = e, which is right whatever undated results the page before P ends with, and s = m + 1 ms,
 * which is right whatever undated results P begins with.
 *
 * @param pageSize results a page: the answer's pages must end where P does, so P's number of results or a part of it
 */
export async function continuationOf(
  name: OperationName,
  parameters: RequestParameters,
  received: ReceivedSoFar,
  pageSize: number,
  ask: Ask,
): Promise<Continuation | undefined> {
  const { range }: Operation = operations[name];
  const { last, before } = received;
  if (last === undefined) return { token: undefined };
  if (before === undefined) return undefined;
  const sized = { ...parameters, MaxResultsPerPage: pageSize };
  // From the beginning of the question on, whatever it asks for, both conditions hold as they are.
  if (before.isNothing) return matched(name, sized, last, ask);
  if (range === undefined) return undefined;

  const { earliest, latest, undated } = last;
  if (earliest === undefined || latest === undefined || earliest === latest) return undefined;
  if (before.latest !== undefined && before.latest >= earliest) return undefined;
  if (undated.some((result) => before.undated.has(result))) return undefined;

  const lowest = parameters[range.after];
  const highest = parameters[range.before];
  const floor = before.latest ?? (typeof lowest === 'number' ? lowest : undefined);
  for (const from of new Set([earliest, before.latest === undefined ? earliest : before.latest + 1])) {
    // Dates outside the question: then they aren't what the service goes by.
    if (typeof lowest === 'number' && from < lowest) return undefined;
    if (typeof highest === 'number' && from >= highest) return undefined;
    const found = await matched(name, { ...sized, [range.after]: from }, last, ask);
    if (found === undefined) continue;
    if (undated.length === 0) return found;
    const gap = { ...sized, [range.before]: from, ...(floor === undefined ? {} : { [range.after]: floor }) };
    if (floor === from || (floor !== undefined && (await isFree(name, gap, undated, ask)))) return found;
  }
  return undefined;
}

/** Reads on from the beginning of a question until as much as `wanted` has come; the token behind it if it was the same. */
async function matched(
  name: OperationName,
  question: RequestParameters,
  wanted: Contents,
  ask: Ask,
): Promise<Continuation | undefined> {
  const missing = new Map<string, number>();
  for (const result of wanted.results) missing.set(result, (missing.get(result) ?? 0) + 1);
  let left = wanted.results.length;
  let page = await ask(question);
  for (let empty = 0; ;) {
    const { results } = contentsOf(page, name);
    for (const result of results) {
      const times = missing.get(result) ?? 0;
      if (times === 0) return undefined;
      missing.set(result, times - 1);
    }
    left -= results.length;
    // The received page had a token; an answer that ends with it is another one.
    if (page.nextToken === undefined) return undefined;
    if (left === 0) return { token: page.nextToken };
    if (results.length === 0 && ++empty > mostEmptyPages) return undefined;
    page = await ask(followUp(name, question, page.nextToken));
  }
}

/** Whether a short span holds none of these results; false too where it takes more than one page to tell. */
async function isFree(
  name: OperationName,
  span: RequestParameters,
  results: readonly string[],
  ask: Ask,
): Promise<boolean> {
  const page = await ask(span);
  const found = new Set(contentsOf(page, name).results);
  return page.nextToken === undefined && !results.some((result) => found.has(result));
}

const mostEmptyPages = 3;
