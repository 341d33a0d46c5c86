import { Buffer, isAscii } from 'node:buffer';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { statisticsJson } from '../../../src/core/columns/statistics.js';

test('any bounds come back from JSON that is nothing but ASCII, unless one of them is long', () => {
  const text = fc.string({ unit: 'binary', maxLength: 70 });
  const columns = fc.dictionary(text, fc.record({ min: text, max: text, nulls: fc.nat() }), { noNullPrototype: true });
  fc.assert(
    fc.property(fc.nat(), columns, (rows, held) => {
      const json = statisticsJson(rows, new Map(Object.entries(held)));
      expect(isAscii(Buffer.from(json))).toBe(true);
      const told = Object.entries(held).filter(([, { min, max }]) => min.length <= 64 && max.length <= 64);
      const valuesOf = (part: 'min' | 'max') => Object.fromEntries(told.map(([name, column]) => [name, column[part]]));
      expect(JSON.parse(json)).toEqual({
        numRecords: rows,
        minValues: valuesOf('min'),
        maxValues: valuesOf('max'),
        nullCount: Object.fromEntries(Object.entries(held).map(([name, { nulls }]) => [name, nulls])),
      });
    }),
  );
});

test('a column without a value has no bounds', () => {
  const json = statisticsJson(2, new Map([['sku', { nulls: 2 }]]));
  expect(JSON.parse(json)).toEqual({ numRecords: 2, minValues: {}, maxValues: {}, nullCount: { sku: 2 } });
});

test('a column may be called __proto__', () => {
  const json = statisticsJson(1, new Map([['__proto__', { min: 'a', max: 'b', nulls: 0 }]]));
  expect(json).toContain('"minValues":{"__proto__":"a"},"maxValues":{"__proto__":"b"},"nullCount":{"__proto__":0}');
});
