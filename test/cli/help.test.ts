import { describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { everyOption } from '../../src/cli/options/command-definition.js';
import { commandHelp, overallHelp } from '../../src/cli/help.js';

describe.each([60, 80, 110])('on %i columns', (width) => {
  /** Lines that are too long. A command line that can be copied is never broken. */
  const long = (help: string): string[] =>
    help.split('\n').filter((line) => line.length > width && !line.startsWith('  ledgerlake '));

  test('the help of all', () => {
    const help = overallHelp(commands, width);
    expect(long(help)).toEqual([]);
    for (const { name } of commands) expect(help).toMatch(new RegExp(`^  ledgerlake ${name} `, 'm'));
  });

  test.each(commands)('the help of $name', async (command) => {
    const help = await commandHelp(command, width, Date.parse('2026-03-31'));
    expect(long(help)).toEqual([]);
    for (const option of Object.keys({ ...command.options, ...everyOption })) expect(help).toContain(`--${option}`);
    // Nothing is lost where lines are broken anew.
    const { description } = command;
    const words = (text: string): string => text.split(/\s+/).join(' ').trim();
    expect(words(help)).toContain(words(typeof description === 'string' ? description : await description()));
  });
});

test('a list keeps its columns, and each line goes on below its last one', async () => {
  const backfill = commands.find(({ name }) => name === 'backfill');
  const help = backfill === undefined ? '' : await commandHelp(backfill, 60, Date.parse('2026-03-31'));
  expect(help).toContain(
    [
      '  financial-event-groups   settlements (financial event',
      '                           groups) that opened in the range',
    ].join('\n'),
  );
});
