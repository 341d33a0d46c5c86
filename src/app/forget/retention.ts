import type { Clock } from '../../core/clock.js';
import { openDatabase, type Database } from '../../core/duckdb/connection.js';
import { bytesOf, countRows, rewriteFile, type LocalParquet } from '../../lake/files/local-parquet.js';
import type { Add } from '../../lake/delta/actions.js';
import type { DeltaTable } from '../../lake/delta/delta-table.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { mainFiles, type Load } from '../../lake/upkeep/erasure.js';
import { addOf, contentOf, loadKeysOf, parseAppId } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import { withLocalFiles, type LocalFiles } from '../../lake/files/workspace.js';
import { timestampLiteral, readParquet } from '../../core/duckdb/literals.js';

/** How the rows of a main table, and those derived from them, grow old. */
export interface AgingRule {
  /** The instant that decides: a row without it stays. Derived tables have it too. */
  readonly column: string;
  /** SQL: the unit that a row was read by; undefined where units outlive all of their rows. */
  readonly unit: string | undefined;
  /**
   * Tags for the log that say what the rows of a file amount to: `old` is the file in the log, `derived` are the new
   * files of derived tables, on the local disk.
   */
  tags(database: Database, old: Add, derived: readonly string[]): Promise<Readonly<Record<string, string>>>;
}

/** What the data says about growing old. */
export interface Aging {
  /** Rows from this instant on stay: milliseconds since 1970. */
  readonly before: number;
  /** By main table; rows of a table without a rule stay. */
  readonly rules: ReadonlyMap<string, AgingRule>;
  /** Whether a unit of which no rows are left counts as read nevertheless. */
  outlives(unit: string, hadRows: boolean): boolean;
}

/** A main table's file, and how many of its rows stay. */
interface AgedFile {
  readonly add: Add;
  readonly derived: readonly string[];
  readonly rows: number;
  readonly kept: number;
}

interface AgedTable {
  readonly table: DeltaTable;
  readonly rule: AgingRule;
  readonly files: readonly AgedFile[];
}

/** Rows that go, found but not yet taken out. */
export interface AgedRows {
  /** Units that don't count as read any more once the rows are gone. */
  readonly units: readonly Load[];
  /** Takes the rows out, table by table; called on a lake that changed meanwhile it leaves out what is gone. */
  readonly remove: (clock: Clock) => Promise<void>;
}

/**
 * Finds an account's rows that lie before an instant, and hands them to `use`, which may take them out: a file that has
 * only such rows goes, one that has others too is made anew without them.
 *
 * @param struck units that are to be struck out as far as they have no rows left
 * @throws LedgerlakeError LAKE_STORE or SQL where a file is missing or can't be read
 */
export async function withAgedRows<T>(
  lake: Lake,
  account: string,
  aging: Aging,
  struck: readonly Load[],
  use: (aged: AgedRows) => Promise<T>,
): Promise<T> {
  return withLocalFiles(lake.store, async (local) => {
    const database = await openDatabase({ folders: [lake.store.address(''), local.folder] });
    try {
      const work = { lake, account, aging, database, local };
      const tables: AgedTable[] = [];
      const gone = new Set<string>();
      for (const table of lake.tables) {
        const rule = aging.rules.get(table.schema.name);
        if (rule === undefined) continue;
        const found = await agedFiles(work, table, rule, struck);
        tables.push({ table, rule, files: found.files });
        for (const unit of found.units) gone.add(unitKey(unit));
      }
      const remove = async (clock: Clock): Promise<void> => {
        for (const aged of tables) await removeRows(work, aged, gone, clock);
      };
      return await use({ units: [...gone].map(readKey), remove });
    } finally {
      database.close();
    }
  });
}

interface Work {
  readonly lake: Lake;
  readonly account: string;
  readonly aging: Aging;
  readonly database: Database;
  readonly local: LocalFiles;
}

async function agedFiles(
  { account, aging, database, local }: Work,
  table: DeltaTable,
  rule: AgingRule,
  struck: readonly Load[],
): Promise<{ files: AgedFile[]; units: Load[] }> {
  const files: AgedFile[] = [];
  const had = new Set<string>();
  const left = new Set<string>();
  const stays = staying(rule, aging.before);
  for (const { add, derived } of mainFiles(table, account)) {
    const rows = Number(add.tags?.['rows'] ?? 0);
    const age = rule.unit === undefined ? ageByStatistics(add, rule.column, aging.before) : undefined;
    if (age !== undefined) {
      files.push({ add, derived, rows, kept: age === 'new' ? rows : 0 });
      continue;
    }
    const address = await local.fetch(table.pathOf(add));
    files.push({ add, derived, rows, kept: await countRows(database, address, stays) });
    if (rule.unit !== undefined) {
      const counts = await database.rows(
        `SELECT ${rule.unit} AS unit, count(*) FILTER (${stays}) AS kept FROM ${readParquet([address])} GROUP BY unit`,
      );
      for (const { unit, kept } of counts) (kept === 0n ? had : left).add(String(unit));
    }
    await local.clear();
  }
  const units = rule.unit === undefined ? [] : emptied(table, account, aging, { had, left }, struck);
  return { files, units };
}

/** The units of a table that don't count any more once their rows are gone. */
function emptied(
  table: DeltaTable,
  account: string,
  aging: Aging,
  { had, left }: { had: ReadonlySet<string>; left: ReadonlySet<string> },
  struck: readonly Load[],
): Load[] {
  const earlier = new Set(struck.map(unitKey));
  return unitsOfTable(table, account).filter((unit) => {
    if (left.has(unit.loadKey)) return false;
    return !aging.outlives(unit.loadKey, had.has(unit.loadKey) || earlier.has(unitKey(unit)));
  });
}

/** Whether the log's statistics say that all of a file's rows stay, or that all go; undefined where they don't tell. */
function ageByStatistics(add: Add, column: string, before: number): 'new' | 'old' | undefined {
  const stats = JSON.parse(add.stats ?? '{}') as Partial<Record<'minValues' | 'maxValues', Record<string, string>>> & {
    nullCount?: Record<string, number>;
  };
  const min = Date.parse(stats.minValues?.[column] ?? '');
  const max = Date.parse(stats.maxValues?.[column] ?? '');
  if (min >= before) return 'new';
  return max < before && stats.nullCount?.[column] === 0 ? 'old' : undefined;
}

async function removeRows(work: Work, { table, rule, files }: AgedTable, gone: ReadonlySet<string>, clock: Clock) {
  const whole = files.filter(({ kept, rows }) => kept === 0 && rows > 0).map(({ add }) => add);
  if (whole.length > 0) await exchangeFiles(work.lake, clock, table, whole, []);
  for (const { add, derived, kept, rows } of files) {
    const pipeline = add.tags?.['pipeline'] ?? '';
    // A file repeats the units that it was read with, those too whose rows lie in another file.
    const units = loadKeysOf(add).filter((loadKey) => !gone.has(unitKey({ pipeline, loadKey })));
    if (whole.includes(add) || (kept === rows && units.length === loadKeysOf(add).length)) continue;
    const made = await rewritten(work, { table, rule, add, derived, units, now: clock.now() });
    await exchangeFiles(work.lake, clock, table, [add], made);
  }
}

function exchangeFiles(lake: Lake, clock: Clock, table: DeltaTable, old: readonly Add[], files: readonly NewFile[]) {
  return commitTransaction(lake, clock, {
    operation: 'DELETE',
    main: table.schema,
    files,
    decide: (snapshot) => {
      const held = old.filter(({ path }) => snapshot.files.has(path));
      return held.length === 0 ? undefined : { replaced: held, actions: [] };
    },
  });
}

interface Rewriting {
  readonly table: DeltaTable;
  readonly rule: AgingRule;
  readonly add: Add;
  /** The derived files that it names. */
  readonly derived: readonly string[];
  /** Those of its units that still count. */
  readonly units: readonly string[];
  readonly now: number;
}

/** A main table's file and its derived ones, made anew without the rows that go. */
async function rewritten(
  { lake, aging, database, local }: Work,
  { table, rule, add: old, derived, units, now }: Rewriting,
): Promise<NewFile[]> {
  // Where a unit goes, the old label may name it.
  const relabel = (key: string, value: string) =>
    units.length < loadKeysOf(old).length ? relabelled(key, value, label(units)) : value;
  const make = async (of: DeltaTable, add: Add) => {
    const target = local.fresh();
    const source = await local.fetch(of.pathOf(add));
    const file = await rewriteFile(database, of.schema, { source, target }, staying(rule, aging.before), relabel);
    return { of, add, target, file: { ...file, bytes: await bytesOf(file) } };
  };

  const made = [await make(table, old)];
  for (const path of derived) {
    const of = lake.table(path.split('/')[0] ?? '');
    const add = of.fileAt(path);
    if (add !== undefined) made.push(await make(of, add));
  }
  // No file without a row, as a slice makes none.
  const filled = made.filter(({ file }) => file.rows > 0);
  const targets = filled.filter(({ of }) => of !== table).map(({ target }) => target);
  const tags = { ...(await rule.tags(database, old, targets)), units: JSON.stringify(units) };
  const files = filled.map(({ of, add, file }) => newFile(of, add, file, tags, now));
  await local.clear();
  return files;
}

/** A file in the place of an old one, under the old name with its own hash. */
function newFile(
  { schema }: DeltaTable,
  old: Add,
  { bytes, rows, stats }: LocalParquet & { readonly bytes: Uint8Array },
  tags: Readonly<Record<string, string>>,
  now: number,
): NewFile {
  const content = contentOf(bytes);
  const add = addOf(
    {
      path: old.path.replace(/(-[0-9a-f]{16})?(-\d+)?\.parquet$/, `-${content.sha256.slice(0, 16)}.parquet`),
      partitionValues: old.partitionValues,
      dataChange: true,
      ...{ content, rows, stats, tags: { ...old.tags, ...tags } },
    },
    now,
  );
  return { table: schema, add, read: () => Promise.resolve(bytes) };
}

/** SQL: true for the rows that stay. */
function staying({ column }: AgingRule, before: number): string {
  return `coalesce(${column} >= ${timestampLiteral(before)}, true)`;
}

/** Key-value metadata with another window, where it tells the window. */
function relabelled(key: string, value: string, window: string): string {
  if (key === 'ledgerlake.window') return window;
  if (key !== 'ledgerlake') return value;
  return JSON.stringify({ ...(JSON.parse(value) as Record<string, unknown>), window });
}

/** For people, in a file's metadata. */
function label([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

function unitsOfTable(table: DeltaTable, account: string): Load[] {
  return [...table.snapshot.txnsOf(account)].flatMap(({ appId }) => {
    const read = parseAppId(appId);
    return read === undefined ? [] : [{ pipeline: read.pipeline, loadKey: read.loadKey }];
  });
}

/** A pipeline's name has no slash. */
function unitKey({ pipeline, loadKey }: Load): string {
  return `${pipeline}/${loadKey}`;
}

function readKey(key: string): Load {
  const slash = key.indexOf('/');
  return { pipeline: key.slice(0, slash), loadKey: key.slice(slash + 1) };
}
