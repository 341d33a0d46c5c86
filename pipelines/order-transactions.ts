import { orderSlicing } from '../src/engine/slicing/order-slicing.js';
import { transactionCollector } from '../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
} from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { relatedQuery, transactionsVerdict } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { orderPages } from '../src/sources/finances/model/subject-pages.js';
import { firstMonth } from '../src/sources/finances/model/slice-rows.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';

const operation = 'listTransactions';

/** Transactions of each order in `--orders` (Finances 2024-06-19). */
export const orderTransactionsPipeline = financesPipeline({
  name: 'order-transactions',
  about: 'transactions (Finances 2024-06-19) of each order named by --orders',
  operation,
  main: orderTransactions,
  derived: [orderTransactionEntries],
  slicing: (of) => orderSlicing({ ...of, batch: 100 }),
  judge: transactionsVerdict,
  pages: ({ orders }, reading) =>
    orderPages(orders, (order) =>
      reading.upstream['2024-06-19'].pages(relatedQuery(operation, 'ORDER_ID', order), reading),
    ),
  collect: () =>
    transactionCollector({ events: orderTransactions, entries: orderTransactionEntries }, (_subject, dates) =>
      firstMonth(dates),
    ),
});
