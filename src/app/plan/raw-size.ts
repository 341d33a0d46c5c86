import { literal } from '../../core/duckdb/literals.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Lake } from '../../lake/lake.js';

/** Files that are looked at, and how large one may be that must be fetched for it. */
const most = { local: 20, remote: 3, remoteBytes: 32_000_000 };

/** Bytes of a page beside its results: the names of lists, a token. */
export const pageBytes = 1300;

/**
 * Bytes of a result as it comes over the wire, from the footers of a table's newest files. Undefined where the lake has
 * none.
 */
export async function rawSize(
  lake: Lake,
  pipeline: string,
  table: string,
  account: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const adds = lake
    .files(pipeline, table, account)
    .filter(({ tags }) => Number(tags?.['rows'] ?? 0) > 0)
    .toSorted((a, b) => b.modificationTime - a.modificationTime);
  if (adds.length === 0) return undefined;
  // Only now: a plan for an empty lake needs no DuckDB.
  const { openDatabase } = await import('../../core/duckdb/connection.js');
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-plan-'));
  const database = await openDatabase({ folders: [folder, lake.store.address('')].filter(isAbsolute) });
  try {
    const paths: string[] = [];
    for (const add of adds) {
      const address = lake.store.address(lake.table(table).pathOf(add));
      if (isAbsolute(address)) paths.push(address);
      else if (add.size <= most.remoteBytes) {
        const bytes = await lake.store.read(lake.table(table).pathOf(add));
        if (bytes === undefined) continue;
        const copy = join(folder, `${paths.length}.parquet`);
        await writeFile(copy, bytes);
        paths.push(copy);
      }
      if (paths.length >= (isAbsolute(address) ? most.local : most.remote)) break;
    }
    if (paths.length === 0) return undefined;
    const names = paths.map(literal).join(', ');
    // Plain texts: each has its length before it, in 4 bytes.
    const [row] = await database.rows(
      `SELECT sum(total_uncompressed_size - 4 * num_values)::DOUBLE AS bytes, sum(num_values)::DOUBLE AS results
       FROM parquet_metadata([${names}]) WHERE path_in_schema = 'raw'`,
      { signal },
    );
    const results = Number(row?.['results'] ?? 0);
    // A comma, or what stands for it.
    return results === 0 ? undefined : Number(row?.['bytes']) / results + 1;
  } finally {
    database.close();
    await rm(folder, { recursive: true, force: true });
  }
}
