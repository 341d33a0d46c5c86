import { plainLog } from '../../observe/log/plain-log.js';
import { emitDamagedCheckpoints } from '../damaged-checkpoints.js';
import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf, usageError } from '../../core/errors.js';
import { tables } from '../../sources/finances/model/tables.js';
import { existingLake } from '../../lake/existing-lake.js';
import { readRange, type RangeOptions } from '../configuration/range.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { writeText } from '../../core/text/sink.js';
import { reportMark, reportHtml } from './report-page.js';
import type { ReadingContext } from '../context.js';
import { replaceFile } from '../../core/io/replace-file.js';
import type { Clock } from '../../core/clock.js';
import type { Lake } from '../../lake/lake.js';
import { readLakeFigures } from './lake-figures.js';

export interface ReportOptions extends RangeOptions {
  readonly lake: string;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** Where the report is written; `-`: standard output. */
  readonly output: string;
}

/** Bytes at the beginning of a report that have its mark. */
const headBytes = 200;

/**
 * `ledgerlake report`: one HTML file about a lake. A file that is there already is replaced where it is a report, and only
 * once the new one is whole; any other is left as it is.
 *
 * @throws LedgerlakeError USAGE for a place that can't be written or holds something else, and as `lakeReport` does
 */
export async function report(options: ReportOptions, { clock, signal, output, log }: ReadingContext): Promise<void> {
  // Given or not, it must be a range before anything is read.
  if (options.from !== undefined) readRange(options, clock.now());
  if (options.output !== '-') await refuseOther(options.output);
  const lake = await existingLake(options.lake, tables, clock);
  emitDamagedCheckpoints(lake.tables, plainLog(log));
  const { account, from, to } = options;
  const made = await lakeReport({ lake, location: options.lake, account, from, to, clock, signal });
  if (options.output === '-') {
    await writeText(output, [made.html]);
    return;
  }
  await writeWhole(options.output, made.html);
  await writeText(output, [`${writtenText(options.output, made)}\n`]);
}

/** Keeps what isn't a report of ours from being written over. */
async function refuseOther(path: string): Promise<void> {
  const folder = await stat(dirname(resolve(path))).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw usageError(`expected --output to name a file in a folder that is there, got ${path}: make the folder first`);
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  if (found.isFile() && (found.size === 0 || (await beginning(path)).includes(reportMark))) return;
  const what = found.isDirectory() ? 'a folder' : 'a file that is not a report of ledgerlake';
  throw usageError(
    `expected --output to name a new file or an earlier report, ${path} is ${what}: choose another name`,
  );
}

async function beginning(path: string): Promise<string> {
  const file = await open(path).catch((cause: unknown) => {
    throw usageError(
      `expected --output to name a new file or an earlier report, ${path} can't be read: ${messageOf(cause)}`,
    );
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text);
  } catch (cause) {
    throw usageError(`expected to write the report to ${path}: ${messageOf(cause)}`);
  }
}

function writtenText(path: string, { html, accounts, currencies, settlements, differing }: Report): string {
  const size = formatBytes(Buffer.byteLength(html));
  if (accounts.length === 0) return `${path}: the lake holds nothing yet, and the report says so (${size})`;
  const parts = [
    accounts.length === 1 ? (accounts[0] ?? '') : formatCount(accounts.length, 'account'),
    currencies === 1 ? '1 currency' : `${formatCount(currencies)} currencies`,
    formatCount(settlements, 'settlement'),
    ...(differing === 0 ? [] : [`${formatCount(differing)} of them not adding up`]),
    size,
  ];
  return `${path}: ${parts.join(', ')}`;
}

export interface ReportQuestion {
  readonly lake: Lake;
  /** The lake as the user wrote it. */
  readonly location: string;
  /** Undefined: every account that the lake holds, one after the other. */
  readonly account: string | undefined;
  /** ISO 8601; undefined: all that the lake holds. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface Report {
  readonly html: string;
  readonly accounts: readonly string[];
  /** Currencies of the accounts, one by one. */
  readonly currencies: number;
  readonly settlements: number;
  /** Closed settlements that don't add up. */
  readonly differing: number;
}

/**
 * A report of a lake as of now: one HTML document without a script, and without a request to anywhere. Nothing of it grows
 * with the rows of the lake, but for what is listed by month, day or settlement, which has bounds. The lake is as new as it
 * was when it was opened or refreshed last.
 *
 * @throws LedgerlakeError USAGE for an account that the lake doesn't hold, while it holds others, and for a range that is
 * none; LAKE_STORE, LAKE_LOG and SQL where the lake can't be read; STOPPED when the signal aborts
 */
export async function lakeReport(question: ReportQuestion): Promise<Report> {
  const { lake, location, account, from, to, clock, signal } = question;
  const held = [...lake.accounts()].toSorted();
  if (account !== undefined && held.length > 0 && !held.includes(account)) {
    throw usageError(`expected --account to be one that ${location} holds (${held.join(', ')}), got ${account}`);
  }
  const now = clock.now();
  const figures = await readLakeFigures({ lake, location, account, from, to, now, signal });
  const settlements = figures.accounts.flatMap((of) => of.settlements);
  return {
    html: reportHtml(figures, { location, now, isPart: from !== undefined || to !== undefined }),
    accounts: figures.accounts.map((of) => of.account),
    currencies: figures.accounts.reduce((sum, of) => sum + of.currencies.length, 0),
    settlements: settlements.length,
    differing: settlements.filter(({ verdict }) => verdict === 'differs').length,
  };
}
