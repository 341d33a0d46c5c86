import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contains, type Window } from '../../../src/core/windows.js';
import type { LoadKey } from '../../../src/lake/catalog/load-key.js';
import { joinedSince, loadedSpans } from '../../../src/lake/loads/loaded-spans.js';

const length = 24;
const now = 1000;

const windows = fc
  .tuple(fc.integer({ min: 0, max: length - 1 }), fc.integer({ min: 1, max: length }))
  .map(([start, size]): Window => ({ start, end: Math.min(start + size, length) }));

const keyOf = (window: Window, since: LoadKey['since']): LoadKey => ({
  account: 'shop',
  pipeline: 'p',
  key: `window/${window.start}/${window.end}`,
  window,
  readAt: now,
  since,
  origin: 'api',
});

/** A key whose window was loaded in several steps. */
const keys = fc.tuple(windows, fc.array(fc.tuple(windows, fc.nat(5)), { maxLength: 5 })).map(([window, steps]) => {
  const before = steps.map(([part, since]) => keyOf(part, since));
  return keyOf(window, joinedSince(window, before, 7));
});

/** Since when an instant of a key is loaded, by its definition. */
function sinceAt({ since, window }: Pick<LoadKey, 'since' | 'window'>, instant: number): number | undefined {
  if (window === undefined || !contains(window, instant)) return undefined;
  return typeof since === 'number' ? since : since.find((span) => contains(span, instant))?.since;
}

function expectWhole(window: Window, since: LoadKey['since']): void {
  const spans = loadedSpans({ window, since });
  expect(spans[0]?.start).toBe(window.start);
  expect(spans.at(-1)?.end).toBe(window.end);
  for (const [at, span] of spans.entries()) {
    expect(span.end).toBeGreaterThan(span.start);
    const next = spans[at + 1];
    if (next !== undefined)
      expect({ end: span.end, isOther: true }).toEqual({ end: next.start, isOther: next.since !== span.since });
  }
  if (typeof since !== 'number') expect(since.length).toBeGreaterThan(1);
}

test('each instant of a window that takes the place of others is loaded since the first of them had it, else since now', () => {
  fc.assert(
    fc.property(windows, fc.array(keys, { maxLength: 4 }), (window, before) => {
      const since = joinedSince(window, before, now);
      expectWhole(window, since);
      for (let instant = window.start; instant < window.end; instant++) {
        const known = before.flatMap((key) => sinceAt(key, instant) ?? []);
        expect(sinceAt({ window, since }, instant)).toBe(Math.min(...known, now));
      }
    }),
  );
});

test('a load key that is no range of dates keeps its instant', () => {
  const { window, ...settlement } = keyOf({ start: 0, end: 1 }, 3);
  expect(window).toBeDefined();
  expect(joinedSince(undefined, [settlement], now)).toBe(3);
  expect(joinedSince(undefined, [], now)).toBe(now);
  expect(loadedSpans(settlement)).toEqual([]);
});
