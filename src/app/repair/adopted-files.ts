import { basename } from 'node:path';
import type { PipelineTables, Table } from '../../core/columns/table.js';
import { codeOf } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { formatCount } from '../../core/text/amounts.js';
import { covers, overlap, type Window } from '../../core/windows.js';
import { isDataFile } from '../../lake/data-files.js';
import { loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { localFile } from '../../lake/files/local-file.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { spanIn, loadKeyFor } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import { dayOf, importedKey } from '../../lake/loads/imported-spans.js';
import { parseNote } from '../../lake/store/store.js';
import { writeBundle, writeFiltered } from '../../lake/files/bundles.js';
import { pipelinesIn, keyOfRow, loadKeyOf, type RepairedFiles } from './damaged-files.js';

/** A data file that the catalog doesn't know, with what it says of itself. */
export interface AdoptableFile {
  readonly pipeline: PipelineTables;
  readonly account: string;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** Within the lake. */
  readonly path: string;
  /** The load keys whose rows are adopted; of a history, whose rows have none, those of the file, and all rows are. */
  readonly loadKeys: readonly string[];
}

/** What becomes of the data files that a lost catalog has named. */
export interface Adoption {
  readonly files: readonly AdoptableFile[];
  /** Files that are left aside, within the lake: they can't be read, or another file claims the same load keys. */
  readonly aside: readonly string[];
}

/**
 * Finds the main tables' files that the catalog doesn't know and that say by themselves what they have: the last resort where the
 * catalog is lost. Of two files that claim the same load key none is adopted with it.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function adoptableFiles(lake: Lake, workspace: Workspace): Promise<Adoption> {
  const files: AdoptableFile[] = [];
  const aside: string[] = [];
  for (const pipeline of pipelinesIn(lake)) {
    const { name } = pipeline.main;
    // Lines of a custom pipeline can't be told from those of other files.
    if (pipeline.main.customPipeline !== undefined) continue;
    const claimed: AdoptableFile[] = [];
    for await (const { path } of lake.store.list(name)) {
      if (!isDataFile(path) || lake.snapshot.keeps(path)) continue;
      const file = await claimOf(lake, pipeline, path, workspace);
      if (file === undefined) aside.push(path);
      else claimed.push(file);
    }
    if (pipeline.main.appendOnly === true) {
      const repeated = await repeatingFiles(lake, pipeline.main, claimed, workspace);
      aside.push(...repeated);
      files.push(...claimed.filter(({ path }) => !repeated.has(path)));
      continue;
    }
    for (const file of claimed) {
      const loadKeys = file.loadKeys.filter((key) => !isContested(lake, file, key, claimed));
      if (loadKeys.length === 0) aside.push(file.path);
      else files.push({ ...file, loadKeys });
    }
  }
  return { files, aside };
}

/** Of the text `ledgerlake` in a footer. */
interface FooterNote {
  readonly pipeline?: unknown;
  readonly account?: unknown;
  readonly window?: unknown;
}

/** What a file says of itself; undefined where it can't be read, or isn't of its folder. */
async function claimOf(
  { store }: Lake,
  pipeline: PipelineTables,
  path: string,
  { database, newPath }: Workspace,
): Promise<AdoptableFile | undefined> {
  const [, account = '', month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(path) ?? [];
  const local = await localFile(store, path, newPath);
  if (local === undefined) return undefined;
  const metadata = await footerTexts(local).then(
    (texts) => parseNote(texts.metadata.get('ledgerlake'), (value) => value as FooterNote),
    () => undefined,
  );
  const isHistory = pipeline.main.appendOnly === true;
  // What a load has written of the history has the name of its pipeline.
  if (metadata?.account !== account || (!isHistory && metadata.pipeline !== pipeline.name)) return undefined;
  try {
    // The hash reads every value.
    const rows = await database.rows(
      `SELECT ${keyOfRow(pipeline.main)} AS key, bool_or(${isSpanId(pipeline)}) AS is_span, ` +
        `bool_or(${isUndated(pipeline)} AND NOT (${isSpanId(pipeline)})) AS is_window, bit_xor(hash(of)) AS read ` +
        `FROM ${rowsIn([local])} AS of GROUP BY 1 ORDER BY 1`,
    );
    const isMerged = basename(path).startsWith('compact-');
    const isImport = basename(path).startsWith('import-');
    const { window } = metadata;
    if (isHistory)
      return {
        pipeline,
        account,
        month,
        path,
        loadKeys: typeof window === 'string' ? [loadKeyFor('window', window)] : [],
      };
    const keys = rows.map(({ key, is_span: isSpan, is_window: isWindow }) => {
      const window = typeof key === 'string' ? spanIn('window', key) : undefined;
      if (window === undefined) return typeof key === 'string' ? key : '';
      const isImported = isImport || (isMerged && isWindow !== true && (isDay(window) || isSpan === true));
      return isImported ? importedKey(window) : String(key);
    });
    if (keys.length === 0 || keys.includes('')) return undefined;
    return { pipeline, account, month, path, loadKeys: keys };
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    return undefined;
  }
}

/** Of a history's files those with a row that a larger one has, or one of the catalog: the larger one was merged from it. */
async function repeatingFiles(
  { store, snapshot }: Lake,
  { name }: Table,
  claimed: readonly AdoptableFile[],
  { database, newPath }: Workspace,
): Promise<ReadonlySet<string>> {
  const localOf = async (path: string): Promise<readonly string[]> =>
    [(await localFile(store, path, newPath)) ?? []].flat();
  const hashesIn = (files: readonly string[]) => `SELECT hash(of) FROM ${rowsIn(files)} AS of`;
  const kept: string[] = [];
  for (const { path } of snapshot.files(name)) kept.push(...(await localOf(`${name}/${path}`)));
  const sized: { readonly path: string; readonly local: readonly string[]; readonly rows: number }[] = [];
  for (const { path } of claimed) {
    const local = await localOf(path);
    const [row] = await database.rows(`SELECT count(*) AS rows FROM ${rowsIn(local)}`);
    sized.push({ path, local, rows: Number(row?.['rows']) });
  }
  const repeating = new Set<string>();
  for (const { path, local } of sized.toSorted((one, other) => other.rows - one.rows)) {
    const shared =
      kept.length === 0 ? [] : await database.rows(`${hashesIn(local)} INTERSECT ${hashesIn(kept)} LIMIT 1`);
    if (shared.length > 0) repeating.add(path);
    else kept.push(...local);
  }
  return repeating;
}

/**
 * Whether the rows of one day were imported or loaded can't be told of a merged file, but for those without a date, whose ids differ: the
 * others count as imported, so that the day is loaded again.
 */
function isDay(window: Window): boolean {
  const day = dayOf(window.start);
  return day.start === window.start && day.end === window.end;
}

/** In SQL: whether a row has no date, so that its id says whether it was imported. */
function isUndated({ main }: PipelineTables): string {
  return main.row === 'event' ? 'posted_at IS NULL' : 'false';
}

/** In SQL: whether a row without a date has the id of an imported one, which both ends of its span are part of. */
function isSpanId(pipeline: PipelineTables): string {
  const undated = isUndated(pipeline);
  if (undated === 'false') return undated;
  const text = (name: string) => `strftime(${name} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`;
  const hashed = `event_list || chr(0) || raw || chr(0) || ${text('window_start')} || chr(0) || ${text('window_end')}`;
  return `${undated} AND starts_with(event_id, left(sha256(${hashed}), 32))`;
}

/** Whether another file, or the catalog, has rows of the same load. Imported rows stay beside loaded windows that lack a part of their span. */
function isContested(lake: Lake, file: AdoptableFile, key: string, claimed: readonly AdoptableFile[]): boolean {
  const span = spanIn('imported', key);
  const window = spanIn('window', key);
  const isSame = (other: string) => {
    const loaded = spanIn('window', other);
    if (span !== undefined && loaded !== undefined) return covers(loaded, span);
    return window !== undefined && loaded !== undefined ? overlap(window, loaded) : other === key;
  };
  const loaded = lake.snapshot.keysOf(file.account, file.pipeline.name);
  if ([...loaded.keys()].some(isSame)) return true;
  return claimed.some(
    (other) =>
      other !== file &&
      other.account === file.account &&
      // A window whose rows are in several months has a file in each.
      other.loadKeys.some((one) => (one === key && other.month !== file.month ? false : isSame(one))),
  );
}

export function adoptionTexts({ files, aside }: Adoption): readonly string[] {
  return [
    ...files.map(
      ({ path, loadKeys }) => `${path}: is adopted with ${formatCount(loadKeys.length, 'load key')} that its rows name`,
    ),
    ...aside.map(
      (path) => `${path}: LOST: no commit names it, and it does not say what it has, or another file says the same`,
    ),
  ];
}

/**
 * Adds the rows of files that the catalog doesn't know, as files of its own, and removes the originals.
 *
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR
 */
export async function adoptFiles({ lake, clock, workspace }: RepairedFiles, { files }: Adoption): Promise<void> {
  for (const file of files) {
    const { pipeline, account, month, path, loadKeys } = file;
    const local = await localFile(lake.store, path, workspace.newPath);
    if (local === undefined) continue;
    const isHistory = pipeline.main.appendOnly === true;
    const condition = isHistory ? 'true' : loadKeyCondition(loadKeys);
    const write = (metadata: ReadonlyMap<string, string>) =>
      writeFiltered(workspace, pipeline.main, [local], condition, metadata);
    const figures = [
      ...(pipeline.derived.length > 0 ? (['net'] as const) : []),
      ...(pipeline.main.row === 'group' ? (['groups'] as const) : []),
    ];
    const bundle = {
      pipeline,
      account,
      month,
      loadKeys,
      dataChange: true,
      key: path,
      of: { shared: { pipeline: pipeline.name, account }, figures },
      tables: [{ table: pipeline.main, write }],
    };
    const files = await writeBundle(workspace, bundle);
    const set = isHistory
      ? []
      : loadKeys.map((key) => loadKeyOf({ account: file.account, pipeline: file.pipeline.name, key }, clock.now()));
    await lake.commitFiles({
      operation: 'REPAIR',
      main: pipeline.main,
      files,
      replaced: () => ({ removed: [], keys: { set } }),
    });
    await lake.store.remove(path);
    await workspace.clear();
  }
}

/**
 * Removes the derived files that no version has, once the adopted rows' own are written: they are older than the catalog, so that no
 * vacuum would take them for a dead run's.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function removeDerivedRemains(lake: Lake): Promise<void> {
  const { store, snapshot } = lake;
  for (const { main, derived } of pipelinesIn(lake)) {
    if (main.customPipeline !== undefined) continue;
    for (const { name } of derived) {
      const unnamed: string[] = [];
      for await (const { path } of store.list(name)) {
        if (isDataFile(path) && !snapshot.keeps(path)) unnamed.push(path);
      }
      for (const path of unnamed) await store.remove(path);
    }
  }
}
