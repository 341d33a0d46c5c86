import { transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { settlementsByDate, totalFault } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { settlementKey } from '../common/index-tables.js';
import { notComparedText, paidPipelines } from '../common/paid-settlements.js';

export const paidTotalsCheck: CheckDefinition = {
  name: 'paid-totals',
  about: 'paid transactions of each closed group add up to the same',
  counts: 'groups',
  across: checkPaid,
};

/** Compares what transactions paid with the totals of closed groups, where all of their days are loaded. */
async function checkPaid(comparison: Comparison): Promise<void> {
  const { settlements, isForgotten, index, certificate } = comparison;
  const isLoaded = settlementsByDate(comparison, paidPipelines);
  const byGroup = await index.netSums(transactions, 'group_id');
  for (const settlement of settlements) {
    if (!settlement.isClosed || !isLoaded(settlement)) continue;
    const fault = totalFault(settlement, byGroup.get(settlementKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined && isForgotten(settlement)) {
      certificate.add(paidTotalsCheck, 'note', settlement, notComparedText);
      continue;
    }
    certificate.count(paidTotalsCheck);
    if (fault !== undefined) certificate.add(paidTotalsCheck, 'upstream', settlement, `paid transactions: ${fault}`);
  }
}
