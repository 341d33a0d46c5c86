import { withCommandsIn } from '../../app/command-text.js';
import type { Settings } from '../../app/configuration/settings.js';
import type { ReadingContext } from '../../app/context.js';
import { openLakeReader } from '../../app/query/lake-files.js';
import { formatOfFile } from '../../core/text/formats.js';
import type { PastVersion } from '../../lake/catalog/past-snapshot.js';
import type { Lake } from '../../lake/lake.js';
import { readFormat, type CommandArguments } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';
import { accountsSeen } from '../options/query-options.js';
import { historyPath, noHistory } from './history-file.js';
import { runSql } from './run-sql.js';

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
}

/** Runs statements over the lake of a command, as its settings and the options of results say. Resolves to the exit code. */
export async function runOverLake(
  args: CommandArguments,
  { clock, signal, emit }: Pick<ReadingContext, 'clock' | 'signal' | 'emit'>,
  { at, parameters, queryOf }: LakeQueryOptions,
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
  const historyFile = historyPath(process.env);
  if (historyFile === undefined && query === undefined && process.stdin.isTTY)
    emit({ event: 'message', message: noHistory });
  return runSql({
    ...reader,
    query,
    parameters,
    format,
    scope: { ...scope, lake },
    notesOn: (statement) =>
      [...notes, ...reader.notesOn(statement)].map((note) => withCommandsIn({ ...scope, lake }, note)),
    input: process.stdin,
    output: process.stdout,
    errorOutput: process.stderr,
    signal,
    outputFile,
    reportsFile: process.stderr.isTTY && !args.flag('quiet'),
    historyFile,
  });
}
