import type { Clock } from '../../core/clock.js';
import { type Table, familiesOf, type Family } from '../../core/columns/table.js';
import { countRows, columnList, checkRowCount, rowsIn } from '../../lake/files/local-parquet.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { loadKeysOf, DamagedFile } from '../../lake/delta/file-tags.js';
import type { Lake, SliceCommit, Split } from '../../lake/lake.js';
import { filesToSplit, touchedFiles, loadTxns } from '../../lake/loads/load-keys.js';
import {
  bundlesOf,
  fetchFiles,
  replacing,
  restoredBundles,
  tablesOf,
  targetOf,
  writeBundle,
  writeFiltered,
  type Bundle,
  type Rewriting,
} from './file-bundles.js';
import { moveUndated } from './undated-rows.js';
import { rowsInLog } from '../../lake/files/new-file.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import { canSplitRows, instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';

/**
 * How files are split that hold a slice's load keys beside others, as `compact` merges many into one: each becomes
 * one file with the slice's load keys and one with the rest, as a commit of its own that changes no row. One that is damaged
 * can't be: it stays, and is thrown as a `DamagedFile` once the others are split.
 */
export function splitter(lake: Lake, clock: Clock, limits = defaultLimits): Split {
  return async (slice) => {
    const [family] = familiesOf([{ name: slice.pipeline, tables: slice.tables }]);
    if (family === undefined) return;
    await withWorkspace(limits, lake.store, (workspace) => moveUndated({ lake, clock, workspace, family }, slice));
    const mixed = filesToSplit(lake.table(family.main.name).snapshot, slice);
    const [odd] = mixed.filter((add) => !canSplitRows(family.main, family.derived, loadKeysOf(add)));
    if (odd !== undefined) throw notSplit(lake, family, odd);
    const paths = new Set(mixed.map(({ path }) => path));
    const bundles = await restoredBundles({ lake, clock }, () =>
      bundlesOf(lake, family, slice.account).filter(({ main }) => paths.has(main.path)),
    );
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
  /** Load keys that result from cutting others, and that have rows. */
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
      if (!bundle.isWhole) throw halfLogged(rewriting, bundle);
      files.push(...(await splitBundle(rewriting, slice, bundle, pieces)));
      split.push(bundle);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      // The others are split all the same: who mends this one finds them ready.
      damaged ??= error;
    }
  }
  return { files, bundles: split, pieces, damaged };
}

/** Where another run has replaced one of the files meanwhile nothing is changed, and the caller looks once more. */
async function commitSplits(
  { lake, clock, family }: Rewriting,
  slice: SliceCommit,
  { files, bundles, pieces }: Splits,
  paths: ReadonlySet<string>,
): Promise<void> {
  const cut = new Set(bundles.flatMap(({ main }) => loadKeysOf(main).filter((loadKey) => isCut(slice, loadKey))));
  const renamed = { ...slice, loadKeys: [...pieces], retires: [...cut], splits: undefined };
  const unchanged = replacing(bundles);
  await commitTransaction(lake, clock, {
    operation: 'SPLIT',
    main: family.main,
    files,
    swaps: true,
    decide: (snapshot) => {
      const decision = unchanged(snapshot);
      // A load key that is cut is cut in every file that holds some of it.
      const isElsewhere = touchedFiles(snapshot, { ...slice, loadKeys: [...cut], retires: [] }).some(
        ({ path }) => !paths.has(path),
      );
      if (decision === undefined || isElsewhere) return undefined;
      return { ...decision, actions: loadTxns(snapshot, renamed, clock.now()) };
    },
  });
}

/** Whether the slice takes some of a load key and leaves some. */
function isCut({ splits }: SliceCommit, loadKey: string): boolean {
  return (splits?.(loadKey)?.outside.length ?? 0) > 0;
}

function notSplit(lake: Lake, { main }: Family, add: Add): LedgerlakeError {
  const file = lake.store.address(lake.table(main.name).pathOf(add));
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to split ${file}, which contains more than what is read again, but its rows can't be told apart; ` +
      'run `ledgerlake verify`, nothing was replaced',
  );
}

/** A file of which other files are missing from the log. */
function halfLogged({ lake, family }: Rewriting, { main }: Bundle): DamagedFile {
  const file = lake.store.address(lake.table(family.main.name).pathOf(main));
  return new DamagedFile(file, 'a log lacks what belongs to it', 'run the command that `ledgerlake verify` names');
}

/**
 * The files that replace a bundle: those with what goes when the slice arrives, and those with the rest. `pieces` takes
 * in the load keys that result from cutting others and that have rows.
 */
async function splitBundle(
  rewriting: Rewriting,
  slice: SliceCommit,
  bundle: Bundle,
  pieces: Set<string>,
): Promise<NewFile[]> {
  const { workspace, family, clock } = rewriting;
  const { main, derived } = family;
  const { database } = workspace;
  const local = new Map<Table, readonly string[]>();
  const tables = tablesOf(family, [bundle]);
  for (const { table, adds } of tables) local.set(table, await fetchFiles(rewriting, table, adds));
  const mains = local.get(main) ?? [];

  const instant = instantColumn(main);
  const loadKeys = await cutLoadKeys(rewriting, slice, bundle.main, mains[0] ?? '');
  for (const loadKey of loadKeys) if (!loadKeysOf(bundle.main).includes(loadKey)) pieces.add(loadKey);
  const sliceKeys = new Set(slice.loadKeys);
  const isLeaving = (loadKey: string) => sliceKeys.has(loadKey) || slice.splits?.(loadKey) !== undefined;
  const condition = loadKeyCondition(loadKeys.filter(isLeaving), instant);
  const chosen = derived.some((table) => local.has(table) && table.linesOf === undefined)
    ? await chosenEvents(rewriting, mains, condition)
    : undefined;
  const bundleFiles = (isGoing: boolean) =>
    writeBundle(
      workspace,
      {
        target: targetOf(
          family,
          bundle.main,
          loadKeys.filter((loadKey) => isLeaving(loadKey) === isGoing),
        ),
        key: `${bundle.main.path} ${isGoing ? 'own' : 'others'}`,
        tags: bundle.main.tags ?? {},
        tables: [...local].map(([table, paths]) => ({
          table,
          write: async (metadata) => {
            if (table === main || chosen === undefined)
              return writeFiltered(workspace, table, paths, isGoing ? condition : `NOT ${condition}`, metadata);
            const columns = await columnList(database, table, paths);
            const select = (range: string) => derivedRows(table, columns, paths, chosen, isGoing, range);
            return sortedFile(workspace, table, { paths, metadata, select }, {});
          },
        })),
      },
      clock.now(),
    );
  const files = [...(await bundleFiles(true)), ...(await bundleFiles(false))];
  for (const { table, adds } of tables) {
    const written = files.filter((file) => file.table === table).map(({ add }) => add);
    checkRowCount(table, rowsInLog(adds), rowsInLog(written));
  }
  return files;
}

/** The load keys of a main file, with those pieces of the ones that the slice cuts that have rows. */
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

/** Events of a bundle, as rows of derived tables reference them. */
interface ChosenEvents {
  /** In SQL: how many of them have an id and instant. */
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

/** The columns that distinguish events, as far as derived tables have them. */
function eventKeys(table: Table): string[] {
  return ['event_id', 'effective_at'].filter((name) => hasColumn(table, name));
}

/**
 * The rows of a derived table that belong to the chosen events, or the others, in their order. An event that occurs
 * more than once has that many sets of equal rows, of which each side gets as many as it has events.
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
