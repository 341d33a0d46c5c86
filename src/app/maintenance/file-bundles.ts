import { addNets, groupSpans, netSumsIn, metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import type { DataFile, NetSums } from '../../lake/delta/data-file.js';
import type { Clock } from '../../core/clock.js';
import type { RewriteSummary, MaintenanceRun } from './command.js';
import { messageOf } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import type { Table, PipelineTables } from '../../core/columns/table.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { withDerived, type CommitResult, type FileCommit, type NewFile } from '../../lake/commit-files.js';
import type { Lake } from '../../lake/lake.js';
import { checkedFile, damagedFile } from '../../lake/files/local-file.js';
import { columnList, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { sortedFile } from '../../lake/files/sorted-file.js';
import type { Workspace } from '../../lake/files/workspace.js';

/** A committed file of a main table with the files that are derived from it. */
export interface Bundle {
  readonly main: DataFile;
  readonly derived: readonly DataFile[];
}

/** The lake, workspace and pipeline of a rewrite of bundles. */
export interface Rewriting {
  readonly lake: Lake;
  readonly clock: Clock;
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
  return files
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map((main) => ({ main, derived: derivedFiles(snapshot, pipeline, main) }));
}

/** The bundles of a pipeline, each once. They are listed again each time: another run may replace files with one that isn't read yet. */
export class UnseenBundles {
  readonly #run: MaintenanceRun;
  readonly #pipeline: PipelineTables;
  readonly #seen = new Set<string>();

  /** Reports the number and the size of the files. */
  constructor(run: MaintenanceRun, pipeline: PipelineTables) {
    this.#run = run;
    this.#pipeline = pipeline;
    const planned = bundlesOf(run.lake, pipeline, run.account);
    const bytes = bytesOf(planned.map(({ main }) => main));
    run.emit({ event: 'files-planned', pipeline: pipeline.name, files: planned.length, bytes });
  }

  next(): Bundle | undefined {
    const { lake, account } = this.#run;
    const bundle = bundlesOf(lake, this.#pipeline, account).find((found) => !this.#seen.has(bundleKey(found)));
    if (bundle !== undefined) this.#seen.add(bundleKey(bundle));
    return bundle;
  }

  /** Leaves out what has come in the place of a bundle, where the run has written it. */
  leaveOut({ main }: Bundle, isOwn: (bundle: Bundle) => boolean): void {
    for (const live of bundlesOf(this.#run.lake, this.#pipeline, main.account)) {
      if (isOwn(live)) this.#seen.add(bundleKey(live));
    }
  }
}

function derivedFiles(snapshot: Snapshot, { derived }: PipelineTables, main: DataFile): Bundle['derived'] {
  return derived.flatMap((table) => snapshot.derivedFrom(table.name, main.account, main.lakePath));
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

/** A key of a bundle's files: names are used once. */
function bundleKey(bundle: Bundle): string {
  return filesIn(bundle)
    .map(({ path }) => path)
    .join(' ');
}

export function filesIn({ main, derived }: Bundle): readonly DataFile[] {
  return [main, ...derived];
}

/** The size of bundles' files in bytes. */
export function bundleBytes(bundles: readonly Bundle[]): number {
  return bytesOf(bundles.flatMap(filesIn));
}

export function bytesOf(files: readonly DataFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Counts the files that replace bundles, and theirs. */
export function countReplacement(summary: RewriteSummary, written: CommitResult, bundles: readonly Bundle[]): void {
  summary.files += written.files;
  summary.bytes += written.bytes;
  summary.replacedFiles += bundles.flatMap(filesIn).length;
  summary.replacedBytes += bundleBytes(bundles);
}

/** Whether a snapshot has exactly these files of the bundles. Only then may files with the same rows replace them. */
export function areLive(snapshot: Snapshot, pipeline: PipelineTables, bundles: readonly Bundle[]): boolean {
  return bundles.every((bundle) => {
    const main = snapshot.file(pipeline.main.name, bundle.main.path);
    return (
      main !== undefined && bundleKey({ main, derived: derivedFiles(snapshot, pipeline, main) }) === bundleKey(bundle)
    );
  });
}

/** What came of a rewrite; `gone` where another run has replaced one of the bundles meanwhile: choose again. */
export type Rewritten =
  | { readonly outcome: 'gone' | 'unchanged' }
  | { readonly outcome: 'done'; readonly written: CommitResult; readonly added: readonly NewFile[] };

/**
 * Replaces bundles by what `transform` writes from them, in one commit.
 *
 * @param transform undefined: they stay as they are
 */
export async function rewriteBundles(
  { lake, pipeline }: Pick<Rewriting, 'lake' | 'pipeline'>,
  operation: string,
  bundles: readonly Bundle[],
  transform: () => Promise<readonly NewFile[] | undefined>,
): Promise<Rewritten> {
  // A missing file may have been replaced, which is no failure.
  const made = await whileLive(lake, pipeline, bundles, async () => ({ files: await transform() }));
  if (made === undefined) return { outcome: 'gone' };
  if (made.files === undefined) return { outcome: 'unchanged' };
  const commit = { operation, main: pipeline.main, files: made.files, decide: replacing(pipeline, bundles) };
  const written = await lake.commitFiles(commit);
  if (written.isCommitted) return { outcome: 'done', written, added: made.files };
  await lake.refresh();
  return { outcome: 'gone' };
}

/** The decision of a commit that replaces bundles, as long as all of them are unchanged. */
function replacing(pipeline: PipelineTables, bundles: readonly Bundle[]): FileCommit['decide'] {
  const mains = bundles.map(({ main }) => main);
  return (snapshot) => (areLive(snapshot, pipeline, bundles) ? { removed: withDerived(snapshot, mains) } : undefined);
}

/** Runs a step over bundles; returns undefined where it failed because another run has replaced one of them. */
export async function whileLive<T>(
  lake: Lake,
  pipeline: PipelineTables,
  bundles: readonly Bundle[],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    await lake.refresh();
    if (areLive(lake.snapshot, pipeline, bundles)) throw error;
    return undefined;
  }
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

interface NewBundle {
  readonly target: FileTarget;
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
  { target, key, of: { shared, figures }, tables }: NewBundle,
  now: number,
): Promise<NewFile[]> {
  const metadata = metadataOf(target);
  const written: { table: Table; local: LocalParquet }[] = [];
  for (const { table, write } of tables) {
    const local = await write(metadata);
    if (local.rows > 0) written.push({ table, local });
  }
  const main = written.find(({ table }) => table === target.pipeline.main);
  if (main === undefined) return [];
  const netOf = async (): Promise<NetSums> => {
    const paths = written.filter(({ table }) => table.row === 'entry').map(({ local }) => local.path);
    return addNets(paths.length === 0 ? [] : [await netSumsIn(database, paths)]);
  };
  const tags = {
    shared,
    ...(figures.includes('net') && { net: await netOf() }),
    ...(figures.includes('groups') && { groups: await groupSpans(database, main.local.path) }),
  };
  const files: NewFile[] = [];
  for (const { table, local } of written)
    files.push({ ...(await newFile(table, target, local, tags, now)), bundle: key });
  return files;
}
