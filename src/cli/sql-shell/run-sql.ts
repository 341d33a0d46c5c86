import { commandIn, type CommandScope, withCommandsIn } from '../../app/command-text.js';
import { checkParameters } from '../../app/query/check-parameters.js';
import { readCatalog } from './tab-completion.js';
import { paramWords, Session, writeNotes, type SessionOptions } from './session.js';
import { runShell, type ShellOptions } from './shell.js';
import { returnsRows, statementsOf } from '../../core/duckdb/sql-statements.js';
import { fileCount } from '../../core/duckdb/views.js';
import { formatOfFile, isBinary, type Format } from '../../core/text/formats.js';
import { usageError } from '../../core/errors.js';
import { writeText } from '../../core/text/sink.js';
import { printable } from '../../core/printable.js';
import type { Settings } from '../../app/configuration/settings.js';
import type { RunContext } from '../../app/context.js';
import { LakeDatabase, type QueriedLake } from '../../app/query/lake-database.js';
import { openLakeReader } from '../../app/query/lake-files.js';
import type { PastVersion } from '../../lake/catalog/past-snapshot.js';
import type { Lake } from '../../lake/lake.js';
import { printResult, readFormat, type CommandArguments } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';
import { accountsSeen } from '../options/query-options.js';
import { historyPath, noHistory } from './history-file.js';

interface LakeQuery {
  /** Statements; undefined: a shell. */
  readonly query: string | undefined;
  /** Notes on them, besides those of the reader. */
  readonly notes: readonly string[];
}

interface LakeQueryOptions {
  /** Undefined: the newest version. */
  readonly at?: PastVersion | undefined;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly queryOf: (lake: Lake, settings: Settings) => LakeQuery;
  /** Prints the query in place of its result. */
  readonly isPrinted?: boolean;
}

/** Runs statements over the lake of a command, as its settings and the options of results say. Resolves to the exit code. */
export async function runOverLake(
  args: CommandArguments,
  { clock, signal, emit }: RunContext,
  { at, parameters, queryOf, isPrinted = false }: LakeQueryOptions,
): Promise<0 | 1> {
  const output = args.text('output');
  const outputFile = output === '-' ? undefined : output;
  const format = args.text('format') === undefined ? undefined : readFormat(args);
  // A file name of no known format is an error before the lake is read.
  if (format === undefined && outputFile !== undefined) formatOfFile(outputFile);
  const settings = await readLakeSettings(args);
  const { lake } = settings;
  const scope = args.scope();
  const reader = await openLakeReader(lake, clock, { ...settings, emit, scope, at, accounts: accountsSeen(args) });
  const { query, notes } = queryOf(reader.lake, settings);
  const allNotesOn = (statement: string): readonly string[] =>
    [...notes, ...reader.notesOn(statement)].map((note) => withCommandsIn({ ...scope, lake }, note));
  if (isPrinted && query !== undefined) {
    await writeNotes(process.stderr, allNotesOn(query));
    printResult(query.trimEnd());
    return 0;
  }
  const historyFile = historyPath(process.env);
  if (historyFile === undefined && query === undefined && process.stdin.isTTY)
    emit({ event: 'message', message: noHistory });
  return runSql({
    ...reader,
    query,
    parameters,
    format,
    scope: { ...scope, lake },
    notesOn: allNotesOn,
    input: process.stdin,
    output: process.stdout,
    errorOutput: process.stderr,
    signal,
    outputFile,
    reportsFile: process.stderr.isTTY && !args.flag('quiet'),
    historyFile,
  });
}

export interface RunSqlOptions extends Omit<SessionOptions, 'lake'>, QueriedLake {
  /** One or more statements, whose results are printed; undefined: a shell over `input`. */
  readonly query?: string | undefined;
  /** The options that printed commands repeat; the lake as the user wrote it. */
  readonly scope: CommandScope & { readonly lake: string };
  readonly input: ShellOptions['input'];
  readonly signal?: AbortSignal | undefined;
  /** File for the results instead of the output, written completely or not at all. */
  readonly outputFile?: string | undefined;
  /** Whether the error output reports that file once it is complete. */
  readonly reportsFile?: boolean;
  /** History file of a shell on a terminal; undefined: none. */
  readonly historyFile?: string | undefined;
}

/**
 * `ledgerlake sql`: DuckDB over the committed files of a lake, one view for each table. Resolves to the exit code: 1 if a
 * statement of the shell failed; 0 also where the output's reader closes the pipe (`| head`). Throws a LedgerlakeError: SQL for
 * a query that fails, with DuckDB's message, STOPPED once the signal aborts, USAGE for a query without a statement, for a parameter that
 * is missing or that no statement has, for several results where the output takes one, and for a file that can't be written.
 */
export async function runSql(options: RunSqlOptions): Promise<0 | 1> {
  const { query, scope, errorOutput, outputFile, format = 'table', parameters = {}, signal } = options;
  const statements = query === undefined ? undefined : statementsOf(query);
  if (statements?.length === 0) {
    throw usageError(
      'expected a query such as "SELECT count(*) FROM events", got an empty one; leave it out for the shell',
    );
  }
  if (query?.startsWith('.')) {
    throw usageError(
      `expected SQL, got ${query}; commands that begin with a dot work only in the shell, which \`ledgerlake sql\` opens`,
    );
  }

  if (statements !== undefined) checkParameters(statements, parameters, paramWords);
  const fileFormat = outputFile === undefined ? undefined : (options.format ?? formatOfFile(outputFile));
  if (fileFormat !== undefined && isBinary(fileFormat) && statements?.some(returnsRows) === false)
    throw usageError(`expected a query for the file ${outputFile ?? ''}, got no statement that returns rows`);
  const takesOne = outputFile !== undefined || !formatsOfSeveral.has(format);
  const printed = statements === undefined || !takesOne ? statements : [singleResult(statements, outputFile, format)];
  const lake = await LakeDatabase.open(options, { signal });
  const session = new Session({ ...options, lake });
  try {
    if (outputFile !== undefined) await session.writeTo(outputFile);
    if (fileCount(await lake.refresh()) === 0) {
      await writeText(errorOutput, [
        `The lake ${printable(scope.lake)} is empty: \`${printable(commandIn(scope, 'ledgerlake status'))}\` names the command that loads it.\n`,
      ]);
    }
    let code: 0 | 1 = 0;
    if (statements === undefined) {
      code = await runShell({ ...options, session, catalog: () => readCatalog(lake) });
    } else {
      for (const statement of statements) {
        if (printed?.includes(statement) !== true) await session.runSilently(statement);
        else if (!(await session.run(statement))) break;
      }
    }
    const written = await session.writeTo(undefined);
    if (written !== undefined && options.reportsFile === true) {
      await writeText(errorOutput, [`${printable(written)}\n`]);
    }
    return code;
  } finally {
    await session.drop();
    lake.close();
  }
}

/** Formats in which one result can follow another. */
const formatsOfSeveral: ReadonlySet<Format> = new Set(['table', 'vertical', 'ndjson']);

/**
 * The statement whose result an output for one result gets: the only one that returns rows, else the last one. Throws a USAGE error
 * where several return rows.
 */
function singleResult(
  statements: readonly string[],
  outputFile: string | undefined,
  format: Format,
): string | undefined {
  const results = statements.filter(returnsRows);
  if (results.length <= 1) return results[0] ?? statements.at(-1);
  const output = outputFile === undefined ? `--format ${format}` : `the file ${outputFile}`;
  throw usageError(
    `expected one query for ${output}, got ${results.length}; run them one by one, or choose --format ndjson` +
      (outputFile === undefined ? '' : ' without --output'),
  );
}
