import { millionths, millionthsText } from '../../../core/numeric/decimal.js';
import { formatCount } from '../../../core/text/amounts.js';
import { numberOrNull, textOrNull } from '../../../core/text/rows.js';
import { joined } from '../../../core/windows.js';
import { comparedWindows, comparedText } from '../../coverage/compared-days.js';
import type { CheckContext, ProblemLocation } from './certificate.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { rowsIn } from '../../../lake/files/local-parquet.js';
import { apiWith } from '../../../sources/finances/finances-apis.js';
import { statementOver, type ReadableFile } from './file-contents.js';
import { groupKey } from './index-tables.js';
import { loadedWindows } from '../../../engine/slicing/window-slices.js';
import { financialEvents } from '../../../../pipelines/financial-events.js';
import { transactionsPipeline } from '../../../../pipelines/transactions.js';
import type { PipelineTables } from '../../../core/columns/table.js';
import { datedWindows, isSettlementCovered, totalFault, type Comparable } from '../../settlements/settlements.js';
import { netSumsOf, type Forgotten } from './group-totals.js';
import eventsOfBoth from './events-of-both.sql';
import groupPayments from './group-payments.sql';
import settlementPayments from './settlement-payments.sql';
import summaryRows from './summaries.sql';

/** A row of `settlement_summaries`. */
export interface SettlementSummary extends ProblemLocation {
  readonly account: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly start: number | null;
  readonly end: number | null;
  /** Decimal text. */
  readonly netProceeds: string | null;
  readonly currency: string | null;
}

export async function summariesFrom(
  { file, path }: ReadableFile,
  { database }: CheckContext,
): Promise<SettlementSummary[]> {
  const rows = await database.rows(statementOver({ settlement_summaries: `FROM ${rowsIn([path])}` }, summaryRows));
  return rows.map((row) => {
    const id = String(row['settlement_id']);
    const [start, end] = [numberOrNull(row['starts']), numberOrNull(row['ends'])];
    const [netProceeds, currency] = [textOrNull(row['net']), textOrNull(row['currency'])];
    const { table, file: name, account } = file;
    return { table, file: name, slice: loadKeyFor('settlement', id), account, id, start, end, netProceeds, currency };
  });
}

const notCompared =
  "not compared: the lake has nothing by date of the settlement's first days, which `forget` may have removed";

/**
 * Compares what transactions paid with the totals of closed groups and with the summaries of settlements, where all of
 * their days are loaded. Reports accounts that have events of v0 but no transaction for the same days.
 */
export async function checkPaid(
  comparable: Comparable & { readonly forgotten: Forgotten },
  summaries: readonly SettlementSummary[],
  accounts: readonly string[],
  context: CheckContext,
): Promise<void> {
  const { certificate } = context;
  const windows = new Map(
    accounts.map((account) => [account, datedWindows(comparable, transactionsPipeline, account)]),
  );
  const isLoaded = (period: SettlementSummary | Comparable['settlements'][number]) =>
    isSettlementCovered(period, windows.get(period.account) ?? []);

  const byGroup = await netSumsOf(groupPayments, context);
  for (const settlement of comparable.settlements) {
    if (!settlement.isClosed || !isLoaded(settlement)) continue;
    const fault = totalFault(settlement, byGroup.get(groupKey(settlement.account, settlement.id)) ?? []);
    if (fault !== undefined && comparable.forgotten.reaches(settlement)) {
      certificate.add('paid-totals', 'note', settlement, notCompared);
      continue;
    }
    certificate.count('paid-totals');
    if (fault !== undefined) certificate.add('paid-totals', 'upstream', settlement, `paid transactions: ${fault}`);
  }

  const bySettlement = await netSumsOf(settlementPayments, context);
  for (const summary of summaries) {
    if (summary.netProceeds === null || !isLoaded(summary)) continue;
    const sums = bySettlement.get(groupKey(summary.account, summary.id)) ?? [];
    const paid = millionths(sums.find(({ currency }) => currency === summary.currency)?.net ?? '0');
    const expected = millionths(summary.netProceeds);
    if (paid !== expected && comparable.forgotten.reaches(summary)) {
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

  for (const account of accounts) await checkBothApis(account, comparable, context);
}

/** The service returns no transactions at all for some accounts that have events of v0. */
async function checkBothApis(
  account: string,
  comparable: Comparable,
  { database, certificate }: CheckContext,
): Promise<void> {
  const windowsOf = ({ name }: PipelineTables) => joined(loadedWindows(comparable.lake, name, account));
  const [v0, transactions] = [windowsOf(financialEvents), windowsOf(transactionsPipeline)];
  if (v0.length === 0 || transactions.length === 0) return;
  certificate.count('both-apis');
  const location = { table: transactionsPipeline.main.name, file: '', slice: '', account };
  // The days of a damaged file are loaded: its own problem names the command that mends it.
  const compared = comparedWindows(account, v0, transactions);
  if (compared !== undefined) certificate.add('both-apis', 'note', location, comparedText(compared));
  const successor = datedWindows(comparable, transactionsPipeline, account);
  if (successor.length === 0) return;
  const parameters = { account, windows: JSON.stringify(joined(successor)) };
  const [row] = await database.rows(eventsOfBoth, { parameters });
  const found = Number(row?.['events']);
  if (found === 0 || Number(row?.['transactions']) > 0) return;
  const problem =
    `${apiWith(transactionsPipeline.operation)?.title ?? ''} returned no transaction for days in which v0 has ${formatCount(found, 'event')} of ${account}: ` +
    'continue with --api v0, and ask the API\u2019s support';
  certificate.add('both-apis', 'upstream', location, problem);
}
