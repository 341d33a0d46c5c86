import type { Database } from '../../../core/duckdb/connection.js';
import { textOrNull } from '../../../core/text/rows.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import type { Lake } from '../../../lake/lake.js';
import { groupEntries, groups } from '../../../sources/finances/api-v0/event-tables.js';
import { settlementsFrom, totalFault, type NetSum, type Settlement } from '../../settlements/settlements.js';
import settlementRows from '../../settlements/settlements.sql';
import type { CertificateBuilder } from '../common/certificate.js';
import {
  isTable,
  type StagedCheck,
  type CheckContext,
  type Comparison,
  type Forgotten,
  type TableRows,
} from '../common/check.js';
import groupNets from '../statements/group-nets.sql';
import { groupKey, rowsOfAccount, type IndexTables } from '../common/index-tables.js';
import nets from '../statements/nets.sql';
import { statementOver } from '../common/readable-files.js';

export const groupTotalsCheck: StagedCheck = {
  name: 'group-totals',
  about: 'net of each closed group equals its total less its beginning balance',
  counts: 'groups',
  rows: [
    {
      appliesTo: isTable(groupEntries),
      check: ({ files }, { index, database }) => index.addSums('nets', nets, files, database),
    },
    { appliesTo: isTable(groups), check: collectSettlements },
  ],
  across: checkTotals,
};

/** Collects settlements from files with groups. */
async function collectSettlements({ files }: TableRows, { database, contents }: CheckContext): Promise<void> {
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
  certificate: CertificateBuilder,
): Settlement[] {
  return settlements.filter((settlement) => {
    if (!forgotten.lacksEvents(settlement)) return true;
    const problem = 'not compared: it lacks events, which `forget` may have removed';
    certificate.add(groupTotalsCheck, 'note', settlement, problem);
    return false;
  });
}

/** Compares the net sum of each loaded settlement with its total, to the millionth. */
async function checkTotals({ loaded, database, certificate }: Comparison): Promise<void> {
  const nets = await netSumsOf(groupNets, database);
  for (const settlement of loaded) {
    certificate.count(groupTotalsCheck);
    const fault = totalFault(settlement, nets.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined) certificate.add(groupTotalsCheck, 'upstream', settlement, fault);
  }
}

/** The rows of a statement with net sums, by `groupKey` of the account and the id. */
export async function netSumsOf(
  statement: string,
  database: Database,
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
