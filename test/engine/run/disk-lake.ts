import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';

/** Every file of a lake on disk but half-written ones, by its path within it. */
export async function filesOf(lake: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const entries = await readdir(lake, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = relative(lake, join(entry.parentPath, entry.name)).split(sep).join('/');
    if (entry.isFile() && !path.startsWith('_tmp/')) files.set(path, await readFile(join(lake, path)));
  }
  return files;
}

/** How many rows, of all tables and columns, one of two lakes has and the other hasn't, as a plain glob reads them. */
export async function differentRows(lake: string, other: string): Promise<number> {
  const database = await openDatabase();
  try {
    let different = 0;
    for (const { name } of tables) {
      const sides = [lake, other].map((root) => globOf(root, name));
      const held = await Promise.all(
        [lake, other].map((root) =>
          readdir(join(root, name))
            .then((found) => found.some((of) => of.startsWith('account=')))
            .catch(() => false),
        ),
      );
      if (!held.includes(true)) continue;
      if (held.includes(false)) return Infinity;
      for (const [a, b] of [sides, sides.toReversed()]) {
        const [row] = await database.rows(`SELECT count(*) AS n FROM (${a ?? ''} EXCEPT ALL ${b ?? ''})`);
        different += Number(row?.['n']);
      }
    }
    return different;
  } finally {
    database.close();
  }
}

/** Rows of a table as people read them who know nothing of the log. */
export function globOf(lake: string, table: string): string {
  const glob = literal(`${lake}/${table}/account=*/month=*/*.parquet`);
  return `SELECT * FROM read_parquet(${glob}, hive_partitioning = true, union_by_name = true)`;
}
