import type { DataFile } from '../../lake/delta/data-file.js';
import type { Table } from '../../core/columns/table.js';
import { readParquet, timestampLiteral } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import { defaultLimits, makeLakeFolder, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { localFile } from '../../lake/files/local-file.js';
import { keyExpression, loadKeysText } from '../../lake/files/load-key-rows.js';
import { countRows, checkRowCount } from '../../lake/files/local-parquet.js';
import { loadKeyFor, loadKeyId, nameIn, type LoadKey } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import { withDerived, type NewFile } from '../../lake/commit-files.js';
import { groups } from '../../sources/finances/api-v0/event-tables.js';
import { loadKeyKindOf } from '../coverage/stored-pipelines.js';
import { writeBundle, writeFiltered } from '../../lake/files/bundles.js';

/** The rule by which rows of a main table, and of its derived tables, are forgotten before an instant. */
interface AgingRule {
  /** In SQL: the instant that is compared; a row without it stays. Derived tables have it too. */
  readonly instant: string;
  /** In SQL: the load key of a row; undefined where load keys stay when all of their rows are removed. */
  readonly loadKey?: string;
}

/** Rows of a custom table are forgotten window by window: a window that ends after the instant stays whole. */
function ruleOf(table: Table): AgingRule | undefined {
  const { agedBy, customPipeline, linesOf } = table;
  if (linesOf !== undefined) return undefined;
  const instant = customPipeline === undefined ? agedBy : "window_end - INTERVAL '1 microsecond'";
  const kind = loadKeyKindOf(table) ?? 'window';
  return instant === undefined ? undefined : { instant, ...(kind !== 'window' && { loadKey: keyExpression(kind) }) };
}

interface Retention {
  readonly lake: Lake;
  readonly workspace: Workspace;
  readonly account: string;
  /** Rows before this instant are removed: milliseconds since 1970. */
  readonly before: number;
}

/** What a main table has of the account. */
interface AgedTable {
  readonly table: Table;
  readonly rule: AgingRule;
  readonly files: readonly AgedFile[];
  /** Load keys that aren't loaded any more. */
  readonly forgotten: ReadonlySet<string>;
}

/** A main table's file, and the number of rows that stay. */
interface AgedFile {
  readonly file: DataFile;
  readonly rows: number;
  readonly kept: number;
}

/**
 * Removes an account's rows before an instant: a file with only such rows is removed, and a file with others is rewritten.
 *
 * Windows stay loaded, so that their rows are not requested again. A group stays loaded as long as it is listed or has rows, an order
 * as long as it has rows: the id of an order without rows is removed too. The commit that removes the rows deletes the load key.
 *
 * @param before milliseconds since 1970
 * @throws LedgerlakeError LAKE_STORE or SQL where a file is missing or can't be read, before anything is removed
 */
export async function removeAged(lake: Lake, account: string, before: number): Promise<void> {
  const remove = async (workspace: Workspace): Promise<void> => {
    const retention: Retention = { lake, workspace, account, before };
    const listed = keptGroups(retention);
    const aged: AgedTable[] = [];
    const rowless: LoadKey[] = [];
    for (const table of lake.tables) {
      const rule = ruleOf(table);
      if (rule === undefined) continue;
      const { files, emptied, filled } = await agedFiles(retention, table, rule);
      const keys = rule.loadKey === undefined ? [] : pipelineKeys(lake, account, table);
      const loaded = new Set(keys.map(({ key }) => key));
      const named = new Set(rule.loadKey === undefined ? [] : files.flatMap(({ file }) => file.loadKeys));
      // An earlier attempt may have deleted a load key that further files name.
      const isForgotten = (key: string) =>
        !loaded.has(key) || (nameIn('group', key) !== undefined ? !listed.has(key) : emptied.has(key));
      const forgotten = new Set([...loaded, ...named].filter((key) => !filled.has(key) && isForgotten(key)));
      rowless.push(...keys.filter(({ key }) => forgotten.has(key) && !named.has(key)));
      aged.push({ table, rule, files, forgotten });
    }
    // Before any row is removed: a kill must not leave forgotten days that look empty.
    await lake.commitChange('DELETE', (snapshot) => {
      const isNoted = before <= (snapshot.forgottenBefore(account) ?? -Infinity);
      if (isNoted && rowless.length === 0) return undefined;
      return { keys: { delete: rowless.map(loadKeyId) }, forgotten: isNoted ? {} : { [account]: before } };
    });
    for (const one of aged) await removeRows(retention, one);
  };
  // The workspace is in the lake, so that the next run deletes copies of the rows if this run is killed.
  return withWorkspace(defaultLimits, lake.store, remove, () => makeLakeFolder(lake.store));
}

/** The load keys of the pipelines whose main table this is. */
function pipelineKeys(lake: Lake, account: string, table: Table): LoadKey[] {
  const pipelines = new Set(lake.snapshot.filesOf(table.name, account).map(({ pipeline }) => pipeline));
  return [...lake.snapshot.allKeysOf(account)].filter(({ pipeline }) => pipelines.has(pipeline));
}

/** Load keys of the groups that stay in the listing. */
function keptGroups({ lake, account, before }: Retention): Set<string> {
  const spans = lake.snapshot.filesOf(groups.name, account).flatMap((file) => file.groups ?? []);
  return new Set(spans.filter(({ end }) => end === null || end >= before).map(({ id }) => loadKeyFor('group', id)));
}

/** A table's files, and the load keys of their rows: `filled` with rows that stay, `emptied` without. */
async function agedFiles(
  retention: Retention,
  table: Table,
  rule: AgingRule,
): Promise<{ files: AgedFile[]; emptied: Set<string>; filled: Set<string> }> {
  const { lake, account, before } = retention;
  const { database, clear } = retention.workspace;
  const found = { files: new Array<AgedFile>(), emptied: new Set<string>(), filled: new Set<string>() };
  for (const file of lake.snapshot.filesOf(table.name, account)) {
    if (file.main !== undefined) continue;
    const rows = file.rows;
    const age = rule.loadKey === undefined ? ageByStatistics(file, rule.instant, before) : undefined;
    if (age !== undefined) {
      found.files.push({ file, rows, kept: age === 'new' ? rows : 0 });
      continue;
    }
    const path = file.lakePath;
    const source = readParquet([await fetchFile(retention, path, file)]);
    const counts = await database.rows(
      `SELECT ${rule.loadKey ?? 'NULL'} AS load_key, count(*) FILTER (${staysCondition(rule, before)}) AS kept ` +
        `FROM ${source} GROUP BY load_key`,
    );
    for (const { load_key, kept } of counts) (kept === 0n ? found.emptied : found.filled).add(String(load_key));
    found.files.push({ file, rows, kept: counts.reduce((sum, { kept }) => sum + Number(kept), 0) });
    await clear();
  }
  return found;
}

/** Whether all of a file's rows stay (`new`) or are removed (`old`), by the log's statistics; undefined where they don't decide. */
function ageByStatistics(file: DataFile, column: string, before: number): 'new' | 'old' | undefined {
  const { least = '', greatest = '', hasNoNull } = file.columnStatistics(column);
  if (Date.parse(least) >= before) return 'new';
  return Date.parse(greatest) < before && hasNoNull ? 'old' : undefined;
}

async function removeRows(retention: Retention, { table, rule, files, forgotten }: AgedTable): Promise<void> {
  const replace = async (old: readonly AgedFile[], by: readonly NewFile[]): Promise<void> => {
    await retention.lake.commitFiles({
      operation: 'DELETE',
      main: table,
      files: by,
      replaced: (snapshot) => {
        const stored = old.flatMap(({ file }) => snapshot.file(table.name, file.path) ?? []);
        if (stored.length === 0) return undefined;
        const loads = stored.flatMap((file) => {
          const loaded = snapshot.keysOf(retention.account, file.pipeline);
          return file.loadKeys.flatMap((key) => (forgotten.has(key) ? (loaded.get(key) ?? []) : []));
        });
        const removed = withDerived(snapshot, stored);
        return { removed, keys: { delete: [...new Set(loads)].map(loadKeyId) } };
      },
    });
  };
  const emptied = files.filter(({ kept, rows }) => kept === 0 && rows > 0);
  if (emptied.length > 0) await replace(emptied, []);
  for (const aged of files) {
    const { file, kept, rows } = aged;
    // A file has all load keys of its slice, also those with rows only in other files.
    const loadKeys = file.loadKeys.filter((loadKey) => !forgotten.has(loadKey));
    if (emptied.includes(aged) || (kept === rows && loadKeys.length === file.loadKeys.length)) continue;
    await replace([aged], await rewriteBundle(retention, table, rule, aged, loadKeys));
    await retention.workspace.clear();
  }
}

/** Rewrites a main table's file and its derived files without the forgotten rows. */
async function rewriteBundle(
  retention: Retention,
  main: Table,
  rule: AgingRule,
  { file: old, kept }: AgedFile,
  loadKeys: readonly string[],
): Promise<NewFile[]> {
  const { lake, workspace, account, before } = retention;
  const sources = lake.tables.flatMap((table) =>
    lake.snapshot.derivedFrom(table.name, account, old.lakePath).map((file) => ({ table, path: file.lakePath })),
  );
  const name = old.pipeline;
  const pipeline = { name, main, derived: sources.map(({ table }) => table) };
  const tables = [...sources, { table: main, path: old.lakePath }].map(({ table, path }) => ({
    table,
    write: async (metadata: ReadonlyMap<string, string>) => {
      const source = await fetchFile(retention, path, old);
      const local = await writeFiltered(workspace, table, [source], staysCondition(rule, before), metadata);
      // The source is deleted for good, so the rows are counted first; those of the main file have been counted.
      const rows = table === main ? kept : await countRows(workspace.database, source, staysCondition(rule, before));
      checkRowCount(table, rows, local.rows);
      return local;
    },
  }));
  const target = { pipeline, account, month: old.month, loadKeys, dataChange: true };
  return writeBundle(workspace, { ...target, key: old.path, of: old, tables });
}

/**
 * A lake's file as a local file, whose bytes aren't checked, because damaged files are forgotten too. Where DuckDB can't read it, the
 * error names the lake's file and the slice of the main table's.
 */
async function fetchFile(
  { lake: { store }, workspace: { newPath, faults } }: Retention,
  path: string,
  main: DataFile,
): Promise<string> {
  const file = await localFile(store, path, newPath);
  if (file === undefined) {
    throw new LedgerlakeError(
      'LAKE_STORE',
      `expected the file ${path} in ${store.location}, which the log names, got none; \`ledgerlake verify\` lists what else is missing`,
    );
  }
  const slice = loadKeysText(main.loadKeys) || 'no slice';
  faults.set(file, (text) => {
    const found = `expected rows in ${store.address(path)} (${slice}), it can't be read (${text})`;
    return new LedgerlakeError('SQL', `${found}; \`ledgerlake verify\` names what else is wrong`);
  });
  return file;
}

/** In SQL: whether a row stays. */
function staysCondition({ instant }: AgingRule, before: number): string {
  return `coalesce(${instant} >= ${timestampLiteral(before)}, true)`;
}
