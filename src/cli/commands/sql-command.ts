import { withCommandsIn } from '../../app/command-text.js';
import { usageError } from '../../core/errors.js';
import { readTextFile } from '../../core/io/files.js';
import type { PastVersion } from '../../lake/catalog/past-snapshot.js';
import { formatOfFile, formats } from '../../core/text/formats.js';
import { readParameters } from '../options/parameters.js';
import { readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

/** @throws LedgerlakeError USAGE */
async function readPastVersion(text: string | undefined): Promise<PastVersion | undefined> {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return { version: Number(text) };
  const { readInstantOption } = await import('../../core/text/value-forms.js');
  return { instant: readInstantOption('--at', text) };
}

export const sqlCommand: CommandDefinition = {
  name: 'sql',
  positional: { name: 'QUERY', many: false, about: 'One or more statements, whose results are written' },
  about: 'Query the lake with DuckDB, or open a shell',
  description:
    'Runs DuckDB over the committed files of the lake, with a view for each table. Without a query it opens a shell with a\n' +
    'history: Tab completes tables, columns and keywords, Ctrl-C cancels a statement, and .help lists the commands. On a\n' +
    'terminal a table ends after 500 rows; a pipe, -o and every other format get all rows. Several queries are for table,\n' +
    'vertical and ndjson: json, csv and -o take one. A statement reads the value of --param month=2026-01 as $month.',
  options: {
    ...shared('lake', 'config', 'cache', 'time-zone', 'chart'),
    at: { about: 'VERSION of `log`, or an instant, ISO 8601 in UTC: the lake as it was then, within its retention' },
    file: { about: 'File with the statements, instead of QUERY' },
    param: { about: 'NAME=VALUE: the value of $NAME, as a text that DuckDB converts; may be repeated' },
    format: { choices: formats, about: 'Format of the results [default: from the extension of --output, else table]' },
    output: {
      short: 'o',
      about: 'File for the results, .parquet and .xlsx too, written completely or not at all; - for standard output',
    },
  },
  examples: [
    [`sql "SELECT currency, sum(amount) FROM entries WHERE role = 'net' GROUP BY ALL"`, 'net proceeds by currency'],
    ['sql --at 41 "SELECT count(*) FROM events"', 'before the last commit'],
    ['sql --format vertical "FROM groups LIMIT 1"', 'one line per column'],
    [`sql --format csv -o fees.csv "FROM entries WHERE kind = 'fee'"`, 'to a file'],
    ['sql --file orders.sql --param month=2026-01 -o orders.xlsx', 'a query with a parameter, to a workbook'],
  ],
  run: async (args, { clock, signal, log }) => {
    const output = args.text('output');
    const outputFile = output === '-' ? undefined : output;
    const format = args.text('format') === undefined ? undefined : readFormat(args);
    // A file name of no known format is an error before the lake is read.
    if (format === undefined && outputFile !== undefined) formatOfFile(outputFile);
    const file = args.text('file');
    if (file !== undefined && args.text('QUERY') !== undefined)
      throw usageError(`expected a query or --file, got both; leave one out`);
    const query = file === undefined ? args.text('QUERY') : await readTextFile(file, 'statements');
    const parameters = readParameters(args);
    const settings = await readLakeSettings(args);
    const { lake, timeZone, chart } = settings;
    const [{ runSql }, { openLakeReader }, { historyPath, noHistory }] = await Promise.all([
      import('../sql-shell/run-sql.js'),
      import('../../app/query/lake-files.js'),
      import('../sql-shell/history-file.js'),
    ]);
    const at = await readPastVersion(args.text('at'));
    const reader = await openLakeReader(lake, clock, {
      log,
      scope: args.scope(),
      at,
      cache: settings,
      timeZone,
      chart,
    });
    const historyFile = historyPath(process.env);
    const isShell = query === undefined && process.stdin.isTTY;
    if (historyFile === undefined && isShell) log(noHistory);
    return runSql({
      query,
      parameters,
      format,
      scope: { ...args.scope(), lake },
      ...reader,
      notesOn: (statement) => reader.notesOn(statement).map((note) => withCommandsIn({ ...args.scope(), lake }, note)),
      input: process.stdin,
      output: process.stdout,
      errorOutput: process.stderr,
      signal,
      outputFile,
      reportsFile: process.stderr.isTTY && !args.flag('quiet'),
      historyFile,
    });
  },
};
