import { RecordCollector } from '../src/sources/records/record-collector.js';
import { summaryKey, summaryRow } from '../src/sources/finances/api-2024-06-19/record-rows.js';
import { settlementSummaries } from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { summaryPages } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { settlementSlicing } from '../src/sources/finances/api-2024-06-19/settlement-slicing.js';
import { settlementVerdict } from '../src/sources/finances/selling-partner/refusals.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';
import { touchingSettlements } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { financialEventGroups } from './financial-event-groups.js';
import { transactionsPipeline } from './transactions.js';

const name = 'settlement-summaries';
const operation = 'listSummary';

/** The service's summary of each settlement that loaded transactions name (Finances 2024-06-19). */
export const settlementSummariesPipeline = financesPipeline({
  name,
  about: 'summaries (Finances 2024-06-19) of the settlements that transactions of the range name',
  operation,
  main: settlementSummaries,
  derived: [],
  needs: [transactionsPipeline],
  slicing: (of) =>
    settlementSlicing({
      ...of,
      transactions: transactionsPipeline,
      expected: (request) => touchingSettlements(request, financialEventGroups.name),
    }),
  judge: settlementVerdict,
  pages: ({ settlement }, reading) => summaryPages(settlement, reading),
  collect: ({ settlement, month }) =>
    new RecordCollector({
      file: name,
      table: settlementSummaries,
      month,
      rows: (record) => summaryRow(settlement, record),
      key: summaryKey,
    }),
});
