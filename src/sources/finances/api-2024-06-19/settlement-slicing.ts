import { createHash } from 'node:crypto';
import type { Table, PipelineTables } from '../../../core/columns/table.js';
import { monthOf, overlap, type Window } from '../../../core/windows.js';
import type { Lake } from '../../../lake/lake.js';
import type { Job, Subject } from '../../../engine/run/pipeline.js';
import { listQueue, type Slice, type SliceQueue } from '../../../engine/run/slice-queue.js';
import { mainTable, type ForecastQuestion, type Slicing, type SyncJob } from '../../../engine/slicing/slicing.js';
import { readWindow, windowKey } from '../../../engine/slicing/window-slices.js';
import { loadKeysOf } from '../../../lake/delta/file-tags.js';

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
  readonly transactions: PipelineTables;
  /** How many settlements a range is expected to have, and whether anybody has looked. */
  readonly expected: (question: ForecastQuestion) => { readonly count: number; readonly isSeen: boolean };
}

/** A settlement that transactions name. */
interface NamedSettlement extends Subject {
  /** When the windows that name it changed last, milliseconds since 1970. */
  readonly changedAt: number;
}

const prefix = 'settlement/';

/**
 * Slices that are settlements which loaded transactions name; a sync reads those that are new, and those with transactions
 * that have changed since, as their totals may have changed.
 */
export function settlementSlicing({
  pipeline,
  table,
  transactions,
  expected,
}: SettlementSlicingOptions): Slicing<SettlementSlice> & {
  prepare(job: Job): Promise<Job>;
  prepareSync(job: SyncJob): Promise<Job>;
} {
  const main = mainTable(transactions);
  const named = (job: Job, range: Window) => namedSettlements(job, transactions.name, main, range);
  const queue = ({ lake, account, refresh, subjects = [], onlyLoadKeys }: Job): SliceQueue<SettlementSlice> => {
    const loaded = lake.loadKeys(pipeline, table, account);
    const wanted = subjects
      .map(settlementSlice)
      .filter(({ loadKeys: [key = ''] }) => onlyLoadKeys?.has(key) ?? (refresh || !loaded.has(key)));
    return listQueue(wanted, 'settlement', () => undefined);
  };
  return {
    loadKey: 'settlement',
    prepare: async (job) => ({ ...job, subjects: await named(job, job.range) }),
    prepareSync: async (job) => {
      const loaded = job.lake.loadKeys(pipeline, table, job.account);
      const all = await named(job, { start: -Infinity, end: Infinity });
      const readAt = (id: string): number => loaded.get(prefix + id)?.lastUpdated ?? -Infinity;
      return { ...job, subjects: all.filter(({ id, changedAt }) => changedAt > readAt(id)) };
    },
    sliceQueue: queue,
    sync: queue,
    forecast: (question) => {
      const { job } = question;
      // Which they are is known only once transactions are loaded.
      const { count, isSeen } = expected(question);
      const months = { first: monthOf(job.range.start), last: monthOf(job.range.end - 1) };
      const loaded = job.lake
        .files(pipeline, table, job.account)
        .filter(({ partitionValues: { month } }) => month != null && month >= months.first && month <= months.last)
        .reduce((sum, add) => sum + loadKeysOf(add).length, 0);
      const lacking = Math.max(0, count - (job.refresh ? 0 : loaded));
      const subjects = Array.from({ length: lacking }, (_, number) => ({ id: String(number + 1), at: undefined }));
      return {
        queue: listQueue(subjects.map(settlementSlice), 'settlement', () => undefined),
        expectation: { results: () => 1, pages: () => 1 },
        loaded: { count: loaded, days: null, results: loaded },
        unlisted: 0,
        isComplete: isSeen,
      };
    },
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
  range: Window,
): Promise<NamedSettlement[]> {
  const adds = lake
    .files(pipeline, main.name, account)
    .filter((add) => loadKeysOf(add).some((key) => overlap(readWindow(key) ?? { start: 0, end: 0 }, range)));
  if (adds.length === 0) return [];
  // Only now: other runs need no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const rows = await queryFiles(
    lake,
    main,
    adds,
    'settlement_id IS NOT NULL',
    (select) =>
      'SELECT settlement_id AS id, epoch_ms(min(effective_at)) AS first_at, ' +
      "coalesce(string_agg(DISTINCT epoch_ms(window_start) || '/' || epoch_ms(window_end), ' '), '') AS windows " +
      `FROM (${select}) GROUP BY ALL ORDER BY first_at, id`,
  );
  const loaded = lake.loadKeys(pipeline, main.name, account);
  return rows.map((row) => {
    const changes = String(row['windows'])
      .split(' ')
      .map((window) => {
        const [start = NaN, end = NaN] = window.split('/').map(Number);
        // Of imported rows there is no window, and nothing says when they came.
        return Number.isNaN(end) ? 0 : (loaded.get(windowKey({ start, end }))?.lastUpdated ?? 0);
      });
    return { id: String(row['id']), at: Number(row['first_at']), changedAt: Math.max(...changes) };
  });
}
