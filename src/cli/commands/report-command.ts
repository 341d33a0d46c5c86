import { readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const reportCommand: CommandDefinition = {
  name: 'report',
  about: 'Write an HTML report of the lake',
  description:
    'Writes one self-contained HTML file: earnings by month, where each 100 of sales goes, settlements and their totals\n' +
    'with the entries behind them, fees, SKUs, refunds, coverage, late arrivals and warnings. Each currency has separate\n' +
    'figures. It overwrites no file except an earlier report.',
  options: {
    ...shared('lake', 'config', 'cache', 'time-zone'),
    account: { about: 'Account to report [default: all, one after the other]' },
    from: { about: 'Start of the range, ISO 8601 in UTC [default: the first instant in the lake]' },
    ...shared('to'),
    format: {
      choices: ['html', 'csv', 'xlsx'],
      about:
        'The page, or its tables with exact amounts: a folder of CSV files, or a workbook [default: from the extension of --output, else html]',
    },
    output: {
      short: 'o',
      about: 'File to write, a folder for csv; - for standard output [default: ledgerlake-report.html]',
    },
  },
  examples: [
    ['report --account my-shop --from {365 days ago} -o year.html', 'a year of one account'],
    ['report --format xlsx -o 2025.xlsx', 'its tables for a spreadsheet'],
    ['report --lake s3://my-bucket/lake -o - | gzip > report.html.gz', 'to standard output'],
  ],
  run: async (args, context) => {
    const { report, reportFormats } = await import('../../app/report/report.js');
    const settings = await readLakeSettings(args);
    const options = {
      ...settings,
      account: args.text('account'),
      from: args.text('from'),
      to: args.text('to'),
      format: reportFormats.find((format) => format === args.text('format')),
      output: args.text('output'),
    };
    await report(options, readingContext(args, context, options.output !== '-'));
    return 0;
  },
};
