import type { Table, PipelineTables } from '../../core/columns/table.js';
import { messageOf } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import type { Snapshot } from '../catalog/snapshot.js';
import type { Chosen, NewFile } from '../commit-files.js';
import type { DataFile, NetSums } from '../delta/data-file.js';
import type { Lake } from '../lake.js';
import { loadKeysText } from './load-key-rows.js';
import { checkedFile, damagedFile } from './local-file.js';
import { columnList, rowsIn, type LocalParquet } from './local-parquet.js';
import { addNets, groupSpans, netSumsIn, metadataOf, nameOf, newFile } from './new-file.js';
import { sortedFile } from './sorted-file.js';
import type { Workspace } from './workspace.js';

/** A committed file of a main table with the files that are derived from it: current as long as a snapshot has exactly these. */
export interface Bundle extends Chosen {
  readonly main: DataFile;
  readonly derived: readonly DataFile[];
}

/** The lake, workspace and pipeline of a rewrite of bundles. */
export interface Rewriting {
  readonly lake: Lake;
  readonly workspace: Workspace;
  readonly pipeline: PipelineTables;
}

/** The bundles of a pipeline, sorted by path. */
export function bundlesOf(
  { snapshot }: Pick<Lake, 'snapshot'>,
  pipeline: PipelineTables,
  account: string | undefined,
): Bundle[] {
  const accounts = account === undefined ? [...snapshot.accounts()].toSorted() : [account];
  const files = accounts.flatMap((name) => snapshot.filesOf(pipeline.main.name, name, pipeline.name));
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map((main) => bundleOf(snapshot, pipeline, main));
}

/** The bundle of a main table's file. */
export function bundleOf(snapshot: Snapshot, pipeline: PipelineTables, main: DataFile): Bundle {
  const derived = pipeline.derived.flatMap((table) => snapshot.derivedFrom(table.name, main.account, main.lakePath));
  const bundle: Bundle = {
    main,
    derived,
    isCurrent: (newest) => {
      const live = newest.file(pipeline.main.name, main.path);
      return live !== undefined && bundleKey(bundleOf(newest, pipeline, live)) === bundleKey(bundle);
    },
  };
  return bundle;
}

/** A key of a bundle's files: names are used once. */
export function bundleKey(bundle: Bundle): string {
  return filesIn(bundle)
    .map(({ path }) => path)
    .join(' ');
}

export function filesIn({ main, derived }: Bundle): readonly DataFile[] {
  return [main, ...derived];
}

/** A pipeline's tables that have files in some bundles, with these files; the main table is last. */
export function filesByTable(
  { main, derived }: PipelineTables,
  bundles: readonly Bundle[],
): { table: Table; files: DataFile[] }[] {
  const ofDerived = derived.map((table) => ({
    table,
    files: bundles.flatMap((bundle) => bundle.derived.filter((file) => file.table === table.name)),
  }));
  return [...ofDerived, { table: main, files: bundles.map((bundle) => bundle.main) }].filter(
    ({ files }) => files.length > 0,
  );
}

/**
 * Copies committed files into the workspace, where they stay when another run replaces the files. Returns their local
 * paths. Throws as `checkedFile` does, and a DamagedFile for bytes that the log agrees with and that are no Parquet file.
 */
export async function fetchFiles(
  { lake, workspace }: Pick<Rewriting, 'lake' | 'workspace'>,
  files: readonly DataFile[],
): Promise<string[]> {
  const paths: string[] = [];
  for (const file of files) {
    const path = await checkedFile(lake.store, file, workspace, { isCopied: true });
    // DuckDB would name the copy.
    await footerTexts(path).catch((error: unknown) => {
      const slice = loadKeysText(file.loadKeys) || 'no slice';
      throw damagedFile(lake.store, file, `it has ${slice} and is no Parquet file (${messageOf(error)})`);
    });
    paths.push(path);
  }
  return paths;
}

/** Writes the rows of local files that meet a condition in SQL, in their order. */
export async function writeFiltered(
  workspace: Workspace,
  table: Table,
  paths: readonly string[],
  condition: string,
  metadata: ReadonlyMap<string, string>,
): Promise<LocalParquet> {
  const columns = await columnList(workspace.database, table, paths);
  const select = (range: string) =>
    `SELECT ${columns} FROM ${rowsIn(paths, ', file_row_number = true')} ` +
    `WHERE ${condition} AND ${range} ORDER BY file_row_number`;
  return sortedFile(workspace, table, { paths, metadata, select }, {});
}

interface NewBundle extends Pick<NewFile, 'account' | 'month' | 'loadKeys' | 'dataChange'> {
  readonly pipeline: PipelineTables;
  /** Distinguishes it from the other bundles of the commit. */
  readonly key: string;
  /** The main file that the rows are of; its figures are computed again. */
  readonly of: Pick<DataFile, 'shared' | 'figures'>;
  /** Writes the rows of each table; the main table is last. */
  readonly tables: readonly {
    readonly table: Table;
    readonly write: (metadata: ReadonlyMap<string, string>) => Promise<LocalParquet>;
  }[];
}

/** Writes a bundle's files, except those without rows; none where the main file has no rows. */
export async function writeBundle(
  { database }: Workspace,
  { pipeline, key, of: { shared, figures }, tables, ...target }: NewBundle,
): Promise<NewFile[]> {
  const metadata = metadataOf(pipeline.name, target);
  const written: { table: Table; local: LocalParquet }[] = [];
  for (const { table, write } of tables) {
    const local = await write(metadata);
    if (local.rows > 0) written.push({ table, local });
  }
  const main = written.find(({ table }) => table === pipeline.main);
  if (main === undefined) return [];
  const netOf = async (): Promise<NetSums> => {
    const paths = written.filter(({ table }) => table.row === 'entry').map(({ local }) => local.path);
    return addNets(paths.length === 0 ? [] : [await netSumsIn(database, paths)]);
  };
  const about = {
    ...target,
    name: nameOf('compact', target),
    bundle: key,
    shared,
    ...(figures.includes('net') && { net: await netOf() }),
    ...(figures.includes('groups') && { groups: await groupSpans(database, main.local.path) }),
  };
  const files: NewFile[] = [];
  for (const { table, local } of written) files.push(await newFile(local, { table, ...about }));
  return files;
}
