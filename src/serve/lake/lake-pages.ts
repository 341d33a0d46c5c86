import { DamagedFile, type DataFile } from '../../lake/delta/data-file.js';
import { pipelineFilling } from '../../../pipelines/all-pipelines.js';
import { compare } from '../../core/compare.js';
import { isFileMissing } from '../../core/duckdb/views.js';
import type { Table } from '../../core/columns/table.js';
import { refusedAfter } from '../../lake/catalog/load-key.js';
import { FileCache, type CacheSettings } from '../../lake/files/file-cache.js';
import type { BackendPage, BackendQuery } from '../operation/backend-page.js';
import type { Window } from '../../core/windows.js';
import { CommittedFiles, type MainTables } from './committed-files.js';
import {
  cursorAfter,
  cursorText,
  readCursor,
  storedRow,
  undeliveredRows,
  type InstantBounds,
  type PageStart,
  type RowCursor,
  type SqlQuery,
  type StoredRow,
} from './stored-rows.js';
import type { Database } from '../../core/duckdb/connection.js';
import { messageOf } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import type { ResultRow } from '../../core/text/rows.js';

/** Largest number of rows of one read, unless a page has more: ten pages of the default size. */
const rowsAtOnce = 1000;

/** Compressed bytes of one read, unless a single page has more. */
const bytesAtOnce = 4_000_000;

/** Capacity of the read-ahead cache, characters. */
const readAheadCharacters = 32_000_000;

/** Largest number of attempts at a question whose files are replaced by commits while they are read. */
const mostAttempts = 5;

interface PagedQuestion {
  /** Unique to the question and the versions of its tables. */
  readonly key: string;
  /** Rows of one read that are likely to stay within `bytesAtOnce`. */
  readonly rowsAtOnce: number;
  /** At least `count` rows after a cursor, unless there are fewer. */
  read(after: RowCursor | undefined, count: number): Promise<RowsAhead>;
}

/** Selects the rows of files whose instant lies in a range. */
export type RangeQuery = (files: readonly string[], range: InstantBounds, page: PageStart) => SqlQuery;

/**
 * The pages of questions to a lake: the JSON that the service once sent. Rows are ordered by instant, rows of one instant
 * by their content, and rows of one page in order of receipt. Commits between two pages neither repeat nor hide rows that
 * stay.
 */
export class LakePages {
  readonly #tables: MainTables;
  readonly #account: string;
  readonly readers: Readers;
  /** Copies of the files; undefined where the lake is on the local disk. */
  readonly #cache: FileCache | undefined;
  readonly #ahead = new ReadAhead(readAheadCharacters);

  private constructor(tables: MainTables, account: string, readers: Readers, cache: FileCache | undefined) {
    this.#tables = tables;
    this.#account = account;
    this.readers = readers;
    this.#cache = cache;
  }

  /** @param settings where the files of a lake on S3 are kept on this machine */
  static async open(tables: MainTables, account: string, settings: CacheSettings): Promise<LakePages> {
    const { store, lake } = tables;
    const root = store.localPath('');
    if (root !== undefined) return new LakePages(tables, account, await Readers.open(root), undefined);
    const cache = new FileCache(store, settings);
    await cache.keep(lake.snapshot);
    return new LakePages(tables, account, await Readers.open(cache.folder), cache);
  }

  /** Frees memory. Call it once no question is open. */
  close(): void {
    this.readers.close();
  }

  /** The account's files in a table, with the bounds of an instant. */
  filesOf({ name }: Table, instant = 'effective_at'): CommittedFiles {
    return new CommittedFiles(this.#tables.lake, name, this.#account, instant);
  }

  /** Whether a slice is loaded whole into a main table. */
  isLoaded({ name }: CommittedFiles, loadKey: string): boolean {
    const pipeline = pipelineFilling(name)?.name ?? '';
    const loaded = this.#tables.lake.snapshot.keysOf(this.#account, pipeline).get(loadKey);
    return loaded !== undefined && refusedAfter(loaded.holes) === undefined;
  }

  /**
   * The page of a question, which is asked again where a file is gone: a commit has replaced it, or its copy in the cache was deleted,
   * after which `overNewest` would not ask again.
   */
  async page({ cursor, limit }: BackendQuery, ask: () => PagedQuestion): Promise<BackendPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    for (let attempt = 1; ; attempt++) {
      await this.#tables.refresh(attempt > 1);
      try {
        return await this.#pageOf(ask(), after, limit);
      } catch (error) {
        const isGone = isFileMissing(error) || error instanceof DamagedFile;
        if (!isGone || attempt === mostAttempts) throw error;
      }
    }
  }

  async #pageOf(question: PagedQuestion, after: RowCursor | undefined, limit: number): Promise<BackendPage> {
    const keyAt = (cursor: RowCursor | undefined) =>
      `${question.key} ${cursor === undefined ? '' : cursorText(cursor)}`;
    const cached = this.#ahead.remove(keyAt(after));
    const isEnough = cached !== undefined && (cached.isEnd || cached.rows.length > limit);
    const { rows, isEnd } = isEnough
      ? cached
      : await question.read(after, Math.max(limit + 1, Math.min(rowsAtOnce, question.rowsAtOnce)));
    const page = rows.slice(0, limit);
    const items = page
      .toSorted((a, b) => compare(a.window, b.window) || compare(a.position, b.position))
      .map(({ list, raw }) => ({ list, json: raw }));
    const last = cursorAfter(page, after);
    if (last === undefined || (isEnd && rows.length <= limit)) return { items, next: undefined };
    this.#ahead.put(keyAt(last), { rows: rows.slice(limit), isEnd });
    return { items, next: cursorText(last) };
  }

  /** A question about a range of dates. `filters`: further conditions of `query`. */
  byDate(table: CommittedFiles, query: RangeQuery, range: Window, filters: object = {}): PagedQuestion {
    const { from, to } = boundsOf(range);
    const { all } = table;
    return {
      key: JSON.stringify([table.name, String(from), String(to), table.version, filters]),
      rowsAtOnce: rowsPerRead(all),
      read: async (after, count) => {
        const needed = count + (after?.copies ?? 0);
        const start = after === undefined || after.at < from ? from : after.at;
        const read = async (rows: number): Promise<RowsAhead | undefined> => {
          const { files, until } = table.nearest(all, start, to, rows);
          const addresses = await this.addresses(files);
          const found = await this.rows(addresses, query(addresses, { from, to: until }, { after, count: needed }));
          if (found.length < needed && until < to) return undefined;
          return { rows: undeliveredRows(found, after), isEnd: found.length < needed };
        };
        // Row counts of the log are a hint: where they give too few rows, the whole range is read.
        return (await read(needed)) ?? (await read(Infinity)) ?? { rows: [], isEnd: true };
      },
    };
  }

  /**
   * A question without a range of dates, to some tables and files of theirs. `rows` reads at most `count` rows from the
   * cursor's instant and key on.
   */
  withoutRange(
    key: string,
    tables: readonly CommittedFiles[],
    files: readonly DataFile[],
    rows: (page: PageStart) => Promise<StoredRow[]>,
  ): PagedQuestion {
    return {
      key: JSON.stringify([key, ...tables.map(({ version }) => version)]),
      rowsAtOnce: rowsPerRead(files),
      read: async (after, count) => {
        const needed = count + (after?.copies ?? 0);
        const found = await rows({ after, count: needed });
        return { rows: undeliveredRows(found, after), isEnd: found.length < needed };
      },
    };
  }

  /** The same for one table, of which `query` selects the rows of files. */
  ofTable(
    key: string,
    table: CommittedFiles,
    files: readonly DataFile[],
    query: (files: readonly string[], page: PageStart) => SqlQuery,
  ): PagedQuestion {
    return this.withoutRange(key, [table], files, async (page) => {
      const addresses = await this.addresses(files);
      return this.rows(addresses, query(addresses, page));
    });
  }

  /**
   * Local paths of files, for DuckDB.
   *
   * @throws DamagedFile for a file of S3 that is damaged, or missing because a commit has replaced it
   */
  async addresses(files: readonly DataFile[]): Promise<string[]> {
    await this.#cache?.fetch(files);
    const { store } = this.#tables;
    return files.map((file) => this.#cache?.localPath(file) ?? store.localPath(file.lakePath) ?? file.lakePath);
  }

  async rows(addresses: readonly string[], query: SqlQuery): Promise<StoredRow[]> {
    if (addresses.length === 0) return [];
    return (await this.readers.fileRows(query)).map(storedRow);
  }
}

/** Rows of one read, by the average row size of the file with the largest rows. */
function rowsPerRead(files: readonly DataFile[]): number {
  const largest = files.reduce((most, { size, rows }) => (rows > 0 ? Math.max(most, size / rows) : most), 1);
  return Math.floor(bytesAtOnce / largest);
}

/** A range in microseconds, each bound rounded up. */
export function boundsOf({ start, end }: Window): InstantBounds {
  const micros = (ms: number) => BigInt(Math.ceil(ms * 1000));
  return { from: micros(start), to: micros(end) };
}

/** Rows that follow a cursor. */
interface RowsAhead {
  readonly rows: readonly StoredRow[];
  /** Whether they are the last ones. */
  readonly isEnd: boolean;
}

/**
 * A cache of rows that were read along with a page and are likely to be requested next: finding one page costs as much
 * as finding ten consecutive ones. Beyond the capacity the oldest rows are dropped.
 */
class ReadAhead {
  readonly #capacity: number;
  /** Rows by question and cursor, oldest first. */
  readonly #entries = new Map<string, RowsAhead & { readonly size: number }>();
  #used = 0;

  /** @param capacity largest total length of `raw`, characters */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Removes and returns the rows for a cursor. */
  remove(key: string): RowsAhead | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#used -= found.size;
    return found;
  }

  put(key: string, ahead: RowsAhead): void {
    this.remove(key);
    const size = ahead.rows.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#entries.set(key, { ...ahead, size });
    this.#used += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#used <= this.#capacity) break;
      this.remove(oldest);
    }
  }
}

/** Number of connections: that of the threads of Node's thread pool. */
const connectionCount = 4;

/** DuckDB's memory limit, beyond which it spills to disk. */
const memory = '512MB';

/** Memory limit of the DuckDB that repeats a query which ran out of memory, as where events have megabytes each. */
const largeMemory = '2GB';

/** Several connections to one DuckDB: that many queries run at once, and further ones wait. */
class Readers {
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

  /** All rows of a statement's result. Statements have tables in common. */
  async rows({ sql, parameters }: SqlQuery): Promise<readonly ResultRow[]> {
    const reader = this.#free.pop() ?? (await new Promise<Database>((resolve) => this.#waiting.push(resolve)));
    try {
      return await reader.rows(sql, { parameters });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(reader);
      else next(reader);
    }
  }

  /** All rows of a query that reads files alone: where memory runs out, it is repeated in a larger DuckDB, which has no tables. */
  async fileRows(query: SqlQuery): Promise<readonly ResultRow[]> {
    try {
      return await this.rows(query);
    } catch (error) {
      if (!/out of memory/i.test(messageOf(error))) throw error;
      return await this.#largeRows(query);
    }
  }

  /** Cancels running queries and frees the memory. */
  close(): void {
    // The first connection owns the memory of all.
    for (const reader of this.#all.toReversed()) reader.close();
  }

  /** Runs a query with `largeMemory`, one at a time, as several could exhaust the machine's memory. */
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
