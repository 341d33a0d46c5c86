import type { Clock } from '../../core/clock.js';
import { type Table, familiesOf, type Family } from '../../core/columns/table.js';
import { countRows, columnList, checkRowCount, rowsIn } from '../../lake/files/local-parquet.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import type { NewFile } from '../../lake/commit-files.js';
import { loadKeysOf, DamagedFile, rowsInLog } from '../../lake/delta/file-tags.js';
import type { Lake, SliceCommit, Split } from '../../lake/lake.js';
import { TableSnapshot } from '../../lake/lake-table.js';
import { filesToSplit, touchedFiles, keyChange } from '../../lake/loads/load-keys.js';
import {
  bundlesOf,
  fetchFiles,
  replacing,
  tablesOf,
  fileTargetOf,
  writeBundle,
  writeFiltered,
  type Bundle,
  type Rewriting,
} from './file-bundles.js';
import { moveUndated } from './undated-rows.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import { canSplitRows, instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';

/**
 * Splits files that have a slice's load keys beside others, as files that `compact` merged: each becomes one file with the slice's
 * load keys and one with the rest, in a separate commit that changes no row. A damaged file can't be split: it stays, and is thrown
 * as a `DamagedFile` once the others are split.
 */
export function splitter(lake: Lake, clock: Clock, limits = defaultLimits): Split {
  return async (slice) => {
    const [family] = familiesOf([{ name: slice.pipeline, tables: slice.tables }]);
    if (family === undefined) return;
    await withWorkspace(limits, lake.store, (workspace) => moveUndated({ lake, clock, workspace, family }, slice));
    const mixed = filesToSplit(lake.snapshot, lake.table(family.main.name).snapshot, slice);
    const unsplittable = mixed.find((add) => !canSplitRows(family.main, family.derived, loadKeysOf(add)));
    if (unsplittable !== undefined) throw unsplittableFailure(lake, family, unsplittable);
    const paths = new Set(mixed.map(({ path }) => path));
    const bundles = bundlesOf(lake, family, slice.account).filter(({ main }) => paths.has(main.path));
    if (bundles.length === 0) return;
    const damaged = await withWorkspace(limits, lake.store, async (workspace) => {
      const rewriting = { lake, clock, workspace, family };
      const splits = await splitBundles(rewriting, slice, bundles);
      if (splits.bundles.length > 0) await commitSplits(rewriting, slice, splits, paths);
      return splits.damaged;
    });
    if (damaged !== undefined) throw damaged;
  };
}

/** The files that replace bundles, ready to be committed. */
interface Splits {
  readonly files: readonly NewFile[];
  readonly bundles: readonly Bundle[];
  /** Load keys with rows that result from cutting others. */
  readonly pieces: ReadonlySet<string>;
  /** The first damaged file of a bundle that can't be split. */
  readonly damaged: DamagedFile | undefined;
}

async function splitBundles(rewriting: Rewriting, slice: SliceCommit, bundles: readonly Bundle[]): Promise<Splits> {
  const files: NewFile[] = [];
  const pieces = new Set<string>();
  const split: Bundle[] = [];
  let damaged: DamagedFile | undefined;
  for (const bundle of bundles) {
    try {
      const result = await splitBundle(rewriting, slice, bundle);
      files.push(...result.files);
      for (const piece of result.pieces) pieces.add(piece);
      split.push(bundle);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      // The other bundles are split nevertheless, so that only this one is left to repair.
      damaged ??= error;
    }
  }
  return { files, bundles: split, pieces, damaged };
}

/** Commits splits. Where another run has replaced one of the files meanwhile, it changes nothing, and the caller tries again. */
async function commitSplits(
  { lake, clock, family }: Rewriting,
  slice: SliceCommit,
  { files, bundles, pieces }: Splits,
  paths: ReadonlySet<string>,
): Promise<void> {
  const cut = new Set(bundles.flatMap(({ main }) => loadKeysOf(main).filter((loadKey) => isCut(slice, loadKey))));
  const renamed = { ...slice, loadKeys: [...pieces], retires: [...cut], splits: undefined };
  const unchanged = replacing(family, bundles);
  await lake.commitFiles({
    operation: 'SPLIT',
    main: family.main,
    files,
    decide: (snapshot) => {
      const decision = unchanged(snapshot);
      // A load key is cut in all of its files at once.
      const main = new TableSnapshot(snapshot, family.main.name);
      const touched = touchedFiles(main, { ...slice, loadKeys: [...cut], retires: [] });
      if (decision === undefined || touched.some(({ path }) => !paths.has(path))) return undefined;
      return { ...decision, keys: keyChange(snapshot, renamed, clock.now(), 'import') };
    },
  });
}

/** Whether the slice replaces only a part of a load key's range. */
function isCut({ splits }: SliceCommit, loadKey: string): boolean {
  return (splits?.(loadKey)?.outside.length ?? 0) > 0;
}

function unsplittableFailure(lake: Lake, { main }: Family, add: Add): LedgerlakeError {
  const file = lake.store.address(lake.table(main.name).pathOf(add));
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to split ${file}, which contains more than what is read again, but its rows can't be told apart; ` +
      'run `ledgerlake verify`, nothing was replaced',
  );
}

/**
 * Writes the files that replace a bundle: those with the rows that the slice replaces, and those with the rest. `pieces` are the
 * load keys with rows that result from cutting others.
 */
async function splitBundle(
  rewriting: Rewriting,
  slice: SliceCommit,
  bundle: Bundle,
): Promise<{ readonly files: readonly NewFile[]; readonly pieces: readonly string[] }> {
  const { family } = rewriting;
  const { main, derived } = family;
  const local = new Map<Table, readonly string[]>();
  const tables = tablesOf(family, [bundle]);
  for (const { table, adds } of tables) local.set(table, await fetchFiles(rewriting, table, adds));
  const mains = local.get(main) ?? [];
  const loadKeys = await cutLoadKeys(rewriting, slice, bundle.main, mains[0] ?? '');
  const sliceKeys = new Set(slice.loadKeys);
  const isReplaced = (loadKey: string) => sliceKeys.has(loadKey) || slice.splits?.(loadKey) !== undefined;
  const replaced = loadKeys.filter(isReplaced);
  const kept = loadKeys.filter((loadKey) => !isReplaced(loadKey));
  const condition = loadKeyCondition(replaced, instantColumn(main));
  const events = derived.some((table) => local.has(table) && table.linesOf === undefined)
    ? await chosenEvents(rewriting, mains, condition)
    : undefined;
  const choice = { bundle, local, condition, events };
  const files = [
    ...(await writeHalf(rewriting, choice, replaced, true)),
    ...(await writeHalf(rewriting, choice, kept, false)),
  ];
  for (const { table, adds } of tables) {
    const written = files.filter((file) => file.table === table).map(({ add }) => add);
    checkRowCount(table, rowsInLog(adds), rowsInLog(written));
  }
  const known = loadKeysOf(bundle.main);
  return { files, pieces: loadKeys.filter((loadKey) => !known.includes(loadKey)) };
}

/** The rows of a bundle that a slice replaces. */
interface ReplacedRows {
  readonly bundle: Bundle;
  /** Local paths of the bundle's files. */
  readonly local: ReadonlyMap<Table, readonly string[]>;
  /** In SQL: whether a row of the main table is replaced. */
  readonly condition: string;
  /** The replaced events; undefined where no derived table needs them. */
  readonly events: ChosenEvents | undefined;
}

/** Writes the replaced rows of a bundle, or the others, with their load keys. */
function writeHalf(
  { workspace, family, clock }: Rewriting,
  { bundle, local, condition, events }: ReplacedRows,
  loadKeys: readonly string[],
  isReplaced: boolean,
): Promise<NewFile[]> {
  const tables = [...local].map(([table, paths]) => ({
    table,
    write: async (metadata: ReadonlyMap<string, string>) => {
      if (table === family.main || events === undefined)
        return writeFiltered(workspace, table, paths, isReplaced ? condition : `NOT ${condition}`, metadata);
      const columns = await columnList(workspace.database, table, paths);
      const select = (range: string) => derivedRows(table, columns, paths, events, isReplaced, range);
      return sortedFile(workspace, table, { paths, metadata, select }, {});
    },
  }));
  const target = fileTargetOf(family, bundle.main, loadKeys);
  const key = `${bundle.main.path} ${isReplaced ? 'own' : 'others'}`;
  return writeBundle(workspace, { target, key, tags: bundle.main.tags ?? {}, tables }, clock.now());
}

/** The load keys of a main file; a load key that the slice cuts is replaced by its pieces with rows. */
async function cutLoadKeys(
  { workspace, family }: Rewriting,
  slice: SliceCommit,
  add: Add,
  path: string,
): Promise<readonly string[]> {
  const loadKeys: string[] = [];
  for (const loadKey of loadKeysOf(add)) {
    const cut = isCut(slice, loadKey) ? slice.splits?.(loadKey) : undefined;
    if (cut === undefined) loadKeys.push(loadKey);
    for (const piece of cut === undefined ? [] : [cut.inside, ...cut.outside]) {
      const condition = loadKeyCondition([piece], instantColumn(family.main));
      if ((await countRows(workspace.database, path, condition)) > 0) loadKeys.push(piece);
    }
  }
  return loadKeys;
}

/** Events of a bundle that derived rows are chosen by. */
interface ChosenEvents {
  /** In SQL: the number of events by id and instant. */
  readonly counts: string;
  /** Whether an id occurs more than once in the bundle. */
  readonly hasDoubles: boolean;
}

async function chosenEvents(
  { workspace, family }: Rewriting,
  paths: readonly string[],
  condition: string,
): Promise<ChosenEvents> {
  const keys = eventKeys(family.main).join(', ');
  const counts = `SELECT ${keys}, count(*) AS times FROM ${rowsIn(paths)} WHERE ${condition} GROUP BY ${keys}`;
  const doubles = await workspace.database.rows(
    `SELECT event_id FROM ${rowsIn(paths)} GROUP BY event_id HAVING count(*) > 1 LIMIT 1`,
  );
  return { counts, hasDoubles: doubles.length > 0 };
}

/** The columns of a table that distinguish events. */
function eventKeys(table: Table): string[] {
  return ['event_id', 'effective_at'].filter((name) => hasColumn(table, name));
}

/**
 * In SQL: the rows of a derived table that belong to the chosen events, or the others, in their order. An event that occurs several
 * times has as many sets of equal rows, of which each side gets as many as it has events.
 */
function derivedRows(
  table: Table,
  columns: string,
  paths: readonly string[],
  { counts, hasDoubles }: ChosenEvents,
  isChosen: boolean,
  range: string,
): string {
  const keys = eventKeys(table);
  const set = [...keys, ...(hasColumn(table, 'entry') ? ['entry'] : [])].join(', ');
  const number = hasDoubles ? `row_number() OVER (PARTITION BY ${set} ORDER BY file_row_number)` : '1';
  const numbered = `SELECT *, ${number} AS time_ FROM ${rowsIn(paths, ', file_row_number = true')} WHERE ${range}`;
  const same = keys.map((key) => `chosen.${key} IS NOT DISTINCT FROM derived.${key}`).join(' AND ');
  return (
    `SELECT ${columns} FROM (SELECT derived.*, coalesce(derived.time_ <= chosen.times, false) AS chosen_ ` +
    `FROM (${numbered}) AS derived LEFT JOIN (${counts}) AS chosen ON ${same}) ` +
    `WHERE ${isChosen ? 'chosen_' : 'NOT chosen_'} ORDER BY file_row_number`
  );
}
