import { checkParameters } from '../../app/query/check-parameters.js';
import { parametersOf, returnsRows, wordsOf } from '../../core/duckdb/sql-statements.js';
import { formatCount } from '../../core/text/amounts.js';
import {
  chunksOf,
  formatOfFile,
  isBinary,
  writeRows,
  type BinaryFormat,
  type Format,
} from '../../core/text/formats.js';
import { terminalWidth, writeText, type Output } from '../../core/text/sink.js';
import { wrapForTerminal } from '../../core/text/width.js';
import type { LakeDatabase } from '../../app/query/lake-database.js';
import { type ResultRows, distinctNames } from '../../core/text/rows.js';
import type { QueryResult, QueryOptions, QueryColumn } from '../../core/duckdb/connection.js';
import { printable } from '../../core/printable.js';
import { openOutputFile, type OutputFile } from '../../core/io/output-file.js';
import { fileLiteral, identifier, literal } from '../../core/duckdb/literals.js';
import { usageError } from '../../core/errors.js';
import { workbook } from '../../core/text/workbook.js';

export interface SessionOptions {
  readonly lake: LakeDatabase;
  /** Undefined: by the extension of the output's file, else a table. */
  readonly format: Format | undefined;
  readonly output: Output;
  readonly errorOutput: Output;
  /** Notes on a statement, printed before its result. */
  readonly notesOn?: (statement: string) => readonly string[];
  /** Values of `$name`, for the statements that have it. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** How a user gives the values of parameters. */
export const paramWords = { value: '--param', addition: (name: string) => `--param ${name}=VALUE` };

/** Runs statements over a lake's views and writes their results to its output, or to a file, which gets its name once it is complete. */
export class Session {
  /** The format that the user chose; undefined: that of the output. */
  chosenFormat: Format | undefined;
  readonly #options: SessionOptions;
  readonly #lake: LakeDatabase;
  /** The file of the next results; undefined: they go to the output. */
  #file: OutputFile | undefined;
  /** The same file, where it isn't text. */
  #binaryFile: BinaryFile | undefined;
  /** The format by the file's name. */
  #fileFormat: Format = 'table';
  /** Number of rows written to the file. */
  #rows = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#lake = options.lake;
    this.chosenFormat = options.format;
  }

  /** The format of the results that are text. */
  get #textFormat(): Format {
    return this.chosenFormat ?? this.#fileFormat;
  }

  get format(): Format | BinaryFormat {
    return this.#binaryFile?.format ?? this.#textFormat;
  }

  /**
   * Sends the next results to a file; undefined: to the output. Resolves to a message about the previous file, if there was one.
   * Throws a USAGE error for a file that can't be written, and for a file name of no known format where none is chosen; the
   * results then go where they went.
   */
  async writeTo(path: string | undefined): Promise<string | undefined> {
    const isFormatKnown = path === undefined || this.chosenFormat !== undefined;
    const format = isFormatKnown ? 'table' : formatOfFile(path);
    const next = path === undefined ? undefined : await openOutputFile(path);
    const [previous, rows] = [this.#file, this.#rows];
    const isEmpty = this.#binaryFile?.isWritten === false;
    this.#file = next;
    this.#fileFormat = isBinary(format) ? 'table' : format;
    this.#binaryFile = next !== undefined && isBinary(format) ? new BinaryFile(next, format) : undefined;
    this.#rows = 0;
    try {
      if (!isEmpty) await previous?.commit();
    } finally {
      await previous?.discard();
    }
    if (isEmpty) return previous && `no result for ${previous.path}, so it was not written`;
    return previous && `wrote ${previous.path}, ${formatCount(rows, 'row')}`;
  }

  /** Drops an unfinished file. */
  async drop(): Promise<void> {
    await this.#file?.discard();
  }

  /**
   * Runs one statement and writes its result. Resolves to false once the output has no reader, which is no error. Throws a
   * LedgerlakeError: SQL with DuckDB's message, USAGE for a parameter without a value, or STOPPED; a file then has nothing of the result.
   * `signal` replaces the session's; once it aborts, its reason is thrown.
   */
  async run(statement: string, signal?: AbortSignal): Promise<boolean> {
    const options = { signal, parameters: this.#parametersOf(statement) };
    if (this.#binaryFile !== undefined && returnsRows(statement)) {
      this.#rows += await this.#binaryFile.write(this.#lake, statement, options);
      await this.#writeNotes(statement);
      return true;
    }
    const print = async (): Promise<boolean> => {
      const result = await this.#lake.query(statement, options);
      await this.#writeNotes(statement);
      return this.#print(result);
    };
    // A binary file has a result once all of it was written.
    return this.#file === undefined || this.#binaryFile !== undefined ? print() : this.#file.atomically(print);
  }

  /** Runs one statement and drops its result. */
  async runSilently(statement: string): Promise<void> {
    await drain(await this.#lake.query(statement, { parameters: this.#parametersOf(statement) }));
  }

  /** The values of a statement's parameters: DuckDB refuses others. */
  #parametersOf(statement: string): Readonly<Record<string, string>> {
    const names = parametersOf(statement);
    const entries = Object.entries(this.#options.parameters ?? {}).filter(([name]) => names.has(name));
    const values = Object.fromEntries(entries);
    // The parameters of a statement that PREPARE keeps are those of EXECUTE.
    if (!wordsOf(statement).has('prepare')) checkParameters([statement], values, paramWords);
    return values;
  }

  async #writeNotes(statement: string): Promise<void> {
    await writeNotes(this.#options.errorOutput, this.#options.notesOn?.(statement) ?? []);
  }

  async #print({ returns, plan, columns, chunks }: QueryResult): Promise<boolean> {
    const { errorOutput, output: screen } = this.#options;
    const output: Output = this.#file?.stream ?? screen;
    const isForPeople = this.#textFormat === 'table' || this.#textFormat === 'vertical';
    if (returns === 'rows' && plan && isForPeople) return writeText(output, planText(chunks));
    if (returns === 'rows') {
      if (output.isTTY !== true || !isForPeople) {
        let count = 0;
        const counted = async function* (): QueryResult['chunks'] {
          for await (const rows of chunks) {
            count += rows.length;
            yield rows;
          }
        };
        const isRead = await writeRows(output, this.#textFormat, columns, counted());
        this.#rows += count;
        return isRead;
      }
      const { rows, isCut } = await firstRows(chunks);
      const isRead = await writeRows(output, this.#textFormat, columns, chunksOf(rows), { footer: !isCut });
      if (!isRead || !isCut) return isRead;
      return writeText(errorOutput, [
        `the first ${formatCount(mostTerminalRows, 'row')}: LIMIT selects others, and a pipe, -o FILE or another format writes all\n`,
      ]);
    }
    let count: unknown;
    for await (const rows of chunks) count = rows[0]?.[0];
    // Not a result: standard output stays empty, so that with `--format json` it is always JSON.
    if (returns === 'count')
      await writeText(errorOutput, [`${String(count)} ${count === 1n ? 'row' : 'rows'} written\n`]);
    return true;
  }
}

export async function writeNotes(output: Output, notes: readonly string[]): Promise<void> {
  await writeText(
    output,
    notes.map((note) => `${wrapForTerminal(printable(note), terminalWidth(output))}\n`),
  );
}

/** Largest number of rows on a terminal: more would scroll away unread. */
const mostTerminalRows = 500;

/** The rows for a terminal, and whether the result has more, which are not fetched. */
async function firstRows(
  chunks: AsyncIterable<ResultRows>,
): Promise<{ readonly rows: ResultRows; readonly isCut: boolean }> {
  const rows: ResultRows[number][] = [];
  for await (const chunk of chunks) {
    rows.push(...chunk);
    if (rows.length > mostTerminalRows) return { rows: rows.slice(0, mostTerminalRows), isCut: true };
  }
  return { rows, isCut: false };
}

/** The last column of a plan, which is formatted text. */
async function* planText(chunks: QueryResult['chunks']): AsyncGenerator<string> {
  for await (const rows of chunks) yield rows.map((row) => `${String(row.at(-1)).trimEnd()}\n`).join('');
}

/** A file for one result, in a format that isn't text. */
class BinaryFile {
  readonly format: BinaryFormat;
  readonly #file: OutputFile;
  #isWritten = false;

  constructor(file: OutputFile, format: BinaryFormat) {
    this.#file = file;
    this.format = format;
  }

  /** Whether it has a result: without one it is no file of its format. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /**
   * Writes the result of a query, exactly. Returns its number of rows.
   *
   * @throws LedgerlakeError as `LakeDatabase`; USAGE where it has a result, and for more rows than a sheet can have
   */
  async write(lake: LakeDatabase, query: string, options: QueryOptions): Promise<number> {
    if (this.#isWritten)
      throw usageError(`expected one query for ${this.#file.path}, got another one; name another file for its result`);
    const count =
      this.format === 'parquet'
        ? await writeParquet(lake, query, this.#file.temporary, options)
        : await this.#writeWorkbook(await lake.query(query, options));
    this.#isWritten = true;
    return count;
  }

  async #writeWorkbook({ columns, chunks }: QueryResult): Promise<number> {
    const names = distinctNames(columns);
    const rows: ResultRows[number][] = [];
    for await (const chunk of chunks) for (const row of chunk) rows.push(row);
    const sheet = {
      name: 'result',
      columns: columns.map((column, at) => ({ ...column, name: names[at] ?? '' })),
      rows,
    };
    await this.#file.append(workbook([sheet], ''));
    return rows.length;
  }
}

async function writeParquet(lake: LakeDatabase, query: string, path: string, options: QueryOptions): Promise<number> {
  const { columns } = await lake.query(`FROM (${query}\n) LIMIT 0`, options);
  const from = `FROM (${query}\n) AS result_(${columns.map((_, at) => `c${at}_`).join(', ')})`;
  // In the file itself, which is open: a file of another name would remain where the process ends.
  const settings = 'FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false';
  const copy = `COPY (SELECT ${exactColumns(columns)} ${from}) TO ${literal(path)} (${settings})`;
  await drain(await lake.query(copy, options));
  const [file] = await lake.duckdb.rows(`SELECT num_rows FROM parquet_file_metadata(${fileLiteral(path)})`);
  return Number(file?.['num_rows']);
}

/** The columns of a result as types that Parquet has: DuckDB writes integers wider than 64 bits as doubles. */
function exactColumns(columns: readonly QueryColumn[]): string {
  const names = distinctNames(columns);
  return columns
    .map(({ type }, at) => {
      const value = type === 'HUGEINT' || type === 'UHUGEINT' ? `CAST(c${at}_ AS DECIMAL(38, 0))` : `c${at}_`;
      return `${value} AS ${identifier(names[at] ?? '')}`;
    })
    .join(', ');
}

/** Reads a result to its end. */
async function drain({ chunks }: QueryResult): Promise<void> {
  const rows = chunks[Symbol.asyncIterator]();
  while ((await rows.next()).done !== true);
}
