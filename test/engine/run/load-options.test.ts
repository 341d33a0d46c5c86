import { expect, test } from 'vitest';
import { readLoadOptions, type LoadCommand } from '../../../src/engine/run/load-options.js';

const read = (command: LoadCommand, given: Readonly<Record<string, string | boolean | readonly string[]>>) =>
  readLoadOptions(command, (name) => given[name]);

test('the values of a load are those that are given of the options of its command', () => {
  const values = { refresh: true, acceptEmpty: false, maxLag: '2h', orders: ['902-1845936-5435065'] };
  const { acceptEmpty, orders, refresh, maxLag } = values;
  expect(read('backfill', values)).toEqual({ refresh, acceptEmpty, orders });
  expect(read('plan', values)).toEqual({ refresh, orders });
  expect(read('sync', values)).toEqual({ acceptEmpty, maxLag, orders });
  expect(read('backfill', {})).toEqual({});
});
