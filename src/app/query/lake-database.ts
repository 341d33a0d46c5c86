import { isDeepStrictEqual } from 'node:util';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { ResultRows } from '../../core/text/rows.js';
import {
  createFaultView,
  createViews,
  isFileMissing,
  type LakeFiles,
  type ViewedTable,
} from '../../core/duckdb/views.js';
import type { Database, Parameters, QueryOptions, QueryResult } from '../../core/duckdb/connection.js';
import type { TableFaults } from './file-fault.js';

export interface LakeDatabaseOptions {
  readonly database: Database;
  readonly tables: readonly ViewedTable[];
  /** Returns the committed files of the newest version. Called again where a commit has replaced a file of a query. */
  readonly lakeFiles: () => Promise<LakeFiles>;
  /** Returns the tables with faulty files among those that a statement names. */
  readonly faultsFor?: ((statement: string) => Promise<TableFaults>) | undefined;
  /** Fetches the files that a statement reads. Returns whether those of a view have changed. */
  readonly fetchFor?: ((statement: string, options: StatementOptions) => Promise<boolean>) | undefined;
  /** As `fileFault`. */
  readonly faultOf?: ((error: unknown) => Promise<unknown>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Returns the statements that create the macros and further views which a statement may read, over the views of the newest version;
   * without one, all. All of them take as long as DuckDB's own start: each is created for the first statement that may read it.
   */
  readonly macrosFor?: (statement?: string) => readonly string[];
}

/** Runs statements over a lake's views, which show one version of it until `refresh`. */
export class LakeDatabase {
  readonly #options: LakeDatabaseOptions;
  /** The files that the views read. */
  #files: LakeFiles | undefined;
  /** The tables with faulty files: a statement that reads one of their views throws the error. */
  readonly #faults = new Map<string, LedgerlakeError>();
  /** The statements of macros that were run. */
  readonly #macros = new Set<string>();

  constructor(options: LakeDatabaseOptions) {
    this.#options = options;
  }

  /**
   * Creates the views over the lake's newest version, and returns its files. A table of which a file is missing fails the
   * statements that read it only.
   */
  async refresh(signal = this.#options.signal): Promise<LakeFiles> {
    const { database, tables, lakeFiles } = this.#options;
    this.#faults.clear();
    for (let attempt = 1; ; attempt++) {
      const files = await lakeFiles();
      try {
        const readable = tables.filter(({ name }) => !this.#faults.has(name));
        await createViews(database, readable, files, signal);
        if (this.#macros.size > 0) await this.createMacros(signal);
        this.#files = files;
        return files;
      } catch (error) {
        if (!isFileMissing(error)) throw await this.faultOf(error);
        if (attempt < mostAttempts) continue;
        const fault = await this.faultOf(error);
        const table = [...files].find(([, list]) => list.some((file) => messageOf(error).includes(file)))?.[0];
        if (table === undefined || this.#faults.has(table) || !(fault instanceof LedgerlakeError)) throw fault;
        await this.#addFaults(new Map([[table, fault]]), signal);
      }
    }
  }

  /** Creates the macros and further views, for whoever reads them without `run`. */
  async createMacros(signal = this.#options.signal): Promise<void> {
    await this.#createMacros(this.#options.macrosFor?.() ?? [], signal);
  }

  async #createMacros(macros: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    for (const macro of macros) {
      await this.#options.database.execute(macro, { signal });
      this.#macros.add(macro);
    }
  }

  /** Refreshes only where a commit has changed the files since, or a faulty file may be restored. */
  async update(signal = this.#options.signal): Promise<void> {
    if (this.#faults.size > 0 || !isDeepStrictEqual(await this.#options.lakeFiles(), this.#files))
      await this.refresh(signal);
  }

  /**
   * Runs one statement and returns the value of `use` for its result.
   *
   * @throws LedgerlakeError SQL with DuckDB's message, or naming a faulty file of a table that the statement reads; STOPPED; the
   * reason of `signal` where it aborts
   */
  async run<T>(
    statement: string,
    use: (result: QueryResult) => Promise<T>,
    { signal = this.#options.signal, parameters }: QueryOptions = {},
  ): Promise<T> {
    try {
      return await use(await this.#query(statement, { signal, ...(parameters && { parameters }) }));
    } catch (error) {
      throw readOnlyFault(await this.faultOf(error));
    }
  }

  /** Replaces an error of DuckDB with the fault of a table's file that it is about, as `fileFault` does for others. */
  async faultOf(error: unknown): Promise<unknown> {
    const text = messageOf(error);
    const known = [...this.#faults.values()].find(({ message }) => text.includes(message));
    return known ?? (await this.#options.faultOf?.(error)) ?? error;
  }

  /**
   * Creates the macros that a statement may read, and checks and fetches its files: a statement that reads a table with a faulty file
   * throws an error that names it.
   */
  async #prepare(statement: string, { signal = this.#options.signal, parameters }: QueryOptions = {}): Promise<void> {
    const { database, faultsFor, fetchFor, macrosFor } = this.#options;
    const statements = macrosFor?.(statement) ?? [];
    await this.#createMacros(
      statements.filter((macro) => !this.#macros.has(macro)),
      signal,
    );
    const faults = await faultsFor?.(statement);
    if (faults !== undefined) await this.#addFaults(faults, signal);
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      if ((await fetchFor?.(statement, { database, signal, parameters })) !== true) return;
      await this.refresh(signal);
    }
  }

  /** The database, for whoever reads it by itself: each statement is prepared as `run` does it. */
  prepared(): Database {
    const { database } = this.#options;
    return {
      ...database,
      query: async (statement, options) => {
        await this.#prepare(statement, options);
        return database.query(statement, options);
      },
      execute: async (statement, options) => {
        await this.#prepare(statement, options);
        return database.execute(statement, options);
      },
      rows: async (statement, options) => {
        await this.#prepare(statement, options);
        return database.rows(statement, options);
      },
    };
  }

  async #addFaults(faults: TableFaults, signal: AbortSignal | undefined): Promise<void> {
    const { database, tables } = this.#options;
    for (const table of tables) {
      const fault = faults.get(table.name);
      if (fault === undefined) continue;
      this.#faults.set(table.name, fault);
      await createFaultView(database, table, fault.message, signal);
    }
  }

  /** Runs a query up to its first rows. Where a file is missing by then, repeats it over the lake's newest version. */
  async #query(statement: string, options: QueryOptions): Promise<QueryResult> {
    const start = async (): Promise<QueryResult> => {
      await this.#prepare(statement, options);
      return started(await this.#options.database.query(statement, options));
    };
    try {
      return await start();
    } catch (error) {
      if (isFileMissing(error)) await this.refresh(options.signal);
      // For the similar names that DuckDB suggests; and a transaction that is undone may have created the macros.
      else if (isNameMissing(error)) await this.createMacros(options.signal);
      else throw error;
      return start();
    }
  }
}

function isNameMissing(error: unknown): boolean {
  return error instanceof LedgerlakeError && error.code === 'SQL' && error.message.startsWith('Catalog Error');
}

/** Largest number of attempts to create the views while runs replace files. */
const mostAttempts = 3;

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

/** How a statement is run. */
export interface StatementOptions {
  readonly database: Database;
  readonly signal: AbortSignal | undefined;
  readonly parameters: Parameters | undefined;
}

/** A result whose first rows are read: most queries have opened all of their files by then. */
async function started(result: QueryResult): Promise<QueryResult> {
  const chunks = result.chunks[Symbol.asyncIterator]();
  const first = await chunks.next();
  return { ...result, chunks: withFirst(first, chunks) };
}

async function* withFirst(
  first: IteratorResult<ResultRows>,
  rest: AsyncIterator<ResultRows>,
): AsyncGenerator<ResultRows> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
