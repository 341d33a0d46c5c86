import type { Clock } from '../../core/clock.js';
import { messageOf } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import type { Table, Family } from '../../core/columns/table.js';
import type { Add } from '../../lake/delta/actions.js';
import type { Transaction, NewFile } from '../../lake/transaction/transaction.js';
import { fileAt, restoreSwapped } from '../../lake/transaction/references.js';
import { derivedOf, isDerivedFile, loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import { checkedFile, damagedFile } from '../../lake/files/checked-file.js';
import { columnList, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import {
  addNets,
  groupSpans,
  netSumsIn,
  sharedTags,
  metadataOf,
  newFile,
  type FileTarget,
} from '../../lake/files/new-file.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import type { Workspace } from '../../lake/files/workspace.js';

/** A committed file of a main table with the derived files that it references. */
export interface Bundle {
  readonly main: Add;
  readonly derived: readonly { readonly table: Table; readonly add: Add }[];
  /** Whether the log has all derived files, and no other file references them. */
  readonly isWhole: boolean;
}

/** The lake, workspace and family of a rewrite of bundles. */
export interface Rewriting {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly workspace: Workspace;
  readonly family: Family;
}

/** The bundles of a family, sorted by path. Most bundles that aren't whole are being changed by another run. */
export function bundlesOf(lake: Lake, family: Family, account: string | undefined): Bundle[] {
  const accounts = account === undefined ? [...lake.accounts()].toSorted() : [account];
  const adds = accounts
    .flatMap((name) => lake.files(family.pipeline, family.main.name, name))
    // A file of an append-only table that is still pinned by a main file.
    .filter((add) => !isDerivedFile(add));
  const { snapshot } = lake.table(family.main.name);
  return adds
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map((main) => {
      const paths = derivedOf(main) ?? [];
      const derived = paths.flatMap((path) => {
        const found = snapshot.referenceCount(path) === 1 ? fileAt(lake.tables, path) : undefined;
        const table = family.derived.find(({ name }) => name === found?.table.schema.name);
        return found === undefined || table === undefined ? [] : [{ table, add: found.add }];
      });
      return { main, derived, isWhole: derived.length === paths.length };
    });
}

/**
 * The chosen bundles. Where one of them isn't whole, the files that an interrupted swap removed are restored first; an active run
 * retries its commit.
 */
export async function restoredBundles(
  { lake, clock }: Pick<Rewriting, 'lake' | 'clock'>,
  choose: () => Bundle[],
): Promise<Bundle[]> {
  if (!choose().every(({ isWhole }) => isWhole)) {
    await lake.refresh();
    await restoreSwapped(lake.tables, Infinity, clock.now());
  }
  return choose();
}

/** The target of new files with some load keys of a main file. */
export function fileTargetOf(family: Family, { partitionValues }: Add, loadKeys: readonly string[]): FileTarget {
  const { account, month } = partitionValues;
  return { family, account: account ?? '', month: month ?? '', loadKeys };
}

/** A family's tables that have files in some bundles, with these files; the main table is last. */
export function tablesOf({ main, derived }: Family, bundles: readonly Bundle[]): { table: Table; adds: Add[] }[] {
  const ofDerived = derived.map((table) => ({
    table,
    adds: bundles.flatMap((bundle) => bundle.derived.filter((file) => file.table === table).map(({ add }) => add)),
  }));
  return [...ofDerived, { table: main, adds: bundles.map((bundle) => bundle.main) }].filter(
    ({ adds }) => adds.length > 0,
  );
}

/** A key of a main file and the files that it references. */
export function bundleKey({ path, tags }: Add): string {
  return `${path} ${tags?.['derived'] ?? ''}`;
}

/** The size of bundles' files in bytes. */
export function bundleBytes(bundles: readonly Bundle[]): number {
  return bundles.flatMap(({ main, derived }) => [main, ...derived.map(({ add }) => add)]).reduce(addSize, 0);
}

export function addSize(sum: number, { size }: Add): number {
  return sum + size;
}

/**
 * The present log entries of the bundles' main files; undefined where one of them has changed since it was read. Only unchanged
 * files may be replaced by files with the same rows.
 */
function currentFiles(files: ReadonlyMap<string, Add>, bundles: readonly Bundle[]): Add[] | undefined {
  const current = bundles.flatMap(({ main }) => {
    const live = files.get(main.path);
    const same = (tag: string) => live?.tags?.[tag] === main.tags?.[tag];
    const isSame = live?.size === main.size && same('sha256') && same('derived') && same('units');
    return isSame ? [live] : [];
  });
  return current.length === bundles.length ? current : undefined;
}

/** The decision of a transaction that replaces bundles, as long as all of them are unchanged. */
export function replacing(bundles: readonly Bundle[]): Transaction['decide'] {
  return ({ files }) => {
    const replaced = currentFiles(files, bundles);
    return replaced && { replaced, actions: [] };
  };
}

/** Runs a step over bundles; returns undefined where it failed because another run has replaced one of them. */
export async function whileLive<T>(
  lake: Lake,
  family: Family,
  bundles: readonly Bundle[],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    await lake.refresh();
    if (currentFiles(lake.table(family.main.name).snapshot.files, bundles) !== undefined) throw error;
    return undefined;
  }
}

/**
 * Copies committed files of a table into the workspace, where they stay when another run replaces the files. Returns their local
 * paths. Throws as `checkedFile` does, and a DamagedFile for bytes that the log agrees with and that are no Parquet file.
 */
export async function fetchFiles(
  { lake, workspace }: Pick<Rewriting, 'lake' | 'workspace'>,
  { name }: Table,
  adds: readonly Add[],
): Promise<string[]> {
  const paths: string[] = [];
  const table = lake.table(name);
  for (const add of adds) {
    const path = await checkedFile(lake.store, table, add, workspace, { isCopied: true });
    // DuckDB would name the copy.
    await footerTexts(path).catch((error: unknown) => {
      const slice = loadKeysText(loadKeysOf(add)) || 'no slice';
      throw damagedFile(lake.store, table, add, `it has ${slice} and is no Parquet file (${messageOf(error)})`);
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
  /** Tags of the main file that the rows are of; sums among them are computed again. */
  readonly tags: Readonly<Record<string, string>>;
  /** Writes the rows of each table; the main table is last. */
  readonly tables: readonly {
    readonly table: Table;
    readonly write: (metadata: ReadonlyMap<string, string>) => Promise<LocalParquet>;
  }[];
}

/** Writes a bundle's files, except those without rows; none where the main file has no rows. */
export async function writeBundle(
  { database }: Workspace,
  { target, key, tags, tables }: NewBundle,
  now: number,
): Promise<NewFile[]> {
  const metadata = metadataOf(target);
  const written: { table: Table; local: LocalParquet }[] = [];
  for (const { table, write } of tables) {
    const local = await write(metadata);
    if (local.rows > 0) written.push({ table, local });
  }
  const main = written.find(({ table }) => table === target.family.main);
  if (main === undefined) return [];
  const added = { ...sharedTags([tags]) };
  if (tags['net'] !== undefined) {
    const paths = written
      .filter(
        ({ table }) => table !== main.table && ['role', 'currency', 'amount'].every((name) => hasColumn(table, name)),
      )
      .map(({ local }) => local.path);
    added['net'] = JSON.stringify(addNets(paths.length === 0 ? [] : [await netSumsIn(database, paths)]));
  }
  if (tags['groups'] !== undefined) added['groups'] = JSON.stringify(await groupSpans(database, main.local.path));
  const files: NewFile[] = [];
  for (const { table, local } of written)
    files.push({ ...(await newFile(table, target, local, added, now)), bundle: key });
  return files;
}
