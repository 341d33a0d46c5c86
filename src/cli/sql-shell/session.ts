import { formatCount } from '../../core/text/amounts.js';
import { chunksOf, formatOfFile, writeRows, type Format } from '../../core/text/formats.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { LakeDatabase, type LakeDatabaseOptions } from '../../app/query/lake-database.js';
import type { LakeFiles } from '../../core/duckdb/views.js';
import type { Writable } from 'node:stream';
import type { ResultRows } from '../../core/text/rows.js';
import type { QueryResult } from '../../core/duckdb/connection.js';
import { printable } from '../../core/printable.js';
import { openOutputFile, type OutputFile } from '../../core/io/output-file.js';

export interface SessionOptions extends LakeDatabaseOptions {
  /** Undefined: what the ending of the output's file says, else a table. */
  readonly format: Format | undefined;
  readonly output: Output;
  readonly errorOutput: Writable;
  /** What is to be said of a statement, before its result. */
  readonly notesOn?: (statement: string) => readonly string[];
}

/** Statements over a lake's views, and where their results go. */
export class Session {
  /** What was asked for; undefined: the output's own. */
  chosenFormat: Format | undefined;
  /** Where results go from now on. */
  output: Output;
  /** Rows of results that the output has taken. */
  rows = 0;
  /** What the output's name says. */
  outputFormat: Format = 'table';
  readonly #options: SessionOptions;
  readonly #lake: LakeDatabase;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#lake = new LakeDatabase(options);
    this.chosenFormat = options.format;
    this.output = options.output;
  }

  get format(): Format {
    return this.chosenFormat ?? this.outputFormat;
  }

  /** Makes the views from the lake's newest version, which is returned. */
  refresh(): Promise<LakeFiles> {
    return this.#lake.refresh();
  }

  /**
   * Runs one statement and prints what it gives. False when the output's reader has gone, which is no error. Throws a
   * LedgerlakeError: SQL with DuckDB's message, or STOPPED; when `signal`, instead of the session's, aborts, its reason.
   */
  run(statement: string, signal?: AbortSignal): Promise<boolean> {
    const print = async (result: QueryResult): Promise<boolean> => {
      const notes = this.#options.notesOn?.(statement) ?? [];
      await writeText(
        this.#options.errorOutput,
        notes.map((note) => `${printable(note)}\n`),
      );
      return this.#print(result);
    };
    return this.#lake.run(statement, print, { signal });
  }

  /** Runs one statement and drops what it gives. */
  runSilently(statement: string): Promise<void> {
    return this.#lake.run(statement, async ({ chunks }) => {
      const rows = chunks[Symbol.asyncIterator]();
      while ((await rows.next()).done !== true);
    });
  }

  async #print({ returns, plan, columns, chunks }: QueryResult): Promise<boolean> {
    const { output } = this;
    const { errorOutput } = this.#options;
    const isForPeople = this.format === 'table' || this.format === 'vertical';
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
        const isRead = await writeRows(output, this.format, columns, counted());
        this.rows += count;
        return isRead;
      }
      const { rows, isCut } = await firstRows(chunks);
      const isRead = await writeRows(output, this.format, columns, chunksOf(rows), { footer: !isCut });
      if (!isRead || !isCut) return isRead;
      return writeText(errorOutput, [
        `the first ${formatCount(mostOnTerminal, 'row')}: LIMIT selects others, and a pipe, -o FILE or another format writes all\n`,
      ]);
    }
    let count: unknown;
    for await (const rows of chunks) count = rows[0]?.[0];
    // Not a result: stdout stays empty, so that `--format json` never holds anything else.
    if (returns === 'count')
      await writeText(errorOutput, [`${String(count)} ${count === 1n ? 'row' : 'rows'} written\n`]);
    return true;
  }
}

/** Rows of a table that a terminal is shown: more scroll away unread. */
const mostOnTerminal = 500;

/** The rows that a terminal is shown, and whether there are more, which are not asked for. */
async function firstRows(
  chunks: AsyncIterable<ResultRows>,
): Promise<{ readonly rows: ResultRows; readonly isCut: boolean }> {
  const rows: ResultRows[number][] = [];
  for await (const chunk of chunks) {
    rows.push(...chunk);
    if (rows.length > mostOnTerminal) return { rows: rows.slice(0, mostOnTerminal), isCut: true };
  }
  return { rows, isCut: false };
}

/** A plan's last column, as it was drawn. */
async function* planText(chunks: QueryResult['chunks']): AsyncGenerator<string> {
  for await (const rows of chunks) yield rows.map((row) => `${String(row.at(-1)).trimEnd()}\n`).join('');
}

/** Where a session's results go: to its output, or to a file, which gets its name once they go elsewhere again. */
export class Destination {
  readonly #session: Session;
  readonly #output: Output;
  #file: OutputFile | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#output = session.output;
  }

  /**
   * Sends results to a file from now on, or back to the output; what was written until now, if that was a file, is returned in
   * words. Throws a USAGE error where the file can't be written, or its name says no format and none was chosen: then results go
   * where they went
   */
  async to(path: string | undefined): Promise<string | undefined> {
    const isFormatKnown = path === undefined || this.#session.chosenFormat !== undefined;
    const format = isFormatKnown ? 'table' : formatOfFile(path);
    const next = path === undefined ? undefined : await openOutputFile(path);
    const last = this.#file;
    this.#file = next;
    this.#session.output = next?.stream ?? this.#output;
    this.#session.outputFormat = format;
    const { rows } = this.#session;
    this.#session.rows = 0;
    try {
      await last?.commit();
    } finally {
      await last?.discard();
    }
    return last && `wrote ${last.path}, ${formatCount(rows, 'row')}`;
  }

  /** Runs work that writes results; where it throws, a file has none of them. */
  whole<T>(write: () => Promise<T>): Promise<T> {
    return this.#file === undefined ? write() : this.#file.atomically(write);
  }

  /** Drops a file that hasn't got its name. */
  async drop(): Promise<void> {
    await this.#file?.discard();
  }
}
