import { expect, test } from 'vitest';
import { readLoadOptions, type LoadCommand } from '../../../src/engine/run/load-options.js';

const read = (command: LoadCommand, given: Readonly<Record<string, string | number | boolean | readonly string[]>>) =>
  readLoadOptions(command, (name) => given[name]);

test('the values of a load are those that are given of the options of its command', () => {
  const values = { refresh: true, acceptEmpty: false, maxLag: '2h', orders: ['902-1845936-5435065'] };
  const { acceptEmpty, orders, refresh, maxLag } = values;
  expect(read('backfill', values)).toEqual({ refresh, acceptEmpty, orders });
  expect(read('plan', values)).toEqual({ refresh, orders });
  expect(read('sync', values)).toEqual({ acceptEmpty, maxLag, orders, parallel: 4 });
  expect(read('backfill', {})).toEqual({});
});

test('a number is given as one or as its text, within its bounds', () => {
  expect(read('sync', { parallel: '16' }).parallel).toBe(16);
  expect(read('sync', { parallel: 1 }).parallel).toBe(1);
  for (const parallel of ['0', '17', '1.5', 'x', '', -1, 17, Number.NaN]) {
    expect(() => read('sync', { parallel })).toThrow(
      `expected --parallel to be a whole number from 1 to 16, got ${JSON.stringify(String(parallel))}`,
    );
  }
});
