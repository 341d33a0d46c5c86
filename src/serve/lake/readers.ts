import type { Database } from '../../core/duckdb/connection.js';
import { messageOf } from '../../core/errors.js';
import { Turns } from '../../core/turns.js';
import type { Query } from './stored-rows.js';
import type { Cell } from '../../core/text/rows.js';

/** As many as Node has threads for such work. */
const atOnce = 4;

/** What DuckDB may hold of rows, beyond which it spills to disk. */
const memory = '512MB';

/** What another one may hold for a query that this is too little for, as where events have megabytes each. */
const largeMemory = '2GB';

/** Several connections to one DuckDB: questions of several clients are answered at once, and the others wait their turn. */
export class Readers {
  readonly #all: readonly Database[];
  readonly #free: Database[];
  readonly #large = new Turns();
  readonly #waiting: ((reader: Database) => void)[] = [];
  readonly #folders: readonly string[];

  private constructor(readers: readonly Database[], folders: readonly string[]) {
    this.#all = readers;
    this.#folders = folders;
    this.#free = [...readers];
  }

  /** `folders`: where the files are that are asked for. */
  static async open(folders: readonly string[]): Promise<Readers> {
    const first = await opened(folders, memory);
    const others = await Promise.all(Array.from({ length: atOnce - 1 }, () => first.beside()));
    return new Readers([first, ...others], folders);
  }

  /** All rows of a query. */
  async rows({ sql, parameters }: Query): Promise<readonly Readonly<Record<string, Cell>>[]> {
    const reader = this.#free.pop() ?? (await this.#turn());
    try {
      try {
        return await reader.rows(sql, { parameters });
      } catch (error) {
        if (!/out of memory/i.test(messageOf(error))) throw error;
        return await this.#largeRows({ sql, parameters });
      }
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

  /** One at a time, as together they could take the machine, and of files alone. */
  #largeRows({ sql, parameters }: Query): Promise<readonly Readonly<Record<string, Cell>>[]> {
    return this.#large.run(async () => {
      // A DuckDB that is confined to its folders takes no other settings any more.
      const large = await opened(this.#folders, largeMemory);
      try {
        return await large.rows(sql, { parameters });
      } finally {
        large.close();
      }
    });
  }

  #turn(): Promise<Database> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

async function opened(folders: readonly string[], most: string): Promise<Database> {
  // Loaded when there is a lake to read: the made-up seller needs none.
  const { openDatabase } = await import('../../core/duckdb/connection.js');
  return openDatabase({
    folders,
    // One thread for a question: its rows come from one or two files, and sharing them out takes longer than reading them.
    settings: { threads: 1, memory_limit: most, parquet_metadata_cache: true },
  });
}
