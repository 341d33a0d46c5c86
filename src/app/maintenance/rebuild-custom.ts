import { metadataOf, nameOf, newFile } from '../../lake/files/new-file.js';
import { DamagedFile } from '../../lake/delta/data-file.js';
import { storesRaw, tablesOf, type PipelineTables, type Table } from '../../core/columns/table.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import type { Window } from '../../core/windows.js';
import { columnList, rowsIn } from '../../lake/files/local-parquet.js';
import { monthRows, sameRows } from '../../lake/files/month-files.js';
import { mainOrder, sortedFile } from '../../lake/files/sorted-file.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { withDerived, type NewFile } from '../../lake/commit-files.js';
import type { Lake } from '../../lake/lake.js';
import { unlessReplaced } from '../../lake/over-newest.js';
import { collectorOf, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import { scanned } from '../../sources/records/json-node.js';
import { callDefinition, type LoadedDefinition } from '../../sources/custom/load-definitions.js';
import { definitionError } from '../../sources/records/definition-error.js';
import type { MaintenanceRun } from './command.js';
import { fetchFiles, filesByTable, type Bundle, type Rewriting } from '../../lake/files/bundles.js';
import { countReplacement, UnseenBundles } from './file-bundles.js';

/**
 * Adds the columns that definitions have gained to the lake's catalog, so that it is opened with them. Pipelines that the lake hasn't
 * loaded are left out.
 *
 * @param location of the lake, as given by the user
 * @throws LedgerlakeError USAGE for a definition that doesn't fit what was loaded
 */
export async function growCustomTables(
  lake: Lake,
  customPipelines: readonly CustomPipeline[],
  location: string,
): Promise<void> {
  const isLoaded = ({ name }: CustomPipeline) => lake.described.some(({ customPipeline }) => customPipeline === name);
  const stored = customPipelines.filter(isLoaded);
  for (const { loaded } of stored) refuseChanged(loaded, lake.described, location);
  await lake.growTables(stored.flatMap(tablesOf));
}

/** Whether the rows of a custom pipeline can be derived again, because its records are stored. */
export function hasRawRecords({ main }: PipelineTables): boolean {
  return main.customPipeline !== undefined && storesRaw(main);
}

/**
 * Derives the rows of a custom pipeline's files again from `raw` by its present definition, and commits those that differ, file by
 * file.
 *
 * @throws LedgerlakeError LAKE_STORE where a file is missing or damaged, DEFINITION where a record has another number of rows than
 *   in the lake; earlier commits stay
 */
export async function rebuildCustom(
  run: MaintenanceRun,
  workspace: Workspace,
  pipeline: PipelineTables,
  loaded: LoadedDefinition,
): Promise<void> {
  const { lake, clock, signal, emit } = run;
  const { name } = pipeline;
  const summary = run.summarize(pipeline);
  const began = clock.now();
  const bundles = new UnseenBundles(run, pipeline);
  for (let bundle = bundles.next(); bundle !== undefined; bundle = bundles.next()) {
    signal.throwIfAborted();
    await workspace.clear();
    const { main: old } = bundle;
    const found = bundle;
    const added = await unlessReplaced(lake, [found], async () => {
      const files = await rederivedFiles(run, workspace, pipeline, found, loaded);
      if (files === undefined) return undefined;
      const replaced = (snapshot: Snapshot) => ({ removed: withDerived(snapshot, [old]) });
      const commit = { operation: 'REBUILD', main: pipeline.main, files, over: [found], replaced };
      countReplacement(summary, await lake.commitFiles(commit), [found]);
      return files;
    });
    if (added === 'replaced') continue;
    if (added !== undefined)
      bundles.leaveOut(bundle, (live) => added.some(({ content }) => content.sha256 === live.main.sha256));
    summary.slices++;
    const path = old.lakePath;
    emit({ event: 'entries-checked', pipeline: name, file: path, bytes: old.size, changed: added !== undefined });
  }
  await workspace.clear();
  summary.seconds = (clock.now() - began) / 1000;
}

/** Writes the files that replace a bundle's, with rows that are derived again; undefined where the rows are unchanged. */
async function rederivedFiles(
  { lake, signal }: MaintenanceRun,
  workspace: Workspace,
  pipeline: PipelineTables,
  bundle: Bundle,
  loaded: LoadedDefinition,
): Promise<NewFile[] | undefined> {
  const rewriting = { lake, workspace, pipeline };
  const { stored, isWhole } = await fetchStored(rewriting, bundle);
  const { account, month, loadKeys, shared } = bundle.main;
  const target = { account, month, loadKeys, shared, name: nameOf('compact', { loadKeys, month }), dataChange: true };
  const metadata = metadataOf(pipeline.name, target);
  const derived = new Map<string, string[]>();
  for await (const records of storedRecords(workspace, stored.get(pipeline.main) ?? [], signal)) {
    for (const batch of rederiveWindow(loaded, records)) {
      const { name } = batch.table;
      const { bytes } = await encodeFile(batch, metadata);
      derived.set(name, [...(derived.get(name) ?? []), await workspace.writeLocal(bytes)]);
    }
  }
  if (isWhole && (await hasSameRows(rewriting, month, stored, derived))) return undefined;
  const files: NewFile[] = [];
  for (const table of [...pipeline.derived, pipeline.main]) {
    const paths = derived.get(table.name) ?? [];
    if (paths.length === 0) continue;
    const columns = await columnList(workspace.database, table, paths);
    const select = (condition: string) =>
      `SELECT ${columns} FROM ${rowsIn(paths)} WHERE ${condition} ORDER BY ${mainOrder(table)}`;
    const local = await sortedFile(workspace, table, { paths, metadata, select }, { signal });
    files.push(await newFile(local, { table, ...target }));
  }
  return files;
}

/** Copies a bundle's files to the workspace, by table. Damaged files of derived tables are left out: their rows are derived again. */
async function fetchStored(
  rewriting: Rewriting,
  bundle: Bundle,
): Promise<{ readonly stored: ReadonlyMap<Table, readonly string[]>; readonly isWhole: boolean }> {
  const { pipeline } = rewriting;
  const stored = new Map<Table, string[]>();
  let isWhole = true;
  for (const { table, files } of filesByTable(pipeline, [bundle])) {
    try {
      stored.set(table, await fetchFiles(rewriting, files));
    } catch (error) {
      if (!(error instanceof DamagedFile) || table === pipeline.main) throw error;
      isWhole = false;
    }
  }
  return { stored, isWhole };
}

/** Whether the derived rows of each table of a pipeline equal the stored ones. */
async function hasSameRows(
  { workspace: { database }, pipeline }: Rewriting,
  month: string,
  stored: ReadonlyMap<Table, readonly string[]>,
  derived: ReadonlyMap<string, readonly string[]>,
): Promise<boolean> {
  const selectOf = (table: Table, paths: readonly string[] = []) =>
    monthRows(table, paths.length === 0 ? [] : [{ month, paths }], 'true');
  for (const table of [...pipeline.derived, pipeline.main]) {
    const [before, after] = [selectOf(table, stored.get(table)), selectOf(table, derived.get(table.name))];
    if (!(await sameRows(database, table, before, after))) return false;
  }
  return true;
}

/** The stored records of a window: a text for each row. */
interface StoredRecords {
  readonly window: Window;
  readonly raws: readonly string[];
}

/** The records of a main table's files, window by window, in the order of receipt. */
async function* storedRecords(
  { database }: Workspace,
  paths: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<StoredRecords> {
  const query =
    'SELECT epoch_ms(window_start), epoch_ms(window_end), raw ' +
    `FROM ${rowsIn(paths)} ORDER BY window_start, window_end, position`;
  let window: Window | undefined;
  let raws: string[] = [];
  const { chunks } = await database.query(query, { signal });
  for await (const rows of chunks) {
    for (const [first, last, raw] of rows) {
      const [start, end] = [Number(first), Number(last)];
      if (window?.start !== start || window.end !== end) {
        if (window !== undefined) yield { window, raws };
        window = { start, end };
        raws = [];
      }
      raws.push(String(raw));
    }
  }
  if (window !== undefined) yield { window, raws };
}

/** Derives the rows of a window again: as many for each record as the lake has. */
function rederiveWindow(loaded: LoadedDefinition, { window, raws }: StoredRecords) {
  const { file, definition } = loaded;
  const collector = collectorOf(loaded, window);
  for (let at = 0; at < raws.length;) {
    const raw = raws[at] ?? '';
    const record = scanned(Buffer.from(raw));
    const derived = callDefinition(file, 'rows', () => definition.rows(record));
    const count = Array.isArray(derived) ? derived.length : 1;
    // The rows of a record are consecutive, with the same `raw`.
    if (count === 0 || raws.slice(at, at + count).filter((other) => other === raw).length < count) {
      throw definitionError(
        file,
        'rows',
        `expected as many rows of a record as the lake has, got ${count} of ${raw.slice(0, 200)} (\`ledgerlake backfill ` +
          `${definition.name} --refresh\` loads other numbers)`,
      );
    }
    collector.add({ records: [record] });
    at += count;
  }
  return collector.finish();
}
