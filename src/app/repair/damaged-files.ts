import { ifReadable, type DataFile } from '../../lake/delta/data-file.js';
import { pipelines, roles } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { customPipelinesOf, type PipelineTables, type Table } from '../../core/columns/table.js';
import { literal } from '../../core/duckdb/literals.js';
import { codeOf } from '../../core/errors.js';
import { formatCount } from '../../core/text/amounts.js';
import { dayMs } from '../../core/windows.js';
import { removedFile } from '../../lake/catalog/change.js';
import { spanIn, loadKeyId, type LoadKey, type LoadKeyId } from '../../lake/catalog/load-key.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { withDerived, type NewFile } from '../../lake/commit-files.js';
import { replacementOf } from '../../lake/slices/slice-replacement.js';
import { damageOf, localFile } from '../../lake/files/local-file.js';
import { keyExpression, loadKeyCondition, loadKeysText } from '../../lake/files/load-key-rows.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { Lake } from '../../lake/lake.js';
import { retentionDays } from '../../sources/finances/selling-partner/history-limit.js';
import { reportLimits } from '../../sources/finances/settlement-reports/report-operations.js';
import { bundlesOf, writeBundle, writeFiltered } from '../../lake/files/bundles.js';
import { remainderOf } from '../../lake/slices/remainder.js';
import { historyPipeline } from '../../sources/finances/lake-tables.js';
import { loadKeyKindOf } from '../coverage/stored-pipelines.js';
import { verifyLake } from '../verify/verify-lake.js';

/** A damaged or missing data file, and what becomes of its rows. */
export interface DamagedData {
  readonly pipeline: PipelineTables;
  readonly table: Table;
  readonly file: DataFile;
  /** What is wrong with it, in words. */
  readonly reason: string;
  /** Its load keys that a run can ask for again: they become gaps. */
  readonly gaps: readonly LoadKey[];
  /** Its load keys that nobody can ask for again. */
  readonly lasting: readonly LoadKey[];
  /** Rows that can be read and stay, of the lasting load keys or of the history; undefined where none can. */
  readonly readable: number | undefined;
}

/** The pipelines of a lake's tables. */
export function pipelinesIn(lake: Lake): readonly PipelineTables[] {
  const custom = customPipelinesOf(lake.tables);
  return [...pipelines, ...custom, historyPipeline];
}

/** In SQL: the load key of a row of a main table. */
export function keyOfRow(main: Table): string {
  return keyExpression(loadKeyKindOf(main) ?? 'window');
}

/** What a load key says of itself, as the entry of one whose own is lost. */
export function loadKeyOf({ account, pipeline, key }: LoadKeyId, readAt: number): LoadKey {
  const span = spanIn('imported', key);
  const window = spanIn('window', key) ?? span;
  const isImported = span !== undefined || pipeline === roles.reports.name;
  const origin = isImported ? 'import' : 'api';
  return { account, pipeline, key, ...(window && { window }), readAt, since: readAt, origin };
}

/**
 * Reads every data file, and finds those that are damaged or missing.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, STOPPED when the signal aborts
 */
export async function damagedFiles(
  lake: Lake,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  workspace: Workspace,
): Promise<readonly DamagedData[]> {
  const found: DamagedData[] = [];
  for (const pipeline of pipelinesIn(lake)) {
    for (const table of [...pipeline.derived, pipeline.main]) {
      for (const file of lake.snapshot.files(table.name)) {
        if (file.pipeline !== pipeline.name) continue;
        signal.throwIfAborted();
        const reason = await damageOf(lake.store, file);
        if (reason !== undefined)
          found.push(await fateOf(lake, { pipeline, table, file, reason }, clock.now(), workspace));
      }
    }
  }
  return found;
}

async function fateOf(
  lake: Lake,
  damaged: Pick<DamagedData, 'pipeline' | 'table' | 'file' | 'reason'>,
  now: number,
  workspace: Workspace,
): Promise<DamagedData> {
  const { pipeline, table, file } = damaged;
  const none = { ...damaged, gaps: [], lasting: [], readable: undefined };
  // Entries follow from their events without a request.
  if (table.row === 'entry') return none;
  if (table.appendOnly === true)
    return { ...none, readable: (await readableCopy(lake, file, 'true', workspace))?.rows };
  const stored = lake.snapshot.keysOf(file.account, pipeline.name);
  const keys = (await fileLoadKeys(lake, damaged, workspace)).flatMap((key) => stored.get(key) ?? []);
  // Of a settlement only its rows have a date.
  const ended = Date.parse(file.columnStatistics('ended_at').least ?? '');
  const isLost = (key: LoadKey) => isLasting(key, now, Number.isNaN(ended) ? undefined : ended);
  const lasting = keys.filter(isLost);
  const condition = loadKeyCondition(lasting.map(({ key }) => key));
  const isKept = lasting.length > 0 && table === pipeline.main;
  return {
    ...damaged,
    lasting,
    gaps: keys.filter((key) => !isLost(key)),
    readable: isKept ? (await readableCopy(lake, file, condition, workspace))?.rows : undefined,
  };
}

/**
 * Whether nobody can ask for a load key again.
 *
 * @param endedAt of a settlement with a report; left out: it isn't known, and ended before it was read
 */
function isLasting({ pipeline, origin, window, readAt }: LoadKey, now: number, endedAt = readAt): boolean {
  if (pipeline === roles.reports.name) return origin === 'import' || endedAt < now - reportLimits.keptMs;
  return origin === 'import' || (window !== undefined && window.end < now - retentionDays * dayMs);
}

/** The load keys of a file, by its entry in the catalog, else by its rows. */
async function fileLoadKeys(
  { store }: Lake,
  { pipeline, table, file }: Pick<DamagedData, 'pipeline' | 'table' | 'file'>,
  { database, newPath }: Workspace,
): Promise<readonly string[]> {
  const tagged = ifReadable(() => file.loadKeys);
  if (tagged !== undefined) return tagged;
  const path = await localFile(store, file.lakePath, newPath);
  if (path === undefined || table !== pipeline.main) return [];
  const query = `SELECT DISTINCT ${keyOfRow(pipeline.main)} AS key FROM ${rowsIn([path])}`;
  const rows = await database.rows(query).catch((error: unknown) => {
    if (codeOf(error) !== 'SQL') throw error;
    return [];
  });
  return rows.flatMap(({ key }) => (typeof key === 'string' ? key : []));
}

/** A load key that contradicts another, or the files. */
export interface OddLoad extends LoadKey {
  /** What is wrong with it, in words. */
  readonly reason: string;
}

/** Files that are as they were written, but that the catalog describes wrongly; and loads that contradict each other, or the files. */
export async function misdescribedFiles(
  lake: Lake,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  workspace: Workspace,
): Promise<{ readonly files: readonly DamagedData[]; readonly loads: readonly OddLoad[] }> {
  const certificate = await verifyLake({ lake, account: undefined, clock, signal, emit: () => undefined });
  const problems = certificate.problems().filter(({ kind }) => kind === 'lake');
  const files = new Map<string, DamagedData>();
  const loads = new Map<string, OddLoad>();
  for (const { check, table: name, file: path, loadKey, account = '', problem } of problems) {
    const pipeline = pipelinesIn(lake).find(({ main, derived }) =>
      [...derived, main].some((table) => table.name === name),
    );
    if (pipeline === undefined) continue;
    const table = lake.table(name);
    const file = lake.snapshot.fileAt(path);
    if (check.takenOut === 'file' && file !== undefined && !files.has(path)) {
      files.set(path, await fateOf(lake, { pipeline, table, file, reason: problem }, clock.now(), workspace));
    }
    const key = lake.snapshot.keysOf(account, pipeline.name).get(loadKey);
    if (check.takenOut === 'load' && key !== undefined)
      loads.set(`${account} ${pipeline.name} ${loadKey}`, { ...key, reason: problem });
  }
  const isOdd = (path: string) => files.has(path);
  return { files: [...files.values()], loads: [...loads.values(), ...unloadedRows(lake, isOdd, clock.now())] };
}

/** Load keys that aren't loaded, and that files have rows of. */
function unloadedRows(lake: Lake, isOdd: (path: string) => boolean, now: number): OddLoad[] {
  const reason = 'is not recorded as loaded, and has rows';
  return loadedPipelines(lake).flatMap((pipeline) => {
    const { name } = pipeline;
    return [...lake.snapshot.accounts()].flatMap((account) =>
      unloadedKeys(lake, pipeline, account, isOdd).map((key) => ({
        ...loadKeyOf({ account, pipeline: name, key }, now),
        reason,
      })),
    );
  });
}

/** Rows of a damaged file that meet a condition in SQL, as a file of its own: its own footer may be damaged, too. */
interface ReadableCopy {
  readonly path: string;
  readonly rows: number;
}

/** Copies the rows that DuckDB can read, whatever the file's hash is; undefined where it can't read the file. */
async function readableCopy(
  { store }: Lake,
  file: DataFile,
  condition: string,
  { database, newPath }: Workspace,
): Promise<ReadableCopy | undefined> {
  const damaged = await localFile(store, file.lakePath, newPath);
  if (damaged === undefined) return undefined;
  const path = newPath();
  try {
    const [copied] = await database.rows(
      `COPY (FROM ${rowsIn([damaged])} WHERE ${condition}) TO ${literal(path)} (FORMAT parquet)`,
    );
    return { path, rows: Number(copied?.['Count']) };
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    return undefined;
  }
}

const lostText = 'LOST, because it was imported or is older than the service keeps';
const gapText = 'taken out, the next backfill loads it again';

/** What becomes of a load that contradicts another, or the files, for people. */
export function loadText(load: OddLoad, now: number): string {
  return `${load.key} of ${load.account}: ${load.reason}; ${isLasting(load, now) ? lostText : gapText}`;
}

/** What becomes of a damaged file, for people. */
export function fateText({ table, file, reason, gaps, lasting, readable }: DamagedData): string {
  const rows = formatCount(file.rows, 'row');
  const what = `${file.lakePath}: ${reason}; `;
  if (table.row === 'entry') return `${what}its ${rows} are derived again`;
  if (table.appendOnly === true) {
    return readable === undefined
      ? `${what}LOST: its ${rows}, which no run can get back`
      : `${what}${formatCount(readable, 'readable row')} of ${rows} stay`;
  }
  const parts = [
    ...(gaps.length === 0 ? [] : [`${loadKeysText(gaps.map(({ key }) => key))}: ${gapText}`]),
    ...(lasting.length === 0
      ? []
      : [
          `${loadKeysText(lasting.map(({ key }) => key))}: ` +
            (readable === undefined ? lostText : `${formatCount(readable, 'readable row')} stay`),
        ]),
  ];
  return `${what}${parts.length === 0 ? `its ${rows} are taken out` : parts.join('; ')}`;
}

/** A lake that is repaired. */
export interface RepairedFiles {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly workspace: Workspace;
}

/**
 * Takes damaged files out, with what is derived from them; readable rows of load keys that last are written again. Damaged derived files
 * stay: they are derived again.
 *
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR
 */
export async function takeOut(repaired: RepairedFiles, damaged: readonly DamagedData[]): Promise<void> {
  const { lake } = repaired;
  for (const data of damaged) {
    const { pipeline, table, file, gaps, lasting, readable } = data;
    if (table.row === 'entry') continue;
    const files = readable === undefined ? [] : await readableFiles(repaired, data);
    const gone = readable === undefined ? [...gaps, ...lasting] : gaps;
    const isMain = table === pipeline.main;
    if (files.length === 0) {
      // Without a look at other files: their entries may be damaged as well. What is derived from it is taken out later.
      await lake.commitChange('REPAIR', (snapshot) => {
        if (snapshot.file(table.name, file.path) === undefined) return undefined;
        return {
          tables: { [table.name]: { remove: [removedFile(file)] } },
          keys: { delete: storedIds(snapshot, gone) },
        };
      });
      continue;
    }
    await lake.commitFiles({
      operation: 'REPAIR',
      main: pipeline.main,
      files,
      replaced: (snapshot) => {
        if (snapshot.file(table.name, file.path) === undefined) return undefined;
        return {
          removed: isMain ? withDerived(snapshot, [file]) : [file],
          keys: { delete: storedIds(snapshot, gone) },
        };
      },
    });
  }
}

/** Makes load keys gaps. */
export async function takeOutKeys({ lake }: RepairedFiles, keys: readonly LoadKeyId[]): Promise<void> {
  await lake.commitChange('REPAIR', (snapshot) => {
    const gone = storedIds(snapshot, keys);
    return gone.length === 0 ? undefined : { keys: { delete: gone } };
  });
}

function storedIds(snapshot: Snapshot, keys: readonly LoadKeyId[]): LoadKeyId[] {
  const stored = keys.filter((key) => snapshot.key(key) !== undefined);
  return stored.map(loadKeyId);
}

/** A file with the readable rows of a damaged one. */
async function readableFiles(
  { lake, workspace }: RepairedFiles,
  { pipeline, table, file, lasting }: DamagedData,
): Promise<NewFile[]> {
  const isHistory = table.appendOnly === true;
  const keys = isHistory ? file.loadKeys : lasting.map(({ key }) => key);
  const condition = isHistory ? 'true' : loadKeyCondition(keys);
  const copy = await readableCopy(lake, file, condition, workspace);
  if (copy === undefined) return [];
  const { account, month } = file;
  const target = { pipeline, account, month, loadKeys: keys, dataChange: false };
  const write = (metadata: ReadonlyMap<string, string>) =>
    writeFiltered(workspace, table, [copy.path], 'true', metadata);
  const tables = [{ table, write }];
  return writeBundle(workspace, { ...target, key: file.path, of: file, tables });
}

/**
 * Takes out the rows of load keys that aren't loaded, and what is derived from files that the lake lacks: the remains of damaged
 * files and lost commits.
 *
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR
 */
export async function takeOutUnloaded({ lake, workspace }: RepairedFiles): Promise<void> {
  for (const pipeline of loadedPipelines(lake)) {
    for (const account of lake.snapshot.accounts()) {
      await takeOutFatherless(lake, pipeline, account);
      const keys = unloadedKeys(lake, pipeline, account);
      if (keys.length === 0) continue;
      const { name, main, derived } = pipeline;
      const slice = { pipeline: name, account, loadKeys: [], takesOver: keys, name: '', main, derived, files: [] };
      const replacement = replacementOf(lake.snapshot, slice);
      const remainder = await remainderOf({ lake, workspace }, replacement);
      await lake.commitFiles({
        operation: 'REPAIR',
        main,
        files: remainder.files,
        over: [replacement],
        replaced: (snapshot) => ({ removed: withDerived(snapshot, [...replacement.removed, ...remainder.mains]) }),
      });
    }
  }
}

/** Pipelines in the lake whose rows belong to load keys. */
function loadedPipelines(lake: Lake): PipelineTables[] {
  return pipelinesIn(lake).filter(({ main }) => main.appendOnly !== true && lake.snapshot.tables.has(main.name));
}

/** Load keys of files that don't count as loaded. */
function unloadedKeys(
  lake: Lake,
  pipeline: PipelineTables,
  account: string,
  isLeftOut: (path: string) => boolean = () => false,
): string[] {
  const loaded = lake.snapshot.keysOf(account, pipeline.name);
  const bundles = bundlesOf(lake, pipeline, account).filter(({ main }) => !isLeftOut(main.lakePath));
  const keys = bundles.flatMap(({ main }) => main.loadKeys);
  return [...new Set(keys)].filter((key) => !loaded.has(key));
}

async function takeOutFatherless(lake: Lake, pipeline: PipelineTables, account: string): Promise<void> {
  const mains = new Set(lake.snapshot.filesOf(pipeline.main.name, account, pipeline.name).map((file) => file.lakePath));
  const fatherless = pipeline.derived
    .filter(({ name }) => lake.snapshot.tables.has(name))
    .flatMap(({ name }) => lake.snapshot.filesOf(name, account, pipeline.name))
    .filter(({ main }) => !mains.has(main ?? ''));
  if (fatherless.length === 0) return;
  await lake.commitFiles({
    operation: 'REPAIR',
    main: pipeline.main,
    files: [],
    replaced: () => ({ removed: fatherless }),
  });
}
