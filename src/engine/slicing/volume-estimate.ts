import type { GroupSlice } from '../../sources/finances/api-v0/group-slices';
import type { OrderSlice } from '../../sources/finances/api-v0/slicing/order-slicing';
import { Density, type Sample } from '../run/density';
import type { Slice } from '../run/slice';
import type { WindowSlice } from '../run/window-slices';
import type { Window } from '../../core/windows';
import { pageSize } from '../run/work';

/** What a slice of a pipeline is expected to hold. Both are means, and need not be whole. */
export interface Expectation<S extends Slice = Slice> {
  results(slice: S): number;
  /** Requests, 1 at least. */
  pages(slice: S): number;
}

/** Nothing is known: whatever a slice holds, it takes a request. */
export const nothingKnown: Expectation = { results: () => 0, pages: () => 1 };

/** By how much of their mean slices differ from it, beyond chance. */
const spread = 0.1;

/**
 * Requests for a slice of so many expected results: its pages rounded up, on average over what it may turn out to hold.
 * A slice of 2.05 expected pages takes 2 requests or 3, one of 0.3 always takes one.
 */
export function meanPages(results: number, perPage = pageSize): number {
  const deviation = Math.sqrt(results + (spread * results) ** 2);
  // Nearer to the mean than this it is certain enough.
  const certain = Math.max(1, Math.floor((results - 6 * deviation) / perPage));
  let pages = certain;
  for (let full = certain; ; full++) {
    const more = deviation === 0 ? 0 : 1 / (1 + Math.exp((1.702 * (full * perPage - results)) / deviation));
    if (more < 1e-4) return pages;
    pages += more;
  }
}

/**
 * Windows hold what windows near them held; one that is read again holds what it held. Undefined: nothing is known, or
 * nothing was there, which says little of what is elsewhere.
 */
export function windowExpectation(
  samples: readonly Sample[],
  perPage = pageSize,
): Expectation<WindowSlice> | undefined {
  const density = new Density(samples);
  const held = new Map(samples.map(({ window, results }) => [keyOf(window), results]));
  if (!samples.some((sample) => sample.results > 0)) return undefined;
  const results = ({ window }: WindowSlice): number => held.get(keyOf(window)) ?? density.expected(window) ?? 0;
  return { results, pages: (slice) => meanPages(results(slice), perPage) };
}

/** Windows of a listing hold the settlements that open in them. */
export function listingExpectation(starts: readonly number[]): Expectation<WindowSlice> {
  const results = ({ window }: WindowSlice): number =>
    starts.filter((start) => start >= window.start && start < window.end).length;
  return { results, pages: (slice) => Math.max(1, Math.ceil(results(slice) / pageSize)) };
}

/** What settlements were found to hold, and what else tells how much others will. */
export interface GroupKnowledge {
  readonly loaded: readonly Sample[];
  readonly byDate: readonly Sample[];
  /** Settlements that are open at once. */
  readonly atOnce: number;
  /** Milliseconds since 1970: later than this nothing has happened yet. */
  readonly now: number;
}

/** How far settlements of one row may be off from following each other without a gap. */
const rowSlackMs = 12 * 3_600_000;

/**
 * Settlements hold as many events a day as those before or after them in their row (of one marketplace), else as many as
 * others did, else their share of the events by date. Undefined: nothing is known, or nothing was there.
 */
export function groupExpectation({ loaded, byDate, atOnce, now }: GroupKnowledge): Expectation<GroupSlice> | undefined {
  if (![...loaded, ...byDate].some((sample) => sample.results > 0)) return undefined;
  const own = new Density(loaded);
  const dated = new Density(byDate);
  const shares = sharesOf(loaded);
  const rowOf = ({ group, opened }: GroupSlice): readonly Sample[] => {
    const length = (group.end ?? Infinity) - opened;
    return loaded.filter(({ window }) => {
      const steps = (window.start - opened) / (length === Infinity ? window.end - window.start : length);
      return Math.abs(steps - Math.round(steps)) * (window.end - window.start) <= rowSlackMs;
    });
  };
  const results = (slice: GroupSlice): number => {
    const span = spanOf(slice, now);
    const all = dated.expected(span);
    const others = own.expected(span) ?? (all === undefined ? 0 : all / Math.max(1, atOnce));
    return new Density(rowOf(slice)).expected(span) ?? others;
  };
  return {
    results,
    pages: (slice) => {
      const mean = results(slice);
      // Of another row it may be as unlike the mean as the known ones are.
      const alike = rowOf(slice).length > 0 ? [1] : shares;
      return alike.reduce((sum, share) => sum + meanPages(mean * share), 0) / alike.length;
    },
  };
}

/** How many events a day each sample had, against the mean. */
function sharesOf(samples: readonly Sample[]): readonly number[] {
  const rates = samples.map(({ window, results }) => results / Math.max(1, window.end - window.start));
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length);
  return mean === 0 ? [1] : rates.map((rate) => rate / mean);
}

/** Orders are asked for one by one, and hold what others did. */
export function orderExpectation(eventsPerOrder: number): Expectation<OrderSlice> {
  const own = Math.max(1, Math.ceil(eventsPerOrder / pageSize));
  return {
    results: ({ orders }) => orders.length * eventsPerOrder,
    pages: ({ orders }) => orders.length * own,
  };
}

/** The time of which a settlement holds events; one that is open goes on to the present. */
export function spanOf({ group, opened }: Pick<GroupSlice, 'group' | 'opened'>, now: number): Window {
  return { start: opened, end: Math.max(opened, Math.min(group.end ?? now, now)) };
}

function keyOf({ start, end }: Window): string {
  return `${start}/${end}`;
}
