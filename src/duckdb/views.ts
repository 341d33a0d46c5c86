import { LedgerlakeError } from '../errors.js';
import type { Database, QueryOptions } from './connection.js';

/** The committed Parquet files of each table, as absolute addresses. */
export type LakeFiles = ReadonlyMap<string, readonly string[]>;

export interface TableColumn {
  readonly name: string;
  /** DuckDB's: `VARCHAR`, `DECIMAL(18,6)`. */
  readonly type: string;
}

export interface LakeTable {
  readonly name: string;
  /** What its files hold, in the order of the view; `account` and `month` come from the folders and behind these. */
  readonly columns: readonly TableColumn[];
}

const partitions = ['account', 'month'] as const;

/**
 * Makes a view for each table that reads exactly its files, or is empty where it has none; views of the same names are
 * replaced. Columns have the types given; one that no file has is NULL, and one that only files have stands behind the
 * known ones. Throws a LedgerlakeError (SQL) where a file can't be read, or the lake is on S3 and DuckDB has no httpfs.
 */
export async function createViews(
  database: Database,
  tables: readonly LakeTable[],
  files: LakeFiles,
  signal?: AbortSignal,
): Promise<void> {
  const remote = [...files.values()].flat().find((file) => file.startsWith('s3://'));
  if (remote !== undefined) await loadHttpfs(database, remote);
  for (const table of tables) {
    const select = await selectOf(database, table, files.get(table.name) ?? [], { signal });
    await database.execute(`CREATE OR REPLACE VIEW ${identifier(table.name)} AS ${select}`, { signal });
  }
}

/** How many files the lake holds. */
export function fileCount(files: LakeFiles): number {
  return [...files.values()].reduce((sum, list) => sum + list.length, 0);
}

async function selectOf(
  database: Database,
  table: LakeTable,
  files: readonly string[],
  options: QueryOptions,
): Promise<string> {
  const declared = table.columns.filter(({ name }) => !isPartition(name));
  if (files.length === 0) {
    const columns = [...declared, ...partitions.map((name) => ({ name, type: 'VARCHAR' }))];
    return `SELECT ${columns.map(({ name, type }) => missing(name, type)).join(', ')} WHERE false`;
  }

  const list = `[${files.map(fileLiteral).join(', ')}]`;
  // Reading by name opens every file for every query, so it is kept for lakes whose files differ.
  const [first] = files.length > 1 ? await database.rows(shapes(list), options) : [];
  const byName = first !== undefined && first['shapes'] !== 1n;
  const typed = byName ? list : `[${files.slice(0, 1).map(fileLiteral).join('')}]`;
  const found = await database.rows(
    `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(${typed}, union_by_name = ${byName}, hive_partitioning = false))`,
    options,
  );
  const types = new Map(found.map((row) => [String(row['column_name']), String(row['column_type'])]));
  const known = declared.map(({ name, type }) => {
    const stored = types.get(name);
    if (stored === undefined) return missing(name, type);
    return stored === type ? identifier(name) : `CAST(${identifier(name)} AS ${type}) AS ${identifier(name)}`;
  });
  const names = new Set(declared.map(({ name }) => name));
  const more = [...types.keys()].filter((name) => !names.has(name) && !isPartition(name)).map(identifier);
  // Named one by one, because a folder above the lake may look like a partition too (`env=prod`), and DuckDB takes the
  // outermost folder of a name: where that isn't the lake's own, the path is read here, which DuckDB can't skip files by.
  const hive = !files.some((file) => partitions.some((name) => file.split(`/${name}=`).length > 2));
  const folders = partitions.map((name) => (hive ? name : `${folderValue(name)} AS ${name}`));
  return (
    `SELECT ${[...known, ...more, ...folders].join(', ')} FROM read_parquet(${list}, union_by_name = ${byName}, ` +
    `hive_partitioning = ${hive}, hive_types_autocast = false)`
  );
}

/** The value of the innermost folder `name=value` in a file's path. */
function folderValue(name: string): string {
  return `url_decode(regexp_extract(filename, '.*/${name}=([^/]*)/', 1))`;
}

/** How many different schemas the files have. */
function shapes(list: string): string {
  return (
    'SELECT count(DISTINCT shape) AS shapes FROM (SELECT file_name, ' +
    "string_agg(concat_ws(' ', name, type, num_children, converted_type, scale, precision, logical_type), ', ') AS shape " +
    `FROM parquet_schema(${list}) GROUP BY file_name)`
  );
}

/** Amazon's storage needs an extension that isn't part of the package. */
async function loadHttpfs(database: Database, address: string): Promise<void> {
  try {
    await database.execute('LOAD httpfs');
  } catch (cause) {
    throw new LedgerlakeError(
      'SQL',
      `DuckDB needs its extension httpfs to read ${address} and it is not installed: ` +
        'run `ledgerlake sql --lake "$(mktemp -d)" "INSTALL httpfs"` once where extensions.duckdb.org can be reached.',
      { cause },
    );
  }
}

function missing(name: string, type: string): string {
  return `CAST(NULL AS ${type}) AS ${identifier(name)}`;
}

function isPartition(name: string): boolean {
  return (partitions as readonly string[]).includes(name);
}

/** A name in SQL, whatever it holds. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in SQL, whatever it holds. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A file's address in SQL; DuckDB would take brackets and stars in it for a pattern. */
export function fileLiteral(address: string): string {
  return literal(address.replaceAll(/[[*?]/g, '[$&]'));
}
