import { bufferOf } from '../../../core/columns/byte-ranges.js';
import { numberRange } from '../../../core/json/node-values.js';
import { kind, type Tape } from '../../../core/json/tape.js';
import { decimalPrecision, decimalScale, millionthsText, readScaled } from '../../../core/numeric/decimal.js';
import { readInstant, millisecondsOf } from '../../../core/numeric/instant.js';
import { contains, dayStart, overlap, uncovered, type Window } from '../../../core/windows.js';
import type { Reading, SyncJob } from '../../../engine/run/pipeline.js';
import { bisectedPages } from '../../../engine/slicing/bisected-windows.js';
import { dailyWindows, missingWindows } from '../../../engine/slicing/sync-windows.js';
import { Density } from '../../../engine/slicing/volume-estimate.js';
import { loadedSamples, loadedWindows, windowKey } from '../../../engine/slicing/window-slices.js';
import { contentHashOf } from '../model/event-ids.js';
import { transactionLimits, parameters as names } from './operations.js';
import { eachResult } from './results-page.js';
import { listName } from './transaction-reader.js';
import { transactions } from './transaction-tables.js';
import { transactionsVerdict, type WithFinances20240619 } from './finances-api.js';

/** A transaction of an answer. */
export interface Listed {
  /** Transaction id; without one the content hash. */
  readonly id: string;
  /** Format of `totalText`. */
  readonly total: string;
  /** Milliseconds since 1970; NaN without a readable date. */
  readonly posted: number;
  /** Id of the deferred transaction that it pays; empty: none. */
  readonly pays: string;
  /** As received. */
  readonly raw: Buffer;
}

/** The transactions posted in a span, of one status or all. A span that is too large is bisected. */
export async function* listed(
  status: 'DEFERRED' | 'DEFERRED_RELEASED' | undefined,
  span: Window,
  reading: Reading<WithFinances20240619>,
): AsyncGenerator<Listed> {
  const pages = bisectedPages([span], transactionsVerdict, ({ start, end }) => {
    const parameters = { postedAfter: start, postedBefore: end, [names.transactionStatus]: status };
    return reading.upstream['2024-06-19'].pages({ operation: 'listTransactions', parameters }, reading);
  });
  for await (const { tape, list } of pages) {
    const results: Listed[] = [];
    eachResult({ tape, list }, (node) => {
      const posted = readInstant(memberText(tape, node, 'postedDate'));
      const id = memberText(tape, node, 'transactionId');
      const raw = tape.bytes.subarray(tape.start(node), tape.end(node));
      results.push({
        id: id === '' ? contentHashOf(listName, raw) : id,
        total: totalOf(tape, node),
        posted: posted === undefined ? NaN : millisecondsOf(posted),
        pays: idPaidBy(tape, node),
        raw,
      });
    });
    yield* results;
  }
}

/** A member that is a string; empty for another type. */
function memberText(tape: Tape, node: number, name: string): string {
  const value = tape.member(node, name);
  return value !== undefined && tape.isString(value) ? tape.stringValue(value) : '';
}

/** A total in a form for comparison: `USD 12.340000`; empty without an amount. */
export function totalText(currency: string, amount: string): string {
  if (amount === '') return '';
  const value = readScaled(amount, decimalPrecision, decimalScale);
  return `${currency} ${value === undefined ? amount : millionthsText(value)}`;
}

function totalOf(tape: Tape, node: number): string {
  const total = tape.member(node, 'totalAmount');
  if (total === undefined || tape.kind(total) !== kind.object) return '';
  const amount = tape.member(total, 'currencyAmount');
  const number = amount === undefined ? undefined : numberRange(tape, amount);
  const text = number === undefined ? '' : bufferOf(number).toString('latin1');
  return totalText(memberText(tape, total, 'currencyCode'), text);
}

function idPaidBy(tape: Tape, node: number): string {
  const list = tape.member(node, 'relatedIdentifiers');
  let id = '';
  if (list === undefined || tape.kind(list) !== kind.array) return id;
  eachResult({ tape, list }, (identifier) => {
    if (memberText(tape, identifier, 'relatedIdentifierName') !== 'DEFERRED_TRANSACTION_ID') return;
    id = memberText(tape, identifier, 'relatedIdentifierValue');
  });
  return id;
}

/** The new days and those of the look-back, read as one query. */
export interface RecentTransactions {
  /** The requested span: it ends with the sync's range. */
  readonly span: Window;
  /** The windows of the span, by load key; the first one may begin earlier. */
  readonly windows: ReadonlyMap<string, { readonly window: Window; readonly received: readonly Buffer[] }>;
  /** Ids of deferred transactions that others in the span pay. */
  readonly paid: ReadonlySet<string>;
}

/** Maximum of pages, which are in memory until their windows are committed; with more pages the saving is smaller. */
const mostPages = 30;

/**
 * Reads the new days and the look-back as one chain of pages. Separate windows would each end with a page that isn't full, and the
 * older days of a long window need no request.
 *
 * @returns undefined where windows must be read one by one: one query would save nothing, is too large, or is uncertain
 * @throws failures that end the run
 */
export async function recentTransactions(
  job: SyncJob,
  pipeline: string,
  reading: Reading<WithFinances20240619>,
): Promise<RecentTransactions | undefined> {
  const { lake, account, range, wasRead, requested } = job;
  if (wasRead !== undefined) return undefined;
  const loaded = loadedWindows(lake, pipeline, account);
  const samples = loadedSamples(lake, pipeline, transactions.name, account);
  const lookBackFrom = job.lookBackFrom(pipeline);
  const from = dayStart(lookBackFrom);
  const missing = missingWindows(loaded, range.end, requested, pipeline);
  const recent = dailyWindows({ loaded, missing, end: range.end, lookBackFrom })
    .map(({ window }) => window)
    .filter(({ end }) => end > from);
  const first = recent[0];
  if (first === undefined || (recent.length === 1 && first.start >= from)) return undefined;
  const span = { start: Math.max(from, first.start), end: range.end };
  const isLoaded = loaded.some((window) => windowKey(window) === windowKey(first));
  if (uncovered(span, recent).length > 0 || (first.start < span.start && !isLoaded)) return undefined;
  const expected = new Density(samples).expected(span);
  if (expected === undefined || expected > mostPages * transactionLimits.pageSize) return undefined;

  const windows = new Map(recent.map((window) => [windowKey(window), { window, received: [] as Buffer[] }]));
  const paid = new Set<string>();
  try {
    for await (const { posted, pays, raw } of listed(undefined, span, reading)) {
      const found = [...windows.values()].find(({ window }) => contains(window, posted));
      // The window of a transaction without a date in the span is unknown.
      if (found === undefined || posted < span.start) return undefined;
      found.received.push(raw);
      if (pays !== '') paid.add(pays);
    }
  } catch (error) {
    if (reading.signal.aborted || transactionsVerdict(error) === 'abort') throw error;
    // Separate windows can be split, and only the failing ones stay open.
    return undefined;
  }
  // If days with transactions are empty now, the answer is discarded: each window is read and judged separately.
  const isEmptied = [...windows.values()].some(
    ({ window, received }) =>
      received.length === 0 && samples.some((sample) => sample.results > 0 && overlap(sample.window, window)),
  );
  return isEmptied ? undefined : { span, windows, paid };
}
