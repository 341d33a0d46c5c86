import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readImportSettings, readThreads } from '../options/command-settings.js';

export const importCommand: CommandDefinition = {
  name: 'import',
  positional: {
    name: 'FILE',
    many: true,
    about: 'Saved response bodies, one a line, gzip or not; - for standard input',
  },
  about: 'Load saved response bodies',
  more:
    'Loads saved answers of the service, one body a line ({"payload":{...}}), without asking it: events into events and\n' +
    'entries, listings of groups into groups. Rows are kept by whole UTC days; days that are loaded already are left out,\n' +
    'and days that are loaded later replace imported ones. A second import of the same file changes nothing.',
  options: {
    ...shared('lake'),
    account: { type: 'text', about: 'Whose events [default: the only configured account, else demo]' },
    'skip-broken': { type: 'flag', about: 'Skip lines that are no response bodies, instead of their whole file' },
    ...shared('threads', 'config', 'json'),
  },
  examples: [
    ['import --account shop pages-2024.ndjson.gz', 'a year of saved pages'],
    ['import --account shop -', 'from standard input'],
  ],
  run: async (args, context) => {
    const { importPages } = await import('../../app/import/import-pages.js');
    const { isNamed, ...settings } = await readImportSettings(args);
    const message =
      'importing for demo, the made-up seller, as no account is named: give pages of your own an --account';
    if (!isNamed) context.emit({ event: 'message', message });
    await importPages(
      {
        ...settings,
        threads: await readThreads(args),
        files: args.all('FILE'),
        skipBroken: args.flag('skip-broken'),
        stdin: () => process.stdin,
      },
      context,
    );
    return 0;
  },
};
