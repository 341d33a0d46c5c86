import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalScale, decimalText } from '../../../src/core/numeric/decimal.js';
import { DataFile, rowsOf } from '../../../src/lake/delta/data-file.js';
import { addNets, mergedTags } from '../../../src/lake/files/new-file.js';

const file = (tags: Record<string, string>) =>
  new DataFile({ path: 'x', partitionValues: {}, size: 1, modificationTime: 0, dataChange: true, tags }, 'events');

test('sums of any size add up exactly, currency by currency', () => {
  const currency = fc.constantFrom('', 'CAD', 'EUR', 'USD');
  const net = fc.dictionary(currency, fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }));
  fc.assert(
    fc.property(fc.array(net), (nets) => {
      const expected = new Map<string, bigint>();
      for (const [name, sum] of nets.flatMap((of) => Object.entries(of)))
        expected.set(name, (expected.get(name) ?? 0n) + sum);
      const texts = nets.map((of) =>
        Object.fromEntries(Object.entries(of).map(([name, sum]) => [name, decimalText(sum, decimalScale)])),
      );
      const sums = addNets(texts);
      expect(sums).toEqual(
        Object.fromEntries([...expected].map(([name, sum]) => [name, decimalText(sum, decimalScale)])),
      );
      expect(Object.keys(sums)).toEqual(Object.keys(sums).toSorted());
    }),
  );
});

test('a sum that is none is refused', () => {
  expect(() => addNets([{ USD: '1.5000005' }])).toThrow('six decimals');
});

test('a merged file has the groups of all, the sum of the rows, and of other tags what all say alike', () => {
  const files = [
    file({
      loadKeys: '["window/b"]',
      rows: '2',
      sha256: 'a',
      pipeline: 'p',
      custom: 'x',
      groups: '[{"id":"1","start":0,"end":null}]',
    }),
    file({
      loadKeys: '["window/a","window/b"]',
      rows: '40',
      sha256: 'b',
      pipeline: 'p',
      custom: 'y',
      groups: '[{"id":"2","start":null,"end":5}]',
    }),
  ];
  expect(mergedTags(files)).toEqual({
    shared: { pipeline: 'p' },
    groups: [
      { id: '1', start: 0, end: null },
      { id: '2', start: null, end: 5 },
    ],
  });
  expect(rowsOf(files)).toBe(42);
});
