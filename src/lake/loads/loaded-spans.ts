import { contains, joined, uncovered, within, type Window } from '../../core/windows.js';
import type { LoadKey, LoadedSpan } from '../catalog/load-key.js';

/** Since when each part of a load key's window is loaded, in order and without a gap; empty for a key that isn't a range of dates. */
export function loadedSpans({ window, since }: Pick<LoadKey, 'window' | 'since'>): readonly LoadedSpan[] {
  if (typeof since !== 'number') return since;
  return window === undefined ? [] : [{ ...window, since }];
}

/**
 * The `since` of a window that takes the place of load keys: the parts that they had keep theirs, the rest is loaded at `now`
 * (milliseconds since 1970). Without a window it is that of the first one.
 */
export function joinedSince(window: Window | undefined, before: readonly LoadKey[], now: number): LoadKey['since'] {
  if (window === undefined) return before[0]?.since ?? now;
  const known = within(window, before.flatMap(loadedSpans));
  const rest = uncovered(window, known).map((span) => ({ ...span, since: now }));
  return asSince(partition([...known, ...rest]), now);
}

/** Spans that don't overlap, each with the earliest `since` of those that were there. */
function partition(spans: readonly LoadedSpan[]): LoadedSpan[] {
  const parts: LoadedSpan[] = [];
  const cuts = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].toSorted((a, b) => a - b);
  for (const [at, start] of cuts.entries()) {
    const end = cuts[at + 1] ?? start;
    const since = Math.min(...spans.filter((span) => contains(span, start)).map((span) => span.since));
    if (Number.isFinite(since)) parts.push({ start, end, since });
  }
  return parts;
}

/** Spans in their one form: those that touch and are loaded since the same instant are one, and a single one is its instant. */
function asSince(spans: readonly LoadedSpan[], otherwise: number): LoadKey['since'] {
  const instants = [...new Set(spans.map(({ since }) => since))];
  const [only = otherwise] = instants;
  if (instants.length < 2) return only;
  const parts = instants.flatMap((since) =>
    joined(spans.filter((span) => span.since === since)).map((window): LoadedSpan => ({ ...window, since })),
  );
  return parts.toSorted((a, b) => a.start - b.start);
}
