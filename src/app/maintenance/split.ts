import type { Clock } from '../../core/clock.js';
import { type Table, familiesOf, type Family } from '../../core/columns/table.js';
import { countRows, columnList, checkRowCount, rowsIn } from '../../lake/files/local-parquet.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import type { NewFile } from '../../lake/commit-files.js';
import { loadKeysOf, rowsInLog } from '../../lake/delta/file-tags.js';
import type { Lake, Split } from '../../lake/lake.js';
import type { Remainder, SliceCommit } from '../../lake/slice-commit.js';
import { TableSnapshot } from '../../lake/catalog/table-snapshot.js';
import { filesToSplit } from '../../lake/loads/load-keys.js';
import {
  bundlesOf,
  fetchFiles,
  tablesOf,
  fileTargetOf,
  whileLive,
  writeBundle,
  type Bundle,
  type Rewriting,
} from './file-bundles.js';
import { moveUndated } from './undated-rows.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import { canSplitRows, instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';

/**
 * Writes what stays of files that have a slice's load keys beside others, as files that `compact` merged: one with the rest for each.
 * They are committed with the slice.
 */
export function splitter(lake: Lake, clock: Clock, limits = defaultLimits): Split {
  return async (slice, use) => {
    const [family] = familiesOf([{ name: slice.pipeline, tables: slice.tables }]);
    if (family === undefined) return use(undefined);
    await withWorkspace(limits, lake.store, (workspace) => moveUndated({ lake, clock, workspace, family }, slice));
    return withWorkspace(limits, lake.store, async (workspace) => {
      for (;;) {
        const bundles = mixedBundles(lake, family, slice);
        if (bundles.length === 0) return use(undefined);
        // A missing file may have been merged with others meanwhile.
        const remainder = await whileLive(lake, family, bundles, () =>
          remainderOf({ lake, clock, workspace, family }, slice, bundles),
        );
        if (remainder !== undefined) return use(remainder);
      }
    });
  };
}

/** The bundles with load keys of a slice and others. */
function mixedBundles(lake: Lake, family: Family, slice: SliceCommit): Bundle[] {
  const { snapshot } = lake;
  const mixed = filesToSplit(snapshot, new TableSnapshot(snapshot, family.main.name), slice);
  const unsplittable = mixed.find((add) => !canSplitRows(family.main, family.derived, loadKeysOf(add)));
  if (unsplittable !== undefined) throw unsplittableFailure(lake, family, unsplittable);
  const paths = new Set(mixed.map(({ path }) => path));
  return bundlesOf(lake, family, slice.account).filter(({ main }) => paths.has(main.path));
}

async function remainderOf(rewriting: Rewriting, slice: SliceCommit, bundles: readonly Bundle[]): Promise<Remainder> {
  const files: NewFile[] = [];
  const pieces = new Map<string, string>();
  for (const bundle of bundles) {
    const kept = await keptFiles(rewriting, slice, bundle);
    files.push(...kept.files);
    for (const [piece, whole] of kept.pieces) pieces.set(piece, whole);
  }
  return { files, mains: bundles.map(({ main }) => main), pieces };
}

function unsplittableFailure(lake: Lake, { main }: Family, add: Add): LedgerlakeError {
  const file = lake.store.address(lake.table(main.name).pathOf(add));
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to split ${file}, which contains more than what is read again, but its rows can't be told apart; ` +
      'run `ledgerlake verify`, nothing was replaced',
  );
}

/** Writes the rows of a bundle that a slice doesn't replace. `pieces`: see `Remainder`. */
async function keptFiles(
  rewriting: Rewriting,
  slice: SliceCommit,
  bundle: Bundle,
): Promise<{ readonly files: readonly NewFile[]; readonly pieces: ReadonlyMap<string, string> }> {
  const { workspace, family, clock } = rewriting;
  const { main, derived } = family;
  const local = new Map<Table, readonly string[]>();
  const tables = tablesOf(family, [bundle]);
  for (const { table, adds } of tables) local.set(table, await fetchFiles(rewriting, table, adds));
  const mains = local.get(main) ?? [];
  const { replaced, kept, pieces } = await splitLoadKeys(rewriting, slice, bundle.main, mains[0] ?? '');
  const condition = loadKeyCondition(replaced, instantColumn(main));
  const events = derived.some((table) => local.has(table) && table.linesOf === undefined)
    ? await chosenEvents(rewriting, mains, condition)
    : undefined;
  /** In SQL: rows of a table that the slice replaces, or those that stay. */
  const rowsOf = (table: Table, columns: string, isReplaced: boolean, range: string): string => {
    const paths = local.get(table) ?? [];
    if (table !== main && events !== undefined) return derivedRows(table, columns, paths, events, isReplaced, range);
    return (
      `SELECT ${columns} FROM ${rowsIn(paths, ', file_row_number = true')} ` +
      `WHERE ${isReplaced ? '' : 'NOT '}(${condition}) AND ${range} ORDER BY file_row_number`
    );
  };
  const written = tables.map(({ table, adds }) => ({
    table,
    write: async (metadata: ReadonlyMap<string, string>) => {
      const paths = local.get(table) ?? [];
      const columns = await columnList(workspace.database, table, paths);
      const select = (range: string) => rowsOf(table, columns, false, range);
      const file = await sortedFile(workspace, table, { paths, metadata, select }, {});
      const [counted] = await workspace.database.rows(
        `SELECT count(*) AS rows FROM (${rowsOf(table, '1', true, 'true')})`,
      );
      // No row is both, and none is neither.
      checkRowCount(table, rowsInLog(adds), file.rows + Number(counted?.['rows']));
      return file;
    },
  }));
  const target = fileTargetOf(family, bundle.main, kept);
  const tags = bundle.main.tags ?? {};
  const files = await writeBundle(workspace, { target, key: bundle.main.path, tags, tables: written }, clock.now());
  return { files, pieces };
}

/** The load keys of a main file that a slice replaces, and those that stay; of one that it cuts the parts with rows. */
async function splitLoadKeys(
  { workspace, family }: Rewriting,
  slice: SliceCommit,
  add: Add,
  path: string,
): Promise<{ readonly replaced: string[]; readonly kept: string[]; readonly pieces: Map<string, string> }> {
  const own = new Set(slice.loadKeys);
  const found = { replaced: new Array<string>(), kept: new Array<string>(), pieces: new Map<string, string>() };
  for (const loadKey of loadKeysOf(add)) {
    const cut = slice.splits?.(loadKey);
    if (cut === undefined || own.has(loadKey)) {
      found[own.has(loadKey) ? 'replaced' : 'kept'].push(loadKey);
      continue;
    }
    found.replaced.push(cut.inside);
    for (const piece of cut.outside) {
      const condition = loadKeyCondition([piece], instantColumn(family.main));
      if ((await countRows(workspace.database, path, condition)) === 0) continue;
      found.kept.push(piece);
      found.pieces.set(piece, loadKey);
    }
  }
  return found;
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
