import { isDeepStrictEqual } from 'node:util';
import { LedgerlakeError } from '../../core/errors.js';
import type { ResultCell, ResultRows } from '../../core/text/rows.js';
import { createViews, isFileMissing, type LakeFiles, type LakeTable } from '../../core/duckdb/views.js';
import type { Database, QueryResult } from '../../core/duckdb/connection.js';

export interface LakeDatabaseOptions {
  readonly database: Database;
  readonly tables: readonly LakeTable[];
  /**
   * Returns the committed files of the newest version, after a check of those of the named tables, or of all. Called again
   * where a commit has replaced a file of a query.
   */
  readonly lakeFiles: (names?: readonly string[]) => Promise<LakeFiles>;
  /** As `fileFault`. */
  readonly faultOf?: ((error: unknown) => Promise<unknown>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statements that create macros and further views over the views. */
  readonly macros?: readonly string[];
}

/** Runs statements over a lake's views, which show one version of it until `refresh`. */
export class LakeDatabase {
  readonly #options: LakeDatabaseOptions;
  /** The files that the views read. */
  #files: LakeFiles | undefined;

  constructor(options: LakeDatabaseOptions) {
    this.#options = options;
  }

  /** Creates the views over the lake's newest version, and returns its files. */
  async refresh(signal = this.#options.signal): Promise<LakeFiles> {
    const { database, tables, lakeFiles, macros = [] } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const files = await lakeFiles();
      try {
        await createViews(database, tables, files, signal);
        for (const macro of macros) await database.execute(macro, { signal });
        this.#files = files;
        return files;
      } catch (error) {
        if (attempt === 3 || !isFileMissing(error)) throw await this.#faultOf(error);
      }
    }
  }

  /** Refreshes only where a commit has changed the files since. */
  async update(signal = this.#options.signal): Promise<void> {
    if (!isDeepStrictEqual(await this.#options.lakeFiles(), this.#files)) await this.refresh(signal);
  }

  /**
   * Runs one statement and returns the value of `use` for its result.
   *
   * @throws LedgerlakeError SQL with DuckDB's message, or STOPPED; the reason of `signal` where it aborts
   */
  async run<T>(
    statement: string,
    use: (result: QueryResult) => Promise<T>,
    { signal = this.#options.signal, parameters }: RunOptions = {},
  ): Promise<T> {
    try {
      return await use(await this.#query(statement, { signal, ...(parameters && { parameters }) }));
    } catch (error) {
      throw readOnlyFault(await this.#faultOf(error));
    }
  }

  #faultOf(error: unknown): Promise<unknown> {
    return this.#options.faultOf === undefined ? Promise.resolve(error) : this.#options.faultOf(error);
  }

  /** Runs a query up to its first rows. Where a file is missing by then, repeats it over the lake's newest version. */
  async #query(statement: string, options: RunOptions): Promise<QueryResult> {
    const { database } = this.#options;
    try {
      return await started(await database.query(statement, options));
    } catch (error) {
      if (!isFileMissing(error)) throw error;
      await this.refresh(options.signal);
      return started(await database.query(statement, options));
    }
  }
}

/** DuckDB's message about a statement that would change a view. */
const changesView =
  /^(?:Catalog Error: (?:Existing object .* is of type View|.* is not an table|Can only modify view|View with name .* already exists)|Binder Error: Can only (?:update|delete from) base table)/;

/** Replaces an error about a change to a table of the lake with one that gives the reason; returns any other error unchanged. */
function readOnlyFault(error: unknown): unknown {
  if (!(error instanceof LedgerlakeError) || error.code !== 'SQL' || !changesView.test(error.message)) return error;
  return new LedgerlakeError('SQL', `the lake is read only here, and its tables are views: ${error.message}`, {
    cause: error,
  });
}

interface RunOptions {
  /** Replaces the signal of the options. */
  readonly signal?: AbortSignal | undefined;
  /** Values for `$1`, `$2` … of the last statement. */
  readonly parameters?: readonly ResultCell[];
}

/** A result whose first rows are read: most queries have opened all of their files by then. */
async function started(result: QueryResult): Promise<QueryResult> {
  const chunks = result.chunks[Symbol.asyncIterator]();
  const first = await chunks.next();
  return { ...result, chunks: joined(first, chunks) };
}

async function* joined(first: IteratorResult<ResultRows>, rest: AsyncIterator<ResultRows>): AsyncGenerator<ResultRows> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
