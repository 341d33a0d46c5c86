/**
 * Ledgerlake as a library: what `ledgerlake backfill`, `sync`, `status`, `verify` and `sql` do, for programs, and the types that
 * pipelines of your own are written against. `docs/library.md` and `docs/pipelines.md` go through both.
 *
 * @packageDocumentation
 */

export type * from './sources/custom/definition.js';
export { LedgerlakeError, type ErrorCode } from './core/errors.js';
export type { RunEvent } from './core/events/run-event.js';
export { backfill, sync, RunError, type BackfillOptions, type RunOptions, type SyncOptions } from './library/run.js';
export {
  openLake,
  type Lake,
  type LakeOptions,
  type SqlOptions,
  type SqlRow,
  type SqlValue,
  type StatusOptions,
  type VerifyOptions,
} from './library/lake.js';
export {
  createFinancesClient,
  type FinancesClient,
  type FinancesOperation,
  type ReadOptions,
} from './library/finances-client.js';
export type { AccountOptions, Credentials } from './library/options.js';
export type * from './library/results.js';
