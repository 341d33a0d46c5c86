import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { numberOrNull, textOrNull } from '../../../core/text/rows.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import { settlementSummaries } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { settlementsByDate } from '../../settlements/settlements.js';
import type { CheckContext, CheckDefinition, Comparison } from '../common/check.js';
import { statementOver, type TableFiles } from '../common/checked-files.js';
import { groupKey } from '../common/index-tables.js';
import settlementPayments from '../statements/settlement-payments.sql';
import summaryRows from '../statements/summaries.sql';
import { notComparedText } from './paid-totals.js';

export const netProceedsCheck: CheckDefinition = {
  name: 'net-proceeds',
  about: 'and those of each settlement to its net proceeds',
  counts: 'settlements',
  files: collectSummaries,
  across: checkProceeds,
};

/** Collects the net proceeds of settlements from files with summaries. */
async function collectSummaries({ schema, files }: TableFiles, { database, summaries }: CheckContext): Promise<void> {
  if (schema.name !== settlementSummaries.name) return;
  for (const { table, file, account, path } of files) {
    const rows = await database.rows(statementOver({ settlement_summaries: `FROM ${rowsIn([path])}` }, summaryRows));
    for (const row of rows) {
      const id = String(row['settlement_id']);
      const [start, end] = [numberOrNull(row['starts']), numberOrNull(row['ends'])];
      const [total, currency] = [textOrNull(row['net']), textOrNull(row['currency'])];
      const slice = loadKeyFor('settlement', id);
      summaries.push({ table, file, slice, account, id, start, end, total, currency });
    }
  }
}

/** Compares what transactions paid with the summaries of settlements, where all of their days are loaded. */
async function checkProceeds(comparison: Comparison): Promise<void> {
  const { summaries, isForgotten, index, certificate } = comparison;
  const isLoaded = settlementsByDate(comparison);
  const bySettlement = await index.netSums(settlementPayments);
  for (const summary of summaries) {
    if (summary.total === null || !isLoaded(summary)) continue;
    const sums = bySettlement.get(groupKey(summary.account, summary.id)) ?? [];
    const paid = millionths(sums.find(({ currency }) => currency === summary.currency)?.net ?? '0');
    const expected = millionths(summary.total);
    if (paid !== expected && isForgotten(summary)) {
      certificate.add(netProceedsCheck, 'note', summary, notComparedText);
      continue;
    }
    certificate.count(netProceedsCheck);
    if (paid === expected) continue;
    const [found, wanted, apart] = [paid, expected, paid - expected].map(millionthsText);
    const currencyText = summary.currency ?? 'no currency';
    const problem = `paid transactions are ${found ?? ''} ${currencyText}, net proceeds ${wanted ?? ''}: ${apart ?? ''} apart`;
    certificate.add(netProceedsCheck, 'upstream', summary, problem);
  }
}
