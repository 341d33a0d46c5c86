import type { FinancesApi } from '../selling-partner/finances-api.js';
import { limits, operations } from './operations.js';
import {
  orderTransactionEntries,
  orderTransactions,
  payouts,
  settlementSummaries,
  transactionEntries,
  transactions,
} from './transaction-tables.js';

/** Finances 2024-06-19, with the listing of payouts (Transfers 2024-06-01). */
export const finances20240619 = {
  name: '2024-06-19',
  title: 'Finances 2024-06-19',
  operations,
  limits,
  tables: [transactions, transactionEntries, orderTransactions, orderTransactionEntries, settlementSummaries, payouts],
} as const satisfies FinancesApi;
