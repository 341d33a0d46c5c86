import type { Emit } from '../../core/events/run-event.js';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { groupBy } from '../../core/group-by.js';
import type { Clock } from '../../core/clock.js';
import type { Database } from '../../core/duckdb/connection.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import { messageOf, usageError } from '../../core/errors.js';
import { isFolder, openToRead } from '../../core/io/files.js';
import { replaceFile } from '../../core/io/write-file.js';
import { writeFault } from '../../core/io/output-file.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { chunksOf, csvText } from '../../core/text/formats.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { workbook, workbookMark, type Sheet } from '../../core/text/workbook.js';
import type { Lake } from '../../lake/lake.js';
import { readLastRuns } from '../../lake/upkeep/last-run.js';
import { readDateRange, type RangeOptions } from '../configuration/range.js';
import type { ReadingContext } from '../context.js';
import { LakeDatabase } from '../query/lake-database.js';
import { lakeReader, openExistingLake } from '../query/lake-files.js';
import type { QuerySettings } from '../configuration/settings.js';
import { leftOutText, type LeftOutDays } from '../coverage/api-days.js';
import { readUnfinished } from '../coverage/unfinished-ranges.js';
import { accountCoverage, loadedRange, statusRange } from '../status/lake-status.js';
import { readBasis } from './basis.js';
import { readFigures, type CurrencyFigures } from './currency-figures.js';
import { figureReader } from './figure-reader.js';
import { reportHtml, reportMark } from './report-page.js';
import type { CurrencyChapter } from './section.js';
import { readSections, reportSheets, sheetNames, type AccountChapter } from './sections.js';
import { readSettlements, type SettlementFigures } from './settlements.js';

export interface ReportOptions extends RangeOptions, QuerySettings {
  readonly lake: string;
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** Undefined: by the extension of `output`, else `html`. */
  readonly format?: ReportFormat | undefined;
  /** Path of the report, a folder for `csv`; `-`: standard output. Undefined: a name by the format. */
  readonly output: string | undefined;
}

/** Values of `--format`: the page, or its tables as a folder of CSV files or as a workbook. */
export const reportFormats = ['html', 'csv', 'xlsx'] as const;

type ReportFormat = (typeof reportFormats)[number];

/** Number of bytes that are searched for a report's mark. */
const headBytes = 200;

/**
 * `ledgerlake report`: writes a report on a lake as one HTML file, or its tables. An existing file is replaced only if
 * it is a report, and only once the new one is complete.
 *
 * @throws LedgerlakeError USAGE for a path that can't be written or has another file, and as `lakeReport`
 */
export async function report(options: ReportOptions, { clock, signal, output, emit }: ReadingContext): Promise<void> {
  // An invalid range is an error before anything is read.
  readDateRange(options, clock.now());
  const format = formatOf(options);
  const path = options.output ?? (format === 'csv' ? 'ledgerlake-report' : `ledgerlake-report.${format}`);
  if (format === 'csv' && path === '-') throw usageError('expected --output to name a folder for --format csv, got -');
  if (path !== '-') await refuseOtherFile(path, format);
  const lake = await openExistingLake(options.lake, clock, emit);
  const isExport = format !== 'html';
  const result = await lakeReport({ ...options, lake, location: options.lake, isExport, clock, signal, emit });
  const bytes = await writeReport(path, format, result, output);
  for (const days of result.leftOut) {
    emit({ event: 'days-left-out', account: days.account, reason: leftOutText(days) });
  }
  if (path !== '-') await writeText(output, [`${summaryText(path, bytes, result)}\n`]);
}

/**
 * The format of the report.
 *
 * @throws LedgerlakeError USAGE where the extension of `output` contradicts the format
 */
function formatOf({ format, output = '' }: ReportOptions): ReportFormat {
  const ending = extname(output).toLowerCase();
  const byExtension = reportFormats.find((known) => ending === `.${known}` || (known === 'html' && ending === '.htm'));
  if (byExtension === undefined && ending !== '' && format !== 'csv') {
    throw usageError(
      `expected --output to end with .html or .xlsx, or to be a folder with --format csv, got ${output}; no report is written as ${ending}`,
    );
  }
  if (byExtension === undefined || byExtension === format) return format ?? 'html';
  if (byExtension === 'csv') {
    throw usageError(
      `expected --output to end with .html or .xlsx, got ${output}; --format csv writes a folder of files`,
    );
  }
  if (format === undefined) return byExtension;
  throw usageError(
    `expected --output to name ${format === 'csv' ? 'a folder' : `a file that ends with .${format}`} for --format ${format}, got ${output}`,
  );
}

/** Writes the report in its format and returns its size in bytes. */
async function writeReport(
  path: string,
  format: ReportFormat,
  { html, sheets }: Report,
  output: Output,
): Promise<number> {
  if (format === 'csv') {
    const isNew = await mkdir(path).then(
      () => true,
      () => false,
    );
    try {
      return await writeSheets(path, sheets);
    } catch (error) {
      if (isNew) await rm(path, { recursive: true, force: true });
      throw error;
    }
  }
  const content = format === 'html' ? Buffer.from(html) : workbook(sheets);
  if (path !== '-') await writeReportFile(path, content);
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

/** @throws LedgerlakeError USAGE where the folder doesn't exist or the path has a file that is no report */
async function refuseOtherFile(path: string, format: ReportFormat): Promise<void> {
  if (!(await isFolder(dirname(resolve(path))))) {
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
  if (found.isFile() && (found.size === 0 || (await hasReportMark(path, format)))) return;
  const what = found.isDirectory() ? 'a folder' : 'a file that is not a report of ledgerlake';
  throw usageError(
    `expected --output to name a new file or an earlier report, got ${path}, which is ${what}; choose another name`,
  );
}

/** Whether the start of a page, or the end of a workbook, has the mark of a report. */
async function hasReportMark(path: string, format: 'html' | 'xlsx'): Promise<boolean> {
  const file = await openToRead(path).catch((cause: unknown) => {
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

/** Writes a CSV file for each sheet and returns their size in bytes. */
async function writeSheets(folder: string, sheets: readonly Sheet[]): Promise<number> {
  let bytes = 0;
  for (const { name, columns, rows } of sheets) {
    let text = '';
    for await (const part of csvText(columns, chunksOf(rows), { isSafe: true })) text += part;
    await writeReportFile(join(folder, `${name}.csv`), text);
    bytes += Buffer.byteLength(text);
  }
  return bytes;
}

/** @throws LedgerlakeError USAGE where the path can't be opened, OUTPUT where the disk doesn't take the report */
async function writeReportFile(path: string, text: string | Buffer): Promise<void> {
  try {
    await replaceFile(path, text);
  } catch (cause) {
    throw writeFault(path, cause);
  }
}

function summaryText(path: string, bytes: number, { accounts, currencies, settlements, differing }: Report): string {
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

export interface ReportQuestion extends QuerySettings {
  readonly lake: Lake;
  /** The lake's location as given by the user. */
  readonly location: string;
  /** Undefined: all accounts of the lake, one after the other. */
  readonly account: string | undefined;
  /** ISO 8601; undefined: all data of the lake. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Whether to include the tables, which have all SKUs. */
  readonly isExport?: boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Receives how far a fetch is. */
  readonly emit?: Emit;
}

export interface Report {
  readonly html: string;
  /** The tables with exact amounts, for other programs; empty unless the report is an export. */
  readonly sheets: readonly Sheet[];
  readonly accounts: readonly string[];
  /** Number of currencies, counted for each account. */
  readonly currencies: number;
  readonly settlements: number;
  /** Number of closed settlements that don't add up. */
  readonly differing: number;
  /** Loaded days that the figures leave out, by account. */
  readonly leftOut: readonly LeftOutDays[];
}

/**
 * A report on a lake as of now: one HTML document without scripts or requests. Its size doesn't depend on the lake's
 * number of rows, except for lists by month, day or settlement, which are limited. It covers the lake's newest version.
 *
 * @throws LedgerlakeError USAGE for an account that the lake doesn't have while it has others, and for an invalid
 * range; LAKE_STORE, LAKE_LOG and SQL where the lake can't be read; STOPPED when the signal aborts
 */
export async function lakeReport(question: ReportQuestion): Promise<Report> {
  const { lake, location, account, clock, signal } = question;
  refuseUnknownAccount(account, lake.snapshot.accounts(), location);
  const { timeZone, cache, cacheGigabytes, emit } = question;
  const reader = await lakeReader(lake, location, clock, { timeZone, cache, cacheGigabytes, emit });
  const database = await LakeDatabase.open(reader, {
    folders: reader.folders,
    settings: { memory_limit: memoryLimit },
    signal,
  });
  try {
    return await database.readNewest((version) => readReport(question, version));
  } finally {
    database.close();
  }
}

/** Reads a report on the version of a lake that a database shows. */
async function readReport(question: ReportQuestion, database: Database): Promise<Report> {
  const { lake, location, account, from, to, isExport = false, timeZone = 'UTC', clock, signal } = question;
  const now = clock.now();
  const names = [...lake.snapshot.accounts()].filter((name) => name === (account ?? name)).toSorted();
  const unfinishedRanges = await readUnfinished(lake, () => undefined);
  const lastRuns = await readLastRuns(lake.store);
  const isPartial = from !== undefined || to !== undefined;
  const facts = { lake, location, now, lastRuns, isPartial, isExport, timeZone };
  const accounts: AccountChapter[] = [];
  for (const [at, name] of names.entries()) {
    const range = statusRange({ from, to }, loadedRange(lake, name, unfinishedRanges), now);
    // Without bounds all data of the lake counts.
    const scope = {
      account: name,
      from: from === undefined ? undefined : range.start,
      to: to === undefined ? undefined : range.end,
    };
    const rows = figureReader(database, scope, signal);
    const detailed = Math.floor(mostDetailed / names.length);
    const settlements = await readSettlements({ rows, database, scope, signal }, lake, detailed);
    const id = `a${at + 1}`;
    accounts.push(
      await readSections({
        account: name,
        id,
        report: facts,
        rows,
        settlements,
        status: accountCoverage({ lake, location, account: name, range, lastRuns, unfinishedRanges, now }),
        basis: await readBasis(lake, name, range, rows),
        chapters: currencyChapters(id, await readFigures(rows), settlements),
      }),
    );
  }
  const settlements = accounts.flatMap((chapter) => chapter.settlements);
  return {
    html: reportHtml(accounts, facts),
    sheets: isExport ? reportSheets(accounts, location) : [],
    accounts: names,
    currencies: accounts.reduce((sum, { chapters }) => sum + chapters.filter(({ figures }) => figures).length, 0),
    settlements: settlements.length,
    differing: settlements.filter(({ verdict }) => verdict === 'differs').length,
    leftOut: accounts.flatMap(({ basis }) => basis.leftOut ?? []),
  };
}

/** The currencies of an account, the one with the most amounts first, those of settlements alone last. */
function currencyChapters(
  id: string,
  figures: readonly CurrencyFigures[],
  settlements: readonly SettlementFigures[],
): CurrencyChapter[] {
  const byCurrency = groupBy(settlements, ({ currency }) => currency);
  const known = figures.map(({ currency }) => currency);
  const others = [...byCurrency.keys()].filter((currency) => !known.includes(currency)).toSorted();
  return [...known, ...others].map((currency, at) => ({
    id: `${id}-c${at + 1}`,
    currency,
    figures: figures[at],
    settlements: byCurrency.get(currency) ?? [],
  }));
}

/** DuckDB's memory limit; further data is spilled to temporary files. */
const memoryLimit = '1GB';
/** Number of settlements with their entries, over all accounts and currencies. */
const mostDetailed = 300;
