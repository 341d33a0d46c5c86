import { LedgerlakeError } from '../errors.js';
import type { Database } from './connection.js';
import { fileLiteral, identifier, literal } from './literals.js';

/** The committed Parquet files of each table, as absolute addresses: `…/account=…/month=…/….parquet` below one folder. */
export type LakeFiles = ReadonlyMap<string, readonly string[]>;

export interface SqlColumn {
  readonly name: string;
  /** DuckDB's: `VARCHAR`, `DECIMAL(18,6)`. */
  readonly type: string;
}

export interface ViewedTable {
  readonly name: string;
  /** The columns of its files in the order of the view; `account` and `month`, which are folders, follow them. */
  readonly columns: readonly SqlColumn[];
}

/** The columns of every view that are folders of its files. */
export const partitions: readonly string[] = ['account', 'month'];

/**
 * Creates or replaces a view for each table that reads exactly its files, or is empty where it has none. It has the
 * given columns and types; a column that a file lacks is NULL. No file is opened here, and a query opens only files of
 * the accounts and months that it selects. Throws a LedgerlakeError: SQL where a file is missing; LAKE_LOG where a file isn't in partition folders.
 */
export async function createViews(
  database: Database,
  tables: readonly ViewedTable[],
  files: LakeFiles,
  signal?: AbortSignal,
): Promise<void> {
  for (const table of tables) {
    await createView(database, table.name, selectOf(table, files.get(table.name) ?? []), signal);
  }
}

/** Creates or replaces a view with the columns of a table that throws an error SQL with this text in a statement that reads it. */
export async function createFaultView(
  database: Database,
  table: ViewedTable,
  text: string,
  signal?: AbortSignal,
): Promise<void> {
  // In the condition as well: DuckDB doesn't compute a column that a statement leaves out. Were one constant, it would
  // compute a condition on it instead of reading.
  const fault = `error(${literal(text)})`;
  const columns = viewedColumns(table).map(({ name, type }) => `CAST(fault AS ${type}) AS ${identifier(name)}`);
  const select = `SELECT ${columns.join(', ')} FROM (SELECT unnest([${fault}]) AS fault) WHERE ${fault} IS NULL`;
  await createView(database, table.name, select, signal);
}

async function createView(
  database: Database,
  name: string,
  select: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await database.execute(`CREATE OR REPLACE VIEW ${identifier(name)} AS ${select}`, { signal });
}

/** The columns of a view, with those that are folders. */
export function viewedColumns({ columns }: ViewedTable): readonly SqlColumn[] {
  return [
    ...columns.filter(({ name }) => !isPartition(name)),
    ...partitions.map((name) => ({ name, type: 'VARCHAR' })),
  ];
}

/** The number of files of all tables. */
export function fileCount(files: LakeFiles): number {
  return [...files.values()].reduce((sum, list) => sum + list.length, 0);
}

function selectOf(table: ViewedTable, files: readonly string[]): string {
  if (files.length === 0) {
    return `SELECT ${viewedColumns(table)
      .map(({ name, type }) => `CAST(NULL AS ${type}) AS ${identifier(name)}`)
      .join(', ')} WHERE false`;
  }
  return selectRows(table, files, foldersOf(table, files));
}

/**
 * A statement for the rows of files in the columns and types of a table's view; a column that a file lacks is NULL. `folders`: account
 * and month in SQL.
 */
export function selectRows(
  table: ViewedTable,
  files: readonly string[],
  folders: readonly [account: string, month: string],
): string {
  // With a given schema DuckDB opens no file to find the columns; otherwise each query would open all of them. DuckDB
  // then has no partition columns, but it skips files by conditions on `filename`.
  const declared = table.columns.filter(({ name }) => !isPartition(name));
  const wanted = declared.map(({ name, type }, at) => ({ name, type, alias: `${table.name}_${at}` }));
  const schema = wanted.map(
    ({ name, type, alias }) =>
      `${literal(name)}: {name: ${literal(alias)}, type: ${literal(type)}, default_value: NULL}`,
  );
  const known = wanted.map(({ name, alias }) => `${identifier(alias)} AS ${identifier(name)}`);
  const partition = folders.map((value, at) => `${value} AS ${partitions[at]}`);
  return (
    `SELECT ${[...known, ...partition].join(', ')} FROM read_parquet([${files.map(fileLiteral).join(', ')}], ` +
    `schema = MAP {${schema.join(', ')}}, filename = true)`
  );
}

/**
 * The names of a table's columns inside its view: a plan says by them which table it reads, and a column may be called `filename`,
 * DuckDB's name of a file's path.
 */
export function columnAliasOf(table: string): RegExp {
  return new RegExp(`^"?${table.replaceAll(/\W/g, '.')}_\\d+"?$`);
}

/** The path of a file below its table's folder; every month has seven characters, `unknown` as well. */
const partitionPath = /^account=[^/]*\/month=[^/]{7}\/[^/]*$/;

/**
 * SQL expressions for the values of a file's two folders. They use positions, because DuckDB evaluates them for every
 * file and a pattern takes three times as long.
 */
function foldersOf(table: ViewedTable, files: readonly string[]): readonly [account: string, month: string] {
  const [first = ''] = files;
  const folder = first.slice(0, first.lastIndexOf('/account=') + 1);
  const misplaced = files.find((file) => !file.startsWith(folder) || !partitionPath.test(file.slice(folder.length)));
  if (misplaced !== undefined) {
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected files of ${table.name} below account=ID/month=YYYY-MM, got ${misplaced} in the log; another program has written to it`,
    );
  }
  // DuckDB counts code points.
  const at = Array.from(`${folder}account=`).length + 1;
  const slash = `strpos(substr(filename, ${at}), '/')`;
  const values = [
    `substr(filename, ${at}, ${slash} - 1)`,
    `substr(filename, ${at + 'month='.length} + ${slash}, 7)`,
  ] as const;
  return files.some((file) => file.includes('%')) ? [`url_decode(${values[0]})`, `url_decode(${values[1]})`] : values;
}

function isPartition(name: string): boolean {
  return partitions.includes(name);
}

/** Whether DuckDB didn't find a file, as happens where a commit has replaced it after the query began. */
export function isFileMissing(error: unknown): boolean {
  return (
    error instanceof LedgerlakeError &&
    error.code === 'SQL' &&
    /^(?:IO|HTTP) Error: .*(?:No files found|Cannot open file|Could not open|No such file|404)/s.test(error.message)
  );
}
