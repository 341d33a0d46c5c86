import { expect, test } from 'vitest';
import { CommandArguments } from '../../src/cli/options/command-definition.js';
import { exportCommand } from '../../src/cli/commands/export-command.js';
import { parserFault } from '../../src/cli/parser-fault.js';

test('an account of a query is a condition of it', () => {
  expect(parserFault('Unknown argument: account', ['sql', '--account', 'shop', 'FROM events'])).toBe(
    "expected an option, got --account: a query reads all accounts; add WHERE account = 'NAME' to it",
  );
});

test.each([
  ['parquet', /got "parquet"; `ledgerlake sql -o FILE\.parquet "FROM entries"` writes rows to a file$/],
  ['excel', /got "excel"$/],
])('export %s names what sql writes instead', (format, message) => {
  const args = new CommandArguments({ FORMAT: format });
  expect(() => exportCommand.run(args, {} as never)).toThrow(message);
});
