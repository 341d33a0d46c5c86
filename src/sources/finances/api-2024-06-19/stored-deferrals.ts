import type { Window } from '../../../core/windows.js';
import type { Job } from '../../../engine/run/pipeline.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import type { Add } from '../../../lake/delta/actions.js';
import { columnStatistics, loadKeysOf } from '../../../lake/delta/file-tags.js';
import { totalText } from './listed-transactions.js';
import { transactions } from './transaction-tables.js';

/** A sale that the lake has as DEFERRED, or as DEFERRED_RELEASED. */
export interface StoredDeferral {
  /** Of one without an id its content hash. */
  readonly id: string;
  /** As `totalText` writes it. */
  readonly total: string;
  readonly isDeferred: boolean;
  /** Milliseconds since 1970. */
  readonly posted: number;
  /** The window that it was read in. */
  readonly window: Window;
  /** When it is to be released, milliseconds since 1970. */
  readonly maturesAt: number | undefined;
  /** Whether the lake has the transaction that released it. */
  readonly isPaid: boolean;
}

/** The deferrals of an account that are wanted, in the files that hold any that is still DEFERRED. */
export async function storedDeferrals(
  job: Job,
  pipeline: string,
  isWanted: (row: StoredDeferral) => boolean,
): Promise<StoredDeferral[]> {
  const adds = job.lake.files(pipeline, transactions.name, job.account).filter(mayBeDeferred);
  if (adds.length === 0) return [];
  // Only now: a lake without deferred transactions needs no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const instants = ['posted_at', 'window_start', 'window_end', 'maturity_at'].map(
    (name) => `epoch_ms(${name}) AS ${name}`,
  );
  const rows = await queryFiles(
    job.lake,
    transactions,
    adds,
    'posted_at IS NOT NULL AND window_start IS NOT NULL',
    (select) =>
      `WITH held AS (${select}) SELECT coalesce(nullif(transaction_id, ''), content_hash) AS id, currency, ` +
      "coalesce(CAST(total_amount AS VARCHAR), total_text, '') AS total, " +
      `status = 'DEFERRED' AS is_deferred, ${instants.join(', ')}, ` +
      "transaction_id IN (SELECT deferred_transaction_id FROM held WHERE status = 'RELEASED' AND deferred_transaction_id IS NOT NULL) " +
      "AS is_paid FROM held WHERE status IN ('DEFERRED', 'DEFERRED_RELEASED')",
  );
  return rows
    .map((row) => ({
      id: String(row['id']),
      total: totalText(typeof row['currency'] === 'string' ? row['currency'] : '', String(row['total'])),
      isDeferred: row['is_deferred'] === true,
      posted: Number(row['posted_at']),
      window: { start: Number(row['window_start']), end: Number(row['window_end']) },
      maturesAt: row['maturity_at'] === null ? undefined : Number(row['maturity_at']),
      isPaid: row['is_paid'] === true,
    }))
    .filter(isWanted);
}

/** Whether a file may hold a deferred row, by its statistics; where it has none, it may. */
function mayBeDeferred(add: Add): boolean {
  const { least = 'DEFERRED', greatest = 'DEFERRED' } = columnStatistics(add, 'status');
  return least <= 'DEFERRED' && greatest >= 'DEFERRED';
}

/**
 * The transactions of a window as they were received, in that order.
 *
 * @param before leaves out what was posted from this instant on, up to the window's end; left out: nothing
 */
export async function storedTransactions(
  { lake, account }: Job,
  pipeline: string,
  window: Window,
  before = Infinity,
): Promise<{ readonly id: string; readonly raw: string }[]> {
  const loadKey = windowKey(window);
  const adds = lake.files(pipeline, transactions.name, account).filter((add) => loadKeysOf(add).includes(loadKey));
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const { loadKeyCondition } = await import('../../../lake/files/load-key-rows.js');
  const isLeft = `posted_at >= make_timestamptz(${before * 1000}) AND posted_at < window_end`;
  const rows = await queryFiles(
    lake,
    transactions,
    adds,
    loadKeyCondition([loadKey]) + (before === Infinity ? '' : ` AND (${isLeft}) IS NOT TRUE`),
    (select) => `SELECT transaction_id, raw FROM (${select}) ORDER BY position`,
  );
  return rows.map(({ transaction_id: id, raw }) => ({ id: typeof id === 'string' ? id : '', raw: String(raw) }));
}
