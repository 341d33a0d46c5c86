import { roles } from '../../../../pipelines/all-pipelines.js';
import { createViews } from '../../../core/duckdb/views.js';
import { groupBy } from '../../../core/group-by.js';
import { formatCount } from '../../../core/text/amounts.js';
import { textOrNull } from '../../../core/text/rows.js';
import type { Lake } from '../../../lake/lake.js';
import { lakeTables } from '../../query/lake-files.js';
import { StatementScopes } from '../../query/statement-scope.js';
import { viewStatements } from '../../query/views.js';
import { settlementsByDate } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { pathsOf, type CheckedFile } from '../common/checked-files.js';
import { settlementKey } from '../common/index-tables.js';
import lineDifferences from '../statements/report-lines.sql';

export const reportLinesCheck: CheckDefinition = {
  name: 'report-lines',
  about: 'each line of a report is in the lake, or its difference is explained',
  counts: 'settlements',
  across: checkReportLines,
  readsAgain: isCompared,
};

const scope = new StatementScopes(
  lakeTables.map(({ name }) => name),
  [...viewStatements(lakeTables).values()],
).of(lineDifferences);

/** The tables that settlement reports are compared with, line by line. */
const comparedTables = new Set(scope.tables);

/** Whether settlement reports are compared with the rows of a file. */
function isCompared({ table, account }: CheckedFile, lake: Lake): boolean {
  return comparedTables.has(table) && lake.snapshot.keysOf(account, roles.reports.name).size > 0;
}

/** Looks for lines of settlement reports that nothing explains, where all of the settlement is loaded. */
async function checkReportLines(comparison: Comparison): Promise<void> {
  const { reports, loaded, isForgotten, readAgain, lake, database, certificate } = comparison;
  if (reports.length === 0) return;
  const paths = groupBy(
    readAgain.filter((file) => isCompared(file, lake)),
    ({ table }) => table,
  );
  await createViews(
    database,
    lakeTables,
    new Map([...paths].map(([table, tableFiles]) => [table, pathsOf(tableFiles)])),
  );
  for (const statement of scope.definitions) {
    // It is read twice: by the statement, and by the differences.
    await database.execute(statement.replace(/\bVIEW (?="?settlement_items\b)/, 'TABLE '));
  }
  const reportOf = new Map(reports.map((report) => [settlementKey(report.account, report.id), report]));
  const whole = new Set(loaded.map(({ account, id }) => settlementKey(account, id)));
  const isPaid = settlementsByDate(comparison);
  for (const row of await database.rows(lineDifferences)) {
    const [account, source] = [String(row['account']), String(row['source'])];
    const report = reportOf.get(settlementKey(account, String(row['settlement_id'])));
    if (report === undefined) continue;
    const isWhole =
      source === 'v0'
        ? whole.has(settlementKey(account, textOrNull(row['group_id']) ?? ''))
        : isPaid(report) && !isForgotten(report);
    if (!isWhole) continue;
    certificate.count(reportLinesCheck);
    const [unexplained, notLoaded] = [Number(row['unexplained']), Number(row['not_loaded'])];
    if (unexplained > 0) {
      const found = `${formatCount(unexplained, 'difference')} from ${source} that nothing explains, ${String(row['apart'])} ${report.currency ?? ''} in all`;
      certificate.add(reportLinesCheck, 'upstream', report, `${found}: settlement_differences has the lines`);
    }
    if (notLoaded > 0) {
      const found = `${source} returned nothing for lines of ${formatCount(notLoaded, 'day')}`;
      certificate.add(reportLinesCheck, 'upstream', report, `${found}, and all of the settlement is loaded`);
    }
  }
}
