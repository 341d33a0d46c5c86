import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planMerges } from '../../../src/app/maintenance/merge-plan.js';

const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 40 });
const things = (bytes: readonly number[]) => bytes.map((size, at) => ({ bytes: size, landedBytes: 0, at }));

test('merges neighbours up to the target, each thing once and none that is half as large', () => {
  fc.assert(
    fc.property(sizes, (bytes) => {
      const merges = planMerges(things(bytes), 100);
      const merged = merges.flat();
      expect(merged.map(({ at }) => at)).toEqual([...new Set(merged.map(({ at }) => at))].toSorted((a, b) => a - b));
      for (const merge of merges) {
        expect(merge.length).toBeGreaterThan(1);
        expect(merge.reduce((sum, thing) => sum + thing.bytes, 0)).toBeLessThanOrEqual(100);
        for (const thing of merge) expect(thing.bytes).toBeLessThan(50);
      }
    }),
  );
});

test('ends, however small a merge comes out, with one small thing at most', () => {
  fc.assert(
    fc.property(sizes, fc.double({ min: 0.01, max: 1.2, noNaN: true }), (bytes, shrunk) => {
      let left = things(bytes);
      for (let rounds = 0; ; rounds++) {
        expect(rounds).toBeLessThanOrEqual(bytes.length);
        const [merge] = planMerges(left, 100);
        if (merge === undefined) break;
        const sum = merge.reduce((total, thing) => total + thing.bytes, 0);
        const at = merge[0]?.at ?? 0;
        left = [
          ...left.filter((thing) => !merge.includes(thing)),
          { bytes: Math.max(1, sum * shrunk), landedBytes: 0, at },
        ];
        left.sort((a, b) => a.at - b.at);
      }
      expect(left.filter((thing) => thing.bytes < 50).length).toBeLessThanOrEqual(1);
    }),
  );
});

test('keeps things apart that must not be merged, and merges the others past them', () => {
  const colours = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 2 })), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(colours, (given) => {
      const all = given.map(([bytes, colour], at) => ({ bytes, landedBytes: 0, colour, at }));
      const merges = planMerges(all, 100, (one, other) => one.colour === other.colour);
      const each = [0, 1, 2].flatMap((colour) =>
        planMerges(
          all.filter((thing) => thing.colour === colour),
          100,
        ),
      );
      expect(new Set(merges)).toEqual(new Set(each));
    }),
  );
});

test('what is large enough is written again for its landed bytes alone, behind the merges and once', () => {
  const landed = (bytes: number, landedBytes: number) => ({ bytes, landedBytes });
  const [one, other, large, written, small] = [
    landed(30e6, 30e6),
    landed(31e6, 0),
    landed(90e6, 90e6),
    landed(90e6, 0),
    landed(90e6, 700_000),
  ];
  expect(planMerges([one, large, other, written, small], 100e6)).toEqual([[one, other], [large]]);
  expect(planMerges([one, written], 100e6)).toEqual([[one]]);
  expect(planMerges([other, written, small], 100e6)).toEqual([]);
});
