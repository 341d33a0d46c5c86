import { expect, test } from 'vitest';
import { financesApis } from '../../../src/sources/finances/finances-apis.js';
import type { ApiOperation } from '../../../src/sources/finances/selling-partner/finances-api.js';

// An API is found by the name of an operation, import finds one by that of the results, and a lake has all tables.
test('no two APIs have an operation, results or a table of the same name', () => {
  const names = financesApis.map(({ operations, tables }) => {
    const all = Object.values<ApiOperation>(operations);
    return [...new Set([...all.flatMap(({ name, result }) => [name, result]), ...tables.map(({ name }) => name)])];
  });
  expect(names.length).toBeGreaterThan(1);
  for (const own of names) expect(own.length).toBeGreaterThan(5);
  expect(names.flat().toSorted()).toEqual([...new Set(names.flat())].toSorted());
});
