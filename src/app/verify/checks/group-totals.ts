import { formatCount } from '../../../core/text/amounts.js';
import type { Database } from '../../../core/duckdb/connection.js';
import { textOrNull, type ResultCell } from '../../../core/text/rows.js';
import { joined, type Window } from '../../../core/windows.js';
import type { Lake } from '../../../lake/lake.js';
import { roles } from '../../../../pipelines/all-pipelines.js';
import type { PipelineTables } from '../../../core/columns/table.js';
import {
  datedWindows,
  isAlone,
  isSettlementCovered,
  settlementsFrom,
  totalFault,
  type NetSum,
  type Settlement,
} from '../../settlements/settlements.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import type { CheckContext } from './certificate.js';
import type { CollectingContext, Comparison, Forgotten } from './comparison.js';
import { statementOver, type ReadableFile } from './file-contents.js';
import { groupKey, rowsOfAccount, type IndexTables } from './index-tables.js';
import settlementRows from '../../settlements/settlements.sql';
import groupNets from './group-nets.sql';
import lackingByDate from './lacking-by-date.sql';
import lackingByGroup from './lacking-by-group.sql';

const [events] = roles.byDate;

/** Collects settlements from files with groups. */
export async function collectSettlements(
  files: readonly ReadableFile[],
  { database, contents }: CollectingContext,
): Promise<void> {
  for (const { file, path } of files) {
    const statement = statementOver({ groups: rowsOfAccount(file.account, rowsIn([path])) }, settlementRows);
    contents.settlements.push(...(await settlementsFrom(statement, file, database)));
  }
}

export async function forgottenIn(
  { snapshot }: Lake,
  accounts: readonly string[],
  index: IndexTables,
): Promise<Forgotten> {
  const before = new Map<string, number>();
  for (const account of accounts) {
    const instant = snapshot.forgottenBefore(account);
    if (instant !== undefined) before.set(account, instant);
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

/** Compares the net sum of each loaded settlement with its total, to the millionth. */
export async function checkTotals({ loaded }: Comparison, context: CheckContext): Promise<void> {
  const nets = await netSumsOf(groupNets, context);
  for (const settlement of loaded) {
    context.certificate.count('group-totals');
    const fault = totalFault(settlement, nets.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined) context.certificate.add('group-totals', 'upstream', settlement, fault);
  }
}

/** The rows of a statement with net sums, by `groupKey` of the account and the id. */
export async function netSumsOf(
  statement: string,
  { database }: CheckContext,
): Promise<ReadonlyMap<string, readonly NetSum[]>> {
  const nets = new Map<string, NetSum[]>();
  for (const row of await database.rows(statement)) {
    const key = groupKey(String(row['account']), String(row['id']));
    const [currency, net] = [textOrNull(row['currency']), textOrNull(row['net'])];
    const sum = { currency, net, inexact: Number(row['inexact']), unknown: Number(row['unknown']) };
    nets.set(key, [...(nets.get(key) ?? []), sum]);
  }
  return nets;
}

/**
 * Compares the events read by date with those read by group, as multisets of `content_hash`, for the settlements that
 * lie wholly within windows read by date. An event of a group must be among those by date if its own date was read. A
 * dated event in a group's currency and time must be in that group or another; this is checked only where every group
 * of that time and currency is loaded.
 */
export async function compareByGroup(comparison: Comparison, { database, certificate }: CheckContext): Promise<void> {
  const { loaded, index } = comparison;
  const accounts = new Set(loaded.map(({ account }) => account));
  const windows = new Map([...accounts].map((account) => [account, datedWindows(comparison, events, account)]));
  const compared = loaded.filter((settlement) =>
    isSettlementCovered(settlement, windows.get(settlement.account) ?? []),
  );
  certificate.count('date-against-group', compared.length);
  if (compared.length === 0) return;

  const all = new Set(loaded);
  await fill(database, compared, (settlement) => isAlone(settlement, comparison, all), windows);
  const byKey = new Map(compared.map((settlement) => [groupKey(settlement.account, settlement.id), settlement]));
  const add = (row: Readonly<Record<string, ResultCell>>, { main }: PipelineTables, problem: string) => {
    const settlement = byKey.get(groupKey(String(row['account']), String(row['group_id'])));
    if (settlement === undefined) return;
    const { file } = index.file(row['file']);
    certificate.add('date-against-group', 'upstream', { table: main.name, file, slice: settlement.slice }, problem);
  };
  for (const row of await database.rows(lackingByDate)) {
    const lacking = `by date lacks ${formatCount(Number(row['events']), 'event')} that the group has`;
    add(row, events, `${lacking}, such as ${String(row['id'])}; read the dates again with --refresh`);
  }
  for (const row of await database.rows(lackingByGroup)) {
    const lacking = `no group has ${formatCount(Number(row['events']), 'event')} of its time and currency`;
    add(row, roles.bySettlement, `${lacking}, such as ${String(row['id'])}`);
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
