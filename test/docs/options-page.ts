import { commands } from '../../src/cli/commands.js';
import type { CommandDefinition, OptionDefinition } from '../../src/cli/options/command-definition.js';
import { exampleLine, optionHelp, optionWords } from '../../src/cli/help.js';

/** `docs/options.md`: every command with its options, as the command line itself knows them. */
export async function optionsPage(): Promise<string> {
  const sections: string[] = [];
  for (const command of commands) sections.push(await commandSection(command));
  return [
    '# Commands and options',
    '',
    'Generated from the definitions of the commands; `ledgerlake COMMAND --help` prints the same text.',
    '',
    'Each command takes `--verbose`, `--quiet`, `--log-format` ([logs.md](logs.md)) and `--help` too. Exit codes: 0 done; 1 not',
    'done, what was committed stays; 2 the command line or a file of yours is wrong, and nothing was touched. Results go to',
    'standard output, logs to standard error.',
    '',
    '| command | |',
    '| --- | --- |',
    ...commands.map(({ name, about }) => `| [\`${name}\`](#${name}) | ${cell(about)} |`),
    '',
    ...sections,
  ].join('\n');
}

async function commandSection({
  name,
  positional,
  description,
  options,
  examples,
}: CommandDefinition): Promise<string> {
  const word = positional === undefined ? '' : ` [${positional.name}${positional.many ? '..' : ''}]`;
  const rows = Object.entries(options).map(([option, definition]) => optionRow(option, definition));
  if (positional !== undefined) rows.unshift(`| \`${positional.name}\` | ${cell(positional.about)} |`);
  return [
    `## ${name}`,
    '',
    '```text',
    `ledgerlake ${name}${word}`,
    '',
    typeof description === 'string' ? description : await description(),
    '```',
    '',
    '| option | |',
    '| --- | --- |',
    ...rows,
    '',
    ...examples.map(
      ([line, does]) =>
        `- \`ledgerlake ${exampleLine(line, (days) => `"$(date -d '${days} days ago' +%F)"`)}\`: ${does}`,
    ),
    '',
  ].join('\n');
}

function optionRow(option: string, definition: OptionDefinition): string {
  return `| \`${cell(optionWords(option, definition))}\` | ${cell(optionHelp(definition))} |`;
}

/** A bar would end the cell, and what looks like a tag would be one. */
function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;');
}
