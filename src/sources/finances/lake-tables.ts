import type { Table } from '../../core/columns/table.js';
import {
  orderTransactionEntries,
  orderTransactions,
  payouts,
  settlementSummaries,
  transactionEntries,
  transactions,
} from './api-2024-06-19/transaction-tables.js';
import {
  entries,
  eventHistory,
  events,
  groupEntries,
  groupEvents,
  groups,
  orderEntries,
  orderEvents,
} from './model/tables.js';

/** Every table that a pipeline of this package fills. */
export const tables: readonly Table[] = [
  events,
  entries,
  groups,
  groupEvents,
  groupEntries,
  orderEvents,
  orderEntries,
  transactions,
  transactionEntries,
  orderTransactions,
  orderTransactionEntries,
  settlementSummaries,
  payouts,
  eventHistory,
];
