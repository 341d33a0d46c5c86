import type { Table } from '../../../core/columns/table.js';
import { settlementSummaries, transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { groupEntries, groups } from '../../../sources/finances/api-v0/event-tables.js';
import { settlementReports } from '../../../sources/finances/settlement-reports/report-tables.js';
import type { CheckContext } from './certificate.js';
import type { CollectingContext, Comparison } from './comparison.js';
import { checkEvents, type ReadableBundle } from './event-entries.js';
import { checkNetSums, type ReadableFile } from './file-contents.js';
import { checkTotals, collectSettlements, compareByGroup } from './group-totals.js';
import type { IndexTables } from './index-tables.js';
import nets from './nets.sql';
import { checkPaid, collectSummaries } from './paid-settlements.js';
import paid from './paid.sql';
import { checkRecords, hasRecordRules } from './raw-columns.js';
import { checkReportLines, checkReportTotals } from './report-lines.js';
import { checkReports } from './settlement-reports.js';

/** Where the rows of tables are checked. */
interface TableContext extends CollectingContext {
  readonly index: IndexTables;
}

/** Rows of a table, all of one account, that DuckDB can read as the table. */
interface TableRows {
  readonly files: readonly ReadableFile[];
  /** Of a main table: those of which each file can be read. */
  readonly bundles: readonly ReadableBundle[];
}

/** A check of the rows of the tables to which it applies, or a collection of what is compared across files. */
interface TableCheck {
  readonly appliesTo: (table: Table) => boolean;
  readonly check: (rows: TableRows, context: TableContext) => Promise<void>;
}

const is =
  ({ name }: Table): TableCheck['appliesTo'] =>
  (table) =>
    table.name === name;
const hasEntries: TableCheck['appliesTo'] = ({ holds }) => holds === 'events';

/** What is done with the rows of a table whose files match the log, in this order. */
export const tableChecks: readonly TableCheck[] = [
  {
    appliesTo: is(groupEntries),
    check: ({ files }, { index, database }) => index.addSums('nets', nets, files, database),
  },
  {
    appliesTo: is(transactions),
    check: ({ files }, { index, database }) => index.addSums('paid', paid, files, database),
  },
  {
    appliesTo: hasEntries,
    check: (rows, { index, database }) => index.addEvents(rows.files, derivedOf(rows), database),
  },
  { appliesTo: is(groups), check: ({ files }, context) => collectSettlements(files, context) },
  { appliesTo: is(settlementSummaries), check: ({ files }, context) => collectSummaries(files, context) },
  { appliesTo: is(settlementReports), check: ({ bundles }, context) => checkReports(bundles, context) },
  { appliesTo: hasRecordRules, check: ({ files }, context) => checkRecords(files, context) },
  { appliesTo: hasEntries, check: ({ bundles }, context) => checkEvents(bundles, context) },
  { appliesTo: hasEntries, check: (rows, context) => checkNetSums(derivedOf(rows), context) },
];

function derivedOf({ bundles }: TableRows): readonly ReadableFile[] {
  return bundles.flatMap(({ derived }) => derived);
}

/** Checks across the files of a lake, in this order. */
export const lakeChecks: readonly ((comparison: Comparison, context: CheckContext) => Promise<void>)[] = [
  ({ index }) => index.check(),
  checkTotals,
  compareByGroup,
  checkPaid,
  checkReportTotals,
  checkReportLines,
];
