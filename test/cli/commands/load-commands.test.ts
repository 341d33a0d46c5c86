import { expect, test } from 'vitest';
import { readParallel } from '../../../src/cli/commands/load-commands.js';
import { CommandArguments } from '../../../src/cli/options/command-definition.js';

const read = (parallel: string | undefined) => readParallel(new CommandArguments({ parallel }));

test('accounts load side by side within bounds', () => {
  expect(read(undefined)).toBe(4);
  expect(read('1')).toBe(1);
  expect(read('16')).toBe(16);
  for (const text of ['0', '17', '1.5', 'x', '', '-1', 'NaN']) {
    expect(() => read(text)).toThrow(
      `expected --parallel to be a whole number from 1 to 16, got ${JSON.stringify(text)}`,
    );
  }
});
