import { pipelines } from '../../../pipelines/all-pipelines.js';
import { storesRaw, tablesOf } from '../../core/columns/table.js';
import { compare } from '../../core/compare.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import type { Clock } from '../../core/clock.js';
import { Lake } from '../../lake/lake.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { Store } from '../../lake/store/store.js';

/** Bounds of all instants that a column can hold, microseconds since 1970. */
const earliest = -(2n ** 63n);
export const latest = 2n ** 63n - 1n;

/** Least and greatest instant of a file's rows, microseconds since 1970; `earliest` and `latest` where the log doesn't have them. */
interface FileBounds {
  readonly least: bigint;
  readonly greatest: bigint;
}

/** The files of one account in a table, at the newest version of the lake that was read. */
export class CommittedFiles {
  readonly name: string;
  readonly #lake: Lake;
  readonly #account: string;
  readonly #column: string;
  /** Never invalidated, as files don't change. */
  readonly #bounds = new WeakMap<DataFile, FileBounds>();

  /** @param column the instant by which rows are selected */
  constructor(lake: Lake, table: string, account: string, column: string) {
    this.#lake = lake;
    this.name = table;
    this.#account = account;
    this.#column = column;
  }

  /** The newest version of the table that was read. */
  get version(): number {
    return this.#lake.snapshot.versionOf(this.name);
  }

  /** All files of the account. */
  get all(): readonly DataFile[] {
    return this.#lake.snapshot.filesOf(this.name, this.#account);
  }

  /** The files with rows of a load key: of a settlement, or of an order that was requested. */
  withLoadKey(loadKey: string): readonly DataFile[] {
    const { name } = this;
    const filling = pipelines.filter((pipeline) => tablesOf(pipeline).some((table) => table.name === name));
    return filling.flatMap((pipeline) => this.#lake.snapshot.filesWith(name, this.#account, pipeline.name, [loadKey]));
  }

  /**
   * Those of some files to read for the first `rows` rows from `from` (included) to `to` (excluded): as few as the log's statistics
   * allow, so that a page of a large lake opens two or three files and not all of them. Before the instant `until` no other file has
   * rows of the range.
   */
  nearest(
    files: readonly DataFile[],
    from: bigint,
    to: bigint,
    rows: number,
  ): { readonly files: readonly DataFile[]; readonly until: bigint } {
    const overlapping = files
      .map((file) => ({ file, ...this.#boundsOf(file) }))
      .filter(({ least, greatest }) => greatest >= from && least < to)
      .toSorted((a, b) => compare(a.greatest, b.greatest));
    let until = to;
    let found = 0;
    for (const { file, least, greatest } of overlapping) {
      // The number of rows within the range is unknown for a file that crosses a bound.
      if (least <= from || greatest >= to) continue;
      found += file.rows;
      if (found < rows) continue;
      until = greatest + 1n;
      break;
    }
    const nearest = overlapping.filter(({ least }) => least < until).toSorted((a, b) => compare(a.least, b.least));
    return { files: nearest.map(({ file }) => file), until };
  }

  #boundsOf(file: DataFile): FileBounds {
    const bounds = this.#bounds.get(file) ?? boundsIn(file, this.#column);
    this.#bounds.set(file, bounds);
    return bounds;
  }
}

function boundsIn(file: DataFile, column: string): FileBounds {
  const { least: first = '', greatest: last = '', hasNoNull } = file.columnStatistics(column);
  const [least, greatest] = [Date.parse(first), Date.parse(last)];
  // A row without the instant is sorted by another one, which the statistics don't cover.
  const isKnown = hasNoNull && Number.isFinite(least) && Number.isFinite(greatest);
  return isKnown
    ? { least: BigInt(least) * 1000n, greatest: BigInt(greatest) * 1000n }
    : { least: earliest, greatest: latest };
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
