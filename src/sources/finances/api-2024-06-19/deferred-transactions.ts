import type { Snapshot } from '../../../lake/catalog/snapshot.js';
import { groupBy } from '../../../core/group-by.js';
import { contains, dayMs, overlap, type Window } from '../../../core/windows.js';
import type { Job, Reading, SyncJob } from '../../../engine/run/pipeline.js';
import { loadedWindows, windowKey, type ChangedWindow } from '../../../engine/slicing/window-slices.js';
import type { DataFile } from '../../../lake/delta/data-file.js';
import { type Listed, listed, recentTransactions, type RecentTransactions, totalText } from './listed-transactions.js';
import { transactionLimits } from './operations.js';
import { transactions } from './transaction-tables.js';
import type { WithFinances20240619 } from './finances-api.js';

/** Deferred sales that fit the pages of one burst: up to this many, all of them are checked. */
const fewDeferred = transactionLimits.burst * transactionLimits.pageSize;

/** With more than `fewDeferred`, a younger sale counts as deferred until it is due or paid: a longer look-back reads it anyway. */
const youngMs = 14 * dayMs;

/** A sale overdue for longer is held back for an unknown time, or deleted. */
const overdueMs = 3 * dayMs;

/** The deferrals of one window. */
interface DeferringWindow {
  readonly window: Window;
  readonly deferrals: readonly StoredDeferral[];
  /** Those that may have been released. */
  readonly candidates: readonly StoredDeferral[];
  /** Whether the release of one of them is due. */
  readonly isDue: boolean;
}

/**
 * Finds the windows whose deferred transactions have changed since they were read, and reads the recent ones.
 *
 * A released transaction keeps its id and its old date: only its status changes. So the list of deferred transactions is
 * compared with those in the lake. One that the list lacks was released or deleted; one with another total has changed.
 * With thousands of deferrals only those that may have been released are checked: due, paid by another transaction, or old.
 * Windows with due releases skip that list. The list of released transactions follows: together with the lake's rows it
 * gives the present content of a window, which then needs no request.
 */
export async function changedWindows(
  job: SyncJob,
  pipeline: string,
  reading: Reading<WithFinances20240619>,
): Promise<readonly ChangedWindow[]> {
  const recent = await recentTransactions(job, pipeline, reading);
  const deferrals = await olderDeferrals(job, pipeline, recent);
  const search = new ReleaseSearch({ job, pipeline, reading, recent }, deferrals);
  await search.compareDeferred();
  search.addAnsweredWindows();
  await search.compareReleased();
  search.addLateWindows();
  return search.changed;
}

/** The stored deferrals outside the look-back, which reads its windows anyway, except for the older days of a window across its start. */
async function olderDeferrals(
  job: SyncJob,
  pipeline: string,
  recent: RecentTransactions | undefined,
): Promise<StoredDeferral[]> {
  const lookBack = { start: job.lookBackFrom(pipeline), end: Infinity };
  const stored = await storedDeferrals(job, pipeline, ({ window, posted }) => {
    if (!overlap(window, lookBack)) return true;
    return recent?.windows.has(windowKey(window)) === true && posted < recent.span.start;
  });
  return stored.map((row) => (recent?.paid.has(row.id) === true ? { ...row, isPaid: true } : row));
}

interface SearchOptions {
  readonly job: SyncJob;
  readonly pipeline: string;
  readonly reading: Reading<WithFinances20240619>;
  readonly recent: RecentTransactions | undefined;
}

/** A search for windows with released, changed or missing transactions. Its methods run once each, in this order. */
class ReleaseSearch {
  readonly #options: SearchOptions;
  /** By transaction id. */
  readonly #deferrals: ReadonlyMap<string, StoredDeferral>;
  /** The oldest first. */
  readonly #windows: readonly DeferringWindow[];
  /** Windows whose released transactions are listed. */
  readonly #suspects: Set<DeferringWindow>;
  /** Ids that are no longer deferred, and must be among the released. */
  readonly #gone = new Set<string>();
  /** Received JSON by transaction id; the lake holds an older state. */
  readonly #updated = new Map<string, Buffer>();
  /** Posting dates of deferred transactions that the lake lacks. */
  readonly #late: number[] = [];
  readonly #changed = new Map<string, ChangedWindow>();

  constructor(options: SearchOptions, deferrals: readonly StoredDeferral[]) {
    this.#options = options;
    this.#deferrals = new Map(deferrals.map((row) => [row.id, row]));
    this.#windows = deferringWindows(deferrals, options.job.range.end);
    this.#suspects = new Set(this.#windows.filter(({ isDue }) => isDue));
  }

  get changed(): readonly ChangedWindow[] {
    return [...this.#changed.values()];
  }

  /** Compares the deferred transactions of windows without a due release with the lake's. */
  async compareDeferred(): Promise<void> {
    const windows = this.#windows.filter(({ isDue }) => !isDue);
    const [oldest, newest] = [windows[0], windows.at(-1)];
    if (oldest === undefined || newest === undefined) return;
    const deferred = await this.#listDeferred({ start: oldest.window.start, end: newest.window.end });
    for (const each of windows) {
      const missing = each.candidates.filter(({ id }) => !deferred.has(id));
      for (const { id } of missing) this.#gone.add(id);
      if (missing.length > 0) this.#suspects.add(each);
    }
  }

  /** The ids in the lake that are still deferred; notes late and changed transactions. */
  async #listDeferred(range: Window): Promise<Set<string>> {
    const deferred = new Set<string>();
    for (const span of spansOf(range)) {
      for await (const transaction of listed('DEFERRED', span, this.#options.reading)) {
        const row = this.#storedOf(transaction);
        if (row === undefined) {
          this.#late.push(transaction.posted);
          continue;
        }
        deferred.add(transaction.id);
        // By total: a list without elements is absent in one answer and null in the next.
        const hasTotals = row.total !== '' && transaction.total !== '';
        // A copy, so that the pages of a long list can be freed.
        if (hasTotals && row.total !== transaction.total)
          this.#updated.set(transaction.id, Buffer.from(transaction.raw));
      }
    }
    return deferred;
  }

  /** Adds the recent windows, and those with a changed total: their content is known. */
  addAnsweredWindows(): void {
    for (const { window } of this.#options.recent?.windows.values() ?? []) this.#addAnswered(window);
    for (const id of this.#updated.keys()) {
      const window = this.#deferrals.get(id)?.window;
      if (window !== undefined) this.#addAnswered(window);
    }
  }

  /** Lists the released transactions of the suspected windows, and adds the windows that contain any. */
  async compareReleased(): Promise<void> {
    for (const run of runsOf(this.#windows.filter((each) => this.#suspects.has(each)))) {
      const { released, unknown } = await this.#listReleased(spanOf(run));
      for (const { window, candidates, deferrals } of run) {
        const isIncomplete =
          unknown.some((posted) => contains(window, posted)) ||
          candidates.some(({ id }) => this.#gone.has(id) && !released.has(id));
        if (isIncomplete) this.#addUnread(window);
        else if (deferrals.some(({ id }) => released.has(id))) this.#addAnswered(window);
      }
    }
  }

  /** The ids that are deferred in the lake and released now, and the posting dates of transactions that the lake lacks. */
  async #listReleased(range: Window): Promise<{ released: Set<string>; unknown: number[] }> {
    const released = new Set<string>();
    const unknown: number[] = [];
    for (const span of spansOf(range)) {
      for await (const transaction of listed('DEFERRED_RELEASED', span, this.#options.reading)) {
        const row = this.#storedOf(transaction);
        if (row === undefined) unknown.push(transaction.posted);
        else if (row.isDeferred) {
          released.add(transaction.id);
          this.#updated.set(transaction.id, transaction.raw);
        }
      }
    }
    return { released, unknown };
  }

  /** Adds the windows before the look-back that lack a deferred transaction. */
  addLateWindows(): void {
    const { job, pipeline, recent } = this.#options;
    const readFrom = recent?.span.start ?? job.lookBackFrom(pipeline);
    for (const window of loadedWindows(job.lake, pipeline, job.account)) {
      const older = { start: window.start, end: Math.min(window.end, readFrom) };
      if (this.#late.some((posted) => contains(older, posted))) this.#addUnread(window);
    }
  }

  /** The lake's row of a transaction; undefined where it is in another window than its date says. */
  #storedOf({ id, posted }: Listed): StoredDeferral | undefined {
    const row = this.#deferrals.get(id);
    return row !== undefined && contains(row.window, posted) ? row : undefined;
  }

  /** Adds a window that is read from the API. */
  #addUnread(window: Window): void {
    this.#changed.set(windowKey(window), window);
  }

  /** Adds a window whose content follows from the lake and the answers so far. */
  #addAnswered(window: Window): void {
    this.#changed.set(windowKey(window), { ...window, bodies: () => this.#bodiesOf(window) });
  }

  async #bodiesOf(window: Window): Promise<Uint8Array[]> {
    const { job, pipeline, recent } = this.#options;
    const answer = recent?.windows.get(windowKey(window));
    const stored =
      recent === undefined || answer === undefined
        ? await storedTransactions(job, pipeline, window)
        : window.start < recent.span.start
          ? await storedTransactions(job, pipeline, window, recent.span.start)
          : [];
    const older = stored.map(({ id, raw }) => this.#updated.get(id) ?? Buffer.from(raw));
    return bodiesOf([...older, ...(answer?.received ?? [])]);
  }
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
      const candidates = deferrals.filter(mayBeReleased);
      const window = candidates[0]?.window;
      return window === undefined ? [] : [{ window, deferrals, candidates, isDue: candidates.some(isDue) }];
    })
    .toSorted((a, b) => a.window.start - b.window.start);
}

/** Groups of windows that follow each other without a gap: one list covers each. */
function runsOf(windows: readonly DeferringWindow[]): DeferringWindow[][] {
  const runs: DeferringWindow[][] = [];
  for (const each of windows) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.window.end === each.window.start) run.push(each);
    else runs.push([each]);
  }
  return runs;
}

/** The span of the candidates' dates: outside it are transactions released before, and those that aren't due. */
function spanOf(run: readonly DeferringWindow[]): Window {
  let [start, end] = [Infinity, -Infinity];
  for (const { posted } of run.flatMap(({ candidates }) => candidates)) {
    start = Math.min(start, posted);
    // Dates are whole seconds, and the end is exclusive.
    end = Math.max(end, posted + 1000);
  }
  return { start, end };
}

/** A day below the longest span that the API answers: a longer one gets an empty answer. */
const spanMs = transactionLimits.maxSpanMs - dayMs;

function spansOf({ start, end }: Window): Window[] {
  const spans: Window[] = [];
  for (let from = start; from < end; from += spanMs) spans.push({ start: from, end: Math.min(end, from + spanMs) });
  return spans;
}

/** Transactions as bodies of the API's pages; without transactions one empty page. */
function bodiesOf(received: readonly Buffer[]): Uint8Array[] {
  return Array.from({ length: Math.max(1, Math.ceil(received.length / transactionLimits.pageSize)) }, (_, page) => {
    const results = received.slice(page * transactionLimits.pageSize, (page + 1) * transactionLimits.pageSize);
    const list = results.flatMap((raw, index) => (index === 0 ? [raw] : [comma, raw]));
    return Buffer.concat([opening, ...list, closing]);
  });
}

const [opening, comma, closing] = [Buffer.from('{"payload":{"transactions":['), Buffer.from(','), Buffer.from(']}}')];

/** A sale whose status in the lake is DEFERRED or DEFERRED_RELEASED. */
interface StoredDeferral {
  /** Transaction id; without one the content hash. */
  readonly id: string;
  /** Format of `totalText`. */
  readonly total: string;
  readonly isDeferred: boolean;
  /** Milliseconds since 1970. */
  readonly posted: number;
  /** The window that it was read in. */
  readonly window: Window;
  /** When its release is due, milliseconds since 1970. */
  readonly maturesAt: number | undefined;
  /** Whether the lake has the transaction that pays it. */
  readonly isPaid: boolean;
}

/** The deferrals of an account that pass a filter, from the files with a DEFERRED row. */
async function storedDeferrals(
  job: Job,
  pipeline: string,
  filter: (row: StoredDeferral) => boolean,
): Promise<StoredDeferral[]> {
  const chosen = (snapshot: Snapshot) =>
    snapshot.filesOf(transactions.name, job.account, pipeline).filter(mayBeDeferred);
  if (chosen(job.lake.snapshot).length === 0) return [];
  // Imported here: a lake without deferred transactions needs no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const instants = ['posted_at', 'window_start', 'window_end', 'maturity_at'].map(
    (name) => `epoch_ms(${name}) AS ${name}`,
  );
  const rows = await queryFiles(
    job.lake,
    transactions,
    chosen,
    'posted_at IS NOT NULL AND window_start IS NOT NULL',
    (select) =>
      `WITH stored AS (${select}) SELECT coalesce(nullif(transaction_id, ''), content_hash) AS id, currency, ` +
      "coalesce(CAST(total_amount AS VARCHAR), total_text, '') AS total, " +
      `status = 'DEFERRED' AS is_deferred, ${instants.join(', ')}, ` +
      "transaction_id IN (SELECT deferred_transaction_id FROM stored WHERE status = 'RELEASED' AND deferred_transaction_id IS NOT NULL) " +
      "AS is_paid FROM stored WHERE status IN ('DEFERRED', 'DEFERRED_RELEASED')",
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
    .filter(filter);
}

/** Whether a file may contain a deferred row, by its statistics; true without statistics. */
function mayBeDeferred(file: DataFile): boolean {
  const { least = 'DEFERRED', greatest = 'DEFERRED' } = file.columnStatistics('status');
  return least <= 'DEFERRED' && greatest >= 'DEFERRED';
}

/**
 * The transactions of a window as received, in order of receipt.
 *
 * @param before excludes transactions posted from this instant up to the window's end; default none
 */
async function storedTransactions(
  { lake, account }: Job,
  pipeline: string,
  window: Window,
  before = Infinity,
): Promise<{ readonly id: string; readonly raw: string }[]> {
  const loadKey = windowKey(window);
  const chosen = (snapshot: Snapshot) =>
    snapshot.filesOf(transactions.name, account, pipeline).filter((file) => file.loadKeys.includes(loadKey));
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const { loadKeyCondition } = await import('../../../lake/files/load-key-rows.js');
  const isExcluded = `posted_at >= make_timestamptz(${before * 1000}) AND posted_at < window_end`;
  const rows = await queryFiles(
    lake,
    transactions,
    chosen,
    loadKeyCondition([loadKey]) + (before === Infinity ? '' : ` AND (${isExcluded}) IS NOT TRUE`),
    (select) => `SELECT transaction_id, raw FROM (${select}) ORDER BY position`,
  );
  return rows.map(({ transaction_id: id, raw }) => ({ id: typeof id === 'string' ? id : '', raw: String(raw) }));
}
