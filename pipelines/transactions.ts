import { monthOf } from '../src/core/windows.js';
import { windowPages } from '../src/engine/slicing/bisected-windows.js';
import { windowSlicing } from '../src/engine/slicing/window-slicing.js';
import { transactionLimits } from '../src/sources/finances/api-2024-06-19/operations.js';
import { transactionCollector } from '../src/sources/finances/api-2024-06-19/transaction-collector.js';
import { transactionEntries, transactions } from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { storedPages, transactionsVerdict } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { withSubject } from '../src/sources/finances/model/subject-pages.js';
import { historyWarnings } from '../src/sources/finances/selling-partner/history-limit.js';
import { windowSubject } from '../src/sources/finances/model/slice-rows.js';
import { changedWindows } from '../src/sources/finances/api-2024-06-19/deferred-transactions.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';

const operation = 'listTransactions';

/** Transactions by the date on which they were posted (Finances 2024-06-19). */
export const transactionsPipeline = financesPipeline({
  name: 'transactions',
  about: 'transactions (Finances 2024-06-19) that were posted in the range',
  title: 'Transactions by date (Finances 2024-06-19)',
  operation,
  main: transactions,
  derived: [transactionEntries],
  slicing: (of) => ({
    ...windowSlicing({
      ...of,
      instants: 'effective_at',
      gridDays: 7,
      probeDays: 10,
      perPage: transactionLimits.pageSize,
      bisects: true,
      // Pages are unordered: only a page that covers its whole window shows how many transactions there are.
      estimateDays: 1,
    }),
    prepare: async (job, reading) => (job.kind === 'sync' ? changedWindows(job, of.pipeline, reading) : []),
    warnings: (job, now) => historyWarnings(job, of, now),
  }),
  judge: transactionsVerdict,
  pages: (slice, reading) => {
    const subject = windowSubject(slice.window);
    if (slice.bodies !== undefined) return storedPages(subject, slice.bodies);
    const pages = windowPages(slice, transactionsVerdict, ({ start, end }) => {
      const parameters = { postedAfter: start, postedBefore: end };
      return reading.upstream['2024-06-19'].pages({ operation, parameters }, reading);
    });
    return withSubject(subject, pages);
  },
  collect: ({ window }) =>
    transactionCollector({ events: transactions, entries: transactionEntries }, () => monthOf(window.start)),
});
