import { isDeepStrictEqual } from 'node:util';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { ResultRow, ResultRows } from '../../core/text/rows.js';
import {
  createFaultView,
  createViews,
  isFileMissing,
  type LakeFiles,
  type ViewedTable,
} from '../../core/duckdb/views.js';
import {
  openDatabase,
  type Database,
  type DatabaseOptions,
  type QueryOptions,
  type QueryResult,
} from '../../core/duckdb/connection.js';
import type { TableFaults } from './file-fault.js';

/** A lake as `LakeDatabase` reads it. What a statement reads `StatementScopes` says. */
export interface QueriedLake {
  readonly tables: readonly ViewedTable[];
  /** Returns the committed files of the newest version. Called again where a commit has replaced a file of a query. */
  readonly lakeFiles: () => Promise<LakeFiles>;
  /** Returns the tables with faulty files among those that a statement names. */
  readonly faultsFor: (statement: string) => Promise<TableFaults>;
  /** Fetches the files that a statement reads. Returns whether those of a view have changed. */
  readonly fetchFor: (statement: string, database: Database, options: QueryOptions) => Promise<boolean>;
  /** As `fileFault`. */
  readonly faultOf: (error: unknown) => Promise<unknown>;
  /**
   * Returns the statements that create the macros and further views which a statement may read, over the views of the newest version;
   * without one, all. All of them take as long as DuckDB's own start: each is created for the first statement that may read it.
   */
  readonly macrosFor: (statement?: string) => readonly string[];
}

/**
 * DuckDB over a lake, with a view for each table. They show one version of it, until `refresh`. Where a file of a statement is missing by
 * then, as a commit has replaced it, the statement is run again over the newest version.
 *
 * Statements throw a LedgerlakeError SQL with DuckDB's message, or one that names a faulty file of a table which they read.
 */
export class LakeDatabase implements Database {
  /** DuckDB itself, for statements that read no file of the lake. */
  readonly duckdb: Database;
  readonly #lake: QueriedLake;
  readonly #signal: AbortSignal | undefined;
  /** The statements of one version: what they read is fetched first, and nothing is run again. */
  readonly #version: Database;
  /** The files that the views read. */
  #files: LakeFiles | undefined;
  /** The tables with faulty files: a statement that reads one of their views throws the error. */
  readonly #faults = new Map<string, LedgerlakeError>();
  /** The statements of macros that were run. */
  readonly #macros = new Set<string>();

  private constructor(lake: QueriedLake, duckdb: Database, signal: AbortSignal | undefined) {
    this.#lake = lake;
    this.duckdb = duckdb;
    this.#signal = signal;
    this.#version = {
      ...duckdb,
      query: async (statement, options) => (await this.#preparedFor(statement, options)).query(statement, options),
      execute: async (statement, options) => (await this.#preparedFor(statement, options)).execute(statement, options),
      rows: async (statement, options) => (await this.#preparedFor(statement, options)).rows(statement, options),
    };
  }

  /** Opens a DuckDB, which has no views until `refresh`. */
  static async open(lake: QueriedLake, options: DatabaseOptions = {}): Promise<LakeDatabase> {
    return new LakeDatabase(lake, await openDatabase(options), options.signal);
  }

  /**
   * Shows the lake's newest version, and returns its files. A table of which a file is missing fails the statements that read it only.
   */
  async refresh(signal = this.#signal): Promise<LakeFiles> {
    const { tables, lakeFiles } = this.#lake;
    // A faulty file may be restored.
    if (this.#faults.size > 0) this.#files = undefined;
    this.#faults.clear();
    for (let attempt = 1; ; attempt++) {
      const files = await lakeFiles();
      if (isDeepStrictEqual(files, this.#files)) return files;
      try {
        const readable = tables.filter(({ name }) => !this.#faults.has(name));
        await createViews(this.duckdb, readable, files, signal);
        if (this.#macros.size > 0) await this.#createMacros(signal);
        this.#files = files;
        return files;
      } catch (error) {
        if (!isFileMissing(error)) throw await this.#faultOf(error);
        if (attempt < mostAttempts) continue;
        const fault = await this.#faultOf(error);
        const table = [...files].find(([, list]) => list.some((file) => messageOf(error).includes(file)))?.[0];
        if (table === undefined || this.#faults.has(table) || !(fault instanceof LedgerlakeError)) throw fault;
        await this.#addFaults(new Map([[table, fault]]), signal);
      }
    }
  }

  /** Runs a function whose statements all read the newest version; the whole of it again, where a file of that is missing by then. */
  async readNewest<T>(read: (version: Database) => Promise<T>): Promise<T> {
    await this.refresh();
    return this.#withNewestViews(() => read(this.#version));
  }

  /** The result of a query whose first rows are read: most have opened all of their files by then. */
  async query(statement: string, options: QueryOptions = {}): Promise<QueryResult> {
    const start = async () => started(await this.#version.query(statement, options));
    const result = await this.#withNewestViews(start, options.signal);
    return { ...result, chunks: this.#explained(result.chunks) };
  }

  async execute(statement: string, options: QueryOptions = {}): Promise<void> {
    await this.#withNewestViews(() => this.#version.execute(statement, options), options.signal);
  }

  async rows(statement: string, options: QueryOptions = {}): Promise<readonly ResultRow[]> {
    return this.#withNewestViews(() => this.#version.rows(statement, options), options.signal);
  }

  openConnection(): Promise<Database> {
    return this.duckdb.openConnection();
  }

  close(): void {
    this.duckdb.close();
  }

  /**
   * Runs a function; where a file is missing by then, again over the newest version. Not by `overNewest`, because nothing is chosen before:
   * a statement reads what it names, and its other errors must not move the views.
   */
  async #withNewestViews<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        const isLast = attempt === mostAttempts;
        if (isFileMissing(error) && !isLast) {
          this.#files = undefined;
          await this.refresh(signal);
        }
        // For the similar names that DuckDB suggests; and a transaction that is undone may have created the macros.
        else if (isNameMissing(error) && attempt === 1) await this.#createMacros(signal);
        else throw readOnlyFault(await this.#faultOf(error));
      }
    }
  }

  async *#explained(chunks: QueryResult['chunks']): QueryResult['chunks'] {
    try {
      yield* chunks;
    } catch (error) {
      throw await this.#faultOf(error);
    }
  }

  /** Replaces an error of DuckDB with the fault of a table's file that it is about, as `fileFault` does for others. */
  async #faultOf(error: unknown): Promise<unknown> {
    const text = messageOf(error);
    const known = [...this.#faults.values()].find(({ message }) => text.includes(message));
    return known ?? this.#lake.faultOf(error);
  }

  async #createMacros(signal = this.#signal, macros = this.#lake.macrosFor()): Promise<void> {
    for (const macro of macros) {
      await this.duckdb.execute(macro, { signal });
      this.#macros.add(macro);
    }
  }

  /**
   * Creates the macros that a statement may read, and checks and fetches its files: a statement that reads a table with a faulty file
   * throws an error that names it.
   */
  async #preparedFor(statement: string, { signal = this.#signal, parameters }: QueryOptions = {}): Promise<Database> {
    const { faultsFor, fetchFor, macrosFor } = this.#lake;
    const macros = macrosFor(statement).filter((macro) => !this.#macros.has(macro));
    await this.#createMacros(signal, macros);
    await this.#addFaults(await faultsFor(statement), signal);
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      if (!(await fetchFor(statement, this.duckdb, { signal, parameters }))) break;
      await this.refresh(signal);
    }
    return this.duckdb;
  }

  async #addFaults(faults: TableFaults, signal: AbortSignal | undefined): Promise<void> {
    for (const table of this.#lake.tables) {
      const fault = faults.get(table.name);
      if (fault === undefined) continue;
      this.#faults.set(table.name, fault);
      await createFaultView(this.duckdb, table, fault.message, signal);
    }
  }
}

function isNameMissing(error: unknown): boolean {
  return error instanceof LedgerlakeError && error.code === 'SQL' && error.message.startsWith('Catalog Error');
}

/** Largest number of attempts to read while runs replace files. */
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
