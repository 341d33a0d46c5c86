import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { touchingSettlements } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import {
  reportsVerdict,
  documentPages,
  type ReceivedDocument,
} from '../src/sources/finances/settlement-reports/reports-api.js';
import { reportOperations } from '../src/sources/finances/settlement-reports/report-operations.js';
import {
  keptReportsText,
  reportCollector,
  reportSlicing,
  type ReportSlice,
} from '../src/sources/finances/settlement-reports/report-slicing.js';
import { settlementReportTables } from '../src/sources/finances/settlement-reports/report-tables.js';
import { financialEventGroups } from './financial-event-groups.js';

const { name, main, derived } = settlementReportTables;
const { name: operation, burst } = reportOperations.getReportDocument;

/** Amazon's settlement reports, flat file V2 (Reports 2021-06-30). */
export const settlementReportsPipeline: FinancesPipeline<ReportSlice, ReceivedDocument> = {
  name,
  about: 'settlement reports (Reports 2021-06-30) of the range that the service still has',
  title: 'Settlement reports (Reports 2021-06-30)',
  operation,
  burst,
  main,
  derived,
  ...reportSlicing({ expected: (request) => touchingSettlements(request, financialEventGroups.name, request.now) }),
  limitText: keptReportsText,
  pace: (upstream) => upstream.reports.pace(),
  judge: reportsVerdict,
  pages: ({ report }, reading) => documentPages(report, reading),
  collect: (slice) => reportCollector(slice),
};
