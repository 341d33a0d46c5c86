import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { WindowSlice } from '../../../src/engine/slicing/window-slices.js';
import { WindowQueue } from '../../../src/engine/slicing/window-queue.js';
import { dayMs, dayStart, months, type Window } from '../../../src/core/windows.js';
import type { SliceQueue } from '../../../src/engine/run/slice-queue.js';
import { clock } from '../run/small-run.js';

let folder: string;
let lake: Lake;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledgerlake-work-test-'));
  lake = await Lake.open(openStore(folder, { clock }), tables, clock);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function workOf(range: Window): SliceQueue<WindowSlice> {
  const job = { kind: 'backfill', account: 'shop', range, lake, refresh: false, orders: [], isPaced: true } as const;
  return new WindowQueue(job, { pipeline: 'financial-events', table: 'events', gridDays: 7, probeDays: 10 });
}

const begin = Date.UTC(2026, 0, 1);
const whole = (window: Window, perDay: number) => ({
  pages: 1,
  results: Math.round((perDay * (window.end - window.start)) / dayMs),
  reach: window.end,
  isWhole: true,
});

const range = fc
  .tuple(fc.integer({ min: 0, max: 200 * dayMs }), fc.integer({ min: 60_000, max: 120 * dayMs }))
  .map(([at, length]) => ({ start: begin + at, end: begin + at + length }));
/** What becomes of a slice, and how many pages the next one is to have. */
const step = fc.record({
  fate: fc.constantFrom('read', 'read', 'recut', 'split', 'split-to-days', 'shorten'),
  pages: fc.integer({ min: 1, max: 100 }),
  perDay: fc.integer({ min: 0, max: 20_000 }),
});

test('whatever becomes of the slices, all that is missing is read once, in whole days of one month', () => {
  fc.assert(
    fc.property(range, fc.array(step, { minLength: 1, maxLength: 60 }), (asked, steps) => {
      const work = workOf(asked);
      const read: Window[] = [];
      for (let at = 0; work.left !== ''; at++) {
        const { fate, pages, perDay } = steps[at] ?? { fate: 'read', pages: 100, perDay: 100 };
        const slice = work.next(pages);
        if (slice === undefined) throw new Error(`nothing comes, and ${work.left} are left`);
        const { window } = slice;
        expect(months(window)).toEqual([window]);
        if (fate === 'recut') {
          const reach = window.start + (window.end - window.start) / 50;
          work.learn(slice, { pages: 1, results: 100, reach, isWhole: false });
          if (work.recut?.(slice) === true) continue;
        }
        if (fate !== 'read' && fate !== 'recut' && work.split(slice, fate)) continue;
        for (const bound of [window.start, window.end]) {
          if (fate === 'read' && steps.every((one) => one.fate === 'read' || one.fate === 'recut')) {
            expect(bound === asked.start || bound === asked.end || bound === dayStart(bound)).toBe(true);
          }
        }
        read.push(window);
        work.learn(slice, whole(window, perDay));
      }
      const inOrder = read.toSorted((a, b) => a.start - b.start);
      expect(inOrder[0]?.start).toBe(asked.start);
      expect(inOrder.at(-1)?.end).toBe(asked.end);
      for (const [index, { start }] of inOrder.slice(1).entries()) expect(start).toBe(inOrder[index]?.end);
    }),
    { numRuns: 300 },
  );
});

test('the newest month is read first, within a month the earliest days', () => {
  fc.assert(
    fc.property(range, fc.integer({ min: 1, max: 100 }), (asked, pages) => {
      const work = workOf(asked);
      const starts: string[] = [];
      for (let slice = work.next(pages); slice !== undefined; slice = work.next(pages)) {
        starts.push(new Date(slice.window.start).toISOString());
        work.learn(slice, whole(slice.window, 500));
      }
      const monthOf = (start: string) => start.slice(0, 7);
      const newest = [...new Set(starts.map(monthOf))].sort().reverse();
      const expected = newest.flatMap((month) => starts.filter((start) => monthOf(start) === month).sort());
      expect(starts).toEqual(expected);
    }),
  );
});

test('while nothing is known a month is read in parts alike; a known one in as many as its pages need', () => {
  const work = workOf({ start: begin, end: Date.UTC(2026, 2, 1) });
  const [first, second] = [work.next(100), work.next(100)];
  expect([first?.name, second?.name]).toEqual([
    '20260201T000000Z-20260211T000000Z',
    '20260211T000000Z-20260220T000000Z',
  ]);
  if (first === undefined) return;
  // Ten pages a day.
  work.learn(first, whole(first.window, 1000));
  expect(work.next(100)?.name).toBe('20260220T000000Z-20260301T000000Z');
  expect(work.next(100)?.name).toBe('20260101T000000Z-20260112T000000Z');
  expect(work.next(30)?.name).toBe('20260112T000000Z-20260115T000000Z');
});

test('what an open slice has left is told by how far it was read, and one that holds too much is cut anew', () => {
  const work = workOf({ start: begin, end: Date.UTC(2026, 1, 1) });
  const slice = work.next(100);
  if (slice === undefined) throw new Error('nothing to read');
  // A hundred events in the first hour: 264 pages in eleven days.
  work.learn(slice, { pages: 1, results: 100, reach: begin + dayMs / 24, isWhole: false });
  expect(work.expected(slice)).toBeCloseTo(11 * 24, 6);
  expect(work.recut?.(slice)).toBe(true);
  const again = work.next(100);
  expect(again?.window).toEqual({ start: begin, end: begin + 4 * dayMs });
  if (again === undefined) return;
  work.learn(again, { pages: 60, results: 6000, reach: begin + 2 * dayMs, isWhole: false });
  // Sixty pages were read; the two days that are left hold 24 to 30 a day.
  expect(work.expected(again)).toBeGreaterThan(60 + 48);
  expect(work.expected(again)).toBeLessThan(60 + 60);
});

test('a slice whose pages lead nowhere is split down to days, one that holds too much down to minutes', () => {
  const shortest = (reason: 'split' | 'split-to-days'): number => {
    const work = workOf({ start: begin, end: Date.UTC(2026, 1, 1) });
    let least = Infinity;
    for (let slice = work.next(100), at = 0; slice !== undefined && at < 100; slice = work.next(100), at++) {
      least = Math.min(least, slice.window.end - slice.window.start);
      work.split(slice, reason);
    }
    return least;
  };
  expect(shortest('split-to-days')).toBe(dayMs);
  expect(shortest('split')).toBe(60_000);
});

test('a slice whose pages have no order is expected to hold what its window is, and not more with each page', () => {
  const work = workOf({ start: begin, end: begin + 31 * dayMs });
  const first = work.next(100) ?? expect.fail('a slice');
  work.learn(first, whole(first.window, 1000));
  const slice = work.next(100) ?? expect.fail('another slice');
  const expected = work.expected(slice) ?? expect.fail('pages');
  expect(expected).toBeGreaterThan(50);
  for (const pages of [1, 20]) {
    work.learn(slice, { pages, results: 100 * pages, reach: undefined, isWhole: false });
    expect(work.expected(slice)).toBeCloseTo(expected);
  }
  work.learn(slice, { pages: 400, results: 40_000, reach: undefined, isWhole: false });
  expect(work.expected(slice)).toBe(400);
});
