import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { parseFaults, faultKinds, faultLines, faultRules } from '../../../src/emulator/faults/fault-settings.js';

test.each([
  ['throttled', { throttled: {} }],
  ['throttled=0.05', { throttled: { share: 0.05 } }],
  ['window-limit:7', { 'window-limit': { amount: 7 } }],
  ['deferred-events:0.5=1', { 'deferred-events': { amount: 0.5, share: 1 } }],
  [' all=0.1 , reset=0 ', { all: { share: 0.1 }, reset: { share: 0 } }],
])('%j', (text, faults) => {
  expect(parseFaults(text)).toEqual(faults);
});

test.each([
  ['', 'not of that form'],
  ['throttled,', 'not of that form'],
  ['Throttled', 'not of that form'],
  ['throttled=', 'not of that form'],
  ['throttled=-1', 'not of that form'],
  ['throttled=1e3', 'not of that form'],
  ['throtled', 'no such kind'],
  ['constructor', 'no such kind'],
  ['all', 'all needs a share'],
  ['all:5=1', 'takes no amount'],
  ['throttled,throttled=1', 'given twice'],
  ['throttled=1.01', 'expected a share of throttled from 0 to 1'],
  ['throttled:5', 'takes no amount'],
  ['page-limit:0', 'whole number from 1'],
  ['page-limit:1.5', 'whole number from 1'],
  ['window-limit:0', 'number above 0'],
  ['clock-fast=0.5', 'takes no share'],
])('%j is refused in one line that names every kind', (text, why) => {
  const refuse = () => parseFaults(text);
  expect(refuse).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
  expect(refuse).toThrow(why);
  for (const kind of [...faultKinds, 'all']) expect(refuse).toThrow(kind);
  expect(refuse).not.toThrow(/\n/);
});

const share = fc.integer({ min: 0, max: 10_000 }).map((parts) => parts / 10_000);
const setting = (kind: (typeof faultKinds)[number]) => {
  const { amount, shareOf } = faultRules[kind];
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  return fc.record({
    kind: fc.constant(kind),
    amount: amount === undefined ? fc.constant(undefined) : some(fc.integer({ min: 1, max: 1e9 })),
    share: shareOf === 'none' ? fc.constant(undefined) : some(share),
  });
};

test('what is written is read back', () => {
  const lists = fc
    .subarray([...faultKinds], { minLength: 1 })
    .chain((kinds) => fc.tuple(...kinds.map((kind) => setting(kind))));
  fc.assert(
    fc.property(lists, (list) => {
      const text = list.map(
        ({ kind, amount, share: part }) =>
          `${kind}${amount === undefined ? '' : `:${amount}`}${part === undefined ? '' : `=${part}`}`,
      );
      const faults = parseFaults(text.join(','));
      expect(Object.keys(faults)).toEqual(list.map(({ kind }) => kind));
      for (const { kind, ...given } of list)
        expect({ amount: undefined, share: undefined, ...faults[kind] }).toEqual(given);
    }),
  );
});

test('any other text is a usage error, and nothing else is ever thrown', () => {
  const words = fc.constantFrom(...faultKinds, 'all', ',', '=', ':', '0.5', '1', '-', ' ', '__proto__', 'toString');
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words, { maxLength: 8 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        for (const kind of Object.keys(parseFaults(text))) expect([...faultKinds, 'all']).toContain(kind);
      } catch (error) {
        expect(error).toBeInstanceOf(LedgerlakeError);
        expect(error).toMatchObject({ code: 'USAGE' });
      }
    }),
    { numRuns: 500 },
  );
});

describe('the help', () => {
  test('has a line for every kind, none too wide', () => {
    expect(faultLines()).toHaveLength(faultKinds.length);
    for (const [index, kind] of faultKinds.entries()) {
      expect(faultLines()[index]).toMatch(new RegExp(`^${kind}(:| |$)`));
      expect(faultLines()[index]?.length).toBeLessThan(107);
    }
  });
});
