import { rowsIn } from '../../../lake/files/local-parquet.js';
import { groupEntries, groups } from '../../../sources/finances/api-v0/event-tables.js';
import { settlementsFrom, totalFault } from '../../settlements/settlements.js';
import settlementRows from '../../settlements/settlements.sql';
import type { CheckContext, CheckDefinition, Comparison } from '../common/check.js';
import { statementOver, type CheckedFile } from '../common/checked-files.js';
import groupNets from '../statements/group-nets.sql';
import { groupKey, rowsOfAccount } from '../common/index-tables.js';
import nets from '../statements/nets.sql';

export const groupTotalsCheck: CheckDefinition = {
  name: 'group-totals',
  about: 'net of each closed group equals its total less its beginning balance',
  counts: 'groups',
  files: async ({ schema, files }, context) => {
    if (schema.name === groupEntries.name) await context.index.addSums('nets', nets, files, context.database);
    else if (schema.name === groups.name) await collectSettlements(files, context);
  },
  across: checkTotals,
};

/** Collects settlements from files with groups. */
async function collectSettlements(
  files: readonly CheckedFile[],
  { database, settlements }: CheckContext,
): Promise<void> {
  for (const file of files) {
    const statement = statementOver({ groups: rowsOfAccount(file.account, rowsIn([file.path])) }, settlementRows);
    settlements.push(...(await settlementsFrom(statement, file, database)));
  }
}

/** Compares the net sum of each loaded settlement with its total, to the millionth. */
async function checkTotals({ loaded, index, certificate }: Comparison): Promise<void> {
  const nets = await index.netSums(groupNets);
  for (const settlement of loaded) {
    certificate.count(groupTotalsCheck);
    const fault = totalFault(settlement, nets.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined) certificate.add(groupTotalsCheck, 'upstream', settlement, fault);
  }
}
