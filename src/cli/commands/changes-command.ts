import { changesFormats } from '../../app/changes/changes-formats.js';
import { usageError } from '../../core/errors.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const changesCommand: CommandDefinition = {
  name: 'changes',
  about: 'Write the rows that came and went since a version, for another system',
  description:
    'Compares the newest version with an earlier one, and writes a line for each row that came (_change_type insert) or went\n' +
    '(delete), those that went first. What compact moves is no change. The last line has the version to go on from. Rows that\n' +
    'went can be read as long as the retention of the lake keeps their files: see `retentionHours`.',
  options: {
    ...shared('lake', 'config'),
    since: { about: 'VERSION, VERSION:HASH or an instant, ISO 8601 in UTC [default: the beginning, all rows]' },
    table: { about: 'Table; may be repeated [default: all]' },
    account: { about: 'Account [default: all]' },
    exclude: {
      about:
        'COLUMN[,COLUMN] that rows are compared and written without: position,window_start,window_end for a warehouse',
    },
    format: { choices: changesFormats, about: 'Format [default: from the extension of --output, else ndjson]' },
    output: { short: 'o', about: 'File, written completely or not at all [default: standard output]' },
    ...shared('json'),
  },
  examples: [
    ['changes > first.ndjson', 'all rows, with the version that they are of'],
    ['changes --since 42 --table entries', 'the amounts that came and went since version 42'],
    ['changes --since 42 --exclude position,window_start,window_end', 'without rows that only moved, for a webhook'],
    ['changes --since {1 day ago} --table events -o day.parquet', 'the events of a day, for a warehouse'],
  ],
  run: async (args, context) => {
    const file = args.text('output') === '-' ? undefined : args.text('output');
    if (file === undefined && args.flag('json')) {
      throw usageError('expected --output FILE with --json, got none; without a file the last line has the version');
    }
    const [{ changes }, { readSince }] = await Promise.all([
      import('../../app/changes/changes.js'),
      import('../../app/changes/since.js'),
    ]);
    const since = args.text('since');
    const format = changesFormats.find((name) => name === args.text('format'));
    const options = {
      ...(await readLakeSettings(args)),
      since: since === undefined ? undefined : readSince(since),
      tables: args.repeated('table'),
      account: args.text('account'),
      format,
      file,
      exclude: args.text('exclude')?.split(',') ?? [],
    };
    const result = await changes(options, { ...context, output: process.stdout });
    return file === undefined ? 0 : result;
  },
};
