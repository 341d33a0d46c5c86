import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { numberOrNull, textOrNull } from '../../../core/text/rows.js';
import { rowsIn, rowsWithSource } from '../../../lake/files/local-parquet.js';
import type { CollectingContext } from './comparison.js';
import type { ReadableBundle } from './event-entries.js';
import { fileOf, pathsOf, statementOver } from './file-contents.js';
import reportIds from './report-ids.sql';
import reportTotals from './report-totals.sql';

/**
 * Checks whether the lines of settlement reports add up to the totals, to the cent, and whether their ids follow from `raw`, and
 * collects the totals of the reports.
 */
export async function checkReports(
  bundles: readonly ReadableBundle[],
  { database, certificate, contents }: CollectingContext,
): Promise<void> {
  const [first] = bundles;
  if (first === undefined) return;
  const lines = bundles.flatMap(({ derived }) => derived);
  const noLines =
    'SELECT NULL::VARCHAR AS settlement_id, NULL::DECIMAL(18,6) AS amount, NULL::VARCHAR AS amount_text WHERE false';
  const relations = {
    settlement_reports: `FROM ${rowsIn(pathsOf(bundles.map(({ main }) => main)))}`,
    settlement_lines: lines.length === 0 ? noLines : `FROM ${rowsIn(pathsOf(lines))}`,
  };
  for (const row of await database.rows(statementOver(relations, reportTotals))) {
    const [id, total, currency] = [String(row['settlement_id']), textOrNull(row['total']), textOrNull(row['currency'])];
    const slice = loadKeyFor('settlement', id);
    const { file } = (bundles.find(({ main }) => main.file.loadKeys.includes(slice)) ?? first).main;
    const location = { table: file.table, file: file.file, slice, account: file.account };
    const [start, end] = [numberOrNull(row['started']), numberOrNull(row['ended'])];
    contents.reports.push({ ...location, id, start, end, total, currency });
    certificate.count('report-totals');
    if (row['is_whole'] !== true) certificate.add('report-totals', 'lake', location, 'it has another number of lines');
    if (total === null) {
      certificate.add('report-totals', 'note', location, 'not compared: the report has no total that can be read');
      continue;
    }
    const added = String(row['added']);
    const apart = millionths(added) - millionths(total);
    if (apart === 0n) continue;
    const unsummed = Number(row['unsummed']);
    const without = unsummed === 0 ? '' : ` without ${formatCount(unsummed, 'line')} that no sum has`;
    const of = currency ?? 'no currency';
    const problem = `its lines are ${added} ${of}${without}, its total ${total}: ${millionthsText(apart)} apart`;
    certificate.add('report-totals', 'lake', location, problem);
  }
  if (lines.length === 0) return;
  for (const { file } of lines) certificate.count('event-ids', file.rows);
  const read = { read_lines: `FROM ${rowsWithSource(pathsOf(lines))}` };
  for (const { source, found, first: id } of await database.rows(statementOver(read, reportIds))) {
    const problem = `${formatCount(Number(found), 'line')} whose content_hash or event_id doesn't follow from raw, such as ${String(id)}`;
    certificate.add('event-ids', 'lake', fileOf(lines, source), problem);
  }
}
