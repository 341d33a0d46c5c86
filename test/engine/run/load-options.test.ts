import { expect, test } from 'vitest';
import { readLoadOptions } from '../../../src/engine/run/load-options.js';

test('the values of a load are as they are given', () => {
  const read = (given: Readonly<Record<string, string | boolean>>) => readLoadOptions((name) => given[name]);
  const values = { refresh: true, acceptEmpty: false, maxLag: '2h' };
  expect(read(values)).toEqual(values);
  expect(read({})).toEqual({});
});
