import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import { readParquet, timestampLiteral } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import type { DeltaTable } from '../../lake/delta/delta-table.js';
import { columnStatistics, loadKeysOf, parseAppId } from '../../lake/delta/file-tags.js';
import { localFile, defaultLimits, makeLakeFolder, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { countRows, checkRowCount } from '../../lake/files/local-parquet.js';
import type { Lake } from '../../lake/lake.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { mainFiles, notedLoads, writeForgetNote, type Load } from '../../lake/upkeep/erasure.js';
import { unpinAppended } from '../../lake/transaction/references.js';
import { groupSpansOf } from '../../sources/finances/api-v0/collectors.js';
import {
  orderTransactions,
  payouts,
  settlementSummaries,
  transactions,
} from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { eventHistory, events, groupEvents, groups, orderEvents } from '../../sources/finances/model/tables.js';
import { targetOf, writeBundle, writeFiltered } from '../maintenance/file-bundles.js';

/** How the rows of a main table, and those derived from them, grow old. */
interface AgingRule {
  /** In SQL: the instant that decides: a row without it stays. Derived tables have it too. */
  readonly instant: string;
  /** In SQL: the load key that a row was read by; undefined where load keys outlive all of their rows. */
  readonly loadKey?: string;
}

/**
 * Events and transactions, with their entries, count by `effective_at`, groups and summaries of settlements by their end,
 * payouts by their creation: one that is open stays, and so does an order's event where the order has no date at all.
 */
const rules: ReadonlyMap<string, AgingRule> = new Map([
  [groups.name, { instant: 'ended_at' }],
  [events.name, { instant: 'effective_at' }],
  [groupEvents.name, { instant: 'effective_at', loadKey: "'group/' || group_id" }],
  [orderEvents.name, { instant: 'effective_at', loadKey: "'order/' || requested_order_id" }],
  [transactions.name, { instant: 'effective_at' }],
  [orderTransactions.name, { instant: 'effective_at', loadKey: "'order/' || requested_order_id" }],
  [settlementSummaries.name, { instant: 'period_end', loadKey: "'settlement/' || settlement_id" }],
  [payouts.name, { instant: 'created_at' }],
  [eventHistory.name, { instant: 'effective_at' }],
]);

/** A custom table grows old window by window: one that reaches beyond the instant stays whole. */
function ruleOf({ name, customPipeline, linesOf }: Table): AgingRule | undefined {
  if (linesOf !== undefined) return undefined;
  return customPipeline === undefined ? rules.get(name) : { instant: "window_end - INTERVAL '1 microsecond'" };
}

interface Retention {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly workspace: Workspace;
  readonly account: string;
  /** Rows from this instant on stay: milliseconds since 1970. */
  readonly before: number;
}

/** A main table's file, and how many of its rows stay. */
interface AgedFile {
  readonly add: Add;
  readonly derived: readonly string[];
  readonly rows: number;
  readonly kept: number;
}

/**
 * Removes an account's rows that lie before an instant: a file that has only such rows goes, one that has others too is
 * rewritten without them.
 *
 * Windows count as read for good, so that nothing asks for the forgotten rows again. A group's events count as read as
 * long as the group is listed or some of them are there, an order while it has rows: of one whose rows all went not
 * even its number stays.
 *
 * @param before milliseconds since 1970
 * @returns whether a load key doesn't count as read any more
 * @throws LedgerlakeError LAKE_STORE or SQL where a file is missing or can't be read; nothing was removed then
 */
export async function removeAged(
  lake: Lake,
  account: string,
  before: number,
  clock: Clock,
): Promise<(load: Load) => boolean> {
  const noted = new Set((await notedLoads(lake, account)).map(keyOf));
  await unpinAppended(lake, clock.now());
  const remove = async (workspace: Workspace): Promise<(load: Load) => boolean> => {
    const retention: Retention = { lake, clock, workspace, account, before };
    const listed = listedGroups(lake.table(groups.name), retention);
    const aged: { table: DeltaTable; rule: AgingRule; files: AgedFile[] }[] = [];
    const gone = new Map<string, Load>();
    for (const table of lake.tables) {
      const rule = ruleOf(table.schema);
      if (rule === undefined) continue;
      const { files, emptied, filled } = await agedFiles(retention, table, rule);
      aged.push({ table, rule, files });
      if (rule.loadKey === undefined) continue;
      for (const load of loadsOf(table, account)) {
        const { loadKey } = load;
        if (filled.has(loadKey)) continue;
        const hadRows = emptied.has(loadKey) || noted.has(keyOf(load));
        const outlives = loadKey.startsWith('group/') ? listed.has(loadKey) : !hadRows;
        if (!outlives) gone.set(keyOf(load), load);
      }
    }
    await writeForgetNote(lake, { account, loads: [...gone.values()] });
    for (const { table, rule, files } of aged) await removeRows(retention, table, rule, files, gone);
    return (load) => gone.has(keyOf(load));
  };
  // Copies of the rows to be forgotten don't outlive the next run, even where this one is killed.
  return withWorkspace(defaultLimits, lake.store, remove, () => makeLakeFolder(lake.store));
}

/** Load keys of the groups that stay in the listing. */
function listedGroups(table: DeltaTable, { account, before }: Retention): Set<string> {
  const spans = mainFiles(table, account).flatMap(({ add }) => groupSpansOf(add));
  return new Set(spans.filter(({ end }) => end === null || end >= before).map(({ id }) => `group/${id}`));
}

/** A table's files, and the load keys of which rows were found, with rows that stay and without. */
async function agedFiles(
  { workspace: { database, newPath, clear }, lake, account, before }: Retention,
  table: DeltaTable,
  rule: AgingRule,
): Promise<{ files: AgedFile[]; emptied: Set<string>; filled: Set<string> }> {
  const found = { files: new Array<AgedFile>(), emptied: new Set<string>(), filled: new Set<string>() };
  for (const { add, derived } of mainFiles(table, account)) {
    const rows = Number(add.tags?.['rows'] ?? 0);
    const age = rule.loadKey === undefined ? ageByStatistics(add, rule.instant, before) : undefined;
    if (age !== undefined) {
      found.files.push({ add, derived, rows, kept: age === 'new' ? rows : 0 });
      continue;
    }
    const counts = await database.rows(
      `SELECT ${rule.loadKey ?? 'NULL'} AS load_key, count(*) FILTER (${staying(rule, before)}) AS kept ` +
        `FROM ${readParquet([await fetched(lake, table.pathOf(add), newPath)])} GROUP BY load_key`,
    );
    for (const { load_key, kept } of counts) (kept === 0n ? found.emptied : found.filled).add(String(load_key));
    found.files.push({ add, derived, rows, kept: counts.reduce((sum, { kept }) => sum + Number(kept), 0) });
    await clear();
  }
  return found;
}

/** Whether the log's statistics say that all of a file's rows stay, or that all go; undefined where they don't say. */
function ageByStatistics(add: Add, column: string, before: number): 'new' | 'old' | undefined {
  const { least = '', greatest = '', hasNoNull } = columnStatistics(add, column);
  if (Date.parse(least) >= before) return 'new';
  return Date.parse(greatest) < before && hasNoNull ? 'old' : undefined;
}

async function removeRows(
  retention: Retention,
  table: DeltaTable,
  rule: AgingRule,
  files: readonly AgedFile[],
  gone: ReadonlyMap<string, Load>,
): Promise<void> {
  const replace = async (old: readonly Add[], by: readonly NewFile[]): Promise<void> => {
    await commitTransaction(retention.lake, retention.clock, {
      operation: 'DELETE',
      main: table.schema,
      files: by.map((file) => ({ ...file, add: { ...file.add, dataChange: true } })),
      decide: (snapshot) => {
        const replaced = old.filter(({ path }) => snapshot.files.has(path));
        return replaced.length === 0 ? undefined : { replaced, actions: [] };
      },
    });
  };
  const emptied = files.filter(({ kept, rows }) => kept === 0 && rows > 0);
  if (emptied.length > 0) {
    await replace(
      emptied.map(({ add }) => add),
      [],
    );
  }
  for (const file of files) {
    const { add, kept, rows } = file;
    const pipeline = add.tags?.['pipeline'] ?? '';
    // A file repeats the load keys that it was read with, those too whose rows lie in another file.
    const loadKeys = loadKeysOf(add).filter((loadKey) => !gone.has(keyOf({ pipeline, loadKey })));
    if (emptied.includes(file) || (kept === rows && loadKeys.length === loadKeysOf(add).length)) continue;
    await replace([add], await rewritten(retention, table, rule, file, loadKeys));
    await retention.workspace.clear();
  }
}

/** A main table's file and its derived ones, rewritten without the rows that go. */
async function rewritten(
  { lake, clock, workspace, before }: Retention,
  main: DeltaTable,
  rule: AgingRule,
  { add: old, derived, kept }: AgedFile,
  loadKeys: readonly string[],
): Promise<NewFile[]> {
  const sources = derived.flatMap((path) => {
    const table = lake.table(path.split('/')[0] ?? '');
    return table.fileAt(path) === undefined ? [] : [{ table, path }];
  });
  const pipeline = old.tags?.['pipeline'] ?? '';
  const family = { pipeline, main: main.schema, derived: sources.map(({ table }) => table.schema) };
  const tables = [...sources, { table: main, path: main.pathOf(old) }].map(({ table, path }) => ({
    table: table.schema,
    write: async (metadata: ReadonlyMap<string, string>) => {
      const source = await fetched(lake, path, workspace.newPath);
      const local = await writeFiltered(workspace, table.schema, [source], staying(rule, before), metadata);
      // The source is deleted for good. Rows of the main file have been counted.
      const rows = table === main ? kept : await countRows(workspace.database, source, staying(rule, before));
      checkRowCount(table.schema, rows, local.rows);
      return local;
    },
  }));
  const target = targetOf(family, old, loadKeys);
  return writeBundle(workspace, { target, key: old.path, tags: old.tags ?? {}, tables }, clock.now());
}

/** A lake's file as one of the local disk, whatever its bytes: what is damaged is forgotten as well. */
async function fetched({ store }: Lake, path: string, newPath: () => string): Promise<string> {
  const file = await localFile(store, path, newPath);
  if (file !== undefined) return file;
  throw new LedgerlakeError(
    'LAKE_STORE',
    `expected the file ${path} in ${store.location}, which the log names, got none; \`ledgerlake verify\` lists what else is missing`,
  );
}

/** In SQL: true for the rows that stay. */
function staying({ instant }: AgingRule, before: number): string {
  return `coalesce(${instant} >= ${timestampLiteral(before)}, true)`;
}

function loadsOf(table: DeltaTable, account: string): Load[] {
  return [...table.snapshot.txnsOf(account)].flatMap(({ appId }) => {
    const load = parseAppId(appId);
    return load === undefined ? [] : [{ pipeline: load.pipeline, loadKey: load.loadKey }];
  });
}

/** A pipeline's name has no slash. */
function keyOf({ pipeline, loadKey }: Load): string {
  return `${pipeline}/${loadKey}`;
}
