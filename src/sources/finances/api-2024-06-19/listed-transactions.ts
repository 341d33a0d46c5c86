import { kind, type Tape } from '../../../core/json/tape.js';
import { decimalPrecision, decimalScale, millionthsText, readScaled } from '../../../core/numeric/decimal.js';
import { readInstant } from '../../../core/numeric/instant.js';
import { contains, dayStart, overlap, uncovered, type Window } from '../../../core/windows.js';
import type { Reading } from '../../../engine/run/pipeline.js';
import type { SyncJob } from '../../../engine/slicing/slicing.js';
import { bisectedPages } from '../../../engine/slicing/bisected-windows.js';
import { dailyWindows, syncRange } from '../../../engine/slicing/sync-windows.js';
import { Density } from '../../../engine/slicing/volume-estimate.js';
import { loadedSamples, loadedWindows, windowKey } from '../../../engine/slicing/window-slices.js';
import { contentHashOf } from '../model/event-ids.js';
import { limits, parameters as names } from './operations.js';
import { eachResult } from './results-page.js';
import { listName } from './transaction-reader.js';
import { transactions } from './transaction-tables.js';
import { transactionsVerdict, type WithTransactions } from './transactions-api.js';

/** A transaction of an answer. */
export interface Listed {
  /** Of one without an id its content hash. */
  readonly id: string;
  /** As `totalText` writes it. */
  readonly total: string;
  /** Milliseconds since 1970; NaN where it has no readable date. */
  readonly posted: number;
  /** Id of the deferred transaction that it pays; empty where it pays none. */
  readonly pays: string;
  /** As it was received. */
  readonly raw: Buffer;
}

/** The transactions that were posted in a span: those of one status, or all. It is read in parts where it is too large. */
export async function* listed(
  status: 'DEFERRED' | 'DEFERRED_RELEASED' | undefined,
  span: Window,
  reading: Reading<WithTransactions>,
): AsyncGenerator<Listed> {
  const pages = bisectedPages([span], transactionsVerdict, ({ start, end }) => {
    const parameters = { postedAfter: start, postedBefore: end, [names.transactionStatus]: status };
    return reading.upstream.transactions.pages({ operation: 'listTransactions', parameters }, reading);
  });
  for await (const { tape, list } of pages) {
    const results: Listed[] = [];
    eachResult({ tape, list }, (node) => {
      const posted = readInstant(textOf(tape, node, 'postedDate'));
      const id = textOf(tape, node, 'transactionId');
      const raw = tape.bytes.subarray(tape.start(node), tape.end(node));
      results.push({
        id: id === '' ? contentHashOf(listName, raw) : id,
        total: totalOf(tape, node),
        posted: posted === undefined ? NaN : Number(posted / 1000n),
        pays: idPaidBy(tape, node),
        raw,
      });
    });
    yield* results;
  }
}

/** A member that is a string; empty where it is none. */
function textOf(tape: Tape, node: number, name: string): string {
  const value = tape.member(node, name);
  return value !== undefined && tape.isString(value) ? tape.stringValue(value) : '';
}

/** A total as it is compared, whatever digits it was written with: `USD 12.340000`; empty where there is no amount. */
export function totalText(currency: string, amount: string): string {
  if (amount === '') return '';
  const value = readScaled(amount, decimalPrecision, decimalScale);
  return `${currency} ${value === undefined ? amount : millionthsText(value)}`;
}

function totalOf(tape: Tape, node: number): string {
  const total = tape.member(node, 'totalAmount');
  if (total === undefined || tape.kind(total) !== kind.object) return '';
  const amount = tape.member(total, 'currencyAmount');
  const isNumber = amount !== undefined && tape.kind(amount) === kind.number;
  return totalText(textOf(tape, total, 'currencyCode'), isNumber ? tape.text(amount) : '');
}

function idPaidBy(tape: Tape, node: number): string {
  const list = tape.member(node, 'relatedIdentifiers');
  let id = '';
  if (list === undefined || tape.kind(list) !== kind.array) return id;
  eachResult({ tape, list }, (identifier) => {
    if (textOf(tape, identifier, 'relatedIdentifierName') !== 'DEFERRED_TRANSACTION_ID') return;
    id = textOf(tape, identifier, 'relatedIdentifierValue');
  });
  return id;
}

/** The new days and those of the look-back, as one answer has them. */
export interface RecentTransactions {
  /** What was asked for: it ends with the sync's range. */
  readonly span: Window;
  /** The windows that it answers, from its start on, by their load keys; an older part of the first one isn't in it. */
  readonly windows: ReadonlyMap<string, { readonly window: Window; readonly received: readonly Buffer[] }>;
  /** Ids of deferred transactions that others pay. */
  readonly paid: ReadonlySet<string>;
}

/** Pages that are in memory at once, until their windows are in the lake; of more, less would be saved too. */
const mostPages = 30;

/**
 * Reads what is new and what the look-back touches as one chain of pages: each window by itself ends with a page that isn't
 * full, and the part of a long window before the look-back needs no request.
 *
 * @returns undefined where windows are to be read one by one: nothing would be saved, they hold too much, or the answer leaves a
 * doubt
 * @throws what ends a run
 */
export async function recentTransactions(
  job: SyncJob,
  pipeline: string,
  reading: Reading<WithTransactions>,
): Promise<RecentTransactions | undefined> {
  const { lake, account, range, lookBackFrom, isInTurns, asked } = job;
  if (isInTurns) return undefined;
  const loaded = loadedWindows(lake, pipeline, transactions.name, account);
  const samples = loadedSamples(lake, pipeline, transactions.name, account);
  const from = dayStart(lookBackFrom);
  const recent = dailyWindows({ loaded, range: syncRange(loaded, range.end, asked), lookBackFrom })
    .map(({ window }) => window)
    .filter(({ end }) => end > from);
  const first = recent[0];
  if (first === undefined || (recent.length === 1 && first.start >= from)) return undefined;
  const span = { start: Math.max(from, first.start), end: range.end };
  const isLoaded = loaded.some((window) => windowKey(window) === windowKey(first));
  if (uncovered(span, recent).length > 0 || (first.start < span.start && !isLoaded)) return undefined;
  const expected = new Density(samples).expected(span);
  if (expected === undefined || expected > mostPages * limits.pageSize) return undefined;

  const windows = new Map(recent.map((window) => [windowKey(window), { window, received: [] as Buffer[] }]));
  const paid = new Set<string>();
  try {
    for await (const { posted, pays, raw } of listed(undefined, span, reading)) {
      const found = [...windows.values()].find(({ window }) => contains(window, posted));
      // What has no date in the span belongs to an unknown window.
      if (found === undefined || posted < span.start) return undefined;
      found.received.push(raw);
      if (pays !== '') paid.add(pays);
    }
  } catch (error) {
    if (reading.signal.aborted || transactionsVerdict(error) === 'abort') throw error;
    // One by one they can be split, and only those are left open that can't be read.
    return undefined;
  }
  // Where days that had transactions have none any more, nothing of the answer is used: each window is asked for, and judged.
  const isEmptied = [...windows.values()].some(
    ({ window, received }) =>
      received.length === 0 && samples.some((sample) => sample.results > 0 && overlap(sample.window, window)),
  );
  return isEmptied ? undefined : { span, windows, paid };
}
