import { dayMs, dayStart, type Window } from '../../../core/windows.js';
import type { Job, Reading } from '../../../engine/run/pipeline.js';
import type { SyncJob } from '../../../engine/slicing/slicing.js';
import type { Add } from '../../../lake/delta/actions.js';
import { columnStatistics } from '../../../lake/delta/file-tags.js';
import { limits, parameters as names } from './operations.js';
import { eachResult } from './results-page.js';
import { transactions } from './transaction-tables.js';
import type { WithTransactions } from './transactions-api.js';

/** A transaction that the lake has as DEFERRED, with the window that it was read in. */
interface DeferredRow {
  readonly id: string;
  readonly posted: number;
  readonly window: Window;
}

/**
 * Finds the windows whose deferred transactions have been released since they were read. A released transaction keeps its id
 * and its old date, so only a list of what is still deferred shows it: that list is short, and what the lake has as deferred
 * and the list lacks was released.
 *
 * @returns the job with those windows as `changed`
 */
export async function withReleased(job: SyncJob, pipeline: string, reading: Reading<WithTransactions>): Promise<Job> {
  const rows = job.refresh ? await deferredRows(job, pipeline) : [];
  if (rows.length === 0) return job;
  const oldest = rows.reduce((least, { posted }) => Math.min(least, posted), Infinity);
  const deferred = new Set<string>();
  const span = { start: Math.min(dayStart(oldest), job.lookBackFrom), end: job.range.end };
  for (const { start, end } of spansOf(span)) {
    const parameters = { postedAfter: start, postedBefore: end, [names.transactionStatus]: 'DEFERRED' };
    for await (const page of reading.upstream.transactions.pages(
      { operation: 'listTransactions', parameters },
      reading,
    )) {
      eachResult(page, (node) => {
        const id = page.tape.member(node, 'transactionId');
        if (id !== undefined && page.tape.isString(id)) deferred.add(page.tape.stringValue(id));
      });
    }
  }
  const released = rows.filter(({ id }) => !deferred.has(id)).map(({ window }) => window);
  const changed = new Map(released.map((window) => [`${window.start}/${window.end}`, window]));
  return { ...job, changed: [...changed.values()] };
}

/** A longer span than the API answers would get an empty answer: they stay a day below. */
const spanMs = limits.maxSpanMs - dayMs;

function spansOf({ start, end }: Window): Window[] {
  const spans: Window[] = [];
  for (let from = start; from < end; from += spanMs) spans.push({ start: from, end: Math.min(end, from + spanMs) });
  return spans;
}

async function deferredRows({ lake, account }: Job, pipeline: string): Promise<DeferredRow[]> {
  const adds = lake.files(pipeline, transactions.name, account).filter(mayBeDeferred);
  if (adds.length === 0) return [];
  // Only now: a lake without deferred transactions needs no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const columns = ['posted_at', 'window_start', 'window_end'].map((name) => `epoch_ms(${name}) AS ${name}`);
  const rows = await queryFiles(
    lake,
    transactions,
    adds,
    "status = 'DEFERRED' AND transaction_id IS NOT NULL AND posted_at IS NOT NULL",
    (select) => `SELECT transaction_id, ${columns.join(', ')} FROM (${select})`,
  );
  return rows.map((row) => ({
    id: String(row['transaction_id']),
    posted: Number(row['posted_at']),
    window: { start: Number(row['window_start']), end: Number(row['window_end']) },
  }));
}

/** Whether a file may hold a deferred row, by its statistics; where it has none, it may. */
function mayBeDeferred(add: Add): boolean {
  const { least = 'DEFERRED', greatest = 'DEFERRED' } = columnStatistics(add, 'status');
  return least <= 'DEFERRED' && greatest >= 'DEFERRED';
}
