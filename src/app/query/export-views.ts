import { join } from 'node:path';
import { identifier, fileLiteral, literal } from '../../core/duckdb/literals.js';
import { withoutTexts, wordsOf } from '../../core/duckdb/sql-statements.js';
import { viewedColumns, type ViewedTable } from '../../core/duckdb/views.js';
import { usageError } from '../../core/errors.js';
import { makeFolders, openFault } from '../../core/io/files.js';
import { replaceFile } from '../../core/io/write-file.js';
import { groupBy } from '../../core/group-by.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import type { CommandResult } from '../command-result.js';
import type { QuerySettings } from '../configuration/settings.js';
import type { RunContext } from '../context.js';
import type { ViewsExport } from '../results.js';
import { asKnownMacros, loadedSpansMacro } from './as-known.js';
import { openExistingLake, sqlTables } from './lake-files.js';
import { askedQuestion } from './ask.js';
import { questionNames } from './question-names.js';
import { isMacro, readViewSettings, viewStatements, viewTexts } from './views.js';

/**
 * `ledgerlake export views --dir DIR`: writes the SQL of the views of `ledgerlake sql`, for a plain DuckDB and for dbt. `lake.sql`
 * creates a view for each table over its Parquet files (in a lake that keeps replaced ones, over the committed files by name), and the
 * macros; `views.sql` creates the views; `models/NAME.sql` is the query of one, with the views that it reads in the form in which dbt
 * looks for them; `questions/NAME.sql` the query of a question.
 *
 * @throws LedgerlakeError USAGE where there is no lake, or where a file can't be written
 */
export async function exportViews(
  { lake: location, dir, ...options }: QuerySettings & { readonly lake: string; readonly dir: string },
  { clock, emit }: Pick<RunContext, 'clock' | 'emit'>,
): Promise<CommandResult<ViewsExport>> {
  const settings = await readViewSettings(options);
  const lake = await openExistingLake(location, clock, emit);
  const tables = sqlTables(lake.tables.map((table) => ({ name: table.name, columns: lake.snapshot.columnsOf(table) })));
  const committed = groupBy(lake.files(), ({ table }) => table);
  // A pattern would find replaced files, too.
  const keepsReplaced = lake.snapshot.config.retentionMs > 0 || [...lake.snapshot.retired()].length > 0;
  const tableViews = tables.map((table) => {
    const files = committed.get(table.name) ?? [];
    const addresses = files.map((file) => fileLiteral(lake.store.address(file.lakePath)));
    return tableView(
      table,
      keepsReplaced || files.length === 0 ? addresses : [filePattern(lake.store.address(table.name))],
    );
  });
  const texts = viewTexts(settings);
  const statements = [...viewStatements(tables, settings)];
  const macros = statements.flatMap(([, text]) => (isMacro(text) ? [text] : []));
  const queries = statements.filter(([, text]) => !isMacro(text));
  const files: readonly (readonly [name: string, text: string])[] = [
    [
      'lake.sql',
      script(["SET TimeZone = 'UTC'", ...tableViews, loadedSpansMacro(lake.snapshot), ...asKnownMacros, ...macros]),
    ],
    ['views.sql', script(queries.map(([, text]) => text))],
    ...queries.map(([name]) => [join('models', `${name}.sql`), model(name, texts)] as const),
    ...questionNames.map((name) => {
      const { query } = askedQuestion(lake, { name, parameters: {}, timeZone: settings.timeZone, now: clock.now() });
      return [join('questions', `${name}.sql`), query] as const;
    }),
  ];
  try {
    for (const folder of ['models', 'questions']) await makeFolders(join(dir, folder));
    for (const [name, text] of files) await replaceFile(join(dir, name), text);
  } catch (error) {
    throw usageError(`expected --dir ${printable(dir)} to take the views: ${openFault(error)}`);
  }
  const note = keepsReplaced
    ? `The lake keeps replaced files, so lake.sql names the files of version ${lake.snapshot.version}: export the views again after each run.\n`
    : '';
  return {
    text: `\n${formatCount(queries.length, 'view')} of ${printable(location)} in ${printable(dir)}\n${note}`,
    summary: { status: 'done', lake: location, dir, views: queries.length },
  };
}

/** In SQL, all Parquet files in a table's folder. */
function filePattern(folder: string): string {
  return `${fileLiteral(`${folder}/`).slice(0, -1)}account=*/month=*/*.parquet'`;
}

/**
 * A statement that creates the view of a table over files, as texts in SQL. It has the columns that its files lack, and is empty without
 * files.
 */
function tableView(table: ViewedTable, files: readonly string[]): string {
  const columns = viewedColumns(table).map(({ name, type }) => `CAST(NULL AS ${type}) AS ${identifier(name)}`);
  const empty = `SELECT ${columns.join(', ')} WHERE false`;
  const options = 'hive_partitioning = true, hive_types_autocast = false, union_by_name = true';
  const list = files.length === 1 ? files.join('') : `[\n  ${files.join(',\n  ')}\n]`;
  const rows = files.length === 0 ? '' : `\nUNION ALL BY NAME\nSELECT * FROM read_parquet(${list}, ${options})`;
  return `-- The table ${table.name}.\nCREATE OR REPLACE VIEW ${identifier(table.name)} AS\n${empty}${rows}`;
}

function script(statements: readonly string[]): string {
  return statements.map((statement) => `${statement.trimEnd()};\n`).join('\n');
}

/** The query of a view as a model of dbt, which looks for `ref` in comments too. */
function model(name: string, texts: ReadonlyMap<string, string>): string {
  const text = texts.get(name) ?? '';
  const words = wordsOf(withoutTexts(text));
  const read = [...texts].flatMap(([other, of]) =>
    other !== name && words.has(other) && !isMacro(of) ? [`-- depends_on: {{ ref(${literal(other)}) }}\n`] : [],
  );
  return `${read.join('')}${text}`;
}
