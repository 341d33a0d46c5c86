import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { numberOrNull, textOrNull } from '../../../core/text/rows.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import { settlementSummaries, transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { settlementsByDate, totalFault } from '../../settlements/settlements.js';
import { isTable, type StagedCheck, type CheckContext, type Comparison, type TableRows } from '../common/check.js';
import groupPayments from '../statements/group-payments.sql';
import { netSumsOf } from './group-totals.js';
import { groupKey } from '../common/index-tables.js';
import paid from '../statements/paid.sql';
import { statementOver } from '../common/readable-files.js';
import settlementPayments from '../statements/settlement-payments.sql';
import summaryRows from '../statements/summaries.sql';

export const paidTotalsCheck: StagedCheck = {
  name: 'paid-totals',
  about: 'paid transactions of each closed group add up to the same',
  counts: 'groups',
  rows: [
    {
      appliesTo: isTable(transactions),
      check: ({ files }, { index, database }) => index.addSums('paid', paid, files, database),
    },
  ],
  across: checkPaid,
};

export const netProceedsCheck: StagedCheck = {
  name: 'net-proceeds',
  about: 'and those of each settlement to its net proceeds',
  counts: 'settlements',
  rows: [{ appliesTo: isTable(settlementSummaries), check: collectSummaries }],
  across: checkProceeds,
};

/** Collects the net proceeds of settlements from files with summaries. */
async function collectSummaries({ files }: TableRows, { database, contents }: CheckContext): Promise<void> {
  for (const { file, path } of files) {
    const rows = await database.rows(statementOver({ settlement_summaries: `FROM ${rowsIn([path])}` }, summaryRows));
    for (const row of rows) {
      const id = String(row['settlement_id']);
      const [start, end] = [numberOrNull(row['starts']), numberOrNull(row['ends'])];
      const [total, currency] = [textOrNull(row['net']), textOrNull(row['currency'])];
      const location = {
        table: file.table,
        file: file.file,
        slice: loadKeyFor('settlement', id),
        account: file.account,
      };
      contents.summaries.push({ ...location, id, start, end, total, currency });
    }
  }
}

const notCompared =
  "not compared: the lake has nothing by date of the settlement's first days, which `forget` may have removed";

/** Compares what transactions paid with the totals of closed groups, where all of their days are loaded. */
async function checkPaid(comparison: Comparison): Promise<void> {
  const { settlements, forgotten, database, certificate } = comparison;
  const isLoaded = settlementsByDate(comparison);
  const byGroup = await netSumsOf(groupPayments, database);
  for (const settlement of settlements) {
    if (!settlement.isClosed || !isLoaded(settlement)) continue;
    const fault = totalFault(settlement, byGroup.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined && forgotten.reaches(settlement)) {
      certificate.add(paidTotalsCheck, 'note', settlement, notCompared);
      continue;
    }
    certificate.count(paidTotalsCheck);
    if (fault !== undefined) certificate.add(paidTotalsCheck, 'upstream', settlement, `paid transactions: ${fault}`);
  }
}

/** Compares what transactions paid with the summaries of settlements, where all of their days are loaded. */
async function checkProceeds(comparison: Comparison): Promise<void> {
  const { summaries, forgotten, database, certificate } = comparison;
  const isLoaded = settlementsByDate(comparison);
  const bySettlement = await netSumsOf(settlementPayments, database);
  for (const summary of summaries) {
    if (summary.total === null || !isLoaded(summary)) continue;
    const sums = bySettlement.get(groupKey(summary.account, summary.id)) ?? [];
    const paid = millionths(sums.find(({ currency }) => currency === summary.currency)?.net ?? '0');
    const expected = millionths(summary.total);
    if (paid !== expected && forgotten.reaches(summary)) {
      certificate.add(netProceedsCheck, 'note', summary, notCompared);
      continue;
    }
    certificate.count(netProceedsCheck);
    if (paid === expected) continue;
    const [found, wanted, apart] = [paid, expected, paid - expected].map(millionthsText);
    const of = summary.currency ?? 'no currency';
    const problem = `paid transactions are ${found ?? ''} ${of}, net proceeds ${wanted ?? ''}: ${apart ?? ''} apart`;
    certificate.add(netProceedsCheck, 'upstream', summary, problem);
  }
}
