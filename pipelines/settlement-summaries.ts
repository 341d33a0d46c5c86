import { RecordCollector, type RecordPage } from '../src/sources/records/record-collector.js';
import { summaryKey, summaryRow } from '../src/sources/finances/api-2024-06-19/record-rows.js';
import { settlementSummaries } from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { summaryPages } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { settlementSlicing, type SettlementSlice } from '../src/sources/finances/api-2024-06-19/settlement-slicing.js';
import { settlementVerdict } from '../src/sources/finances/selling-partner/refusals.js';
import { transactionLimits } from '../src/sources/finances/api-2024-06-19/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { touchingSettlements } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { financialEventGroups } from './financial-event-groups.js';
import { transactionsPipeline } from './transactions.js';

const name = 'settlement-summaries';
const operation = 'listSummary';

/** The service's summary of each settlement that loaded transactions name (Finances 2024-06-19). */
export const settlementSummariesPipeline: FinancesPipeline<SettlementSlice, RecordPage> = {
  name,
  about: 'summaries (Finances 2024-06-19) of the settlements that transactions of the range name',
  operation,
  burst: transactionLimits.burst,
  main: settlementSummaries,
  derived: [],
  needs: [transactionsPipeline],
  ...settlementSlicing({
    ...{ pipeline: name, table: settlementSummaries.name, transactions: transactionsPipeline },
    expected: (request) => touchingSettlements(request, financialEventGroups.name),
  }),
  pace: (upstream) => upstream['2024-06-19'].pace(operation),
  judge: settlementVerdict,
  pages: ({ settlement }, reading) => summaryPages(settlement, reading),
  collect: ({ settlement, month }) =>
    new RecordCollector({
      ...{ file: name, table: settlementSummaries, month },
      rows: (record) => summaryRow(settlement, record),
      key: summaryKey,
    }),
};
