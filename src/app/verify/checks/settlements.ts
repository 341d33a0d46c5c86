import type { Database } from '../../../core/duckdb/connection.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { numberOrNull, textOrNull, type ResultCell } from '../../../core/text/rows.js';
import { joined, uncovered, type Window } from '../../../core/windows.js';
import type { Lake } from '../../../lake/lake.js';
import { damagedNote, readForgottenNote } from '../../../lake/upkeep/erasure.js';
import type { CheckContext, ProblemLocation } from './certificate.js';
import { groupKey, type IndexTables } from './index-tables.js';
import { loadedWindows } from './loaded-windows.js';
import type { FileOwner, LogFile } from './log-files.js';
import { byDate, byGroup, listing, type PipelineTable } from './main-tables.js';
import groupNets from './group-nets.sql';
import lackingByDate from './lacking-by-date.sql';
import lackingByGroup from './lacking-by-group.sql';

/** A settlement as the listing of groups describes it. */
export interface Settlement extends ProblemLocation {
  readonly account: string;
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
}

/** Reads the groups of one account by the statement of `settlements.sql`, in its order. */
export async function settlementsFrom(
  statement: string,
  { table, file, account }: Pick<LogFile, 'table' | 'file' | 'account'>,
  database: Database,
  signal?: AbortSignal,
): Promise<Settlement[]> {
  const rows = await database.rows(statement, { signal, parameters: { account } });
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
    payoutStatus: textOrNull(row['fund_transfer_status']),
    paidAt: numberOrNull(row['paid']),
  }));
}

const byGroupTables = [listing.table, byGroup.table, byGroup.entries ?? ''];

/**
 * What can be compared: comparisons that include damaged files would report differences that the service didn't cause.
 */
export interface Comparable {
  readonly lake: Lake;
  readonly settlements: readonly Settlement[];
  /** Files whose rows can't be read. */
  readonly damaged: readonly LogFile[];
  /** The owners of files whose tags can't be understood. */
  readonly obscure: readonly FileOwner[];
}

/** Files of an account in some tables: no account is judged by the damage of another. */
function ownFiles<T extends FileOwner>(files: readonly T[], tables: readonly string[], account: string): T[] {
  return files.filter((file) => file.account === account && tables.includes(file.table));
}

/** The closed settlements whose events were read by group after they had closed. */
export function loadedSettlements({ lake, settlements, damaged, obscure }: Comparable): Settlement[] {
  const accounts = new Map(
    Array.from(new Set(settlements.map(({ account }) => account)), (account) => [
      account,
      {
        loadKeys: lake.loadKeys(byGroup.pipeline, account),
        damagedKeys: damagedKeys(damaged, byGroup, account),
        isObscure: ownFiles(obscure, byGroupTables, account).length > 0,
      },
    ]),
  );
  return settlements.filter(({ account, slice, isClosed, end }) => {
    const of = accounts.get(account);
    const loaded = of?.loadKeys.get(slice);
    if (of === undefined || loaded === undefined || of.isObscure || of.damagedKeys.has(slice)) return false;
    // Events that were read while the group was open may be incomplete.
    return isClosed && loaded.readAt >= (end ?? 0);
  });
}

function damagedKeys(damaged: readonly LogFile[], main: PipelineTable, account: string): ReadonlySet<string> {
  return new Set(ownFiles(damaged, tablesOf(main), account).flatMap(({ loadKeys }) => loadKeys));
}

function tablesOf({ table, entries = '' }: PipelineTable): readonly string[] {
  return [table, entries];
}

/** What `forget --before` has removed of accounts, and no run has read again since. */
export interface Forgotten {
  /** Whether a period began where rows were forgotten, and before all that the lake has of the account by date. */
  reaches(period: Pick<Settlement, 'account' | 'start'>): boolean;
  /** Whether a settlement that was read by group lacks events: positions count from 0 without a gap. */
  lacksEvents(settlement: Settlement): boolean;
}

export async function forgottenIn(
  { store }: Lake,
  accounts: readonly string[],
  index: IndexTables,
  { certificate }: CheckContext,
): Promise<Forgotten> {
  const before = new Map<string, number>();
  for (const account of accounts) {
    const note = await readForgottenNote(store, account);
    if (note.before !== undefined) before.set(account, note.before);
    if (note.isDamaged) certificate.add('log-tags', 'note', { table: '', file: note.path, slice: '' }, damagedNote);
  }
  if (before.size === 0) return { reaches: () => false, lacksEvents: () => false };
  const [groups, oldest] = [await index.groups(), await index.oldest()];
  const reaches: Forgotten['reaches'] = ({ account, start }) =>
    start !== null && start < Math.min(oldest.get(account) ?? Infinity, before.get(account) ?? -Infinity);
  const lacksEvents = (settlement: Settlement) => {
    if (!before.has(settlement.account)) return false;
    const key = groupKey(settlement.account, settlement.id);
    return groups.get(key) ?? (reaches(settlement) && totalFault(settlement, []) !== undefined);
  };
  return { reaches, lacksEvents };
}

/** The settlements that have all of their rows: of others some were forgotten. */
export function wholeSettlements(
  settlements: readonly Settlement[],
  forgotten: Forgotten,
  { certificate }: CheckContext,
): Settlement[] {
  return settlements.filter((settlement) => {
    if (!forgotten.lacksEvents(settlement)) return true;
    const problem = 'not compared: it lacks events, which `forget` may have removed';
    certificate.add('group-totals', 'note', settlement, problem);
    return false;
  });
}

/** The windows of a main table that are loaded by date for an account and whose files are whole, in order. */
export function datedWindows(comparable: Comparable, main: PipelineTable, account: string): Window[] {
  const { lake, damaged, obscure } = comparable;
  if (ownFiles(obscure, tablesOf(main), account).length > 0) return [];
  const off = damagedKeys(damaged, main, account);
  return loadedWindows(lake, main, account).filter(({ loadKey }) => !off.has(loadKey));
}

/** Whether windows cover all of a settlement. */
export function isCovered({ start, end }: Pick<Settlement, 'start' | 'end'>, windows: readonly Window[]): boolean {
  return start !== null && end !== null && start < end && uncovered({ start, end }, windows).length === 0;
}

/** Whether every group of a settlement's time and currency is loaded too: any of them could hold one of its events. */
function isAlone(settlement: Settlement, comparable: Comparable, loaded: ReadonlySet<Settlement>): boolean {
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

/** Compares the net sum of each loaded settlement with its total, to the millionth. */
export async function checkTotals(settlements: readonly Settlement[], context: CheckContext): Promise<void> {
  const nets = await netSumsOf(groupNets, context);
  for (const settlement of settlements) {
    context.certificate.count('group-totals');
    const fault = totalFault(settlement, nets.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined) context.certificate.add('group-totals', 'upstream', settlement, fault);
  }
}

/** The rows of a statement with net sums, by `groupKey` of the account and the id. */
export async function netSumsOf(
  statement: string,
  { events }: CheckContext,
): Promise<ReadonlyMap<string, readonly NetSum[]>> {
  const nets = new Map<string, NetSum[]>();
  for (const row of await events.rows(statement)) {
    const key = groupKey(String(row['account']), String(row['id']));
    const [currency, net] = [textOrNull(row['currency']), textOrNull(row['net'])];
    const sum = { currency, net, inexact: Number(row['inexact']), unknown: Number(row['unknown']) };
    nets.set(key, [...(nets.get(key) ?? []), sum]);
  }
  return nets;
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
  const of = currency ?? 'no currency';
  if (net !== expected) {
    const [found, wanted, apart] = [net, expected, net - expected].map(millionthsText);
    return `net is ${found ?? ''} ${of}, total less beginning balance ${wanted ?? ''}: ${apart ?? ''} apart${hint}`;
  }
  if (foreign.length === 0) return undefined;
  return `the group is in ${of} and has net amounts in ${foreign.map((sum) => sum.currency ?? 'none').join(', ')}`;
}

/**
 * Compares the events read by date with those read by group, as multisets of `content_hash`, for the settlements that
 * lie wholly within windows read by date. An event of a group must be among those by date if its own date was read. A
 * dated event in a group's currency and time must be in that group or another; this is checked only where every group
 * of that time and currency is loaded.
 */
export async function compareByGroup(
  loaded: readonly Settlement[],
  comparable: Comparable,
  index: IndexTables,
  { events, certificate }: CheckContext,
): Promise<void> {
  const accounts = new Set(loaded.map(({ account }) => account));
  const windows = new Map([...accounts].map((account) => [account, datedWindows(comparable, byDate, account)]));
  const compared = loaded.filter((settlement) => isCovered(settlement, windows.get(settlement.account) ?? []));
  certificate.count('date-against-group', compared.length);
  if (compared.length === 0) return;

  const all = new Set(loaded);
  await fill(events, compared, (settlement) => isAlone(settlement, comparable, all), windows);
  const byKey = new Map(compared.map((settlement) => [groupKey(settlement.account, settlement.id), settlement]));
  const add = (row: Readonly<Record<string, ResultCell>>, { table }: PipelineTable, problem: string) => {
    const settlement = byKey.get(groupKey(String(row['account']), String(row['group_id'])));
    if (settlement === undefined) return;
    const { file } = index.file(row['file']);
    certificate.add('date-against-group', 'upstream', { table, file, slice: settlement.slice }, problem);
  };
  for (const row of await events.rows(lackingByDate)) {
    const lacking = `by date lacks ${formatCount(Number(row['events']), 'event')} that the group has`;
    add(row, byDate, `${lacking}, such as ${String(row['id'])}; read the dates again with --refresh`);
  }
  for (const row of await events.rows(lackingByGroup)) {
    const lacking = `no group has ${formatCount(Number(row['events']), 'event')} of its time and currency`;
    add(row, byGroup, `${lacking}, such as ${String(row['id'])}`);
  }
}

async function fill(
  database: Database,
  compared: readonly Settlement[],
  alone: (settlement: Settlement) => boolean,
  windows: ReadonlyMap<string, readonly Window[]>,
): Promise<void> {
  for (const settlement of compared) {
    const { account, id, currency, start, end } = settlement;
    await database.execute('INSERT INTO compared VALUES ($1, $2, $3, $4, $5, $6)', {
      parameters: [account, id, currency, BigInt(start ?? 0), BigInt(end ?? 0), alone(settlement)],
    });
  }
  for (const [account, ranges] of windows) {
    for (const { start, end } of joined(ranges)) {
      await database.execute('INSERT INTO covered VALUES ($1, $2, $3)', {
        parameters: [account, BigInt(start), BigInt(end)],
      });
    }
  }
}
