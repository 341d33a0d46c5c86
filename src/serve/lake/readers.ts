import type { Database } from '../../core/duckdb/connection.js';
import { messageOf } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import type { ResultRow } from '../../core/text/rows.js';
import type { SqlQuery } from './stored-rows.js';

/** Number of connections: that of the threads of Node's thread pool. */
const connectionCount = 4;

/** DuckDB's memory limit, beyond which it spills to disk. */
const memory = '512MB';

/** Memory limit of the DuckDB that repeats a query which ran out of memory, as where events have megabytes each. */
const largeMemory = '2GB';

/** Several connections to one DuckDB: that many queries run at once, and further ones wait. */
export class Readers {
  readonly #all: readonly Database[];
  readonly #free: Database[];
  readonly #largeMutex = new Mutex();
  readonly #waiting: ((reader: Database) => void)[] = [];
  readonly #folder: string;

  private constructor(readers: readonly Database[], folder: string) {
    this.#all = readers;
    this.#folder = folder;
    this.#free = [...readers];
  }

  /** @param folder the folder of all files that queries read */
  static async open(folder: string): Promise<Readers> {
    const first = await openReader(folder, memory);
    const others = await Promise.all(Array.from({ length: connectionCount - 1 }, () => first.openConnection()));
    return new Readers([first, ...others], folder);
  }

  /** All rows of a query's result. */
  async rows({ sql, parameters }: SqlQuery): Promise<readonly ResultRow[]> {
    const reader = this.#free.pop() ?? (await new Promise<Database>((resolve) => this.#waiting.push(resolve)));
    try {
      return await reader.rows(sql, { parameters });
    } catch (error) {
      if (!/out of memory/i.test(messageOf(error))) throw error;
      return await this.#largeRows({ sql, parameters });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(reader);
      else next(reader);
    }
  }

  /** Cancels running queries and frees the memory. */
  close(): void {
    // The first connection owns the memory of all.
    for (const reader of this.#all.toReversed()) reader.close();
  }

  /**
   * Runs a query with `largeMemory`, one at a time, as several could exhaust the machine's memory. It can read files
   * only, not tables.
   */
  #largeRows({ sql, parameters }: SqlQuery): Promise<readonly ResultRow[]> {
    return this.#largeMutex.run(async () => {
      // A DuckDB that is confined to its folders rejects further settings.
      const large = await openReader(this.#folder, largeMemory);
      try {
        return await large.rows(sql, { parameters });
      } finally {
        large.close();
      }
    });
  }
}

async function openReader(folder: string, memoryLimit: string): Promise<Database> {
  // Imported only for a lake: the synthetic seller doesn't need DuckDB.
  const { openDatabase } = await import('../../core/duckdb/connection.js');
  return openDatabase({
    folders: [folder],
    // One thread for each query: its rows come from one or two files, and distributing them takes longer than reading
    // them.
    settings: { threads: 1, memory_limit: memoryLimit, parquet_metadata_cache: true },
  });
}
