import { parseInstant } from '../../../core/numeric/instant.js';
import { dayMs, type Window } from '../../../core/windows.js';
import type { ChangedWindow, Job, Reading } from '../../../engine/run/pipeline.js';
import type { SyncJob } from '../../../engine/slicing/slicing.js';
import { limits, parameters as names } from './operations.js';
import { eachResult } from './results-page.js';
import { storedDeferrals, storedTransactions, type StoredDeferral } from './stored-deferrals.js';
import type { WithTransactions } from './transactions-api.js';

/** So many deferred sales are one page: all of them are asked for. */
const fewDeferred = limits.pageSize;

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
 * Finds the windows whose deferred transactions have been released since they were read. A released transaction keeps its id
 * and its old date, so only its status tells. What is still deferred is listed, and what the lake has as deferred and that list
 * lacks was released, or is gone. Of thousands only that is asked for which may have been released: what is due, what another
 * transaction has paid, and what is old; and on days where releases are due, that list is spared. What was released on these
 * days is listed next: with what the lake holds, it is what a window is now, so that days aren't read again for it.
 *
 * @returns the job with those windows as `changed`
 */
export async function withReleased(job: SyncJob, pipeline: string, reading: Reading<WithTransactions>): Promise<Job> {
  const { range, lookBackFrom, refresh } = job;
  // What the look-back touches is read again anyway.
  const rows = refresh ? await storedDeferrals(job, pipeline, { start: lookBackFrom, end: Infinity }) : [];
  const windows = deferringWindows(rows, range.end);
  const overdue = windows.filter(({ isDue }) => !isDue);
  const left = new Set<DeferringWindow>(windows.filter(({ isDue }) => isDue));
  /** What isn't deferred any more and must be found among what was released. */
  const gone = new Set<string>();
  const [oldest] = overdue;
  const newest = overdue.at(-1);
  if (oldest !== undefined && newest !== undefined) {
    const deferred = new Set<string>();
    for (const span of spansOf({ start: oldest.window.start, end: newest.window.end })) {
      for await (const { id } of listed('DEFERRED', span, reading)) deferred.add(id);
    }
    for (const each of overdue) {
      const lacking = each.asked.filter(({ id }) => !deferred.has(id));
      for (const { id } of lacking) gone.add(id);
      if (lacking.length > 0) left.add(each);
    }
  }
  const changed: ChangedWindow[] = [];
  for (const run of runsOf(windows.filter((each) => left.has(each)))) {
    const known = new Map(run.flatMap(({ deferrals }) => deferrals.map((row) => [row.id, row] as const)));
    const released = new Map<StoredDeferral, string>();
    /** Dates of what the lake doesn't have. */
    const unknown: number[] = [];
    for (const span of spansOf(spanOf(run))) {
      for await (const { id, posted, text } of listed('DEFERRED_RELEASED', span, reading)) {
        const row = known.get(id);
        if (row === undefined) unknown.push(posted);
        else if (row.isDeferred) released.set(row, text);
      }
    }
    for (const { window, asked, deferrals } of run) {
      const isElsewhere =
        unknown.some((posted) => posted >= window.start && posted < window.end) ||
        asked.some((row) => gone.has(row.id) && !released.has(row));
      const texts = deferrals.flatMap((row) => released.get(row) ?? []);
      if (isElsewhere) changed.push(window);
      else if (texts.length > 0) {
        const bodies = async () => bodiesOf([...(await storedTransactions(job, pipeline, window)), ...texts]);
        changed.push({ ...window, bodies });
      }
    }
  }
  return { ...job, changed };
}

/** The windows with deferrals that may have been released by an instant, the oldest first. */
function deferringWindows(rows: readonly StoredDeferral[], now: number): DeferringWindow[] {
  const isFew = rows.filter(({ isDeferred }) => isDeferred).length <= fewDeferred;
  const mayBeReleased = ({ isDeferred, isPaid, maturesAt = -Infinity, window }: StoredDeferral) =>
    isDeferred && (isFew || isPaid || maturesAt <= now || window.end <= now - youngMs);
  const isDue = ({ isPaid, maturesAt = -Infinity }: StoredDeferral) =>
    !isFew && (isPaid || (maturesAt <= now && maturesAt > now - overdueMs));
  const byWindow = new Map<string, StoredDeferral[]>();
  for (const row of rows) {
    const key = `${row.window.start}/${row.window.end}`;
    const others = byWindow.get(key);
    if (others === undefined) byWindow.set(key, [row]);
    else others.push(row);
  }
  return [...byWindow.values()]
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

/** A transaction of a list: its id, its date in milliseconds since 1970, and its bytes. */
interface Listed {
  readonly id: string;
  readonly posted: number;
  readonly text: string;
}

/** The transactions of one status that were posted in a span. */
async function* listed(
  status: 'DEFERRED' | 'DEFERRED_RELEASED',
  { start, end }: Window,
  reading: Reading<WithTransactions>,
): AsyncGenerator<Listed> {
  const parameters = { postedAfter: start, postedBefore: end, [names.transactionStatus]: status };
  for await (const { tape, list } of reading.upstream.transactions.pages(
    { operation: 'listTransactions', parameters },
    reading,
  )) {
    const results: Listed[] = [];
    eachResult({ tape, list }, (node) => {
      const text = (name: string): string => {
        const value = tape.member(node, name);
        return value !== undefined && tape.isString(value) ? tape.stringValue(value) : '';
      };
      const id = text('transactionId');
      const posted = parseInstant(text('postedDate')) ?? NaN;
      if (id !== '') results.push({ id, posted, text: tape.text(node) });
    });
    yield* results;
  }
}

/** Transactions as the API answers them, a page of it each. */
function bodiesOf(texts: readonly string[]): Uint8Array[] {
  return Array.from({ length: Math.ceil(texts.length / limits.pageSize) }, (_, page) => {
    const some = texts.slice(page * limits.pageSize, (page + 1) * limits.pageSize);
    return Buffer.from(`{"payload":{"transactions":[${some.join(',')}]}}`);
  });
}
