import { roles } from '../../../../pipelines/all-pipelines.js';
import { createViews } from '../../../core/duckdb/views.js';
import { groupBy } from '../../../core/group-by.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { textOrNull } from '../../../core/text/rows.js';
import type { Lake } from '../../../lake/lake.js';
import { lakeTables } from '../../query/lake-files.js';
import { NamedTables } from '../../query/named-tables.js';
import { viewStatements } from '../../query/views.js';
import { settlementsByDate } from '../../settlements/settlements.js';
import type { CheckContext } from './certificate.js';
import type { Comparison, SettlementTotal } from './comparison.js';
import { groupKey } from './index-tables.js';
import namedGroups from './named-groups.sql';
import type { LogFile } from './log-files.js';
import reportLines from './report-lines.sql';

const definitions = [...viewStatements(lakeTables).values()];
const named = new NamedTables(
  lakeTables.map(({ name }) => name),
  definitions,
);

/** The tables that settlement reports are compared with, line by line. */
const comparedTables = new Set(named.in(reportLines));

/** Whether settlement reports are compared with the rows of a file. */
export function isCompared({ table, account }: LogFile, lake: Lake): boolean {
  return comparedTables.has(table) && lake.loadKeys(roles.reports.name, account).size > 0;
}

/** The time of a settlement to the second, as reports have it. */
function periodKey({ account, start, end }: Pick<SettlementTotal, 'account' | 'start' | 'end'>): string {
  const [from, to] = [start, end].map((at) => (at === null ? null : Math.floor(at / 1000)));
  return JSON.stringify([account, from, to]);
}

/**
 * Compares the total of each settlement report with that of its group and with the summary of its settlement, where the lake has them. A
 * report whose group is not known by an id is that of any group with its time and currency.
 */
export async function checkReportTotals(
  { reports, settlements, summaries }: Comparison,
  { database, certificate }: CheckContext,
): Promise<void> {
  if (reports.length === 0) return;
  const names = await database.rows(namedGroups);
  const groupsOf = groupBy(names, (row) => groupKey(String(row['account']), String(row['settlement_id'])));
  const closed = settlements.filter(({ isClosed, total }) => isClosed && total !== null);
  const byId = new Map(closed.map((settlement) => [groupKey(settlement.account, settlement.id), settlement]));
  const byPeriod = groupBy(closed, periodKey);
  const summaryOf = new Map(summaries.map((summary) => [groupKey(summary.account, summary.id), summary]));
  for (const report of reports) {
    const { account, id, total, currency } = report;
    if (total === null) continue;
    const key = groupKey(account, id);
    const ids = [id, ...(groupsOf.get(key) ?? []).map((row) => String(row['group_id']))];
    const ofIds = ids.flatMap((one) => byId.get(groupKey(account, one)) ?? []);
    const ofPeriod = (byPeriod.get(periodKey(report)) ?? []).filter((group) => group.currency === currency);
    const groups = ofIds.length > 0 ? ofIds : ofPeriod;
    const [first] = groups;
    if (first === undefined) continue;
    certificate.count('report-amounts');
    const of = currency ?? 'no currency';
    const group = groups.find((one) => one.currency === currency && millionths(one.total ?? '0') === millionths(total));
    if (group === undefined) {
      const problem = `its total is ${total} ${of}, that of its group ${first.total ?? ''} ${first.currency ?? ''}`;
      certificate.add('report-amounts', 'upstream', report, problem);
      continue;
    }
    const summary = summaryOf.get(key);
    if (summary?.total == null || summary.currency !== currency) continue;
    const [net, expected] = [millionths(total) - millionths(group.beginning ?? '0'), millionths(summary.total)];
    if (net === expected) continue;
    const [found, wanted] = [net, expected].map(millionthsText);
    const problem = `its total less the beginning balance is ${found ?? ''} ${of}, the net proceeds of its summary ${wanted ?? ''}`;
    certificate.add('report-amounts', 'upstream', report, problem);
  }
}

/** Looks for lines of settlement reports that nothing explains, where all of the settlement is loaded. */
export async function checkReportLines(comparison: Comparison, { database, certificate }: CheckContext): Promise<void> {
  const { reports, loaded, forgotten, files } = comparison;
  if (reports.length === 0) return;
  const paths = groupBy(files, ({ file }) => file.table);
  await createViews(
    database,
    lakeTables,
    new Map([...paths].map(([table, of]) => [table, of.map(({ path }) => path)])),
  );
  for (const statement of named.definitionsIn(reportLines)) {
    // It is read twice: by the statement, and by the differences.
    await database.execute(statement.replace(/\bVIEW (?="?settlement_items\b)/, 'TABLE '));
  }
  const reportOf = new Map(reports.map((report) => [groupKey(report.account, report.id), report]));
  const whole = new Set(loaded.map(({ account, id }) => groupKey(account, id)));
  const isPaidLoaded = settlementsByDate(comparison);
  for (const row of await database.rows(reportLines)) {
    const [account, source] = [String(row['account']), String(row['source'])];
    const report = reportOf.get(groupKey(account, String(row['settlement_id'])));
    if (report === undefined) continue;
    const isWhole =
      source === 'v0'
        ? whole.has(groupKey(account, textOrNull(row['group_id']) ?? ''))
        : isPaidLoaded(report) && !forgotten.reaches(report);
    if (!isWhole) continue;
    certificate.count('report-lines');
    const [unexplained, notLoaded] = [Number(row['unexplained']), Number(row['not_loaded'])];
    if (unexplained > 0) {
      const found = `${formatCount(unexplained, 'difference')} from ${source} that nothing explains, ${String(row['apart'])} ${report.currency ?? ''} in all`;
      certificate.add('report-lines', 'upstream', report, `${found}: settlement_differences has the lines`);
    }
    if (notLoaded > 0) {
      const found = `${source} returned nothing for lines of ${formatCount(notLoaded, 'day')}`;
      certificate.add('report-lines', 'upstream', report, `${found}, and all of the settlement is loaded`);
    }
  }
}
