import type { Database } from '../../core/duckdb/connection.js';
import type { Query } from './stored-rows.js';
import type { Cell } from '../../core/text/rows.js';

/** As many as Node has threads for such work. */
const atOnce = 4;

/** What DuckDB may hold of rows, beyond which it spills to disk. */
const memory = '512MB';

/** Several connections to one DuckDB: questions of several clients are answered at once, and the others wait their turn. */
export class Readers {
  readonly #all: readonly Database[];
  readonly #free: Database[];
  readonly #waiting: ((reader: Database) => void)[] = [];

  private constructor(readers: readonly Database[]) {
    this.#all = readers;
    this.#free = [...readers];
  }

  /** `folders`: where the files are that are asked for. */
  static async open(folders: readonly string[]): Promise<Readers> {
    // Loaded when there is a lake to read: the made-up seller needs none.
    const { openDatabase } = await import('../../core/duckdb/connection.js');
    const first = await openDatabase({
      folders,
      // One thread for a question: its rows come from one or two files, and sharing them out takes longer than reading them.
      settings: { threads: 1, memory_limit: memory, parquet_metadata_cache: true },
    });
    const others = await Promise.all(Array.from({ length: atOnce - 1 }, () => first.beside()));
    return new Readers([first, ...others]);
  }

  /** All rows of a query. */
  async rows({ sql, parameters }: Query): Promise<readonly Readonly<Record<string, Cell>>[]> {
    const reader = this.#free.pop() ?? (await this.#turn());
    try {
      return await reader.rows(sql, { parameters });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(reader);
      else next(reader);
    }
  }

  /** Ends what runs and frees the memory. */
  close(): void {
    // The first one holds the memory of them all.
    for (const reader of this.#all.toReversed()) reader.close();
  }

  #turn(): Promise<Database> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
