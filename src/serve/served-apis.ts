import { settlementReportOperations } from './reports-2021-06-30/report-operations.js';
import type { WithReportBackend } from './reports-2021-06-30/report-backend.js';
import { servedEventOperations } from './api-v0/event-operations.js';
import type { EventBackend } from './api-v0/event-backend.js';
import { servedTransactionOperations } from './api-2024-06-19/transaction-operations.js';
import type { WithTransactionBackend } from './api-2024-06-19/transaction-backend.js';
import { storedEvents } from './api-v0/stored-events.js';
import { storedReports } from './reports-2021-06-30/stored-reports.js';
import { storedTransactions } from './api-2024-06-19/stored-transactions.js';
import type { CacheSettings } from '../lake/files/file-cache.js';
import type { MainTables } from './lake/committed-files.js';
import { LakePages } from './lake/lake-pages.js';
import type { ServedOperation } from './operation/served-operation.js';

/** The data behind the server, API by API: a synthetic seller, or a lake. */
export interface Backend extends EventBackend, WithTransactionBackend, WithReportBackend {}

/** Every operation of the server, grouped by API. */
export const servedOperations: readonly ServedOperation<Backend>[] = [
  ...servedEventOperations,
  ...servedTransactionOperations,
  ...settlementReportOperations,
];

/** A lake as a backend. */
export interface LakeBackend extends Backend {
  /** Frees memory. Call it once no question is open. */
  close(): void;
}

/** Opens the rows of an account as a backend, which answers with the JSON that the service once sent; `cache` as `LakePages.open`. */
export async function openLakeBackend(tables: MainTables, account: string, cache: CacheSettings): Promise<LakeBackend> {
  const pages = await LakePages.open(tables, account, cache);
  return {
    ...storedEvents(pages),
    byTransaction: storedTransactions(pages),
    byReport: storedReports(pages),
    close: () => {
      pages.close();
    },
  };
}
