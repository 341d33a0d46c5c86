import { createHash } from 'node:crypto';
import type { Table } from '../../../core/columns/table.js';
import { monthOf, overlap } from '../../../core/windows.js';
import type { Lake } from '../../../lake/lake.js';
import type { Job, Subject } from '../../../engine/run/pipeline.js';
import { listQueue, type Slice, type SliceQueue } from '../../../engine/run/slice-queue.js';
import { mainTable, type Slicing, type SyncJob } from '../../../engine/slicing/slicing.js';
import { readWindow } from '../../../engine/slicing/window-slices.js';
import { loadKeysOf } from '../../../lake/delta/file-tags.js';
import type { Tabled } from '../../../core/columns/table.js';

/** A slice that reads the summary of one settlement. */
export interface SettlementSlice extends Slice {
  readonly settlement: string;
  /** The partition: the month of its first transaction. */
  readonly month: string;
}

export interface SettlementSlicingOptions {
  readonly pipeline: string;
  readonly table: string;
  /** The pipeline whose rows name the settlements. */
  readonly transactions: Tabled;
}

const prefix = 'settlement/';

/**
 * Slices that are settlements which loaded transactions name; a sync reads those that are new, and those with transactions
 * within the look-back, as their totals may have changed.
 */
export function settlementSlicing({
  pipeline,
  table,
  transactions,
}: SettlementSlicingOptions): Slicing<SettlementSlice> & {
  prepare(job: Job): Promise<Job>;
  prepareSync(job: SyncJob): Promise<Job>;
} {
  const main = mainTable(transactions);
  const named = (job: Job, from: number, to: number) => namedSettlements(job, transactions.name, main, { from, to });
  const queue = ({ lake, account, refresh, subjects = [], onlyLoadKeys }: Job): SliceQueue<SettlementSlice> => {
    const loaded = lake.loadKeys(pipeline, table, account);
    const wanted = subjects
      .map(settlementSlice)
      .filter(({ loadKeys: [key = ''] }) => onlyLoadKeys?.has(key) ?? (refresh || !loaded.has(key)));
    return listQueue(wanted, 'settlement', () => undefined);
  };
  return {
    loadKey: 'settlement',
    prepare: async (job) => ({ ...job, subjects: await named(job, job.range.start, job.range.end) }),
    prepareSync: async (job) => {
      const loaded = job.lake.loadKeys(pipeline, table, job.account);
      const all = await named(job, -Infinity, Infinity);
      const recent = new Set((await named(job, job.lookBackFrom, Infinity)).map(({ id }) => id));
      return { ...job, subjects: all.filter(({ id }) => recent.has(id) || !loaded.has(prefix + id)) };
    },
    work: queue,
    sync: queue,
    forecast: ({ job }) => ({
      work: queue(job),
      expectation: { results: () => 1, pages: () => 1 },
      holding: { count: job.lake.loadKeys(pipeline, table, job.account).size, days: null, results: 0 },
      unlisted: 0,
      // Which settlements there are is known only once transactions are loaded.
      isComplete: false,
    }),
  };
}

function settlementSlice({ id, at }: Subject): SettlementSlice {
  return {
    settlement: id,
    month: at === undefined ? 'unknown' : monthOf(at),
    // An id may hold anything: a file's name takes its hash.
    name: `settlement-${createHash('sha256').update(id).digest('hex').slice(0, 16)}`,
    label: `settlement ${id.slice(0, 100)}`,
    loadKeys: [prefix + id],
  };
}

/** The settlements that an account's transactions of some time name, the oldest first. */
async function namedSettlements(
  { lake, account }: { readonly lake: Lake; readonly account: string },
  pipeline: string,
  main: Table,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Subject[]> {
  const adds = lake
    .files(pipeline, main.name, account)
    .filter((add) =>
      loadKeysOf(add).some((key) => overlap(readWindow(key) ?? { start: 0, end: 0 }, { start: from, end: to })),
    );
  if (adds.length === 0) return [];
  // Only now: other runs need no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const rows = await queryFiles(
    lake,
    main,
    adds,
    'settlement_id IS NOT NULL',
    (select) =>
      `SELECT settlement_id AS id, epoch_ms(min(effective_at)) AS first_at FROM (${select}) GROUP BY ALL ORDER BY first_at, id`,
  );
  return rows.map((row) => ({ id: String(row['id']), at: Number(row['first_at']) }));
}
