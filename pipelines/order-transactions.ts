import { orderSlicing, type OrderSlice } from '../src/engine/slicing/order-slicing.js';
import {
  transactionCollector,
  type TransactionsPage,
} from '../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
} from '../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { relatedQuery, transactionsVerdict } from '../src/sources/finances/api-2024-06-19/finances-api.js';
import { orderPages } from '../src/sources/finances/model/source-pages.js';
import { firstMonth } from '../src/sources/finances/model/slice-rows.js';
import { transactionDerivation } from '../src/sources/finances/api-2024-06-19/transaction-derivation.js';
import { transactionLimits } from '../src/sources/finances/api-2024-06-19/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';

const name = 'order-transactions';
const operation = 'listTransactions';

/** Transactions of each order in `--orders` (Finances 2024-06-19). */
export const orderTransactionsPipeline: FinancesPipeline<OrderSlice, TransactionsPage> = {
  name,
  about: 'transactions (Finances 2024-06-19) of each order named by --orders',
  operation,
  burst: transactionLimits.burst,
  main: orderTransactions,
  derived: [orderTransactionEntries],
  ...orderSlicing({ pipeline: name, table: orderTransactions.name, batch: 100 }),
  pace: (upstream) => upstream['2024-06-19'].pace(operation),
  derivation: transactionDerivation,
  judge: transactionsVerdict,
  pages: ({ orders }, reading) =>
    orderPages(orders, (order) =>
      reading.upstream['2024-06-19'].pages(relatedQuery(operation, 'ORDER_ID', order), reading),
    ),
  collect: () =>
    transactionCollector({ events: orderTransactions, entries: orderTransactionEntries }, (_source, dates) =>
      firstMonth(dates),
    ),
};
