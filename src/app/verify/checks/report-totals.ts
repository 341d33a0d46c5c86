import { statementOver } from '../../../core/duckdb/sql-statements.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { textOrNull } from '../../../core/text/rows.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import { settlementReports } from '../../../sources/finances/settlement-reports/report-tables.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { derivedOf, pathsOf, type TableFiles } from '../common/checked-files.js';
import totals from '../statements/report-totals.sql';

export const reportTotalsCheck: CheckDefinition = {
  name: 'report-totals',
  about: 'lines of each settlement report add up to its total',
  counts: 'settlements',
  files: checkReports,
};

/** Checks whether the lines of settlement reports add up to the totals, to the cent. */
async function checkReports({ schema, bundles }: TableFiles, { database, certificate }: CheckContext): Promise<void> {
  const [first] = bundles;
  if (first === undefined || schema.name !== settlementReports.name) return;
  const lines = derivedOf(bundles);
  const noLines =
    'SELECT NULL::VARCHAR AS settlement_id, NULL::DECIMAL(18,6) AS amount, NULL::VARCHAR AS amount_text WHERE false';
  const relations = {
    settlement_reports: `FROM ${rowsIn(pathsOf(bundles.map(({ main }) => main)))}`,
    settlement_lines: lines.length === 0 ? noLines : `FROM ${rowsIn(pathsOf(lines))}`,
  };
  for (const row of await database.rows(statementOver(relations, totals))) {
    const [id, total, currency] = [String(row['settlement_id']), textOrNull(row['total']), textOrNull(row['currency'])];
    const loadKey = loadKeyFor('settlement', id);
    const { table, file, account } = (bundles.find(({ main }) => main.loadKeys.includes(loadKey)) ?? first).main;
    const location = { table, file, loadKey, account };
    certificate.count(reportTotalsCheck);
    if (row['is_whole'] !== true)
      certificate.add(reportTotalsCheck, 'lake', location, 'it has another number of lines');
    if (total === null) {
      certificate.add(reportTotalsCheck, 'note', location, 'not compared: the report has no total that can be read');
      continue;
    }
    const added = String(row['added']);
    const apart = millionths(added) - millionths(total);
    if (apart === 0n) continue;
    const unsummed = Number(row['unsummed']);
    const without = unsummed === 0 ? '' : ` without ${formatCount(unsummed, 'line')} that no sum has`;
    const currencyText = currency ?? 'no currency';
    const problem = `its lines are ${added} ${currencyText}${without}, its total ${total}: ${millionthsText(apart)} apart`;
    certificate.add(reportTotalsCheck, 'lake', location, problem);
  }
}
