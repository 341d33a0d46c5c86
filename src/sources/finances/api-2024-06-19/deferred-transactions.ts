import { groupBy } from '../../../core/group-by.js';
import { dayMs, overlap, type Window } from '../../../core/windows.js';
import type { ChangedWindow, Job, Reading } from '../../../engine/run/pipeline.js';
import type { SyncJob } from '../../../engine/slicing/slicing.js';
import { loadedWindows, windowKey } from '../../../engine/slicing/window-slices.js';
import type { Add } from '../../../lake/delta/actions.js';
import { columnStatistics, loadKeysOf } from '../../../lake/delta/file-tags.js';
import { type Listed, listed, recentTransactions, totalText } from './listed-transactions.js';
import { limits } from './operations.js';
import { transactions } from './transaction-tables.js';
import type { WithTransactions } from './transactions-api.js';

/** So many deferred sales are no more pages than the burst has: all of them are asked for. */
const fewDeferred = limits.burst * limits.pageSize;

/** Of more than these a sale that is younger counts as deferred until it is due or paid: a longer look-back reads it again anyway. */
const youngMs = 14 * dayMs;

/** What is due for longer and isn't released may be held back for long, or be gone. */
const overdueMs = 3 * dayMs;

/** The deferrals of one window. */
interface DeferringWindow {
  readonly window: Window;
  readonly deferrals: readonly StoredDeferral[];
  /** Those that may have been released. */
  readonly asked: readonly StoredDeferral[];
  /** Whether one of them should have been. */
  readonly isDue: boolean;
}

/**
 * Reads what is recent, and finds the windows whose deferred transactions have been released since they were read. A released
 * transaction keeps its id and its old date, so only its status says it. What is still deferred is listed, and what the lake has as
 * deferred and that list lacks was released, or is gone; what it has with another total, has changed. Of many thousands only that is asked for
 * which may have been released: what is due, what another transaction has paid, and what is old; and on days where releases are due,
 * that list is spared. What was released on these days is listed next: with what the lake holds, it is what a window is now, so that
 * days aren't read again for it.
 *
 * @returns the job with these windows as `changed`
 */
export async function withReleased(job: SyncJob, pipeline: string, reading: Reading<WithTransactions>): Promise<Job> {
  const { range, lookBackFrom, refresh } = job;
  if (!refresh) return { ...job, changed: [] };
  const recent = await recentTransactions(job, pipeline, reading);
  const stored = await storedDeferrals(job, pipeline, ({ window, posted }) => {
    // What the look-back touches is read again anyway, but for the older part of a window that has one.
    if (!overlap(window, { start: lookBackFrom, end: Infinity })) return true;
    return recent?.windows.has(windowKey(window)) === true && posted < recent.span.start;
  });
  const rows = stored.map((row) => (recent?.paid.has(row.id) === true ? { ...row, isPaid: true } : row));
  const windows = deferringWindows(rows, range.end);
  const overdue = windows.filter(({ isDue }) => !isDue);
  const left = new Set<DeferringWindow>(windows.filter(({ isDue }) => isDue));
  const known = new Map(rows.map((row) => [row.id, row]));
  /** What the lake holds of a transaction, unless that is in another window than the one that it belongs to now. */
  const storedOf = ({ id, posted }: Listed): StoredDeferral | undefined => {
    const row = known.get(id);
    return row !== undefined && posted >= row.window.start && posted < row.window.end ? row : undefined;
  };
  /** What isn't deferred any more and must be found among what was released. */
  const gone = new Set<string>();
  /** Transactions that the lake holds as they were before, by their ids. */
  const current = new Map<string, Buffer>();
  /** Dates of what is deferred and the lake doesn't have. */
  const late: number[] = [];
  const [oldest] = overdue;
  const newest = overdue.at(-1);
  if (oldest !== undefined && newest !== undefined) {
    const deferred = new Set<string>();
    for (const span of spansOf({ start: oldest.window.start, end: newest.window.end })) {
      for await (const one of listed('DEFERRED', span, reading)) {
        const row = storedOf(one);
        if (row === undefined) late.push(one.posted);
        else deferred.add(one.id);
        // Not by its bytes: the same sale comes with null lists now and with none then. A copy: the pages of a long list aren't kept.
        const hasTotals = row !== undefined && row.total !== '' && one.total !== '';
        if (hasTotals && row.total !== one.total) current.set(one.id, Buffer.from(one.raw));
      }
    }
    for (const each of overdue) {
      const lacking = each.asked.filter(({ id }) => !deferred.has(id));
      for (const { id } of lacking) gone.add(id);
      if (lacking.length > 0) left.add(each);
    }
  }
  const withBodies = (window: Window): ChangedWindow => {
    const answer = recent?.windows.get(windowKey(window));
    const bodies = async () => {
      const kept =
        recent === undefined || answer === undefined
          ? await storedTransactions(job, pipeline, window)
          : window.start < recent.span.start
            ? await storedTransactions(job, pipeline, window, recent.span.start)
            : [];
      return bodiesOf([...kept.map(({ id, raw }) => current.get(id) ?? Buffer.from(raw)), ...(answer?.received ?? [])]);
    };
    return { ...window, bodies };
  };
  const changed = new Map<string, ChangedWindow>();
  for (const [key, { window }] of recent?.windows ?? []) changed.set(key, withBodies(window));
  for (const id of current.keys()) {
    const window = known.get(id)?.window;
    if (window !== undefined) changed.set(windowKey(window), withBodies(window));
  }
  for (const run of runsOf(windows.filter((each) => left.has(each)))) {
    const released = new Set<string>();
    /** Dates of what the lake doesn't have. */
    const unknown: number[] = [];
    for (const span of spansOf(spanOf(run))) {
      for await (const one of listed('DEFERRED_RELEASED', span, reading)) {
        const row = storedOf(one);
        if (row === undefined) unknown.push(one.posted);
        else if (row.isDeferred) {
          released.add(one.id);
          current.set(one.id, one.raw);
        }
      }
    }
    for (const { window, asked, deferrals } of run) {
      const isElsewhere =
        unknown.some((posted) => posted >= window.start && posted < window.end) ||
        asked.some(({ id }) => gone.has(id) && !released.has(id));
      if (isElsewhere) changed.set(windowKey(window), window);
      else if (deferrals.some(({ id }) => released.has(id))) {
        changed.set(windowKey(window), withBodies(window));
      }
    }
  }
  // What was posted later is read again anyway.
  const readFrom = recent?.span.start ?? lookBackFrom;
  for (const window of loadedWindows(job.lake, pipeline, transactions.name, job.account)) {
    const end = Math.min(window.end, readFrom);
    if (late.some((posted) => posted >= window.start && posted < end)) changed.set(windowKey(window), window);
  }
  return { ...job, changed: [...changed.values()] };
}

/** The windows with deferrals that may have been released by an instant, the oldest first. */
function deferringWindows(rows: readonly StoredDeferral[], now: number): DeferringWindow[] {
  const isFew = rows.filter(({ isDeferred }) => isDeferred).length <= fewDeferred;
  const mayBeReleased = ({ isDeferred, isPaid, maturesAt = -Infinity, window }: StoredDeferral) =>
    isDeferred && (isFew || isPaid || maturesAt <= now || window.end <= now - youngMs);
  const isDue = ({ isPaid, maturesAt = -Infinity }: StoredDeferral) =>
    !isFew && (isPaid || (maturesAt <= now && maturesAt > now - overdueMs));
  return [...groupBy(rows, ({ window }) => `${window.start}/${window.end}`).values()]
    .flatMap((deferrals) => {
      const asked = deferrals.filter(mayBeReleased);
      const window = asked[0]?.window;
      return window === undefined ? [] : [{ window, deferrals, asked, isDue: asked.some(isDue) }];
    })
    .toSorted((a, b) => a.window.start - b.window.start);
}

/** Windows that follow each other without a gap, which one list covers. */
function runsOf(windows: readonly DeferringWindow[]): DeferringWindow[][] {
  const runs: DeferringWindow[][] = [];
  for (const each of windows) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.window.end === each.window.start) run.push(each);
    else runs.push([each]);
  }
  return runs;
}

/** When what is asked for was posted: the rest of the windows holds what was released before, and what isn't due. */
function spanOf(run: readonly DeferringWindow[]): Window {
  let [start, end] = [Infinity, -Infinity];
  for (const { posted } of run.flatMap(({ asked }) => asked)) {
    start = Math.min(start, posted);
    // Dates are whole seconds, of which the later bound isn't included.
    end = Math.max(end, posted + 1000);
  }
  return { start, end };
}

/** A longer span than the API answers would get an empty answer: they stay a day below. */
const spanMs = limits.maxSpanMs - dayMs;

function spansOf({ start, end }: Window): Window[] {
  const spans: Window[] = [];
  for (let from = start; from < end; from += spanMs) spans.push({ start: from, end: Math.min(end, from + spanMs) });
  return spans;
}

/** Transactions as the API answers them, a page of it each; where there are none a page without any. */
function bodiesOf(received: readonly Buffer[]): Uint8Array[] {
  return Array.from({ length: Math.max(1, Math.ceil(received.length / limits.pageSize)) }, (_, page) => {
    const some = received.slice(page * limits.pageSize, (page + 1) * limits.pageSize);
    const list = some.flatMap((raw, at) => (at === 0 ? [raw] : [comma, raw]));
    return Buffer.concat([opening, ...list, closing]);
  });
}

const [opening, comma, closing] = [Buffer.from('{"payload":{"transactions":['), Buffer.from(','), Buffer.from(']}}')];

/** A sale that the lake has as DEFERRED, or as DEFERRED_RELEASED. */
interface StoredDeferral {
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
async function storedDeferrals(
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
async function storedTransactions(
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
