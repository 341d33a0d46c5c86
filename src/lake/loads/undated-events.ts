/*
 * Events without a date: what is known of their time, and which of equal ones are the same.
 *
 * v0 returns some events without a date, such as fees. Their bytes may be equal each month, so a content hash alone doesn't say which
 * one it is. Known is a span that the event lies in, `window_start` to `window_end`, and its id has it: both ends where
 * it is imported, the first where it is loaded (`eventIds`). There are two kinds of spans:
 *
 * - loaded: the window that was requested. What the window's answer has is all that there is of it.
 * - imported: whole days from the last date before its page to the first date behind it, as pages are in order (`pageSpans`). Saved
 *   pages may lack events of these days, so the span never counts as loaded (`importedKey`).
 *
 * `effective_at`, an instant of the span, serves to sort and to sum by day; it decides nothing here.
 *
 * From that follows, for equal events:
 * - Two of one file, or of one answer, are different events. Two of different ones whose spans don't overlap are, too.
 * - Of a file and the lake, as many are the same as can be paired by spans that overlap: `compareEvents`.
 * - An imported span that loaded windows cover has nothing that these lack: nothing of it is added, and what was there goes.
 * - A new window that covers a part of an imported span replaces some of the imported ones: as many as its answer has more of than it
 *   replaces anyway. The first to go is the one whose span is most like the window (`replacedEvents`).
 * - In the window in which a newer API begins, one is of v0, unless the newer API has an amount that may be its: `v0_amounts.sql`.
 */
import { compare } from '../../core/compare.js';
import { covers, overlap, type Window } from '../../core/windows.js';

/** The spans of equal events of the lake, by their kind. */
export interface StoredEvents<T extends Window = Window> {
  readonly loaded: readonly T[];
  readonly imported: readonly T[];
}

/** What becomes of some equal events of a file. */
export interface ComparedEvents<T> {
  /** Those that the lake lacks. */
  readonly added: readonly T[];
  /** Those of loaded windows that lack them. */
  readonly leftOut: readonly T[];
  /** How many the lake has. */
  readonly known: number;
  /** How many of these may be other ones: both spans have days that the other lacks. */
  readonly undecided: number;
}

/**
 * Compares equal events of a file with those of the lake. Those whose span is loaded pair with events of loaded windows; the others pair
 * with what is left of these, and with imported ones.
 *
 * @param windows the loaded ones, joined
 */
export function compareEvents<T extends Window>(
  events: readonly T[],
  stored: StoredEvents,
  windows: readonly Window[],
): ComparedEvents<T> {
  const inside = events.filter((event) => isCovered(event, windows));
  const others = events.filter((event) => !isCovered(event, windows));
  const loaded = pairs(inside, stored.loaded);
  const taken = new Set(loaded.values());
  const same = pairs(others, [...stored.loaded.filter((one) => !taken.has(one)), ...stored.imported]);
  const undecided = [...loaded, ...same].filter(
    ([{ start, end }, other]) => (start < other.start && end < other.end) || (start > other.start && end > other.end),
  );
  return {
    added: others.filter((event) => !same.has(event)),
    leftOut: inside.filter((event) => !loaded.has(event)),
    known: loaded.size + same.size,
    undecided: undecided.length,
  };
}

/**
 * Which of some equal imported events a loaded window replaces: the ones whose span is most like the window.
 *
 * @param events those that reach into the window, and whose span is not loaded; the window replaces the others anyway
 * @param times how many equal events the window's answer has, less those that it replaces anyway
 */
export function replacedEvents<T extends Window>(events: readonly T[], times: number, window: Window): readonly T[] {
  const alike = events.toSorted((a, b) => likeness(b, window) - likeness(a, window) || byEnd(a, b));
  return alike.slice(0, Math.max(0, times));
}

/** Whether windows, joined, cover all of a span. */
export function isCovered(span: Window, windows: readonly Window[]): boolean {
  return windows.some((window) => covers(window, span));
}

/**
 * Pairs events of two sources whose spans overlap: as many as can be, and of those the most alike.
 *
 * @returns the partner of each paired event of the first source
 */
export function pairs<A extends Window, B extends Window>(a: readonly A[], b: readonly B[]): ReadonlyMap<A, B> {
  const paired = new Pairs(a, b);
  paired.pairAll();
  while (paired.improve());
  return paired.partners;
}

class Pairs<A extends Window, B extends Window> {
  readonly partners = new Map<A, B>();
  readonly #reverse = new Map<B, A>();
  #changes = 0;
  readonly #a: readonly A[];
  readonly #b: readonly B[];

  constructor(a: readonly A[], b: readonly B[]) {
    this.#a = a;
    this.#b = b;
  }

  /** Pairs as many as can be: each event, by the end of its span, with the first free one that overlaps. */
  pairAll(): void {
    const own = new Unpaired(this.#a.toSorted(byEnd), this.partners);
    const other = new Unpaired(this.#b.toSorted(byEnd), this.#reverse);
    for (;;) {
      const [one, two] = [own.first, other.first];
      if (one !== undefined && (two === undefined || byEnd(one, two) <= 0)) {
        const found = other.overlapping(one);
        if (found !== undefined) this.#pair(one, found);
        own.skip();
      } else if (two !== undefined) {
        const found = own.overlapping(two);
        if (found !== undefined) this.#pair(found, two);
        other.skip();
      } else return;
    }
  }

  /** Lets events without a partner take that of another one where they are more alike. False where there is none. */
  improve(): boolean {
    const before = this.#changes;
    for (const one of this.#a) if (!this.partners.has(one)) this.#takePartner(one, this.#a, this.partners, this.#pair);
    const pair = (one: B, other: A) => {
      this.#pair(other, one);
    };
    for (const one of this.#b) if (!this.#reverse.has(one)) this.#takePartner(one, this.#b, this.#reverse, pair);
    return this.#changes > before;
  }

  #takePartner<X extends Window, Y extends Window>(
    one: X,
    own: readonly X[],
    partners: Map<X, Y>,
    pair: (one: X, other: Y) => void,
  ): void {
    let best: X | undefined;
    let most = leastGain;
    for (const other of own) {
      const partner = partners.get(other);
      const gain = partner === undefined ? 0 : likeness(one, partner) - likeness(other, partner);
      if (gain > most) [best, most] = [other, gain];
    }
    const partner = best && partners.get(best);
    if (best === undefined || partner === undefined) return;
    partners.delete(best);
    pair(one, partner);
    this.#changes++;
  }

  readonly #pair = (one: A, other: B): void => {
    this.partners.set(one, other);
    this.#reverse.set(other, one);
  };
}

/** Less than any difference of two likenesses of spans of days. */
const leastGain = 1e-9;

/** Events in order, of which more and more have a partner. */
class Unpaired<T extends Window> {
  #at = 0;
  readonly #events: readonly T[];
  readonly #partners: ReadonlyMap<T, unknown>;

  constructor(events: readonly T[], partners: ReadonlyMap<T, unknown>) {
    this.#events = events;
    this.#partners = partners;
  }

  get first(): T | undefined {
    for (let event = this.#events[this.#at]; event !== undefined; event = this.#events[++this.#at]) {
      if (!this.#partners.has(event)) return event;
    }
    return undefined;
  }

  /** Goes on behind the first one. */
  skip(): void {
    this.#at++;
  }

  overlapping(span: Window): T | undefined {
    for (let at = this.#at; at < this.#events.length; at++) {
      const event = this.#events[at];
      if (event !== undefined && !this.#partners.has(event) && overlap(event, span)) return event;
    }
    return undefined;
  }
}

function byEnd(a: Window, b: Window): number {
  return compare(a.end, b.end) || compare(a.start, b.start);
}

/** From 0 to 1: the days that both spans have, by those that either has. */
function likeness(a: Window, b: Window): number {
  const common = Math.min(a.end, b.end) - Math.max(a.start, b.start);
  return Math.max(0, common) / (Math.max(a.end, b.end) - Math.min(a.start, b.start));
}
