import type { Emit } from '../../core/events/run-event.js';
import { existsSync } from 'node:fs';
import type { Clock } from '../../core/clock.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import type { Database, QueryOptions } from '../../core/duckdb/connection.js';
import type { LakeFiles } from '../../core/duckdb/views.js';
import { scannedFiles, scansOf } from '../../core/duckdb/scans.js';
import { LedgerlakeError, throwIfStopped } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { DamagedFile, type DataFile } from '../../lake/delta/data-file.js';
import { FileCache, type CacheSettings, type FetchProgress } from '../../lake/files/file-cache.js';
import type { Lake } from '../../lake/lake.js';
import type { CommandScope } from '../command-text.js';
import { damageText } from './file-fault.js';

/** Bytes from which on a fetch is worth a line, and seconds between two lines. */
const loggedBytes = 5_000_000;
const loggedMs = 5000;

/**
 * The files of a lake on S3 as DuckDB reads them: copies in the cache. In the place of the files of an account and month that no
 * statement has read yet stands an empty file in the same folder, which DuckDB leaves out by the same conditions.
 */
export class FetchedFiles {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #cache: FileCache;
  readonly #scope: CommandScope & { readonly lake: string };
  readonly #emit: Emit;
  /** The local paths of what is there. */
  readonly #fetched = new Set<string>();
  #loggedAt = 0;

  constructor(
    lake: Lake,
    clock: Clock,
    settings: CacheSettings,
    scope: CommandScope & { readonly lake: string },
    emit: Emit,
  ) {
    this.#lake = lake;
    this.#clock = clock;
    this.#cache = new FileCache(lake.store, settings);
    this.#scope = scope;
    this.#emit = emit;
  }

  /** The only folder that DuckDB reads. */
  get folder(): string {
    return this.#cache.folder;
  }

  /** The local files of each table's view. */
  async lakeFiles(): Promise<LakeFiles> {
    // Another process may have removed copies meanwhile.
    for (const path of this.#fetched) if (!existsSync(path)) this.#fetched.delete(path);
    const files = new Map<string, string[]>();
    for (const [table, partitions] of this.#partitions()) {
      const local: string[] = [];
      for (const partition of partitions.values()) local.push(...(await this.#filesOf(partition)));
      files.set(table, local);
    }
    return files;
  }

  /** Removes copies of what no version of the lake has any more: forgotten accounts first of all. */
  async removeForgotten(): Promise<void> {
    await this.#cache.keep(this.#lake.snapshot);
  }

  /**
   * Fetches the files that a statement reads.
   *
   * @param tables those that it can read
   * @returns whether the files of a view have changed
   * @throws LedgerlakeError SQL for a damaged file, and where they don't fit the cache; LAKE_STORE; the reason of the signal
   */
  async fetch(
    statement: string,
    tables: readonly string[],
    database: Database,
    options: QueryOptions,
  ): Promise<boolean> {
    if (tables.length === 0) return false;
    const scans = await scansOf(database, statement, options);
    const needed: DataFile[] = [];
    for (const [table, partitions] of this.#partitions()) {
      if (!tables.includes(table)) continue;
      const local = new Map<string, readonly DataFile[]>();
      for (const partition of partitions.values())
        for (const path of await this.#filesOf(partition)) local.set(path, partition);
      const paths = [...local.keys()];
      const read = scans === undefined ? paths : await scannedFiles(database, table, paths, scans);
      const wanted = new Set([...read].flatMap((path) => local.get(path) ?? []));
      needed.push(...wanted);
    }
    const before = this.#fetched.size;
    try {
      await this.#cache.fetch(needed, options.signal, (progress) => {
        this.#logProgress(progress);
      });
    } catch (error) {
      throwIfStopped(options.signal);
      if (!(error instanceof DamagedFile)) throw error;
      return this.#replaced(error);
    }
    for (const file of needed) this.#fetched.add(this.#cache.localPath(file));
    return this.#fetched.size > before;
  }

  /** Whether a commit has replaced a file that couldn't be fetched. Throws an error that names it where none has. */
  async #replaced(error: DamagedFile): Promise<boolean> {
    const { store } = this.#lake;
    const isIt = (file: DataFile) => error.message.includes(store.address(file.lakePath));
    const [file] = this.#lake.files().filter(isIt);
    await this.#lake.refresh();
    if (file === undefined || !this.#lake.snapshot.has(file.lakePath)) return true;
    throw new LedgerlakeError('SQL', await damageText({ file, fault: error.fault }, this.#lake, this.#scope), {
      cause: error,
    });
  }

  /** The files of each table by account and month. */
  #partitions(): ReadonlyMap<string, ReadonlyMap<string, readonly DataFile[]>> {
    const tables = groupBy(this.#lake.files(), ({ table }) => table);
    return new Map(
      [...tables].map(([name, files]) => [name, groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')))]),
    );
  }

  async #filesOf(partition: readonly DataFile[]): Promise<readonly string[]> {
    const local = partition.map((file) => this.#cache.localPath(file));
    const [first] = partition;
    if (first === undefined || local.every((path) => this.#fetched.has(path))) return local;
    return [await this.#cache.emptyFile(first)];
  }

  #logProgress({ files, bytes, doneBytes }: FetchProgress): void {
    const now = this.#clock.now();
    if (bytes < loggedBytes || (now - this.#loggedAt < loggedMs && doneBytes < bytes)) return;
    this.#loggedAt = now;
    this.#emit({
      event: 'message',
      message: `fetched ${formatBytes(doneBytes)} of ${formatBytes(bytes)}, ${formatCount(files, 'file')}`,
    });
  }
}
