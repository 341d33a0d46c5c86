import { groupBy } from '../../../core/group-by.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { settlementKey, type SettlementTotal } from '../common/index-tables.js';
import namedGroups from '../statements/named-groups.sql';

export const reportAmountsCheck: CheckDefinition = {
  name: 'report-amounts',
  about: 'and each is the total of its group, and of its summary',
  counts: 'settlements',
  across: checkReportAmounts,
};

/** The time of a settlement to the second, as reports have it. */
function periodKey({ account, start, end }: Pick<SettlementTotal, 'account' | 'start' | 'end'>): string {
  const [from, to] = [start, end].map((at) => (at === null ? null : Math.floor(at / 1000)));
  return JSON.stringify([account, from, to]);
}

/**
 * Compares the total of each settlement report with that of its group and with the summary of its settlement, where the lake has them. A
 * report whose group is not known by an id is that of any group with its time and currency.
 */
async function checkReportAmounts({
  reports,
  settlements,
  summaries,
  database,
  certificate,
}: Comparison): Promise<void> {
  if (reports.length === 0) return;
  const names = await database.rows(namedGroups);
  const groupsOf = groupBy(names, (row) => settlementKey(String(row['account']), String(row['settlement_id'])));
  const closed = settlements.filter(({ isClosed, total }) => isClosed && total !== null);
  const byId = new Map(closed.map((settlement) => [settlementKey(settlement.account, settlement.id), settlement]));
  const byPeriod = groupBy(closed, periodKey);
  const summaryOf = new Map(summaries.map((summary) => [settlementKey(summary.account, summary.id), summary]));
  for (const report of reports) {
    const { account, id, total, currency } = report;
    if (total === null) continue;
    const key = settlementKey(account, id);
    const ids = [id, ...(groupsOf.get(key) ?? []).map((row) => String(row['group_id']))];
    const ofIds = ids.flatMap((one) => byId.get(settlementKey(account, one)) ?? []);
    const ofPeriod = (byPeriod.get(periodKey(report)) ?? []).filter((group) => group.currency === currency);
    const groups = ofIds.length > 0 ? ofIds : ofPeriod;
    const [first] = groups;
    if (first === undefined) continue;
    certificate.count(reportAmountsCheck);
    const currencyText = currency ?? 'no currency';
    const group = groups.find((one) => one.currency === currency && millionths(one.total ?? '0') === millionths(total));
    if (group === undefined) {
      const problem = `its total is ${total} ${currencyText}, that of its group ${first.total ?? ''} ${first.currency ?? ''}`;
      certificate.add(reportAmountsCheck, 'upstream', report, problem);
      continue;
    }
    const summary = summaryOf.get(key);
    if (summary?.total == null || summary.currency !== currency) continue;
    const [net, expected] = [millionths(total) - millionths(group.beginning ?? '0'), millionths(summary.total)];
    if (net === expected) continue;
    const [found, wanted] = [net, expected].map(millionthsText);
    const problem = `its total less the beginning balance is ${found ?? ''} ${currencyText}, the net proceeds of its summary ${wanted ?? ''}`;
    certificate.add(reportAmountsCheck, 'upstream', report, problem);
  }
}
