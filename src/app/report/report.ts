import { mkdir, open, readdir, stat } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { openDatabase, type Database } from '../../core/duckdb/connection.js';
import { createViews, lostFile } from '../../core/duckdb/views.js';
import { messageOf, usageError } from '../../core/errors.js';
import { replaceFile } from '../../core/io/files.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { chunksOf, csvText } from '../../core/text/formats.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { workbook, workbookMark, type Sheet } from '../../core/text/workbook.js';
import type { Lake } from '../../lake/lake.js';
import { readLastRun } from '../../lake/upkeep/last-run.js';
import { readRange, type RangeOptions } from '../configuration/range.js';
import type { ReadingContext } from '../context.js';
import { fileFault } from '../query/file-fault.js';
import { lakeTables, openExistingLake } from '../query/lake-files.js';
import { viewStatements } from '../query/transaction-views.js';
import { plainLog } from '../../observe/log/plain-log.js';
import { comparedDays } from '../query/query-notes.js';
import { leftOutDays, leftOutText, type LeftOutDays } from '../query/left-out-days.js';
import { readUnfinished } from '../verify/checks/unfinished-ranges.js';
import { accountStatus, loadedRange, reportedRange } from '../status/lake-status.js';
import { readBasis } from './basis-section.js';
import { readReconciliation } from './reconciliation-section.js';
import { readLate } from './late-section.js';
import { readFigures } from './money-section.js';
import { reportHtml, reportMark, type AccountFigures } from './report-page.js';
import { reportSheets, sheetNames } from './report-sheets.js';
import { figureReader } from './report-statements.js';
import { readSettlements } from './settlement-section.js';
import { readWarningFigures } from './warnings-section.js';

export interface ReportOptions extends RangeOptions {
  readonly lake: string;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** Undefined: by the ending of `output`, else `html`. */
  readonly format?: ReportFormat | undefined;
  /** Where the report is written, a folder for `csv`; `-`: standard output. Undefined: by its format. */
  readonly output: string | undefined;
}

/** What `--format` takes: the page, or its tables as a folder of CSV files or as a workbook. */
export const reportFormats = ['html', 'csv', 'xlsx'] as const;

export type ReportFormat = (typeof reportFormats)[number];

/** Bytes at the beginning of a report that have its mark. */
const headBytes = 200;

/**
 * `ledgerlake report`: one HTML file about a lake, or its tables. A file that is there already is replaced where it is a report, and only
 * once the new one is whole; any other is left as it is.
 *
 * @throws LedgerlakeError USAGE for a place that can't be written or holds something else, and as `lakeReport` does
 */
export async function report(options: ReportOptions, { clock, signal, output, log }: ReadingContext): Promise<void> {
  // Given or not, it must be a range before anything is read.
  if (options.from !== undefined) readRange(options, clock.now());
  const format = formatOf(options);
  const path = options.output ?? (format === 'csv' ? 'ledgerlake-report' : `ledgerlake-report.${format}`);
  if (format === 'csv' && path === '-') throw usageError('expected --output to name a folder for --format csv, got -');
  if (path !== '-') await refuseOtherFile(path, format);
  const lake = await openExistingLake(options.lake, clock, log);
  const isExport = format !== 'html';
  const written = await lakeReport({ ...options, lake, location: options.lake, isExport, clock, signal });
  const bytes = await writeReport(path, format, written, output);
  const emit = plainLog(log);
  for (const of of written.leftOut) {
    emit({ event: 'days-left-out', account: of.account, reason: leftOutText(of) });
  }
  if (path !== '-') await writeText(output, [`${writtenText(path, bytes, written)}\n`]);
}

/**
 * What is written under a name.
 *
 * @throws LedgerlakeError USAGE where its ending says something else than the format
 */
function formatOf({ format, output = '' }: ReportOptions): ReportFormat {
  const ending = extname(output).toLowerCase();
  const named = reportFormats.find((of) => ending === `.${of}` || (of === 'html' && ending === '.htm'));
  if (named === undefined && ending !== '' && format !== 'csv') {
    throw usageError(
      `expected --output to end with .html or .xlsx, or to be a folder with --format csv, got ${output}; no report is written as ${ending}`,
    );
  }
  if (named === undefined || named === format) return format ?? 'html';
  if (named === 'csv') {
    throw usageError(
      `expected --output to end with .html or .xlsx, got ${output}; --format csv writes a folder of files`,
    );
  }
  if (format === undefined) return named;
  throw usageError(
    `expected --output to name ${format === 'csv' ? 'a folder' : `a file that ends with .${format}`} for --format ${format}, got ${output}`,
  );
}

/** Writes it in its format; the bytes that it has. */
async function writeReport(
  path: string,
  format: ReportFormat,
  { html, sheets }: Report,
  output: Output,
): Promise<number> {
  if (format === 'csv') {
    let bytes = 0;
    await mkdir(path).catch(() => undefined);
    for (const { name, columns, rows } of sheets) {
      let text = '';
      for await (const part of csvText(columns, chunksOf(rows), { isSafe: true })) text += part;
      await writeWhole(join(path, `${name}.csv`), text);
      bytes += Buffer.byteLength(text);
    }
    return bytes;
  }
  const content = format === 'html' ? Buffer.from(html) : workbook(sheets);
  if (path !== '-') await writeWhole(path, content);
  else if (format === 'html') await writeText(output, [html]);
  else {
    await new Promise<void>((resolve) => {
      output.write(content, () => {
        resolve();
      });
    });
  }
  return content.length;
}

/** Keeps what isn't a report of ours from being written over. */
async function refuseOtherFile(path: string, format: ReportFormat): Promise<void> {
  const folder = await stat(dirname(resolve(path))).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw usageError(`expected --output to name a file in an existing folder, got ${path}; create the folder first`);
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  if (format === 'csv') {
    const others = found.isDirectory()
      ? (await readdir(path)).filter((name) => !sheetNames.some((sheet) => name === `${sheet}.csv`))
      : [path];
    if (others.length === 0) return;
    throw usageError(
      `expected --output to name a new folder or the folder of an earlier report, got ${path}, which contains ${others[0] ?? ''}; choose another name`,
    );
  }
  if (found.isFile() && (found.size === 0 || (await marked(path, format)))) return;
  const what = found.isDirectory() ? 'a folder' : 'a file that is not a report of ledgerlake';
  throw usageError(
    `expected --output to name a new file or an earlier report, got ${path}, which is ${what}; choose another name`,
  );
}

/** Whether a page's beginning, or a workbook's end, is that of a report. */
async function marked(path: string, format: 'html' | 'xlsx'): Promise<boolean> {
  const file = await open(path).catch((cause: unknown) => {
    throw usageError(
      `expected --output to name a new file or an earlier report, got ${path}, which can't be read: ${messageOf(cause)}`,
    );
  });
  try {
    const at = format === 'html' ? 0 : Math.max(0, (await file.stat()).size - workbookMark.length);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, at);
    return buffer.toString('utf8', 0, bytesRead).includes(format === 'html' ? reportMark : workbookMark);
  } finally {
    await file.close();
  }
}

async function writeWhole(path: string, text: string | Buffer): Promise<void> {
  try {
    await replaceFile(path, text);
  } catch (cause) {
    throw usageError(`expected to write the report to ${path}: ${messageOf(cause)}`);
  }
}

function writtenText(path: string, bytes: number, of: Report): string {
  const { accounts, currencies, settlements, differing } = of;
  const size = formatBytes(bytes);
  if (accounts.length === 0) return `${path}: a report of an empty lake (${size})`;
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
  /** Whether its tables are wanted, which have all SKUs. */
  readonly isExport?: boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface Report {
  readonly html: string;
  /** Its tables, exact, for other programs; none unless it is an export. */
  readonly sheets: readonly Sheet[];
  readonly accounts: readonly string[];
  /** Currencies of the accounts, one by one. */
  readonly currencies: number;
  readonly settlements: number;
  /** Closed settlements that don't add up. */
  readonly differing: number;
  /** What the figures leave out. */
  readonly leftOut: readonly LeftOutDays[];
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
  const { lake, location, account, from, to, isExport = false, clock, signal } = question;
  const loadedAccounts = [...lake.accounts()].toSorted();
  if (account !== undefined && loadedAccounts.length > 0 && !loadedAccounts.includes(account)) {
    throw usageError(
      `expected --account to be an account of ${location} (${loadedAccounts.join(', ')}), got ${account}`,
    );
  }
  const now = clock.now();
  const lastRun = await readLastRun(lake.store);
  const unfinishedRanges = await readUnfinished(lake, () => undefined);
  const names = account === undefined ? loadedAccounts : loadedAccounts.filter((name) => name === account);
  const accounts = await withViews(lake, location, signal, async (database) => {
    const figures: AccountFigures[] = [];
    for (const name of names) {
      const range = reportedRange({ from, to }, loadedRange(lake, name, unfinishedRanges), now);
      // Without bounds whatever the lake holds counts.
      const bounds = {
        from: from === undefined ? undefined : range.start,
        to: to === undefined ? undefined : range.end,
      };
      const reader = figureReader(database, { account: name, ...bounds }, signal);
      figures.push({
        account: name,
        status: accountStatus({ lake, location, account: name, range, lastRun, unfinishedRanges }),
        basis: {
          ...(await readBasis(reader)),
          leftOut: leftOutDays(lake, name, range),
          compared: comparedDays(lake, name),
        },
        currencies: await readFigures(reader, isExport),
        settlements: await readSettlements(reader, lake, Math.floor(detailed / names.length)),
        reconciliation: await readReconciliation(reader, lake),
        late: await readLate(reader),
        warnings: await readWarningFigures(reader),
      });
    }
    return figures;
  });
  const settlements = accounts.flatMap((of) => of.settlements);
  return {
    html: reportHtml(accounts, { lastRun, location, now, isPartial: from !== undefined || to !== undefined }),
    sheets: isExport ? reportSheets(accounts) : [],
    accounts: names,
    currencies: accounts.reduce((sum, of) => sum + of.currencies.length, 0),
    settlements: settlements.length,
    differing: settlements.filter(({ verdict }) => verdict === 'differs').length,
    leftOut: accounts.flatMap(({ basis }) => basis.leftOut ?? []),
  };
}

/** Memory for DuckDB; what is more goes to temporary files. */
const memoryLimit = '1GB';
/** Settlements that come with their entries, over all accounts and currencies. */
const detailed = 300;
/** Times that the figures are read when runs replace files meanwhile. */
const mostAttempts = 3;

/**
 * Reads a lake's tables at its newest version. Where a run replaces files while they are read, all of it is read again, so
 * that the figures belong together.
 */
async function withViews<T>(
  lake: Lake,
  location: string,
  signal: AbortSignal | undefined,
  read: (database: Database) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const folders = [lake.store.address('')];
    const database = await openDatabase({ folders, settings: { memory_limit: memoryLimit } });
    try {
      await createViews(database, lakeTables, lake.committedFiles(), signal);
      for (const statement of viewStatements(lakeTables)) await database.execute(statement, { signal });
      return await read(database);
    } catch (error) {
      if (attempt === mostAttempts || !lostFile(error)) throw await fileFault(error, lake, { lake: location });
      await lake.refresh();
    } finally {
      database.close();
    }
  }
}
