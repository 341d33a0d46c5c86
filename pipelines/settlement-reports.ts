import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';
import { touchingSettlements } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { keptReportDays, reportOperations } from '../src/sources/finances/settlement-reports/report-operations.js';
import {
  documentPages,
  reportCollector,
  reportSlicing,
  reportsVerdict,
} from '../src/sources/finances/settlement-reports/report-slicing.js';
import { settlementReportTables } from '../src/sources/finances/settlement-reports/report-tables.js';
import { financialEventGroups } from './financial-event-groups.js';

const { name, main, derived } = settlementReportTables;

/** Amazon's settlement reports, flat file V2 (Reports 2021-06-30). */
export const settlementReportsPipeline = financesPipeline({
  name,
  about: 'settlement reports (Reports 2021-06-30) of the range that the service still has',
  title: 'Settlement reports (Reports 2021-06-30)',
  operation: reportOperations.getReportDocument.name,
  main,
  derived,
  keptDays: keptReportDays,
  slicing: () => reportSlicing((request) => touchingSettlements(request, financialEventGroups.name, request.now)),
  judge: reportsVerdict,
  pages: ({ report }, reading) => documentPages(report, reading),
  collect: (slice) => reportCollector(slice),
});
