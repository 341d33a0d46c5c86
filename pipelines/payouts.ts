import { monthOf } from '../src/core/windows.js';
import { windowPages } from '../src/engine/slicing/bisected-windows.js';
import { windowSlicing } from '../src/engine/slicing/window-slicing.js';
import { RecordCollector } from '../src/sources/records/record-collector.js';
import { payoutKey, payoutRow } from '../src/sources/finances/api-2024-06-19/record-rows.js';
import { payouts } from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { recordPages, transactionsVerdict } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';

const name = 'payouts';
const operation = 'listPayouts';

/** Payouts to the bank by the date on which they were created (Transfers 2024-06-01). */
export const payoutsPipeline = financesPipeline({
  name,
  about: 'payouts to the bank (Transfers 2024-06-01) that were created in the range',
  title: 'Payouts by date (Transfers 2024-06-01)',
  operation,
  main: payouts,
  derived: [],
  // There are few payouts: those of a month fit one page.
  slicing: (of) =>
    windowSlicing({ ...of, gridDays: 31, probeDays: 31, guessPerDay: 1, bisects: true, estimateDays: 28 }),
  judge: transactionsVerdict,
  pages: (slice, reading) =>
    windowPages(slice, transactionsVerdict, ({ start, end }) => {
      const parameters = { createdAfter: start, createdBefore: end };
      return recordPages({ operation, parameters }, reading);
    }),
  collect: ({ window }) =>
    new RecordCollector(
      { file: name, table: payouts, month: monthOf(window.start), rows: payoutRow, key: payoutKey },
      window,
    ),
});
