import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalScale, decimalText } from '../../../src/core/numeric/decimal.js';
import { rowsInLog } from '../../../src/lake/delta/file-tags.js';
import { addNets, mergedTags } from '../../../src/lake/files/new-file.js';

const add = (tags: Record<string, string>) => ({
  path: 'x',
  partitionValues: {},
  size: 1,
  modificationTime: 0,
  dataChange: true,
  tags,
});

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

test('a merged file has the load keys of all, the sum of the rows, and of other tags what all say alike', () => {
  const adds = [
    add({ loadKeys: '["window/b"]', rows: '2', sha256: 'a', pipeline: 'p', custom: 'x', groups: '[{"id":"1"}]' }),
    add({
      loadKeys: '["window/a","window/b"]',
      rows: '40',
      sha256: 'b',
      pipeline: 'p',
      custom: 'y',
      groups: '[{"id":"2"}]',
    }),
  ];
  expect(mergedTags(adds)).toEqual({
    loadKeys: '["window/a","window/b"]',
    pipeline: 'p',
    groups: '[{"id":"1"},{"id":"2"}]',
  });
  expect(rowsInLog(adds)).toBe(42);
});
