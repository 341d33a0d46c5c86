import { basename } from 'node:path';
import { z } from 'zod';
import type { Table } from '../../core/columns/table.js';
import { LedgerlakeError } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { dayMs, dayStart, monthOf, type Window } from '../../core/windows.js';
import { readWindow, windowKey } from '../../engine/slicing/window-slices.js';
import type { Add } from '../../lake/delta/actions.js';
import { contentOf, importSpansOf, importSpansTag, loadKeysOf } from '../../lake/delta/file-tags.js';
import type { LogRemains } from '../../lake/delta/log-remains.js';
import { instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { countRows, misfitIn, rowsIn, statistics } from '../../lake/files/local-parquet.js';
import { groupSpans } from '../../lake/files/new-file.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { localFile, type Workspace } from '../../lake/files/workspace.js';
import { importedKey, parseImportedKey } from '../../lake/loads/imported-days.js';
import { parseNote, type Store } from '../../lake/store/store.js';
import { isDataFile } from '../../lake/data-files.js';
import { accountPattern } from '../configuration/account.js';

/** A sound file of a table's folders: its bytes are those that it was written with. */
export interface RecoveredFile {
  /** Within the lake. */
  readonly path: string;
  /** Its entry for a log, computed from its rows and its name. */
  readonly add: Add;
  readonly account: string;
  readonly loadKeys: readonly string[];
  /** The version of the log that has it; undefined where the remains of the log lack it. */
  readonly version: number | undefined;
}

/** A file that can't be proven to be the table's. */
export interface DoubtfulFile {
  readonly path: string;
  readonly reason: string;
  /** The load keys in its name; undefined where the name has only a month. */
  readonly loadKeys: readonly string[] | undefined;
}

export interface RecoveredTable {
  readonly schema: Table;
  readonly pipelines: ReadonlySet<string>;
  /** The kind of the table's load keys: `window`, `group`, `order`, `settlement`; undefined: each row's `source` decides. */
  readonly loadKey: string | undefined;
  /** Whether its files have net sums in the log. */
  readonly hasNet: boolean;
}

const footerSchema = z.object({ account: z.string(), pipeline: z.string() });

/** Names of merged and imported files, in which a whole day may be imported instead of loaded. */
const mergedOrImported = /^(?:compact|import)-/;

/**
 * Recovers one file of a table's folders, and checks all that it claims: its name ends with the hash of its bytes, and its footer has
 * its pipeline and account. Its load keys are those that the log had for it, or else those of its rows.
 *
 * @param now milliseconds since 1970
 */
export async function recoverFile(
  table: RecoveredTable,
  path: string,
  context: RecoveryContext,
): Promise<RecoveredFile | DoubtfulFile> {
  const file = await readNamedFile(path, context.store);
  if (isDoubtful(file)) return file;
  try {
    return await recoverRows(table, file, context);
  } catch (error) {
    if (error instanceof LedgerlakeError && error.code !== 'SQL' && error.code !== 'LAKE_LOG') throw error;
    return doubtful(path, `it can't be read as ${table.schema.name}`);
  } finally {
    await context.workspace.clear();
  }
}

interface RecoveryContext {
  readonly store: Store;
  readonly workspace: Workspace;
  readonly remains: LogRemains;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A file whose bytes have the hash in its name. */
interface NamedFile {
  readonly path: string;
  readonly account: string;
  readonly month: string;
  readonly bytes: Uint8Array;
  readonly content: ReturnType<typeof contentOf>;
}

async function readNamedFile(path: string, store: Store): Promise<NamedFile | DoubtfulFile> {
  const [, account = '', month = ''] =
    /^[^/]+\/account=([^/]+)\/month=(\d{4}-\d{2}|unknown)\/[\w.=-]+$/.exec(path) ?? [];
  if (!isDataFile(path) || !accountPattern.test(account))
    return { path, reason: "its name is not one of Ledgerlake's", loadKeys: [] };
  const bytes = await store.read(path);
  if (bytes === undefined) return doubtful(path, 'it is gone');
  const content = contentOf(bytes);
  const hashes = [...basename(path).matchAll(/-([0-9a-f]{16})(?=-|\.)/g)].map(([, hash]) => hash);
  if (hashes.at(-1) !== content.sha256.slice(0, 16)) return doubtful(path, 'its bytes have changed');
  return { path, account, month, bytes, content };
}

async function recoverRows(
  { schema, pipelines, loadKey, hasNet }: RecoveredTable,
  { path, account, month, bytes, content }: NamedFile,
  { store, workspace, remains, now }: RecoveryContext,
): Promise<RecoveredFile | DoubtfulFile> {
  const relative = path.slice(schema.name.length + 1);
  const known = remains.files.get(relative);
  const logged = known?.add.size === content.size && known.add.tags?.['sha256'] === content.sha256 ? known : undefined;
  const footer = parseNote((await footerTexts(bytes)).metadata.get('ledgerlake'), (value) => footerSchema.parse(value));
  if (footer?.account !== account || !pipelines.has(footer.pipeline))
    return doubtful(path, 'its footer names another account or pipeline');
  const local = (await localFile(store, path, workspace.newPath)) ?? '';
  const misfit = await misfitIn(workspace.database, schema, local);
  if (misfit !== undefined) return doubtful(path, `its column ${misfit.column.name} is not that of ${schema.name}`);
  const loadKeys =
    (await loggedKeysOf(logged?.add, local, { schema, loadKey, month, workspace })) ??
    (await keysOfFile(path, local, { loadKey, month, workspace }));
  if (loadKeys === undefined) return doubtful(path, 'its rows are of no slice');
  const rows = await countRows(workspace.database, local, 'true');
  const groups = hasColumn(schema, 'beginning_balance') ? await groupSpans(workspace.database, local) : undefined;
  const add: Add = {
    path: relative,
    partitionValues: { account, month },
    size: content.size,
    modificationTime: now,
    dataChange: true,
    stats: await statistics(workspace.database, schema, local, rows),
    tags: {
      pipeline: loadKey === undefined ? ([...pipelines].at(-1) ?? '') : footer.pipeline,
      account,
      rows: String(rows),
      sha256: content.sha256,
      units: JSON.stringify(loadKeys),
      derived: '[]',
      ...(hasNet && { net: '{}' }),
      ...(groups !== undefined && { groups: JSON.stringify(groups) }),
      ...(logged !== undefined && importSpansTag(importSpansOf(logged.add))),
    },
  };
  return { path, add, account, loadKeys, version: logged?.version };
}

function doubtful(path: string, reason: string): DoubtfulFile {
  return { path, reason, loadKeys: namedKeys(path) };
}

export function isDoubtful(file: object): file is DoubtfulFile {
  return 'reason' in file;
}

interface KeyContext extends Pick<RecoveredTable, 'loadKey'> {
  readonly month: string;
  readonly workspace: Workspace;
}

/** The load keys of a file in the log; undefined where the log has none, or the file has rows of other load keys. */
async function loggedKeysOf(
  logged: Add | undefined,
  local: string,
  { schema, loadKey, month, workspace }: KeyContext & { readonly schema: Table },
): Promise<readonly string[] | undefined> {
  const loadKeys = logged === undefined ? [] : checkedKeys(loadKeysOf(logged), loadKey, month);
  if (loadKeys.length === 0) return undefined;
  if (loadKey === undefined) return loadKeys;
  const isOther = `NOT ${loadKeyCondition(loadKeys, instantColumn(schema))}`;
  return (await countRows(workspace.database, local, isOther)) === 0 ? loadKeys : undefined;
}

/** The load keys of a file's rows; undefined where there is none, or the table can't have one of them. */
async function keysOfFile(
  path: string,
  local: string,
  { loadKey, month, workspace }: KeyContext,
): Promise<readonly string[] | undefined> {
  const found = await keysOfRows(workspace, loadKey, local);
  const isMixed = mergedOrImported.test(basename(path));
  const loadKeys = checkedKeys(isMixed ? found.map(asImported) : found, loadKey, month);
  return loadKeys.length === 0 || loadKeys.length < found.length ? undefined : loadKeys;
}

/** In SQL, by the kind of a load key: the columns that it follows from. */
const keyColumns: Readonly<Record<string, string>> = {
  window: "'window', NULL, epoch_ms(window_start), epoch_ms(window_end)",
  group: "'group', group_id, NULL, NULL",
  order: "'order', requested_order_id, NULL, NULL",
  settlement: "'settlement', settlement_id, NULL, NULL",
};

const anyKey =
  "CASE WHEN requested_order_id IS NOT NULL THEN 'order' WHEN source = 'group_events' THEN 'group' ELSE 'window' END, " +
  'coalesce(requested_order_id, group_id), epoch_ms(window_start), epoch_ms(window_end)';

/** The load keys of a file's rows; an empty text for rows without one. */
async function keysOfRows({ database }: Workspace, loadKey: string | undefined, local: string): Promise<string[]> {
  const columns = loadKey === undefined ? anyKey : (keyColumns[loadKey] ?? '');
  const keys: string[] = [];
  const { chunks } = await database.query(`SELECT DISTINCT ${columns} FROM ${rowsIn([local])}`);
  for await (const rows of chunks) {
    for (const [kind, id, start, end] of rows) {
      if (kind !== 'window') keys.push(typeof id === 'string' && id !== '' ? `${String(kind)}/${id}` : '');
      else if (start == null || end == null) keys.push('');
      else keys.push(windowKey({ start: Number(start), end: Number(end) }));
    }
  }
  return keys.toSorted();
}

/** The load keys that the table may have in a month's folder. */
function checkedKeys(loadKeys: readonly string[], loadKey: string | undefined, month: string): string[] {
  return loadKeys.filter((key) => {
    if (loadKey === undefined) return key !== '';
    if (loadKey !== 'window') return key.startsWith(`${loadKey}/`);
    const window = loadKeyWindow(key);
    return window !== undefined && isOfMonth(window, month);
  });
}

function isOfMonth({ start, end }: Window, month: string): boolean {
  return start < end && monthOf(start) === month && monthOf(end - 1) === month && end - start <= 31 * dayMs;
}

/** The window of a load key, imported or loaded; undefined for other load keys. */
export function loadKeyWindow(loadKey: string): Window | undefined {
  return readWindow(loadKey) ?? parseImportedKey(loadKey);
}

/** The load key of a whole day as an imported one, which a loaded window replaces; other load keys are unchanged. */
function asImported(loadKey: string): string {
  const window = readWindow(loadKey);
  const isDay = window !== undefined && window.end - window.start === dayMs && dayStart(window.start) === window.start;
  return isDay ? importedKey(window) : loadKey;
}

/** The window in the name of a slice's file; undefined for other names. */
function namedKeys(path: string): string[] | undefined {
  const [, first = '', last = ''] = /^(\d{8}T\d{6}Z)-(\d{8}T\d{6}Z)-/.exec(basename(path)) ?? [];
  const instant = (text: string) =>
    Date.parse(text.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const window = { start: instant(first), end: instant(last) };
  return window.start < window.end ? [windowKey(window)] : undefined;
}
