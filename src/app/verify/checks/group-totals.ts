import { groupEntries } from '../../../sources/finances/api-v0/event-tables.js';
import { totalFault } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { settlementKey } from '../common/index-tables.js';

export const groupTotalsCheck: CheckDefinition = {
  name: 'group-totals',
  about: 'net of each closed group equals its total less its beginning balance',
  counts: 'groups',
  verdict: 'closed group',
  across: checkTotals,
};

/** Compares the net sum of each loaded settlement with its total, to the millionth. */
async function checkTotals({ loaded, forgotten, index, certificate }: Comparison): Promise<void> {
  const problem = 'not compared: it lacks events, which `forget` may have removed';
  for (const settlement of forgotten) certificate.add(groupTotalsCheck, 'note', settlement, problem);
  const nets = await index.netSums(groupEntries, 'group_id');
  for (const settlement of loaded) {
    certificate.count(groupTotalsCheck);
    const fault = totalFault(settlement, nets.get(settlementKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined) certificate.add(groupTotalsCheck, 'upstream', settlement, fault);
  }
}
