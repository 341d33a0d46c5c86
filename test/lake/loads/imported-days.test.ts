import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitImportedKey, dayOf, importedKey, parseImportedKey } from '../../../src/lake/loads/imported-days.js';
import { dayMs, overlap, type Window } from '../../../src/core/windows.js';

const minute = 60_000;
const origin = Date.UTC(2024, 1, 28);
const instant = fc.integer({ min: 0, max: 4 * 1440 }).map((minutes) => origin + minutes * minute);
const window = fc
  .tuple(instant, instant)
  .filter(([a, b]) => a !== b)
  .map(([a, b]): Window => ({ start: Math.min(a, b), end: Math.max(a, b) }));

test('a window cuts an imported day into what goes and what stays, and loses no instant', () => {
  fc.assert(
    fc.property(instant, fc.array(window, { maxLength: 4 }), (at, windows) => {
      let held = [importedKey(dayOf(at))];
      for (const loaded of windows) {
        held = held.flatMap((loadKey) => {
          const cut = splitImportedKey(loadKey, loaded);
          const whole = parseImportedKey(loadKey);
          if (whole === undefined) throw new Error(loadKey);
          if (cut === undefined) {
            expect(overlap(whole, loaded)).toBe(false);
            return [loadKey];
          }
          const parts = [cut.inside, ...cut.outside].flatMap((part) => parseImportedKey(part) ?? []);
          expect(parts.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(whole.end - whole.start);
          const [inside, ...outside] = parts;
          if (inside === undefined) throw new Error(loadKey);
          expect(inside.start >= loaded.start && inside.end <= loaded.end).toBe(true);
          for (const part of outside) expect(overlap(part, loaded)).toBe(false);
          // What goes is taken whole by the same window.
          expect(splitImportedKey(cut.inside, loaded)).toEqual({ inside: cut.inside, outside: [] });
          return [...cut.outside];
        });
      }
      const left = held.flatMap((loadKey) => parseImportedKey(loadKey) ?? []);
      for (let start = dayOf(at).start; start < dayOf(at).end; start += minute) {
        const one = { start, end: start + minute };
        const isLoaded = windows.some((loaded) => overlap(loaded, one));
        expect(left.filter((day) => overlap(day, one)).length).toBe(isLoaded ? 0 : 1);
      }
    }),
    { numRuns: 50 },
  );
});

test('a day is a whole UTC day, and a unit of another kind is none', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 4e12 }), (at) => {
      const day = dayOf(at);
      expect(day.end - day.start).toBe(dayMs);
      expect(Number.isInteger(day.start / dayMs)).toBe(true);
      expect(at >= day.start && at < day.end).toBe(true);
      expect(parseImportedKey(importedKey(day))).toEqual(day);
    }),
  );
  expect(parseImportedKey('window/2025-03-01T00:00:00.000Z/2025-03-02T00:00:00.000Z')).toBeUndefined();
  expect(splitImportedKey('group/G1', { start: 0, end: 1e15 })).toBeUndefined();
});
