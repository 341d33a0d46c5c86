import { storesRaw } from '../../core/columns/table.js';
import { compare } from '../../core/compare.js';
import { groupBy } from '../../core/group-by.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import type { Clock } from '../../core/clock.js';
import { Lake } from '../../lake/lake.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { Store } from '../../lake/store/store.js';

/** A committed file of one account, with statistics of its rows from the log. */
export interface CommittedFile {
  readonly file: DataFile;
  /** Path within the lake. */
  readonly path: string;
  /** Size in bytes. */
  readonly size: number;
  readonly rows: number;
  /**
   * Least and greatest instant of its rows, microseconds since 1970; `earliest` and `latest` where the log doesn't have
   * them.
   */
  readonly least: bigint;
  readonly greatest: bigint;
  readonly loadKeys: readonly string[];
}

/** Bounds of all instants that a column can hold, microseconds since 1970. */
const earliest = -(2n ** 63n);
export const latest = 2n ** 63n - 1n;

/** The files of one account in a main table, at the newest version of its log that was read. */
export class CommittedFiles {
  readonly #lake: Lake;
  readonly #table: string;
  readonly #account: string;
  readonly #column: string;
  /** Never invalidated, as files don't change. */
  readonly #cache = new WeakMap<DataFile, CommittedFile>();
  #version = -2;
  #files: readonly CommittedFile[] = [];
  #byLoadKey: ReadonlyMap<string, readonly { readonly file: CommittedFile }[]> | undefined;

  /** @param column the instant by which rows are selected */
  constructor(lake: Lake, table: string, account: string, column: string) {
    this.#lake = lake;
    this.#table = table;
    this.#account = account;
    this.#column = column;
  }

  get name(): string {
    return this.#table;
  }

  /** The newest version of the table that was read. */
  get version(): number {
    return this.#lake.snapshot.versionOf(this.#table);
  }

  /** All files of the account. */
  get all(): readonly CommittedFile[] {
    const { version } = this;
    if (version !== this.#version) {
      this.#files = this.#lake.snapshot.filesOf(this.#table, this.#account).map((file) => this.#read(file));
      this.#byLoadKey = undefined;
      this.#version = version;
    }
    return this.#files;
  }

  /** The files with rows of a load key: of a settlement, or of an order that was requested. */
  withLoadKey(loadKey: string): readonly CommittedFile[] {
    const { all } = this;
    this.#byLoadKey ??= groupBy(
      all.flatMap((file) => file.loadKeys.map((key) => ({ key, file }))),
      ({ key }) => key,
    );
    return this.#byLoadKey.get(loadKey)?.map(({ file }) => file) ?? [];
  }

  #read(file: DataFile): CommittedFile {
    const cached = this.#cache.get(file);
    if (cached !== undefined) return cached;
    const { size, rows, loadKeys } = file;
    const path = file.lakePath;
    const read = { file, path, size, rows, loadKeys, ...boundsOf(file, this.#column) };
    this.#cache.set(file, read);
    return read;
  }
}

function boundsOf(file: DataFile, column: string): Pick<CommittedFile, 'least' | 'greatest'> {
  const { least: first = '', greatest: last = '', hasNoNull } = file.columnStatistics(column);
  const [least, greatest] = [Date.parse(first), Date.parse(last)];
  // A row without the instant is sorted by another one, which the statistics don't cover.
  const isKnown = hasNoNull && Number.isFinite(least) && Number.isFinite(greatest);
  return isKnown
    ? { least: BigInt(least) * 1000n, greatest: BigInt(greatest) * 1000n }
    : { least: earliest, greatest: latest };
}

/**
 * The files to read for the first `rows` rows from `from` (included) to `to` (excluded): as few as the log's statistics
 * allow, so that a page of a large lake opens two or three files and not all of them. Before the instant `until` no other file has
 * rows of the range.
 */
export function nearestFiles(
  files: readonly CommittedFile[],
  from: bigint,
  to: bigint,
  rows: number,
): { readonly files: readonly CommittedFile[]; readonly until: bigint } {
  const overlapping = files
    .filter(({ least, greatest }) => greatest >= from && least < to)
    .toSorted((a, b) => compare(a.greatest, b.greatest));
  let until = to;
  let found = 0;
  for (const file of overlapping) {
    // The number of rows within the range is unknown for a file that crosses a bound.
    if (file.least <= from || file.greatest >= to) continue;
    found += file.rows;
    if (found < rows) continue;
    until = file.greatest + 1n;
    break;
  }
  return {
    files: overlapping.filter(({ least }) => least < until).toSorted((a, b) => compare(a.least, b.least)),
    until,
  };
}

/** The tables that store the received JSON. */
const storedTables = tables.filter((table) => table.appendOnly !== true && storesRaw(table));

/** The main tables of a lake at the newest version that was read. */
export class MainTables {
  readonly lake: Lake;
  readonly #clock: Clock;
  readonly #freshMs: number;
  #readAt = -Infinity;
  #reading: Promise<unknown> | undefined;

  private constructor(lake: Lake, clock: Clock, freshMs: number) {
    this.lake = lake;
    this.#clock = clock;
    this.#freshMs = freshMs;
  }

  /**
   * Opens the main tables.
   *
   * @param freshMs largest age of the read catalog, milliseconds; on a disk a refresh costs next to nothing
   * @throws LedgerlakeError LAKE_STORE, LAKE_LOG where the lake's catalog can't be read or lacks commits
   */
  static async open(
    store: Store,
    clock: Clock,
    freshMs = store.localPath('') === undefined ? 1000 : 0,
  ): Promise<MainTables> {
    return new MainTables(await Lake.open(store, storedTables, clock), clock, freshMs);
  }

  get store(): Store {
    return this.lake.store;
  }

  /** Version by table, for tables that have one. */
  versions(): Readonly<Record<string, number>> {
    const versions = storedTables.map(({ name }) => [name, this.lake.snapshot.versionOf(name)] as const);
    return Object.fromEntries(versions.filter(([, version]) => version >= 0));
  }

  /**
   * Reads new commits; concurrent callers wait for the same read. `isForced`: even where the catalog was read less than
   * `freshMs` ago. It fails while the catalog is missing, as an empty answer would be wrong.
   *
   * @throws LedgerlakeError LAKE_STORE, LAKE_LOG where the lake's catalog can't be read or is gone
   */
  async refresh(isForced = false): Promise<void> {
    const now = this.#clock.now();
    if (!isForced && now - this.#readAt < this.#freshMs) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    this.#readAt = now;
  }

  async #read(): Promise<void> {
    await this.lake.refresh();
    await this.lake.checkPresent();
  }
}
