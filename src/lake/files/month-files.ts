import type { DataFile } from '../delta/data-file.js';
import { rm } from 'node:fs/promises';
import { hasColumn, sqlType, type Column, type Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import type { Snapshot } from '../catalog/snapshot.js';
import type { Lake } from '../lake.js';
import { overNewest } from '../over-newest.js';
import type { Store } from '../store/store.js';
import { checkedFile } from './local-file.js';
import { rowsIn } from './local-parquet.js';
import { type Workspace, defaultLimits, withWorkspace } from './workspace.js';
import { loadKeyCondition } from './load-key-rows.js';

/** Parquet files of one partition, as DuckDB reads them. */
export interface MonthFiles {
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  readonly paths: readonly string[];
}

/** The most bytes of copies that `CheckedFiles.trim` leaves: those of a month that the next slice reads too. */
const mostCopiedBytes = 500_000_000;

/**
 * Verified local files of a lake: each file is compared with the log once, and copied once where the lake isn't on the local disk. Copies
 * stay until `trim`.
 */
export class CheckedFiles {
  readonly #store: Store;
  readonly #workspace: Workspace;
  /** The local paths of files, by their path within the lake; what was used last is last. */
  readonly #local = new Map<string, { readonly path: string; readonly size: number }>();

  constructor(store: Store, workspace: Workspace) {
    this.#store = store;
    this.#workspace = workspace;
  }

  /**
   * Local paths of files by month.
   *
   * @throws LedgerlakeError LAKE_STORE for one that is missing or isn't what its commit says
   */
  async of(files: readonly DataFile[]): Promise<MonthFiles[]> {
    const months = new Map<string, string[]>();
    for (const file of files) months.set(file.month, [...(months.get(file.month) ?? []), await this.#path(file)]);
    return [...months].map(([month, paths]) => ({ month, paths }));
  }

  /** Deletes copies beyond a number of bytes, those first that were not used for the longest time. */
  async trim(most = mostCopiedBytes): Promise<void> {
    let bytes = 0;
    for (const [lakePath, { path, size }] of [...this.#local].toReversed()) {
      if (this.#store.localPath(lakePath) !== undefined) continue;
      bytes += size;
      if (bytes <= most) continue;
      this.#local.delete(lakePath);
      this.#workspace.faults.delete(path);
      await rm(path, { force: true });
    }
  }

  async #path(file: DataFile): Promise<string> {
    const { lakePath, size } = file;
    const path = this.#local.get(lakePath)?.path ?? (await checkedFile(this.#store, file, this.#workspace));
    this.#local.delete(lakePath);
    this.#local.set(lakePath, { path, size });
    return path;
  }
}

/** Calls `use` with the files of a lake, and deletes their copies at the end. */
export async function withCheckedFiles<T>(
  store: Store,
  workspace: Workspace,
  use: (files: CheckedFiles) => Promise<T>,
): Promise<T> {
  const files = new CheckedFiles(store, workspace);
  try {
    return await use(files);
  } finally {
    await files.trim(0);
  }
}

/** A query for the rows of a table's files that meet a condition, with the table's columns and the month of their folder as `month_`. */
export function monthRows({ columns }: Table, files: readonly MonthFiles[], condition: string): string {
  const cast = (value: string, column: Column) => `CAST(${value} AS ${sqlType(column)}) AS ${identifier(column.name)}`;
  // Matched by name: a column that a file lacks is null.
  const none = `SELECT ${columns.map((column) => cast('NULL', column)).join(', ')}, CAST(NULL AS VARCHAR) AS month_ WHERE false`;
  const months = files.map(
    ({ month, paths }) => `SELECT *, ${literal(month)} AS month_ FROM ${rowsIn(paths)} WHERE ${condition}`,
  );
  const typed = columns.map((column) => cast(identifier(column.name), column)).join(', ');
  return `SELECT * REPLACE (${typed}) FROM (${[none, ...months].join(' UNION ALL BY NAME ')})`;
}

/** Columns that identify what a row was read for: a window, a settlement or an order. */
const sourceColumns = ['window_start', 'group_id', 'requested_order_id'];

/**
 * Whether two queries of `monthRows` return the same rows of a table, in any order: the sums of the rows' hashes, of 64 bits, are compared, which
 * needs no memory. Where the id is a hash of `raw`, `raw` isn't compared, and rows may have swapped positions: an API without a
 * defined order may answer in a different one each time.
 */
export async function sameRows(database: Database, table: Table, a: string, b: string): Promise<boolean> {
  const isHashed = hasColumn(table, 'content_hash');
  const names = table.columns.map(({ name }) => name);
  // Of a settlement that several documents have, either one will do.
  const isOrigin = (name: string) => name === 'document' && table.customPipeline === undefined;
  const compared = names.filter((name) => !(isHashed && (name === 'raw' || name === 'position')) && !isOrigin(name));
  const isSame = async (columns: readonly string[]): Promise<boolean> => {
    const list = [...columns.map(identifier), 'month_'].join(', ');
    // The hash of several values mixes the last one too little for a sum.
    const rowsChecksum = (rows: string) => `(SELECT {rows: count(*), sum: sum(hash(hash(${list})))} FROM (${rows}))`;
    const [found] = await database.rows(`SELECT ${rowsChecksum(a)} = ${rowsChecksum(b)} AS same`);
    return found?.['same'] === true;
  };
  if (!(await isSame(compared))) return false;
  const positionColumns = names.filter((name) => name === 'position' || sourceColumns.includes(name));
  return !isHashed || !positionColumns.includes('position') || isSame(positionColumns);
}

/**
 * The received JSON of all rows of some load keys in a main table's files.
 *
 * @throws LedgerlakeError LAKE_STORE for a file that is missing or isn't what its commit says
 */
export async function storedRaws(
  lake: Lake,
  table: Table,
  choose: (snapshot: Snapshot) => readonly DataFile[],
  loadKeys: readonly string[],
): Promise<string[]> {
  const rows = await queryFiles(
    lake,
    table,
    choose,
    loadKeyCondition(loadKeys),
    (select) => `SELECT raw FROM (${select})`,
  );
  return rows.map(({ raw }) => String(raw));
}

/**
 * Runs a query over the rows of a table's files that meet a condition.
 *
 * @param choose returns the files of a snapshot
 * @param query returns the query, given the query for the rows
 * @throws LedgerlakeError LAKE_STORE for a file that is missing or isn't what its commit says
 */
export function queryFiles(
  lake: Lake,
  table: Table,
  choose: (snapshot: Snapshot) => readonly DataFile[],
  condition: string,
  query: (rows: string) => string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const isLive = (file: DataFile) => (snapshot: Snapshot) => snapshot.file(table.name, file.path) !== undefined;
  const chooseFiles = (newest: Snapshot) => choose(newest).map((file) => ({ file, isCurrent: isLive(file) }));
  return withWorkspace(defaultLimits, lake.store, (workspace) =>
    overNewest(lake, chooseFiles, async (chosen) => {
      const files = await new CheckedFiles(lake.store, workspace).of(chosen.map(({ file }) => file));
      return workspace.database.rows(query(monthRows(table, files, condition)));
    }),
  );
}
