import type { ExportFormat } from '../../app/export/export-formats.js';
import { usageError } from '../../core/errors.js';
import type { CommandResult } from '../../app/command-result.js';
import type { CommandContext } from '../../app/context.js';
import { journalFormatNames } from '../../app/journal/journal-formats.js';
import { wholeNumber } from '../../core/text/value-forms.js';
import {
  readingContext,
  shared,
  type CommandArguments,
  type CommandDefinition,
} from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

interface FormatDefinition {
  /** The options that not every format has. */
  readonly options: readonly string[];
  readonly run: (args: CommandArguments, context: CommandContext) => Promise<CommandResult | number>;
}

/** What `export` writes, by the name of the format. */
const formats: Readonly<Record<string, FormatDefinition>> = {
  iceberg: { options: [], run: (args, context) => exportTables('iceberg', args, context) },
  symlinks: {
    options: ['ddl'],
    run: async (args, context) => {
      if (!args.flag('ddl')) return exportTables('symlinks', args, context);
      const { redshiftTables } = await import('../../app/export/export-tables.js');
      context.print(await redshiftTables(await readLakeSettings(args), context));
      return 0;
    },
  },
  views: {
    options: ['dir'],
    run: async (args, context) => {
      const { exportViews } = await import('../../app/query/export-views.js');
      return exportViews({ ...(await readLakeSettings(args)), dir: readDir(args) }, context);
    },
  },
  'settlement-report': { options: ['dir', 'settlement', 'account', 'from', 'to'], run: exportSettlementReports },
  journal: {
    options: ['account', 'month', 'from', 'to', 'basis', 'for', 'since', 'output'],
    run: exportJournal,
  },
};
const names = Object.keys(formats);

/** Files that `sql` writes, which others call an export. */
const resultFiles: readonly string[] = ['parquet', 'xlsx', 'csv', 'json', 'ndjson'];

export const exportCommand: CommandDefinition = {
  name: 'export',
  positional: {
    name: 'FORMAT',
    many: false,
    about: `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`,
    choices: names,
  },
  about:
    'Write journals, settlement reports, Iceberg metadata or symlink manifests of the tables, or the SQL of the views',
  description:
    'iceberg writes Apache Iceberg metadata (version 2) of every table to LAKE/_iceberg/TABLE. symlinks writes a manifest of\n' +
    'each partition to LAKE/TABLE/_symlink_format_manifest, for Redshift Spectrum, Hive and Presto. Both refer to the same\n' +
    'data files: nothing is copied, and what has not changed is not rewritten. With the setting `export` each run exports\n' +
    'at its end. A lake without a retention deletes replaced files at once.\n' +
    'views writes the SQL of the views of `ledgerlake sql` into --dir, for a plain DuckDB and for dbt.\n' +
    'settlement-report writes the settlement report (flat file V2) of each closed settlement into --dir: a file for each one\n' +
    'that the lake holds whole, from events of v0 by settlement or from transactions. `import` reads these files. It exits with\n' +
    '1 where a closed settlement is not whole, and names it.\n' +
    'journal writes the journals of a month for an accounting program, as CSV: what settlements moved (paid), or with deferred sales\n' +
    'accrued (earned). With --since only what has changed since a version that was booked, as adjustments.',
  options: {
    ...shared('lake', 'config', 'time-zone', 'chart', 'costs', 'cache', 'json'),
    dir: { about: 'With views and settlement-report: the folder to write' },
    settlement: {
      about:
        'With settlement-report: the id of a settlement or of its group; may be repeated [default: all that are closed]',
    },
    account: { about: 'With settlement-report and journal: account to write [default: all]' },
    month: { about: 'With journal: the month, YYYY-MM' },
    from: {
      about:
        'With journal: the first day, YYYY-MM-DD, instead of --month. With settlement-report: start of a range that settlements or their transfers touch',
    },
    to: { about: 'End of the range, exclusive' },
    basis: {
      choices: ['paid', 'earned'],
      about: 'With journal: what settlements moved, or with deferred sales [default: paid]',
    },
    for: { choices: journalFormatNames, about: 'With journal: the program that reads the file [default: generic]' },
    since: { about: 'With journal: a VERSION of `log`; only what has changed since, as adjustments' },
    output: {
      short: 'o',
      about: 'With journal: the file, beside which xero has one for each currency [default: standard output]',
    },
    ddl: {
      isFlag: true,
      about: 'With symlinks: print statements that create the tables in Redshift, and write nothing',
    },
  },
  examples: [
    ['export iceberg', 'for engines that read Iceberg'],
    ['export symlinks --lake s3://my-bucket/lake --ddl', 'external tables of Redshift Spectrum'],
    ['export journal --month 2026-03 --for quickbooks -o march.csv', 'what settlements moved in a month'],
    ['export settlement-report --dir reports --from {90 days ago}', 'the settlement reports since then'],
    ['export views --dir models/ledgerlake', 'the views for dbt'],
  ],
  run: (args, context) => {
    const named = args.text('FORMAT');
    const format = named === undefined ? undefined : formats[named];
    for (const option of new Set(Object.values(formats).flatMap(({ options }) => options))) {
      if (args.value(option) === undefined || format?.options.includes(option) === true) continue;
      const having = names.filter((name) => formats[name]?.options.includes(option));
      const described = named === undefined ? 'no format' : `\`export ${named}\``;
      throw usageError(`expected --${option} with ${listed(having, 'and')} only, got ${described}`);
    }
    if (format !== undefined) return format.run(args, context);
    const described = named === undefined ? 'none' : JSON.stringify(named);
    const isOfRows = resultFiles.includes(named ?? '');
    const hint = isOfRows ? `; \`ledgerlake sql -o FILE.${named ?? ''} "FROM entries"\` writes rows to a file` : '';
    throw usageError(`expected ${listed(names, 'or')}, got ${described}${hint}`);
  },
};

/** `export iceberg`, `export symlinks` or `export views`, each in backquotes. */
function listed(formatNames: readonly string[], conjunction: string): string {
  const quoted = formatNames.map((name) => `\`export ${name}\``);
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} ${conjunction} ${last}`;
}

/** @throws LedgerlakeError USAGE without the option */
function readDir(args: CommandArguments): string {
  const dir = args.text('dir');
  if (dir === undefined) throw usageError(`expected --dir DIR with \`export ${args.required('FORMAT')}\`, got none`);
  return dir;
}

async function exportTables(
  format: ExportFormat,
  args: CommandArguments,
  context: CommandContext,
): Promise<CommandResult | number> {
  const { runExport } = await import('../../app/export/export-tables.js');
  return runExport({ ...(await readLakeSettings(args)), format }, context);
}

async function exportSettlementReports(
  args: CommandArguments,
  context: CommandContext,
): Promise<CommandResult | number> {
  const { exportSettlementReports: write } = await import('../../app/settlement-reports/export-settlement-reports.js');
  return write(
    {
      ...(await readLakeSettings(args)),
      dir: readDir(args),
      settlements: args.repeated('settlement'),
      account: args.text('account'),
      from: args.text('from'),
      to: args.text('to'),
    },
    context,
  );
}

async function exportJournal(args: CommandArguments, context: CommandContext): Promise<CommandResult | number> {
  const output = args.text('output');
  const isPrinted = output === undefined || output === '-';
  if (isPrinted && args.flag('json')) {
    throw usageError('expected --output FILE with --json, got none; the journals would be printed beside the object');
  }
  const settings = await readLakeSettings(args);
  const since = args.text('since');
  const { exportJournal: write } = await import('../../app/journal/export-journal.js');
  return write(
    {
      ...settings,
      output,
      account: args.text('account'),
      month: args.text('month'),
      from: args.text('from'),
      to: args.text('to'),
      since: since === undefined ? undefined : wholeNumber('--since', since, 0),
      basis: args.text('basis') === 'earned' ? 'earned' : 'paid',
      for: journalFormatNames.find((name) => name === args.text('for')) ?? 'generic',
    },
    readingContext(args, context, false),
  );
}
