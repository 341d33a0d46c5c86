import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GroupSpan } from '../../../../src/lake/delta/data-file.js';
import { listingGaps } from '../../../../src/sources/finances/api-v0/listing-gaps.js';

const day = 86_400_000;
const loaded = [
  { start: 0, end: 31 * day },
  { start: 31 * day, end: 90 * day },
];

/** A row of settlements of so many days, the last of them open. */
function row(name: string, begin: number, days: number, until = 90): GroupSpan[] {
  const spans: GroupSpan[] = [];
  for (let start = begin; start < until; start += days) {
    const end = start + days;
    const [from, to] = [start, end].map((at) => Math.round(at * day));
    spans.push({ id: `${name}${spans.length}`, start: from ?? null, end: end > until ? null : (to ?? null) });
  }
  return spans;
}

const found = (groups: readonly GroupSpan[]) =>
  listingGaps(groups, loaded).gaps.map(({ at, side, beside }) => [at / day, side, beside.id]);

test('rows of any length, side by side, have no gap, wherever they begin and whether or not they meet at an instant', () => {
  // The settlement before the first one opened before what was listed: else it would be missed.
  const begin = fc.integer({ min: 0, max: 7 * day - 1 }).map((ms) => ms / day);
  const rows = fc.array(fc.record({ begin, days: fc.integer({ min: 7, max: 40 }) }), { maxLength: 5 });
  fc.assert(
    fc.property(rows, (all) => {
      const groups = all.flatMap(({ begin, days }, at) => row(String.fromCharCode(97 + at), begin, days));
      expect(found(groups)).toEqual([]);
    }),
  );
});

test('of a row any one but its first is missed, where it should have opened, and none besides', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.boolean(), (gone, hasOther) => {
      const own = row('a', 3, 14);
      const other = hasOther ? row('b', 3, 14) : [];
      const at = (3 + gone * 14) * day;
      const { gaps } = listingGaps([...own.filter((_, index) => index !== gone), ...other], loaded);
      expect(gaps.length).toBeGreaterThan(0);
      expect(new Set(gaps.map((gap) => gap.at))).toEqual(new Set([at]));
    }),
  );
});

test.each([
  [
    'the first of a row, where another was there before',
    [...row('a', 1, 7), ...row('b', 9, 7).slice(1)],
    [[9, 'before', 'b1']],
  ],
  [
    'several in a row, from both of their ends',
    [row('a', 0, 10).slice(0, 2), row('a', 0, 10).slice(5)].flat(),
    [
      [20, 'after', 'a1'],
      [40, 'before', 'a5'],
    ],
  ],
  ['the last ones', row('a', 0, 10).slice(0, 7), [[70, 'after', 'a6']]],
] as const)('%s', (_what, groups, gaps) => {
  expect(found(groups)).toEqual(gaps);
});

test('what nobody has listed is not missed, nor what has only just ended, nor what came before all others', () => {
  expect(found(row('a', 5, 14).slice(1))).toEqual([]);
  const lacking = row('a', 0, 10).filter((_, index) => index !== 4);
  expect(
    listingGaps(lacking, [
      { start: 0, end: 40 * day },
      { start: 50 * day, end: 90 * day },
    ]).gaps,
  ).toEqual([]);
  expect(
    found(
      row('a', 0, 10, 100)
        .slice(0, 9)
        .map((span) => ({ ...span, end: span.end ?? 0 })),
    ),
  ).toEqual([]);
});

test('a settlement that is open, or has no dates, misses nothing behind it', () => {
  expect(
    found([
      { id: 'a', start: 0, end: 10 * day, open: true },
      { id: 'b', start: null, end: null },
    ]),
  ).toEqual([]);
});

test('before the first of all one may have opened, if it was listed what opened there', () => {
  expect(listingGaps(row('a', 20, 14), loaded).beginnings.map(({ at, beside }) => [at / day, beside.id])).toEqual([
    [6, 'a0'],
  ]);
  expect(listingGaps(row('a', 13, 14), loaded).beginnings).toEqual([]);
});
