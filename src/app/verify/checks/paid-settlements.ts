import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { numberOrNull, textOrNull } from '../../../core/text/rows.js';
import { joined } from '../../../core/windows.js';
import { comparedWindows, comparedText } from '../../coverage/both-apis.js';
import type { CheckContext } from './certificate.js';
import type { CollectingContext, Comparison } from './comparison.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import { apiWith } from '../../../sources/finances/finances-apis.js';
import { statementOver, type ReadableFile } from './file-contents.js';
import { groupKey } from './index-tables.js';
import { loadedWindows } from '../../../engine/slicing/window-slices.js';
import { roles } from '../../../../pipelines/all-pipelines.js';
import { datedWindows, settlementsByDate, totalFault } from '../../settlements/settlements.js';
import { netSumsOf } from './group-totals.js';
import eventsOfBoth from './events-of-both.sql';
import groupPayments from './group-payments.sql';
import settlementPayments from './settlement-payments.sql';
import summaryRows from './summaries.sql';

const [, transactions] = roles.byDate;

/** Collects the net proceeds of settlements from files with summaries. */
export async function collectSummaries(
  files: readonly ReadableFile[],
  { database, contents }: CollectingContext,
): Promise<void> {
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

/**
 * Compares what transactions paid with the totals of closed groups and with the summaries of settlements, where all of
 * their days are loaded. Reports accounts that have events of v0 but no transaction for the same days.
 */
export async function checkPaid(comparison: Comparison, context: CheckContext): Promise<void> {
  const { certificate } = context;
  const { settlements, summaries, accounts, forgotten } = comparison;
  const isLoaded = settlementsByDate(comparison);

  const byGroup = await netSumsOf(groupPayments, context);
  for (const settlement of settlements) {
    if (!settlement.isClosed || !isLoaded(settlement)) continue;
    const fault = totalFault(settlement, byGroup.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined && forgotten.reaches(settlement)) {
      certificate.add('paid-totals', 'note', settlement, notCompared);
      continue;
    }
    certificate.count('paid-totals');
    if (fault !== undefined) certificate.add('paid-totals', 'upstream', settlement, `paid transactions: ${fault}`);
  }

  const bySettlement = await netSumsOf(settlementPayments, context);
  for (const summary of summaries) {
    if (summary.total === null || !isLoaded(summary)) continue;
    const sums = bySettlement.get(groupKey(summary.account, summary.id)) ?? [];
    const paid = millionths(sums.find(({ currency }) => currency === summary.currency)?.net ?? '0');
    const expected = millionths(summary.total);
    if (paid !== expected && forgotten.reaches(summary)) {
      certificate.add('net-proceeds', 'note', summary, notCompared);
      continue;
    }
    certificate.count('net-proceeds');
    if (paid === expected) continue;
    const [found, wanted, apart] = [paid, expected, paid - expected].map(millionthsText);
    const of = summary.currency ?? 'no currency';
    const problem = `paid transactions are ${found ?? ''} ${of}, net proceeds ${wanted ?? ''}: ${apart ?? ''} apart`;
    certificate.add('net-proceeds', 'upstream', summary, problem);
  }

  for (const account of accounts) await checkBothApis(account, comparison, context);
}

/** The service returns no transactions at all for some accounts that have events of v0. */
async function checkBothApis(
  account: string,
  comparison: Comparison,
  { database, certificate }: CheckContext,
): Promise<void> {
  const [v0, later] = roles.byDate.map(({ name }) => joined(loadedWindows(comparison.lake, name, account)));
  if (v0 === undefined || later === undefined || v0.length === 0 || later.length === 0) return;
  certificate.count('both-apis');
  const location = { table: transactions.main.name, file: '', slice: '', account };
  // The days of a damaged file are loaded: its own problem names the command that mends it.
  const compared = comparedWindows(account, v0, later);
  if (compared !== undefined) certificate.add('both-apis', 'note', location, comparedText(compared));
  const successor = datedWindows(comparison, transactions, account);
  if (successor.length === 0) return;
  const parameters = { account, windows: JSON.stringify(joined(successor)) };
  const [row] = await database.rows(eventsOfBoth, { parameters });
  const found = Number(row?.['events']);
  if (found === 0 || Number(row?.['transactions']) > 0) return;
  const problem =
    `${apiWith(transactions.operation)?.title ?? ''} returned no transaction for days in which v0 has ${formatCount(found, 'event')} of ${account}: ` +
    'continue with --api v0, and ask the API\u2019s support';
  certificate.add('both-apis', 'upstream', location, problem);
}
