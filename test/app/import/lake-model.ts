import { joined, overlap, uncovered, type Window } from '../../../src/core/windows.js';
import { groupBy } from '../../../src/core/group-by.js';
import { noDate, pageSpans, type PageSpans } from '../../../src/app/import/chunks/page-spans.js';
import { compareEvents, isCovered, replacedEvents } from '../../../src/lake/loads/undated-events.js';

/** An event of a made-up seller: equal contents are equal events. */
export interface SoldEvent {
  /** When it was posted, in milliseconds since 1970. */
  readonly at: number;
  readonly content: string;
  /** Whether it says when. */
  readonly isDated: boolean;
}

export interface SavedPage {
  readonly events: readonly SoldEvent[];
  readonly hasNext: boolean;
}

/** A row without a date: the days that it can be of. */
interface Row extends Window {
  readonly content: string;
}

interface LoadedWindow extends Window {
  readonly dated: readonly string[];
  readonly undated: readonly Row[];
}

/** The spans of saved pages. */
export function spansOf(pages: readonly SavedPage[]): PageSpans | undefined {
  const dates = pages.map(({ events }) => events.flatMap(({ at, isDated }) => (isDated ? [at] : [])));
  const micros = (of: (own: readonly number[]) => number) =>
    BigInt64Array.from(dates, (own) => (own.length === 0 ? noDate : BigInt(of(own)) * 1000n));
  return pageSpans({
    first: micros((own) => Math.min(...own)),
    last: micros((own) => Math.max(...own)),
    hasNext: Uint8Array.from(pages, ({ hasNext }) => Number(hasNext)),
  });
}

/** What a lake has after imports and loads, in memory: dated events by counting, the others by the product's rules. */
export class LakeModel {
  readonly #dated = new Map<string, { readonly at: number; readonly times: number }>();
  #undated: Row[] = [];
  readonly #windows: LoadedWindow[] = [];

  import(pages: readonly SavedPage[]): void {
    const spans = spansOf(pages);
    if (spans === undefined) return;
    const dated = new Map<string, { at: number; times: number }>();
    for (const { content, at, isDated } of pages.flatMap(({ events }) => events))
      if (isDated) dated.set(content, { at, times: (dated.get(content)?.times ?? 0) + 1 });
    const isShared = [...dated.keys()].some(
      (content) => this.#dated.has(content) || this.#windows.some((window) => window.dated.includes(content)),
    );
    const loaded = joined(this.#windows);
    const undated = pages.flatMap(({ events }, page) =>
      events.flatMap(({ content, isDated }): Row[] =>
        isDated ? [] : [{ content, start: spans.starts[page] ?? 0, end: spans.ends[page] ?? 0 }],
      ),
    );
    const added: Row[] = [];
    for (const [content, events] of groupBy(undated, (row) => row.content)) {
      const isEqual = (row: Row) => row.content === content;
      const stored = {
        loaded: this.#windows.flatMap((window) => window.undated.filter(isEqual)),
        imported: isShared ? this.#undated.filter(isEqual) : [],
      };
      added.push(...compareEvents(events, stored, loaded).added);
    }
    for (const [content, { at, times }] of dated) {
      if (this.#windows.some(({ start, end }) => at >= start && at < end)) continue;
      this.#dated.set(content, { at, times: Math.max(times, this.#dated.get(content)?.times ?? 0) });
    }
    this.#undated.push(...added);
  }

  /** Loads what of a range isn't loaded. */
  load(range: Window, events: readonly SoldEvent[]): void {
    for (const window of uncovered(range, this.#windows)) this.#loadWindow(window, events);
  }

  #loadWindow(window: Window, all: readonly SoldEvent[]): void {
    const events = all.filter(({ at }) => at >= window.start && at < window.end);
    const undated = events.flatMap(({ content, isDated }) => (isDated ? [] : [{ content, ...window }]));
    const dated = events.flatMap(({ content, isDated }) => (isDated ? [content] : []));
    this.#windows.push({ ...window, dated, undated });
    for (const [content, { at }] of this.#dated) if (at >= window.start && at < window.end) this.#dated.delete(content);
    const loaded = joined(this.#windows);
    const gone = new Set<Row>();
    const reached = this.#undated.filter((row) => overlap(row, window));
    for (const [content, equal] of groupBy(reached, (row) => row.content)) {
      const inside = equal.filter((row) => isCovered(row, loaded));
      const others = equal.filter((row) => !isCovered(row, loaded));
      const number = undated.filter((row) => row.content === content).length;
      for (const row of [...inside, ...replacedEvents(others, number - inside.length, window)]) gone.add(row);
    }
    this.#undated = this.#undated.filter((row) => !gone.has(row));
  }

  get loaded(): readonly Window[] {
    return this.#windows;
  }

  /** How often it has each content. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    const add = (content: string, times = 1) => counts.set(content, (counts.get(content) ?? 0) + times);
    for (const [content, { times }] of this.#dated) add(content, times);
    for (const { content } of this.#undated) add(content);
    for (const { dated, undated } of this.#windows) {
      for (const content of dated) add(content);
      for (const { content } of undated) add(content);
    }
    return counts;
  }
}

/** How often a lake should have each content: the events of the files, and those of loaded windows. */
export function expectedCounts(
  events: readonly SoldEvent[],
  files: readonly (readonly SavedPage[])[],
  loaded: readonly Window[],
): Map<string, number> {
  const saved = new Set(files.flat().flatMap((page) => page.events));
  const counts = new Map<string, number>();
  for (const event of events) {
    if (!saved.has(event) && !loaded.some(({ start, end }) => event.at >= start && event.at < end)) continue;
    counts.set(event.content, (counts.get(event.content) ?? 0) + 1);
  }
  return counts;
}
