import type { Clock } from '../../core/clock.js';
import { type Table, familiesOf, type Family } from '../../core/columns/table.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { loadKeysOf, DamagedFile } from '../../lake/delta/file-tags.js';
import type { Lake, SliceCommit, Split } from '../../lake/lake.js';
import { restoreSwapped } from '../../lake/transaction/references.js';
import { filesToSplit, touchedFiles, loadTxns, type KeySplit } from '../../lake/loads/load-keys.js';
import { bundlesOf, replacing, type Bundle } from './file-bundles.js';
import { columnList, expectRows, rowsIn, type LocalParquet, countRows } from '../../lake/files/local-parquet.js';
import { fetchFiles } from './merge.js';
import { moveUndated } from './undated-rows.js';
import { addNets, rowsInLog, sharedTags, groupSpans, netSumsOfFile } from '../../lake/files/new-file.js';
import { metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import { canSplitRows, instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';

/**
 * How files are split that came to hold a slice's load keys beside others, as `compact` puts many into one: each becomes
 * one file with the slice's load keys and one with the rest, as a commit of its own that changes no row. One that is damaged
 * can't be: it stays, and is thrown as a `DamagedFile` once the others are split.
 */
export function splitter(lake: Lake, clock: Clock, limits = defaultLimits): Split {
  return async (slice) => {
    const [family] = familiesOf([{ name: slice.pipeline, tables: slice.tables }]);
    if (family === undefined) return;
    await withWorkspace(limits, lake.store, (workspace) => moveUndated(lake, clock, workspace, family, slice));
    const mixed = filesToSplit(lake.table(family.main.name).snapshot, slice);
    const [odd] = mixed.filter((add) => !canSplitRows(family.main, family.derived, loadKeysOf(add)));
    if (odd !== undefined) throw notParted(lake, family, odd);
    const paths = new Set(mixed.map(({ path }) => path));
    const chosen = () => bundlesOf(lake, family, slice.account).filter(({ main }) => paths.has(main.path));
    if (!chosen().every(({ isWhole }) => isWhole)) {
      // A run that died on the way left it so; one that lives starts its commit anew.
      await lake.refresh();
      await restoreSwapped(lake.tables, Infinity, clock.now());
    }
    const found = chosen();
    const broken = found.find(({ isWhole }) => !isWhole);
    if (broken !== undefined) throw notParted(lake, family, broken.main);
    if (found.length === 0) return;
    const damaged: DamagedFile[] = [];
    await withWorkspace(limits, lake.store, async (workspace) => {
      const files: NewFile[] = [];
      const pieces = new Set<string>();
      const bundles: Bundle[] = [];
      for (const bundle of found) {
        try {
          files.push(...(await partsOf(lake, workspace, family, slice, bundle, pieces, clock.now())));
          bundles.push(bundle);
        } catch (error) {
          if (!(error instanceof DamagedFile)) throw error;
          // The others are split all the same: whoever mends this one finds them ready.
          damaged.push(error);
        }
      }
      if (bundles.length === 0) return;
      const cut = new Set(bundles.flatMap(({ main }) => loadKeysOf(main).filter((loadKey) => isCut(slice, loadKey))));
      const renamed = { ...slice, loadKeys: [...pieces], retires: [...cut], splits: undefined };
      const unchanged = replacing(bundles);
      // Where another run has replaced one of them meanwhile nothing is changed, and whoever asked looks again.
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
    });
    const [first] = damaged;
    if (first !== undefined) throw first;
  };
}

/** Whether the slice takes some of a load key and leaves some. */
function isCut({ splits }: SliceCommit, loadKey: string): boolean {
  return (splits?.(loadKey)?.outside.length ?? 0) > 0;
}

function notParted(lake: Lake, { main }: Family, add: Add): LedgerlakeError {
  const file = lake.store.address(lake.table(main.name).pathOf(add));
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to part ${file}, which holds more than what is read again, but its rows can't be told apart, or what belongs ` +
      'to it is missing from the log: `ledgerlake verify` tells; nothing was replaced',
  );
}

/**
 * The files that take a bundle's place: those with what goes when the slice comes, and those with the rest. `pieces` takes
 * in the load keys that come of cutting others and that have rows.
 */
async function partsOf(
  lake: Lake,
  workspace: Workspace,
  family: Family,
  slice: SliceCommit,
  bundle: Bundle,
  pieces: Set<string>,
  now: number,
): Promise<NewFile[]> {
  const wanted = new Set(slice.loadKeys);
  const instant = instantColumn(family.main);
  const loadKeys: string[] = [];
  for (const loadKey of loadKeysOf(bundle.main)) {
    if (!isCut(slice, loadKey)) loadKeys.push(loadKey);
    else loadKeys.push(...(await piecesOf(lake, workspace, family, bundle, slice.splits?.(loadKey))));
  }
  for (const piece of loadKeys) if (!loadKeysOf(bundle.main).includes(piece)) pieces.add(piece);
  const goes = (loadKey: string) => wanted.has(loadKey) || slice.splits?.(loadKey) !== undefined;
  const [own, others] = [loadKeys.filter(goes), loadKeys.filter((loadKey) => !goes(loadKey))];
  const condition = loadKeyCondition(own, instant);
  const source = await sourceOf(lake, workspace, family, bundle, condition);
  const parts = [
    await partOf(workspace, family, bundle, source, { loadKeys: own, condition, isOwn: true }, now),
    await partOf(
      workspace,
      family,
      bundle,
      source,
      { loadKeys: others, condition: `NOT ${condition}`, isOwn: false },
      now,
    ),
  ];
  for (const table of [family.main, ...family.derived]) {
    const files = parts.flat().filter((file) => file.table === table);
    expectRows(table, rowsInLog(addsOf(family, bundle, table)), rowsInLog(files.map(({ add }) => add)));
  }
  return parts.flat();
}

/** What a load key is cut into, as far as the bundle has rows of it. */
async function piecesOf(
  lake: Lake,
  workspace: Workspace,
  { main }: Family,
  bundle: Bundle,
  cut: KeySplit | undefined,
): Promise<string[]> {
  const [path = ''] = await fetchFiles(lake, workspace, main, [bundle.main]);
  const pieces: string[] = [];
  for (const piece of cut === undefined ? [] : [cut.inside, ...cut.outside]) {
    const rows = await countRows(workspace.database, path, loadKeyCondition([piece], instantColumn(main)));
    if (rows > 0) pieces.push(piece);
  }
  return pieces;
}

/** A bundle's files in the workspace. */
interface Source {
  readonly main: readonly string[];
  readonly derived: ReadonlyMap<Table, readonly string[]>;
  /** In SQL: how many of the slice's events have an id and instant. */
  readonly ownEvents: string;
  /** Whether an id stands more than once. */
  readonly hasDoubles: boolean;
}

async function sourceOf(
  lake: Lake,
  workspace: Workspace,
  family: Family,
  bundle: Bundle,
  condition: string,
): Promise<Source> {
  const main = await fetchFiles(lake, workspace, family.main, [bundle.main]);
  const derived = new Map<Table, readonly string[]>();
  for (const table of family.derived) {
    const adds = addsOf(family, bundle, table);
    if (adds.length > 0) derived.set(table, await fetchFiles(lake, workspace, table, adds));
  }
  if (derived.size === 0) return { main, derived, ownEvents: '', hasDoubles: false };
  const keys = eventKeys(family.main).join(', ');
  const ownEvents = `SELECT ${keys}, count(*) AS times FROM ${rowsIn(main)} WHERE ${condition} GROUP BY ${keys}`;
  const doubles = await workspace.database.rows(
    `SELECT event_id FROM ${rowsIn(main)} GROUP BY event_id HAVING count(*) > 1 LIMIT 1`,
  );
  return { main, derived, ownEvents, hasDoubles: doubles.length > 0 };
}

/** What tells events from each other as far as rows of derived tables can. */
function eventKeys(table: Table): string[] {
  return ['event_id', 'effective_at'].filter((name) => hasColumn(table, name));
}

interface Part {
  readonly loadKeys: readonly string[];
  readonly condition: string;
  readonly isOwn: boolean;
}

async function partOf(
  workspace: Workspace,
  family: Family,
  bundle: Bundle,
  source: Source,
  part: Part,
  now: number,
): Promise<NewFile[]> {
  const { database } = workspace;
  const { account, month } = bundle.main.partitionValues;
  const place: FileTarget = { family, account: account ?? '', month: month ?? '', loadKeys: part.loadKeys };
  const metadata = metadataOf(place);
  const key = `${bundle.main.path} ${part.isOwn ? 'own' : 'others'}`;

  const columns = await columnList(database, family.main, source.main);
  const main = await sortedFile(
    workspace,
    family.main,
    {
      paths: source.main,
      metadata,
      select: (range) =>
        `SELECT ${columns} FROM ${rowsIn(source.main, ', file_row_number = true')} ` +
        `WHERE ${part.condition} AND ${range} ORDER BY file_row_number`,
    },
    {},
  );
  if (main.rows === 0) return [];
  const derived: { table: Table; local: LocalParquet }[] = [];
  for (const [table, paths] of source.derived) {
    const ownColumns = await columnList(database, table, paths);
    const select = (range: string) => derivedPart(table, ownColumns, paths, source, part.isOwn, range);
    const local = await sortedFile(workspace, table, { paths, metadata, select }, {});
    if (local.rows > 0) derived.push({ table, local });
  }

  const tags = { ...sharedTags([bundle.main.tags ?? {}]) };
  if (bundle.main.tags?.['net'] !== undefined) {
    const nets = [];
    for (const { table, local } of derived) nets.push(await netSumsOfFile(database, table, local.path));
    tags['net'] = JSON.stringify(addNets(nets));
  }
  if (bundle.main.tags?.['groups'] !== undefined)
    tags['groups'] = JSON.stringify(await groupSpans(database, main.path));
  const files: NewFile[] = [];
  for (const { table, local } of derived)
    files.push({ ...(await newFile(table, place, local, tags, now)), bundle: key });
  return [...files, { ...(await newFile(family.main, place, main, tags, now)), bundle: key }];
}

/**
 * The rows of a derived table that belong to the slice's events, or the others, in their order. An event that stands
 * more than once has that many sets of equal rows, of which each part gets as many as it has events.
 */
function derivedPart(
  table: Table,
  columns: string,
  paths: readonly string[],
  { ownEvents, hasDoubles }: Source,
  isOwn: boolean,
  range: string,
): string {
  const keys = eventKeys(table);
  const set = [...keys, ...(hasColumn(table, 'entry') ? ['entry'] : [])].join(', ');
  const number = hasDoubles ? `row_number() OVER (PARTITION BY ${set} ORDER BY file_row_number)` : '1';
  const numbered = `SELECT *, ${number} AS time_ FROM ${rowsIn(paths, ', file_row_number = true')} WHERE ${range}`;
  const same = keys.map((key) => `own.${key} IS NOT DISTINCT FROM derived.${key}`).join(' AND ');
  return (
    `SELECT ${columns} FROM (SELECT derived.*, coalesce(derived.time_ <= own.times, false) AS own_ ` +
    `FROM (${numbered}) AS derived LEFT JOIN (${ownEvents}) AS own ON ${same}) ` +
    `WHERE ${isOwn ? 'own_' : 'NOT own_'} ORDER BY file_row_number`
  );
}

function addsOf({ main }: Family, bundle: Bundle, table: Table): Add[] {
  return table === main ? [bundle.main] : bundle.derived.filter((of) => of.table === table).map(({ add }) => add);
}
