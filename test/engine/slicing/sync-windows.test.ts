import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cut, dayMs, dayStart, monthOf, overlap, uncovered, type Window } from '../../../src/core/windows.js';
import {
  coveredTo,
  dailyWindows,
  missingWindows,
  monthlyWindows,
  type PlannedWindow,
} from '../../../src/engine/slicing/sync-windows.js';

const hourMs = 3_600_000;
const at = (iso: string) => Date.parse(`${iso}Z`);
const plain = (planned: readonly PlannedWindow[]) =>
  planned.map(({ window, takesOver }) => [
    `${new Date(window.start).toISOString().slice(5, 13)}/${new Date(window.end).toISOString().slice(5, 13)}`,
    takesOver.length,
  ]);

/** What is loaded once a plan is carried out. */
function after(loaded: readonly Window[], planned: readonly PlannedWindow[]): Window[] {
  const gone = new Set(planned.flatMap(({ takesOver }) => takesOver));
  const kept = loaded.filter((window) => !gone.has(window));
  const own = planned.map(({ window }) => window);
  const isSame = (a: Window, b: Window) => a.start === b.start && a.end === b.end;
  return [...kept.filter((window) => !own.some((other) => isSame(window, other))), ...own];
}

describe('the windows of a nightly sync', () => {
  test('are the day that is over, whole, the one that has begun, and those that the look-back touches', () => {
    const days = [1, 2, 3].map((day) => ({ start: at(`2026-03-0${day}T00:00`), end: at(`2026-03-0${day + 1}T00:00`) }));
    const loaded = [...days, { start: at('2026-03-04T00:00'), end: at('2026-03-04T02:00') }];
    const end = at('2026-03-05T02:00');
    const missing = missingWindows(loaded, end);
    expect(plain(dailyWindows({ loaded, missing, end, lookBackFrom: end - 2 * dayMs }))).toEqual([
      ['03-03T00/03-04T00', 0],
      ['03-04T00/03-05T00', 1],
      ['03-05T00/03-05T02', 0],
    ]);
  });

  test('grow by the hour within a day', () => {
    const loaded = [{ start: at('2026-03-04T00:00'), end: at('2026-03-04T02:00') }];
    const end = at('2026-03-04T03:00');
    const missing = missingWindows(loaded, end);
    expect(plain(dailyWindows({ loaded, missing, end, lookBackFrom: Infinity }))).toEqual([['03-04T00/03-04T03', 1]]);
  });

  test('leave a window of several days as it is', () => {
    const loaded = [{ start: at('2026-03-01T00:00'), end: at('2026-03-04T02:00') }];
    const end = at('2026-03-05T03:00');
    const missing = missingWindows(loaded, end);
    expect(plain(dailyWindows({ loaded, missing, end, lookBackFrom: Infinity }))).toEqual([
      ['03-04T02/03-05T00', 0],
      ['03-05T00/03-05T03', 0],
    ]);
  });

  test('of the listing are the month from its beginning, and those that hold what is wanted', () => {
    const loaded = [
      { start: at('2026-01-01T00:00'), end: at('2026-02-01T00:00') },
      { start: at('2026-02-01T00:00'), end: at('2026-03-01T00:00') },
      { start: at('2026-03-01T00:00'), end: at('2026-03-04T02:00') },
    ];
    const end = at('2026-03-05T02:00');
    const missing = missingWindows(loaded, end);
    const isWanted = ({ start }: Window) => start === at('2026-01-01T00:00');
    expect(plain(monthlyWindows({ loaded, missing, end, lookBackFrom: Infinity }, isWanted))).toEqual([
      ['01-01T00/02-01T00', 0],
      ['03-01T00/03-05T02', 1],
    ]);
  });
});

/** Loaded windows that don't overlap, on the hour, none across a month; and an end behind them. */
const states = fc
  .tuple(
    fc.integer({ min: 0, max: 24 * 60 }),
    fc.array(fc.tuple(fc.integer({ min: 0, max: 80 }), fc.integer({ min: 1, max: 300 })), { maxLength: 25 }),
    fc.integer({ min: 1, max: 24 * 120 }),
  )
  .map(([first, steps, more]) => {
    let next = at('2025-11-01T00:00') + first * hourMs;
    const loaded = steps.flatMap(([gap, length]) => {
      const start = next + (gap > 40 ? 0 : gap) * hourMs;
      next = start + length * hourMs;
      return cut({ start, end: next }, 31);
    });
    return { loaded, end: next + more * hourMs };
  });

test.each(['events', 'listing'])('no plan lets windows overlap, cross a month or leave a gap (%s)', (kind) => {
  fc.assert(
    fc.property(states, fc.integer({ min: 0, max: 60 }), ({ loaded, end }, days) => {
      const missing = missingWindows(loaded, end);
      const question = { loaded, missing, end, lookBackFrom: end - days * dayMs };
      const planned =
        kind === 'events' ? dailyWindows(question) : monthlyWindows(question, ({ start }) => start % 7 === 0);
      const result = after(loaded, planned).toSorted((a, b) => a.start - b.start);
      for (const [index, window] of result.entries()) {
        const next = result[index + 1];
        expect(next === undefined || !overlap(window, next)).toBe(true);
        expect(monthOf(window.start)).toBe(monthOf(window.end - 1));
      }
      expect(missing.flatMap((window) => uncovered(window, result))).toEqual([]);
      expect(coveredTo(result, missing)).toBe(end);
      for (const { window, takesOver } of planned) {
        for (const old of takesOver) {
          // The ids of events without a date are made of the start of their window.
          expect(old.start).toBe(window.start);
          expect(old.end).toBeLessThan(window.end);
        }
        const isPlanned = (other: Window) => other.start === window.start;
        if (kind === 'events' && !loaded.some(isPlanned) && window.start >= end - 14 * dayMs) {
          expect(dayStart(window.start)).toBe(dayStart(window.end - 1));
        }
      }
      // What the look-back touches is read again, whole.
      for (const window of loaded.filter((of) => overlap(of, { start: question.lookBackFrom, end }))) {
        expect(planned.some((of) => of.window.start === window.start && of.window.end >= window.end)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});
