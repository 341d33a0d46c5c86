import { formatCount } from '../../core/text/amounts.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { lostFile } from '../../core/duckdb/views.js';
import { createViews, type LakeFiles, type LakeTable } from '../../core/duckdb/views.js';
import type { Writable } from 'node:stream';
import type { Rows } from '../../core/text/rows.js';
import type { Database, QueryResult } from '../../core/duckdb/connection.js';
import { printable } from '../../core/printable.js';
import { openOutputFile, type OutputFile } from '../../core/io/output-file.js';

export interface SessionOptions {
  readonly database: Database;
  readonly tables: readonly LakeTable[];
  readonly format: Format;
  /** The committed files as of now. Asked for again when a query met a file that a commit has replaced since. */
  readonly lakeFiles: () => Promise<LakeFiles>;
  /** Of an error over a file of the lake one that says which, and what to do; any other error as it is. */
  readonly faultOf?: ((error: unknown) => Promise<unknown>) | undefined;
  readonly output: Output;
  readonly errorOutput: Writable;
  readonly signal?: AbortSignal | undefined;
  /** What is to be said of a statement, before its result. */
  readonly noteOn?: (statement: string) => string | undefined;
  /** Statements that create macros and further views over the views. */
  readonly macros?: readonly string[];
}

/** Statements over a lake's views, and where their results go. */
export class Session {
  format: Format;
  /** Where results go from now on. */
  output: Output;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.format = options.format;
    this.output = options.output;
  }

  /** Makes the views from the lake's newest version, which is returned. */
  async refresh(): Promise<LakeFiles> {
    const { database, tables, lakeFiles, signal, macros = [] } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const files = await lakeFiles();
      try {
        await createViews(database, tables, files, signal);
        for (const macro of macros) await database.execute(macro, { signal });
        return files;
      } catch (error) {
        if (attempt === 3 || !lostFile(error)) throw await this.#faultOf(error);
      }
    }
  }

  /**
   * Runs one statement and prints what it gives. False when the output's reader has gone, which is no error. Throws a
   * LedgerlakeError: SQL with DuckDB's message, or STOPPED; when `signal`, instead of the session's, aborts, its reason.
   */
  async run(statement: string, signal = this.#options.signal): Promise<boolean> {
    try {
      const result = await this.#query(statement, signal);
      const note = this.#options.noteOn?.(statement);
      if (note !== undefined) await writeText(this.#options.errorOutput, [`${printable(note)}\n`]);
      return await this.#print(result);
    } catch (error) {
      throw await this.#faultOf(error);
    }
  }

  /** Runs one statement and drops what it gives. */
  async runSilently(statement: string): Promise<void> {
    try {
      const { chunks } = await this.#query(statement);
      const rows = chunks[Symbol.asyncIterator]();
      while ((await rows.next()).done !== true);
    } catch (error) {
      throw await this.#faultOf(error);
    }
  }

  #faultOf(error: unknown): Promise<unknown> {
    return this.#options.faultOf === undefined ? Promise.resolve(error) : this.#options.faultOf(error);
  }

  /** Starts a query up to its first rows; where it misses a file until then, once more over the lake's newest version. */
  async #query(statement: string, signal = this.#options.signal): Promise<QueryResult> {
    const { database } = this.#options;
    try {
      return await started(await database.query(statement, { signal }));
    } catch (error) {
      if (!lostFile(error)) throw error;
      await this.refresh();
      return started(await database.query(statement, { signal }));
    }
  }

  async #print({ gives, plan, columns, chunks }: QueryResult): Promise<boolean> {
    const { output } = this;
    const { errorOutput } = this.#options;
    if (gives === 'rows' && plan && this.format === 'table') return writeText(output, planText(chunks));
    if (gives === 'rows') {
      if (output.isTTY !== true || this.format !== 'table') return writeRows(output, this.format, columns, chunks);
      const { rows, isCut } = await firstRows(chunks);
      const isRead = await writeRows(output, 'table', columns, chunksOf(rows), { footer: !isCut });
      if (!isRead || !isCut) return isRead;
      return writeText(errorOutput, [
        `the first ${formatCount(mostOnTerminal, 'row')}: a LIMIT chooses others, a pipe, -o FILE or another format has all\n`,
      ]);
    }
    let count: unknown;
    for await (const rows of chunks) count = rows[0]?.[0];
    // Not a result: stdout stays empty, so that `--format json` never holds anything else.
    if (gives === 'count')
      await writeText(errorOutput, [`${String(count)} ${count === 1n ? 'row' : 'rows'} written\n`]);
    return true;
  }
}

/** Rows of a table that a terminal is shown: more scroll away unread. */
const mostOnTerminal = 500;

/** The rows that a terminal is shown, and whether there are more, which are not asked for. */
async function firstRows(chunks: AsyncIterable<Rows>): Promise<{ readonly rows: Rows; readonly isCut: boolean }> {
  const rows: Rows[number][] = [];
  for await (const chunk of chunks) {
    rows.push(...chunk);
    if (rows.length > mostOnTerminal) return { rows: rows.slice(0, mostOnTerminal), isCut: true };
  }
  return { rows, isCut: false };
}

/** The result with its first rows already read: most queries have opened all of their files by then. */
async function started(result: QueryResult): Promise<QueryResult> {
  const chunks = result.chunks[Symbol.asyncIterator]();
  const first = await chunks.next();
  return { ...result, chunks: joined(first, chunks) };
}

async function* joined(first: IteratorResult<Rows>, rest: AsyncIterator<Rows>): AsyncGenerator<Rows> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
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
   * Sends results to a file from now on, or back to the output; the file that was written until now, if any, is returned.
   * Throws a USAGE error where the file can't be written: then results go where they went
   */
  async to(path: string | undefined): Promise<string | undefined> {
    const next = path === undefined ? undefined : await openOutputFile(path);
    const last = this.#file;
    this.#file = next;
    this.#session.output = next?.stream ?? this.#output;
    try {
      await last?.keep();
    } finally {
      await last?.drop();
    }
    return last?.path;
  }

  /** Runs work that writes results; where it throws, a file has none of them. */
  whole<T>(work: () => Promise<T>): Promise<T> {
    return this.#file === undefined ? work() : this.#file.whole(work);
  }

  /** Drops a file that hasn't got its name. */
  async drop(): Promise<void> {
    await this.#file?.drop();
  }
}
