import { expect, test } from 'vitest';
import { SharedArrays } from '../../../../src/core/columns/memory.js';
import { attributes } from '../../../../src/sources/finances/api-v0/attributes.js';
import { SliceRows, windowSubject } from '../../../../src/sources/finances/model/slice-rows.js';

test('rows of a page with more paths and days than a call takes arguments go over to another thread', () => {
  const rows = new SliceRows(attributes);
  for (let at = 0; at < 300_000; at++) {
    rows.amountPaths.push({ path: `Path${at}`, stem: 'fee', kind: 'fee', role: 'fee' });
    rows.subjects.push(windowSubject({ start: at, end: at + 1 }));
  }
  const taken = new SliceRows(attributes);
  taken.take(rows.copy(new Uint8Array(), new SharedArrays()), new Uint8Array());
  expect(taken.amountPaths).toEqual(rows.amountPaths);
  expect(taken.subjects).toEqual(rows.subjects);
});
