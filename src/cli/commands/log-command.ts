import { readFormat, readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const logCommand: CommandDefinition = {
  name: 'log',
  about: 'Show what was committed to the lake, newest first',
  description:
    'Lists the commits of the catalog, with a row for each table of which a commit adds or replaces files: the rows and\n' +
    'files that it adds, and the files that it replaces. `sql --at VERSION` queries the lake as it was then.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account whose commits to show [default: all]' },
    limit: { default: '20', about: 'Number of commits to show' },
    ...shared('format'),
  },
  examples: [
    ['log', 'the last 20 commits'],
    ['log --limit 1000000 --format csv', 'all of them, for a spreadsheet'],
  ],
  run: async (args, context) => {
    const { commitLog } = await import('../../app/log/commit-log.js');
    const options = {
      lake: (await readLakeSettings(args)).lake,
      account: args.text('account'),
      limit: args.required('limit'),
      format: readFormat(args),
    };
    await commitLog(options, readingContext(args, context));
    return 0;
  },
};
