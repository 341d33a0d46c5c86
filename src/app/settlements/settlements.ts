import type { Database } from '../../core/duckdb/connection.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import { formatCount } from '../../core/text/amounts.js';
import { numberOrNull, textOrNull, type ResultCell } from '../../core/text/rows.js';
import { contains, overlap, uncovered, type Window } from '../../core/windows.js';
import { loadedWindows, windowKey } from '../../engine/slicing/window-slices.js';
import { loadKeyFor, refusedAfter } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import { tablesOf, type PipelineTables } from '../../core/columns/table.js';

/** A settlement as the listing of groups describes it. */
export interface Settlement {
  readonly account: string;
  /** The table and the file of the lake that it was read from. */
  readonly table: string;
  readonly file: string;
  /** `group/…`. */
  readonly loadKey: string;
  readonly id: string;
  readonly isClosed: boolean;
  /** Milliseconds since 1970. */
  readonly start: number | null;
  readonly end: number | null;
  readonly currency: string | null;
  /** Decimal texts. */
  readonly total: string | null;
  readonly beginning: string | null;
  readonly beginningCurrency: string | null;
  /** The state of its payout in the service's words: `Succeeded`, `Failed`; null where there is none yet. */
  readonly payoutStatus: string | null;
  /** Milliseconds since 1970. */
  readonly paidAt: number | null;
  /** Identifier of its transfer. */
  readonly traceId: string | null;
  /** Its total in the currency of the bank account, a decimal text. */
  readonly convertedTotal: string | null;
  readonly convertedCurrency: string | null;
}

/** Reads the groups of one account by the statement of `settlements.sql`, in its order. */
export async function settlementsFrom(
  statement: string,
  { table, file, account }: Pick<Settlement, 'table' | 'file' | 'account'>,
  database: Database,
  signal?: AbortSignal,
): Promise<Settlement[]> {
  const rows = await database.rows(statement, { signal, parameters: { account } });
  return rows.map((row) => settlementOf(row, { table, file, account }));
}

/** The settlement of a row of `settlements.sql`. */
export function settlementOf(
  row: Readonly<Record<string, ResultCell>>,
  { table, file, account }: Pick<Settlement, 'table' | 'file' | 'account'>,
): Settlement {
  const id = textOrNull(row['group_id']) ?? '';
  return {
    table,
    file,
    loadKey: loadKeyFor('group', id),
    account,
    id,
    isClosed: row['processing_status'] === 'Closed' || (row['ended'] ?? null) !== null,
    start: numberOrNull(row['started']),
    end: numberOrNull(row['ended']),
    currency: textOrNull(row['original_currency']),
    total: textOrNull(row['total']),
    beginning: textOrNull(row['beginning']),
    beginningCurrency: textOrNull(row['beginning_currency']),
    payoutStatus: textOrNull(row['fund_transfer_status']),
    paidAt: numberOrNull(row['paid']),
    traceId: textOrNull(row['trace_id']),
    convertedTotal: textOrNull(row['converted_total']),
    convertedCurrency: textOrNull(row['converted_currency']),
  };
}

const byGroupTables = [roles.settlements, roles.bySettlement].flatMap(tableNames);

/** A file whose rows can't be read. */
export interface UnreadableFile {
  readonly table: string;
  readonly account: string;
  /** Undefined where the log doesn't say which slices it has rows of. */
  readonly loadKeys: readonly string[] | undefined;
}

/**
 * What can be compared: comparisons that include damaged files would report differences that the service didn't cause.
 */
export interface Comparable {
  readonly lake: Lake;
  readonly settlements: readonly Settlement[];
  readonly damaged: readonly UnreadableFile[];
}

/** Files of an account in some tables: no account is judged by the damage of another. */
function ownFiles(files: readonly UnreadableFile[], tables: readonly string[], account: string): UnreadableFile[] {
  return files.filter((file) => file.account === account && tables.includes(file.table));
}

/** The closed settlements whose events were read by group after they had closed. */
export function loadedSettlements({ lake, settlements, damaged }: Comparable): Settlement[] {
  const accounts = new Map(
    Array.from(new Set(settlements.map(({ account }) => account)), (account) => [
      account,
      {
        loadKeys: lake.snapshot.keysOf(account, roles.bySettlement.name),
        damaged: damagedKeys(damaged, byGroupTables, account),
      },
    ]),
  );
  return settlements.filter(({ account, loadKey, isClosed, end }) => {
    const of = accounts.get(account);
    const loaded = of?.loadKeys.get(loadKey);
    if (of?.damaged === undefined || loaded === undefined || of.damaged.has(loadKey)) return false;
    if (refusedAfter(loaded.holes) !== undefined) return false;
    // Events that were read while the group was open may be incomplete.
    return isClosed && loaded.readAt >= (end ?? 0);
  });
}

/** The load keys of an account's damaged files in some tables; undefined where those of one are not known. */
function damagedKeys(
  damaged: readonly UnreadableFile[],
  tables: readonly string[],
  account: string,
): ReadonlySet<string> | undefined {
  const keys = ownFiles(damaged, tables, account).map(({ loadKeys }) => loadKeys);
  return keys.includes(undefined) ? undefined : new Set(keys.flatMap((of = []) => of));
}

function tableNames(pipeline: PipelineTables): readonly string[] {
  return tablesOf(pipeline).map(({ name }) => name);
}

/** The windows of a pipeline that are loaded by date for an account and whose files are whole, in order. */
export function datedWindows(comparable: Comparable, pipeline: PipelineTables, account: string): Window[] {
  const damaged = damagedKeys(comparable.damaged, tableNames(pipeline), account);
  if (damaged === undefined) return [];
  return loadedWindows(comparable.lake, pipeline.name, account).filter((window) => !damaged.has(windowKey(window)));
}

/** Tells of which settlements every day is loaded by pipelines whose amounts by date name their settlement. */
export function settlementsByDate(
  comparable: Comparable,
  pipelines: readonly FinancesPipeline[] = roles.byDate.filter((pipeline) => pipeline !== roles.events),
): (settlement: Pick<Settlement, 'account' | 'start' | 'end'>) => boolean {
  const windows = new Map<string, readonly Window[]>();
  return (settlement) => {
    const { account } = settlement;
    const loaded = windows.get(account) ?? pipelines.flatMap((pipeline) => datedWindows(comparable, pipeline, account));
    windows.set(account, loaded);
    return isSettlementCovered(settlement, loaded);
  };
}

/** Whether windows cover all of a settlement. */
export function isSettlementCovered(
  { start, end }: Pick<Settlement, 'start' | 'end'>,
  windows: readonly Window[],
): boolean {
  return start !== null && end !== null && start < end && uncovered({ start, end }, windows).length === 0;
}

/** Whether every group of a settlement's time and currency is loaded too: any of them could hold one of its events. */
export function isAlone(settlement: Settlement, comparable: Comparable, loaded: ReadonlySet<Settlement>): boolean {
  const { start, end, account, currency } = settlement;
  if (currency === null || start === null || end === null) return false;
  if (ownFiles(comparable.damaged, byGroupTables, account).length > 0) return false;
  return comparable.settlements.every(
    (other) =>
      other.account !== account ||
      loaded.has(other) ||
      (other.currency !== null && other.currency !== currency) ||
      (other.start !== null && other.start >= end) ||
      (other.end !== null && other.end <= start),
  );
}

/** The net amounts of one settlement in one currency. */
export interface NetSum {
  readonly currency: string | null;
  /** Decimal text; null where there is no net amount. */
  readonly net: string | null;
  /** Number of net amounts that DECIMAL(18,6) can't hold and the sum therefore lacks. */
  readonly inexact: number;
  /** Number of amounts of unknown role, which the sum lacks. */
  readonly unknown: number;
}

/**
 * Returns how the net sums of a closed settlement differ from its total, to the millionth; undefined where they are
 * equal.
 */
export function totalFault(
  { total, beginning, currency, beginningCurrency }: Settlement,
  nets: readonly NetSum[],
): string | undefined {
  if (total === null) return 'the group is closed and has no OriginalTotal';
  if (nets.some(({ inexact }) => inexact > 0)) return 'net amounts do not fit DECIMAL(18,6): they cannot be added up';
  if (beginning !== null && beginningCurrency !== currency) {
    return `OriginalTotal is in ${currency ?? 'none'}, BeginningBalance in ${beginningCurrency ?? 'none'}`;
  }
  const expected = millionths(total) - millionths(beginning ?? '0');
  const net = millionths(nets.find((sum) => sum.currency === currency)?.net ?? '0');
  const foreign = nets.filter((sum) => sum.currency !== currency && millionths(sum.net ?? '0') !== 0n);
  const unknown = nets.reduce((sum, { unknown: more }) => sum + more, 0);
  const hint = unknown === 0 ? '' : `; ${formatCount(unknown, 'amount')} at paths of unknown role`;
  const currencyText = currency ?? 'no currency';
  if (net !== expected) {
    const [found, wanted, apart] = [net, expected, net - expected].map(millionthsText);
    return `net is ${found ?? ''} ${currencyText}, total less beginning balance ${wanted ?? ''}: ${apart ?? ''} apart${hint}`;
  }
  if (foreign.length === 0) return undefined;
  return `the group is in ${currencyText} and has net amounts in ${foreign.map((sum) => sum.currency ?? 'none').join(', ')}`;
}

/** Whether a settlement overlaps a range, or its transfer was in it. */
export function isSettlementIn({ start, end, paidAt }: Settlement, range: Window): boolean {
  const isOverlapping = start !== null && overlap({ start, end: end ?? Infinity }, range);
  return isOverlapping || (paidAt !== null && contains(range, paidAt));
}
