import { basename } from 'node:path';
import { z } from 'zod';
import { sqlType, type Table } from '../../core/columns/table.js';
import { LedgerlakeError } from '../../core/errors.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { dayMs, dayStart, monthOf, type Window } from '../../core/windows.js';
import { readWindow, windowKey } from '../../engine/slicing/window-slices.js';
import type { Add } from '../../lake/delta/actions.js';
import { contentOf, importSpansOf, importSpansTag, loadKeysOf } from '../../lake/delta/file-tags.js';
import type { LogRemains } from '../../lake/delta/log-remains.js';
import { instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { countRows, rowsIn, statistics } from '../../lake/files/local-parquet.js';
import { groupSpans } from '../../lake/files/new-file.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { localFile, type Workspace } from '../../lake/files/workspace.js';
import { importedKey, parseImportedKey } from '../../lake/loads/imported-days.js';
import { parseNote, type Store } from '../../lake/store/store.js';
import { isDataFile } from '../../lake/data-files.js';
import { accountPattern } from '../configuration/account.js';

/** A file of a table's folders whose bytes are those that it was written with, whatever the log says of it. */
export interface StoredRows {
  /** Within the lake. */
  readonly path: string;
  /** As a log would name it, with all that follows from its rows and its name. */
  readonly add: Add;
  readonly account: string;
  readonly loadKeys: readonly string[];
  /** The version of the log that names it; undefined where what is left of the log doesn't. */
  readonly version: number | undefined;
}

/** A file that can't be taken for the table's. */
export interface DoubtfulFile {
  readonly path: string;
  readonly reason: string;
  /** What its name says that it held, as far as it does: `undefined` where it says no more than a month. */
  readonly loadKeys: readonly string[] | undefined;
}

/** Whose files are read. */
export interface StoredTable {
  readonly schema: Table;
  readonly pipelines: ReadonlySet<string>;
  /** What a load key of the table names: `window`, `group`, `order`, `settlement`; undefined: each row's `source` says. */
  readonly loadKey: string | undefined;
  /** Whether its files have net sums in the log. */
  readonly hasNet: boolean;
}

const footerSchema = z.object({ account: z.string(), pipeline: z.string() });

/** Files that were made from others, and imported ones: a whole day in them may be an imported one, that nobody has loaded. */
const mixedName = /^(?:compact|import)-/;

/**
 * Reads one file of a table's folders. Its name ends with the hash of its bytes, and its footer names pipeline and account; its
 * load keys are those that the log had for it, or else those of its rows. Nothing of it is taken for granted.
 *
 * @param now milliseconds since 1970
 */
export async function storedRows(
  { schema, pipelines, loadKey, hasNet }: StoredTable,
  path: string,
  { store, workspace, remains, now }: { store: Store; workspace: Workspace; remains: LogRemains; now: number },
): Promise<StoredRows | DoubtfulFile> {
  const doubtful = (reason: string, loadKeys = namedKeys(path)): DoubtfulFile => ({ path, reason, loadKeys });
  const [, account = '', month = ''] =
    /^[^/]+\/account=([^/]+)\/month=(\d{4}-\d{2}|unknown)\/[\w.=-]+$/.exec(path) ?? [];
  if (!isDataFile(path) || !accountPattern.test(account)) return doubtful("its name is not one of Ledgerlake's", []);
  const bytes = await store.read(path);
  if (bytes === undefined) return doubtful('it is gone');
  const content = contentOf(bytes);
  const names = [...basename(path).matchAll(/-([0-9a-f]{16})(?=-|\.)/g)].map(([, hash]) => hash);
  if (names.at(-1) !== content.sha256.slice(0, 16)) return doubtful('its bytes have changed');

  const relative = path.slice(schema.name.length + 1);
  const known = remains.files.get(relative);
  const logged = known?.add.size === content.size && known.add.tags?.['sha256'] === content.sha256 ? known : undefined;
  try {
    const footer = parseNote(Buffer.from((await footerTexts(bytes)).metadata.get('ledgerlake') ?? ''), (value) =>
      footerSchema.parse(value),
    );
    if (footer?.account !== account || !pipelines.has(footer.pipeline)) {
      return doubtful('its footer names another account or pipeline');
    }
    const local = (await localFile(store, path, workspace.newPath)) ?? '';
    const fault = await shapeFault(workspace, schema, local);
    if (fault !== undefined) return doubtful(fault);
    const loadKeys =
      (await loggedKeysOf(logged?.add, local, { schema, loadKey, month, workspace })) ??
      (await keysOfFile(path, local, { loadKey, month, workspace }));
    if (loadKeys === undefined) return doubtful('its rows are of no slice', undefined);
    const rows = await countRows(workspace.database, local, 'true');
    const groups = hasColumn(schema, 'beginning_balance') ? await groupSpans(workspace.database, local) : undefined;
    const tags = {
      pipeline: loadKey === undefined ? ([...pipelines].at(-1) ?? '') : footer.pipeline,
      account,
      rows: String(rows),
      sha256: content.sha256,
      units: JSON.stringify(loadKeys),
      derived: '[]',
      ...(hasNet && { net: '{}' }),
      ...(groups !== undefined && { groups: JSON.stringify(groups) }),
      ...(logged !== undefined && importSpansTag(importSpansOf(logged.add))),
    };
    const add: Add = {
      path: relative,
      partitionValues: { account, month },
      size: content.size,
      modificationTime: now,
      dataChange: true,
      stats: await statistics(workspace.database, schema, local, rows),
      tags,
    };
    return { path, add, account, loadKeys, version: logged?.version };
  } catch (error) {
    if (error instanceof LedgerlakeError && error.code !== 'SQL' && error.code !== 'LAKE_LOG') throw error;
    return doubtful(`it can't be read as ${schema.name}`);
  } finally {
    await workspace.clear();
  }
}

export function isDoubtful(file: StoredRows | DoubtfulFile): file is DoubtfulFile {
  return 'reason' in file;
}

/** What is wrong with a file's columns, in words. */
async function shapeFault(
  { database }: Workspace,
  { name, columns }: Table,
  local: string,
): Promise<string | undefined> {
  const described = await database.rows(`DESCRIBE FROM ${rowsIn([local])}`);
  const types = new Map(described.map((row) => [row['column_name'], row['column_type']]));
  const other = columns.find((column) => {
    const found = types.get(column.name);
    return found !== sqlType(column) && !(found === undefined && column.later === true);
  });
  return other === undefined ? undefined : `its column ${other.name} is not that of ${name}`;
}

interface KeyQuestion {
  /** As of `StoredTable`. */
  readonly loadKey: string | undefined;
  readonly month: string;
  readonly workspace: Workspace;
}

/** The load keys that the log has for a file; undefined where it has none, or the file has rows of others. */
async function loggedKeysOf(
  logged: Add | undefined,
  local: string,
  { schema, loadKey, month, workspace }: KeyQuestion & { readonly schema: Table },
): Promise<readonly string[] | undefined> {
  const loadKeys = logged === undefined ? [] : checkedKeys(loadKeysOf(logged), loadKey, month);
  if (loadKeys.length === 0) return undefined;
  if (loadKey === undefined) return loadKeys;
  const isOther = `NOT ${loadKeyCondition(loadKeys, instantColumn(schema))}`;
  return (await countRows(workspace.database, local, isOther)) === 0 ? loadKeys : undefined;
}

/** The load keys of a file's rows; undefined where there is none, or one that the table can't have. */
async function keysOfFile(
  path: string,
  local: string,
  { loadKey, month, workspace }: KeyQuestion,
): Promise<readonly string[] | undefined> {
  const found = await keysOfRows(workspace, loadKey, local);
  const isMixed = mixedName.test(basename(path));
  const loadKeys = checkedKeys(isMixed ? found.map(asImported) : found, loadKey, month);
  return loadKeys.length === 0 || loadKeys.length < found.length ? undefined : loadKeys;
}

/** In SQL, by what a load key names: the columns that it follows from. */
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

/** Those of the load keys that the table may have in a folder of a month. */
function checkedKeys(loadKeys: readonly string[], loadKey: string | undefined, month: string): string[] {
  return loadKeys.filter((key) => {
    if (loadKey === undefined) return key !== '';
    if (loadKey !== 'window') return key.startsWith(`${loadKey}/`);
    const window = windowOf(key);
    return window !== undefined && isOfMonth(window, month);
  });
}

function isOfMonth({ start, end }: Window, month: string): boolean {
  return start < end && monthOf(start) === month && monthOf(end - 1) === month && end - start <= 31 * dayMs;
}

/** The window of a load key, imported or loaded. */
export function windowOf(loadKey: string): Window | undefined {
  return readWindow(loadKey) ?? parseImportedKey(loadKey);
}

/** A whole day of a file that may hold imported rows: they count, and the day gives way to whatever is loaded. */
function asImported(loadKey: string): string {
  const window = readWindow(loadKey);
  const isDay = window !== undefined && window.end - window.start === dayMs && dayStart(window.start) === window.start;
  return isDay ? importedKey(window) : loadKey;
}

/** The window that a file is named after, as a slice names its files; undefined for other names. */
function namedKeys(path: string): string[] | undefined {
  const [, first = '', last = ''] = /^(\d{8}T\d{6}Z)-(\d{8}T\d{6}Z)-/.exec(basename(path)) ?? [];
  const instant = (text: string) =>
    Date.parse(text.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const window = { start: instant(first), end: instant(last) };
  return window.start < window.end ? [windowKey(window)] : undefined;
}
