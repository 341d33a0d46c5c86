import { usageError } from '../../core/errors.js';
import { readTextFile } from '../../core/io/files.js';
import type { PastVersion } from '../../lake/catalog/past-snapshot.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readParameters, resultOptions, seenAccounts } from '../options/query-options.js';

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
    ...shared('lake', 'config'),
    ...seenAccounts,
    ...shared('cache', 'time-zone', 'chart', 'costs'),
    at: { about: 'VERSION of `log`, or an instant, ISO 8601 in UTC: the lake as it was then, within its retention' },
    file: { about: 'File with the statements, instead of QUERY' },
    param: { about: 'NAME=VALUE: the value of $NAME, as a text that DuckDB converts; may be repeated' },
    ...resultOptions,
  },
  severalAccounts: 'at once',
  examples: [
    [`sql "SELECT currency, sum(amount) FROM entries WHERE role = 'net' GROUP BY ALL"`, 'net proceeds by currency'],
    ['sql --at 41 "SELECT count(*) FROM events"', 'before the last commit'],
    ['sql --format vertical "FROM groups LIMIT 1"', 'one line per column'],
    [`sql --format csv -o fees.csv "FROM entries WHERE kind = 'fee'"`, 'to a file'],
    ['sql --file orders.sql --param month=2026-01 -o orders.xlsx', 'a query with a parameter, to a workbook'],
  ],
  run: async (args, context) => {
    const file = args.text('file');
    if (file !== undefined && args.text('QUERY') !== undefined)
      throw usageError(`expected a query or --file, got both; leave one out`);
    const query = file === undefined ? args.text('QUERY') : await readTextFile(file, 'statements');
    const parameters = readParameters(args);
    const at = await readPastVersion(args.text('at'));
    const { runOverLake } = await import('../sql-shell/run-sql.js');
    return runOverLake(args, context, { at, parameters, queryOf: () => ({ query, notes: [] }) });
  },
};
