import { reportEncodings } from '../../sources/finances/settlement-reports/report-encodings.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readImportSettings, readThreads } from '../options/command-settings.js';

export const importCommand: CommandDefinition = {
  name: 'import',
  positional: {
    name: 'FILE',
    many: true,
    about: 'Saved response bodies, one per line, or a settlement report; plain or gzip; - for standard input',
  },
  about: 'Load saved response bodies and settlement reports',
  description:
    'Loads saved responses of the service, one body per line ({"payload":{...}}), without a request: events into events\n' +
    'and entries, lists of groups into groups. It stores rows by whole UTC days. It skips windows that are already loaded;\n' +
    'a later load of a window replaces its imported rows. A second import of the same file changes nothing.\n' +
    "It also loads Amazon's settlement reports (flat file V2, tab-separated), recognised by their line of names, into\n" +
    'settlement_reports and settlement_lines: each settlement once, the last one read where documents differ.',
  options: {
    ...shared('lake'),
    account: { about: 'Account of the events [default: the only configured account, else demo]' },
    'skip-broken': { isFlag: true, about: 'Skip only the lines that are not response bodies, not their whole file' },
    encoding: {
      about: 'Encoding of settlement reports [default: recognised]',
      choices: reportEncodings,
    },
    ...shared('threads', 'config', 'json'),
  },
  examples: [
    ['import --account shop pages-2024.ndjson.gz', 'a year of saved pages'],
    ['import --account shop -', 'from standard input'],
    ['import --account shop settlement-2026-03.txt', 'a settlement report from Seller Central'],
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
        encoding: reportEncodings.find((encoding) => encoding === args.text('encoding')),
        stdin: () => process.stdin,
      },
      context,
    );
  },
};
