import { customPipelinesOf, type Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import { faultLine } from '../core/text/fault-line.js';
import { parseNote, type Store } from './store/store.js';

const folder = '_pipelines';

/** The path of the description of a custom pipeline's tables. */
export function descriptionPath(pipeline: string): string {
  return `${folder}/${pipeline}.json`;
}

/**
 * The tables of custom pipelines, as the lake describes them, so that reading and maintenance don't need the definitions.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, LAKE_LOG where a description is damaged
 */
export async function describedTables(store: Store): Promise<readonly Table[]> {
  const tables = new Map<string, Table>();
  for await (const { path } of store.list(folder)) {
    const bytes = path.endsWith('.json') ? await store.read(path) : undefined;
    if (bytes === undefined) continue;
    const location = `${store.location}/${path}`;
    for (const table of await readDescription(bytes, location)) {
      if (descriptionPath(table.customPipeline ?? '') !== path)
        throw damaged(location, `it describes ${descriptionPath(table.customPipeline ?? '')}`);
      if (tables.has(table.name)) throw damaged(location, `another one describes ${table.name} too`);
      tables.set(table.name, table);
    }
  }
  return [...tables.values()];
}

/** The tables of pipelines with a file in at least one table; other descriptions have no effect. */
export async function tablesOfLoadedPipelines(store: Store, described: readonly Table[]): Promise<readonly Table[]> {
  const pipelines = new Set<string>();
  for (const { name, customPipeline = '' } of described) {
    if (await hasFile(store, name)) pipelines.add(customPipeline);
  }
  return described.filter(({ customPipeline = '' }) => pipelines.has(customPipeline));
}

async function hasFile(store: Store, folder: string): Promise<boolean> {
  for await (const { path } of store.list(folder)) return path !== '';
  return false;
}

/**
 * Writes the descriptions of new or changed custom tables: one file for all tables of a pipeline.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function describeTables(store: Store, tables: readonly Table[]): Promise<void> {
  for (const { name, tables: filled } of customPipelinesOf(tables)) {
    const [main, lines] = filled.toReversed();
    if (main === undefined) continue;
    const described = lines && { name: lines.name, about: lines.about, columns: lines.columns, sort: lines.sort };
    const { customPipeline: ownPipeline, ...rest } = main;
    const bytes = Buffer.from(`${JSON.stringify({ ...rest, ownPipeline, lines: described }, undefined, 2)}\n`);
    const path = descriptionPath(name);
    const found = await store.read(path);
    if (found === undefined || Buffer.compare(found, bytes) !== 0) await store.write(path, bytes);
  }
}

async function readDescription(bytes: Uint8Array, location: string): Promise<readonly Table[]> {
  const kept = parseNote(bytes, (value) => ({ value }));
  if (kept === undefined) throw damaged(location, 'it is not JSON');
  // Loaded only for lakes with custom tables.
  const { tableSchema } = await import('../core/columns/table-schema.js');
  const { error, data } = tableSchema.safeParse(kept.value);
  if (error !== undefined) {
    const [issue] = error.issues;
    throw damaged(location, issue === undefined ? '' : faultLine(issue, kept.value));
  }
  const { lines, ownPipeline: customPipeline, ...main } = data;
  const described = lines === undefined ? [] : [{ ...lines, customPipeline, linesOf: main.name }];
  return [...described, { ...main, customPipeline }];
}

function damaged(location: string, fault: string): LedgerlakeError {
  const message =
    `expected the description of a table in ${location}, found something else (${fault.slice(0, 200)}); restore it from a copy, ` +
    'or move it away: the next backfill with its definition writes it again';
  return new LedgerlakeError('LAKE_LOG', message);
}
