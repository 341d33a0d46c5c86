import type { Database } from '../../core/duckdb/connection.js';
import type { Cell } from '../../core/text/rows.js';
import { uncovered, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import type { Certificate, Place } from './certificate.js';
import { groupKey, type IndexTables } from './index-tables.js';
import { byDate, byGroup, listing } from './main-tables.js';
import { parquet, type ReadableFile } from './file-contents.js';
import { readWindows } from './loaded-windows.js';
import type { LogFile } from './log-files.js';
import { totalFault, type NetSum, type SettlementMoney } from './settlement-total.js';

/** A settlement as its listing has it. */
export interface Settlement extends Place, SettlementMoney {
  readonly account: string;
  readonly id: string;
  readonly isClosed: boolean;
  /** Milliseconds since 1970. */
  readonly start: number | null;
  readonly end: number | null;
}

/** Reads the groups of a file. */
export async function settlementsOf(
  { file, path }: ReadableFile,
  database: Database,
  signal: AbortSignal,
): Promise<Settlement[]> {
  return settlementsFrom(parquet(path), file, database, signal);
}

/** Reads the groups of one account that a FROM clause gives, in its order. */
export async function settlementsFrom(
  source: string,
  { table, file, account }: Pick<LogFile, 'table' | 'file' | 'account'>,
  database: Database,
  signal: AbortSignal | undefined,
): Promise<Settlement[]> {
  const rows = await database.rows(
    'SELECT group_id, processing_status, epoch_ms(started_at) AS started, epoch_ms(ended_at) AS ended, ' +
      'original_total::VARCHAR AS total, original_currency, beginning_balance::VARCHAR AS beginning, ' +
      `beginning_currency FROM ${source}`,
    { signal },
  );
  return rows.map((row) => ({
    table,
    file,
    slice: `group/${textOrNull(row['group_id']) ?? ''}`,
    account,
    id: textOrNull(row['group_id']) ?? '',
    isClosed: row['processing_status'] === 'Closed' || (row['ended'] ?? null) !== null,
    start: numberOrNull(row['started']),
    end: numberOrNull(row['ended']),
    currency: textOrNull(row['original_currency']),
    total: textOrNull(row['total']),
    beginning: textOrNull(row['beginning']),
    beginningCurrency: textOrNull(row['beginning_currency']),
  }));
}

const byGroupTables = [listing.table, byGroup.table, byGroup.entries ?? ''];

/** What of the lake can be compared: files that are off would only bring findings that are none. */
export interface Comparable {
  readonly lake: Lake;
  readonly settlements: readonly Settlement[];
  /** Files whose rows could not be read. */
  readonly damaged: readonly LogFile[];
  /** Tables with files that the log doesn't make clear. */
  readonly obscure: ReadonlySet<string>;
}

/** The closed settlements whose events were all read by group, after they had closed. */
export function loadedSettlements({ lake, settlements, damaged, obscure }: Comparable): Settlement[] {
  if (byGroupTables.some((table) => obscure.has(table))) return [];
  const off = new Set(
    damaged.filter(({ table }) => table === byGroup.table || table === byGroup.entries).flatMap(({ units }) => units),
  );
  const read = new Map<string, ReturnType<Lake['loadKeys']>>();
  return settlements.filter(({ account, slice, isClosed, end }) => {
    const units = read.get(account) ?? lake.loadKeys(byGroup.pipeline, byGroup.table, account);
    read.set(account, units);
    const unit = units.get(slice);
    // What was read while the group was open isn't all of it.
    return isClosed && unit !== undefined && !off.has(slice) && (unit.lastUpdated ?? Infinity) >= (end ?? 0);
  });
}

/** Those of the settlements whose rows are all there: places are counted from 0, and some may have been forgotten. */
export async function wholeSettlements(
  settlements: readonly Settlement[],
  index: IndexTables,
  certificate: Certificate,
): Promise<Settlement[]> {
  const broken = await index.brokenGroups();
  return settlements.filter((settlement) => {
    const isWhole = !broken.has(groupKey(settlement.account, settlement.id));
    if (!isWhole)
      certificate.add('group-totals', 'note', settlement, 'not compared: events of the group were forgotten');
    return isWhole;
  });
}

/** What the lake holds by date, for an account: windows whose files are whole, in order. */
export function datedWindows({ lake, damaged, obscure }: Comparable, account: string): Window[] {
  if (obscure.has(byDate.table) || obscure.has(byDate.entries ?? '')) return [];
  const off = new Set(
    damaged.filter(({ table }) => table === byDate.table || table === byDate.entries).flatMap(({ units }) => units),
  );
  return readWindows(lake, byDate, account).flatMap((window) =>
    typeof window === 'string' || off.has(window.unit) ? [] : [window],
  );
}

/** Whether windows cover all of a settlement. */
export function isCovered({ start, end }: Settlement, windows: readonly Window[]): boolean {
  return start !== null && end !== null && start < end && uncovered({ start, end }, windows).length === 0;
}

/** Whether every group that could hold a settlement's neighbours is loaded too: those of its time and currency. */
export function isAlone(settlement: Settlement, comparable: Comparable, loaded: ReadonlySet<Settlement>): boolean {
  const { start, end, account, currency } = settlement;
  if (currency === null || start === null || end === null || damagedByGroup(comparable)) return false;
  return comparable.settlements.every(
    (other) =>
      other.account !== account ||
      loaded.has(other) ||
      (other.currency !== null && other.currency !== currency) ||
      (other.start !== null && other.start >= end) ||
      (other.end !== null && other.end <= start),
  );
}

function damagedByGroup({ damaged }: Comparable): boolean {
  return damaged.some(({ table }) => byGroupTables.includes(table));
}

/** Holds the net sum of each loaded settlement against its total, to the millionth. */
export async function checkTotals(
  settlements: readonly Settlement[],
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const nets = new Map<string, NetSum[]>();
  const sums =
    'SELECT account, group_id, currency, sum(net)::VARCHAR AS net, sum(inexact) AS inexact, sum(unknown) AS unknown ' +
    'FROM nets GROUP BY account, group_id, currency ORDER BY ALL';
  for (const row of await database.rows(sums, { signal })) {
    const key = groupKey(String(row['account']), String(row['group_id']));
    nets.set(key, [
      ...(nets.get(key) ?? []),
      {
        currency: textOrNull(row['currency']),
        net: textOrNull(row['net']),
        inexact: Number(row['inexact']),
        unknown: Number(row['unknown']),
      },
    ]);
  }
  for (const settlement of settlements) {
    certificate.count('group-totals');
    const found = nets.get(groupKey(settlement.account, settlement.id)) ?? [];
    const fault = totalFault(settlement, found);
    if (fault !== undefined) certificate.add('group-totals', 'upstream', settlement, fault);
  }
}

function textOrNull(cell: Cell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}

function numberOrNull(cell: Cell | undefined): number | null {
  return cell === null || cell === undefined ? null : Number(cell);
}
