import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { settlementsByDate } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { settlementKey } from '../common/index-tables.js';
import { notComparedText, paidPipelines } from '../common/paid-settlements.js';

export const netProceedsCheck: CheckDefinition = {
  name: 'net-proceeds',
  about: 'and those of each settlement to its net proceeds',
  counts: 'settlements',
  across: checkProceeds,
};

/** Compares what transactions paid with the summaries of settlements, where all of their days are loaded. */
async function checkProceeds(comparison: Comparison): Promise<void> {
  const { summaries, isForgotten, index, certificate } = comparison;
  const isLoaded = settlementsByDate(comparison, paidPipelines);
  const bySettlement = await index.netSums(transactions, 'settlement_id');
  for (const summary of summaries) {
    if (summary.total === null || !isLoaded(summary)) continue;
    const sums = bySettlement.get(settlementKey(summary.account, summary.id)) ?? [];
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
