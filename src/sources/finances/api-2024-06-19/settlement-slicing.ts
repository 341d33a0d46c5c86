import type { Snapshot } from '../../../lake/catalog/snapshot.js';
import { spanIn, loadKeyFor } from '../../../lake/catalog/load-key.js';
import type { Table, PipelineTables } from '../../../core/columns/table.js';
import { monthOf, overlap, type Window } from '../../../core/windows.js';
import type { Forecast, ForecastRequest, Job, Slicing } from '../../../engine/run/pipeline.js';
import { listQueue, type Slice } from '../../../engine/run/slice-queue.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { settlementSlice } from '../selling-partner/subject-ids.js';

/** A slice that reads the summary of one settlement. */
export interface SettlementSlice extends Slice {
  readonly settlement: string;
  /** The partition: the month of its first transaction. */
  readonly month: string;
}

/** The expected number of settlements in a range, and whether any listing exists. */
export type ExpectedSettlements = (request: ForecastRequest) => { readonly count: number; readonly isListed: boolean };

interface SettlementSlicingOptions {
  readonly pipeline: string;
  readonly table: string;
  /** The pipeline whose rows contain the settlement ids. */
  readonly transactions: PipelineTables;
  readonly expected: ExpectedSettlements;
}

/** A settlement id found in transactions. */
export interface NamedSettlement {
  readonly id: string;
  /** When its first transaction was posted, in milliseconds since 1970. */
  readonly at: number;
  /** The last change of the windows that contain it, in milliseconds since 1970. */
  readonly changedAt: number;
}

/**
 * Slices that are the settlements of loaded transactions. A sync reads new ones, and those with transactions that changed later,
 * as their totals may have changed.
 */
export function settlementSlicing(
  options: SettlementSlicingOptions,
): Slicing<SettlementSlice, readonly NamedSettlement[]> {
  const { pipeline, table, transactions, expected } = options;
  const { main } = transactions;
  const named = (job: Job, range: Window) => namedSettlements(job, transactions.name, main, range);
  return {
    loadKeyKind: 'settlement',
    prepare: async (job) => {
      if (job.kind === 'backfill') return named(job, job.range);
      const loaded = job.lake.snapshot.keysOf(job.account, pipeline);
      const all = await named(job, { start: -Infinity, end: Infinity });
      const readAt = (id: string): number => loaded.get(loadKeyFor('settlement', id))?.readAt ?? -Infinity;
      return all.filter(({ id, changedAt }) => changedAt > readAt(id));
    },
    sliceQueue: ({ lake, account, refresh }, found = []) => {
      const loaded = lake.snapshot.keysOf(account, pipeline);
      const wanted = found.map(summarySlice).filter(({ loadKeys: [key = ''] }) => refresh === true || !loaded.has(key));
      return listQueue(wanted, 'settlement', () => undefined);
    },
    // Their ids are known only after transactions are loaded.
    forecast: (request) =>
      settlementForecast(request, {
        pipeline,
        table,
        expected,
        sliceOf: (id) => summarySlice({ id, at: undefined }),
      }),
  };
}

interface SettlementForecastOptions<S extends Slice> extends Pick<
  SettlementSlicingOptions,
  'pipeline' | 'table' | 'expected'
> {
  /** The slice of a settlement that isn't known yet. */
  readonly sliceOf: (id: string) => S;
}

/** The forecast of a pipeline that reads settlements one by one, and whose expected ones aren't known by their ids. */
export function settlementForecast<S extends Slice>(
  request: ForecastRequest,
  { pipeline, table, expected, sliceOf }: SettlementForecastOptions<S>,
): Forecast<S> {
  const { job } = request;
  const { count, isListed } = expected(request);
  const [first, last] = [monthOf(job.range.start), monthOf(job.range.end - 1)];
  const loaded = job.lake.snapshot
    .filesOf(table, job.account, pipeline)
    .filter(({ month }) => month >= first && month <= last)
    .reduce((sum, file) => sum + file.loadKeys.length, 0);
  const lacking = Math.max(0, count - (job.refresh ? 0 : loaded));
  const slices = Array.from({ length: lacking }, (_, number) => sliceOf(String(number + 1)));
  return {
    queue: listQueue(slices, 'settlement', () => undefined),
    expectation: { results: () => 1, pages: () => 1 },
    loaded: { count: loaded, days: null, results: loaded },
    unlisted: 0,
    isComplete: isListed,
  };
}

function summarySlice({ id, at }: { readonly id: string; readonly at: number | undefined }): SettlementSlice {
  return { settlement: id, month: at === undefined ? 'unknown' : monthOf(at), ...settlementSlice(id) };
}

/** The settlements of an account's transactions in a range, the oldest first. */
async function namedSettlements(
  { lake, account }: Job,
  pipeline: string,
  main: Table,
  range: Window,
): Promise<NamedSettlement[]> {
  const chosen = (snapshot: Snapshot) =>
    snapshot
      .filesOf(main.name, account, pipeline)
      .filter((file) => file.loadKeys.some((key) => overlap(spanIn('window', key) ?? { start: 0, end: 0 }, range)));
  if (chosen(lake.snapshot).length === 0) return [];
  // Imported here: other runs need no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const rows = await queryFiles(
    lake,
    main,
    chosen,
    'settlement_id IS NOT NULL',
    (select) =>
      'SELECT settlement_id AS id, epoch_ms(min(effective_at)) AS first_at, ' +
      "coalesce(string_agg(DISTINCT epoch_ms(window_start) || '/' || epoch_ms(window_end), ' '), '') AS windows " +
      `FROM (${select}) GROUP BY ALL ORDER BY first_at, id`,
  );
  const loaded = lake.snapshot.keysOf(account, pipeline);
  return rows.map((row) => {
    const changes = String(row['windows'])
      .split(' ')
      .map((window) => {
        const [start = NaN, end = NaN] = window.split('/').map(Number);
        // Imported rows have no window, and the time of their change is unknown.
        return Number.isNaN(end) ? 0 : (loaded.get(windowKey({ start, end }))?.readAt ?? 0);
      });
    return { id: String(row['id']), at: Number(row['first_at']), changedAt: Math.max(...changes) };
  });
}
