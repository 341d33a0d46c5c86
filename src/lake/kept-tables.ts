import type { Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import type { Store } from './store/store.js';

const folder = '_pipelines';

/** Where a lake keeps the description of a table that a pipeline of its user's fills. */
export function keptPath(pipeline: string): string {
  return `${folder}/${pipeline}.json`;
}

/**
 * The tables that pipelines of a user's own have filled, as the lake describes them: nobody needs the definitions to read
 * and look after it.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, LAKE_LOG where a description is damaged
 */
export async function keptTables(store: Store): Promise<readonly Table[]> {
  const kept: Table[] = [];
  for await (const { path } of store.list(folder)) {
    const bytes = path.endsWith('.json') ? await store.read(path) : undefined;
    if (bytes !== undefined) kept.push(readKept(bytes, `${store.location}/${path}`));
  }
  return kept;
}

/**
 * Has the lake describe tables that are about to be filled for the first time.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function keepTables(store: Store, tables: readonly Table[]): Promise<void> {
  for (const table of tables) {
    const bytes = Buffer.from(`${JSON.stringify(table, undefined, 2)}\n`);
    const path = keptPath(table.ownPipeline ?? table.name);
    const found = await store.read(path);
    if (found === undefined || Buffer.compare(found, bytes) !== 0) await store.write(path, bytes);
  }
}

function readKept(bytes: Uint8Array, place: string): Table {
  let kept: Partial<Table> | null;
  try {
    kept = JSON.parse(Buffer.from(bytes).toString()) as Partial<Table> | null;
  } catch (cause) {
    throw damaged(place, cause);
  }
  if (typeof kept?.name !== 'string' || typeof kept.ownPipeline !== 'string' || !Array.isArray(kept.columns)) {
    throw damaged(place);
  }
  return kept as Table;
}

function damaged(place: string, cause?: unknown): LedgerlakeError {
  const message =
    `expected the description of a table in ${place}, found something else; delete the file, and the next backfill with ` +
    'its definition writes it again';
  return new LedgerlakeError('LAKE_LOG', message, { cause });
}
