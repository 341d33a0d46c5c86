import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readImportSettings, readThreads } from '../options/command-settings.js';

export const importCommand: CommandDefinition = {
  name: 'import',
  positional: {
    name: 'FILE',
    many: true,
    about: 'Saved response bodies, one per line, plain or gzip; - for standard input',
  },
  about: 'Load saved response bodies',
  description:
    'Loads saved responses of the service, one body per line ({"payload":{...}}), without a request: events into events\n' +
    'and entries, lists of groups into groups. It stores rows by whole UTC days. It skips windows that are already loaded;\n' +
    'a later load of a window replaces its imported rows. A second import of the same file changes nothing.',
  options: {
    ...shared('lake'),
    account: { about: 'Account of the events [default: the only configured account, else demo]' },
    'skip-broken': { isFlag: true, about: 'Skip only the lines that are not response bodies, not their whole file' },
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
      'importing for demo, the synthetic seller, because no account is named; use --account for pages of your own';
    if (!isNamed) context.emit({ event: 'message', message });
    return importPages(
      {
        ...settings,
        threads: readThreads(args),
        files: args.positionals('FILE'),
        skipBroken: args.flag('skip-broken'),
        stdin: () => process.stdin,
      },
      context,
    );
  },
};
