/**
 * Ledgerlake as a library: commands such as `backfill`, `sync`, `status`, `verify`, `sql`, `ask` and `backup` as functions, and the types of custom
 * pipelines. See `docs/library.md` and `docs/pipelines.md`.
 *
 * @packageDocumentation
 */

export type * from './sources/custom/definition.js';
export type * from './sources/records/record.js';
export { LedgerlakeError, type ErrorCode } from './core/errors.js';
export type { PipelineFigures, RunEvent } from './core/events/run-event.js';
export { backfill, sync, RunError } from './library/run.js';
export { doctor, type DoctorOptions } from './library/doctor.js';
export { changes, type ChangesOptions, type RowChange } from './library/changes.js';
export { backup, restore } from './library/backup.js';
export {
  exportJournal,
  exportSettlementReports,
  exportViews,
  type JournalExportOptions,
  type SettlementReportsExportOptions,
  type ViewsExportOptions,
} from './library/exports.js';
export { createMcpServer, type McpServer, type McpServerOptions } from './library/mcp.js';
export {
  openLake,
  type AskOptions,
  type Lake,
  type LakeOptions,
  type SqlOptions,
  type SqlRow,
  type SqlValue,
  type StatusOptions,
  type VerifyOptions,
} from './library/lake.js';
export { createFinancesClient, type FinancesClient, type ReadOptions } from './library/finances-client.js';
export type {
  AccountOptions,
  BackfillOptions,
  CallOptions,
  Credentials,
  RunOptions,
  SyncOptions,
} from './library/options.js';
export type { FinancesOperation } from './sources/finances/api-names.js';
export type { QuestionName } from './app/query/question-names.js';
export type * from './app/results.js';
export type * from './library/finances-page.js';
