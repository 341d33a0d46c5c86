import { readCallSettings } from './settings.js';
import { PassThrough } from 'node:stream';
import { usageError } from '../core/errors.js';
import type { CommandResult } from '../app/command-result.js';
import type { Settings } from '../app/configuration/settings.js';
import type { RunContext } from '../app/context.js';
import type { JournalExport, SettlementReportsExport, ViewsExport } from '../app/results.js';
import {
  callKinds,
  checkOptions,
  instant,
  number,
  optionText,
  text,
  texts,
  viewKinds,
  type CallOptions,
  type OptionsOf,
  type ViewOptions,
} from './options.js';
import { runTask } from './task.js';

const viewsKinds = { ...callKinds, timeZone: viewKinds.timeZone, chart: viewKinds.chart };

/** The options of `exportViews`. */
export interface ViewsExportOptions extends CallOptions, Pick<ViewOptions, 'timeZone' | 'chart'> {}

const reportsKinds = {
  ...callKinds,
  /** The account; default: all. */
  account: text(),
  /** Ids of settlements or of their groups; default: all that are closed. */
  settlements: texts(),
  /** Start of a range that settlements or their transfers touch, ISO 8601 in UTC. */
  from: instant,
  /** Its end, exclusive. */
  to: instant,
};

/** The options of `exportSettlementReports`. */
export interface SettlementReportsExportOptions extends CallOptions, OptionsOf<typeof reportsKinds> {}

const journalKinds = {
  ...viewsKinds,
  /** The account; default: all. */
  account: text(),
  /** The month, `YYYY-MM`; instead of `from` and `to`. */
  month: text(),
  /** The first day, ISO 8601. */
  from: instant,
  /** The day after the last one. */
  to: instant,
  /** What settlements moved, or with deferred sales; default: `paid`. */
  basis: text<'paid' | 'earned'>(),
  /** The program that reads the file; default: `generic`. */
  for: text<'generic' | 'quickbooks' | 'xero'>(),
  /** A version of the lake's catalog: only what has changed since, as adjustments. */
  since: number,
};

/** The options of `exportJournal`. */
export interface JournalExportOptions extends ViewsExportOptions, OptionsOf<typeof journalKinds> {}

/**
 * Writes the SQL of the views for a plain DuckDB and for dbt, as `ledgerlake export views` does.
 *
 * @param dir the folder
 * @throws LedgerlakeError USAGE where there is no lake, and where a file can't be written
 */
export async function exportViews(dir: string, options: ViewsExportOptions = {}): Promise<ViewsExport> {
  return exported('exportViews', dir, options, viewsKinds, async (settings, context) => {
    const { exportViews: write } = await import('../app/query/export-views.js');
    return write({ ...settings, dir }, context);
  });
}

/**
 * Writes the settlement report (flat file V2) of each closed settlement, as `ledgerlake export settlement-report` does. Settlements that
 * the lake doesn't hold whole are in `not_written`; `status` is `failed` then.
 *
 * @param dir the folder
 * @throws LedgerlakeError USAGE where there is no lake, for an unknown account or settlement, and where a file can't be written; STOPPED
 */
export async function exportSettlementReports(
  dir: string,
  options: SettlementReportsExportOptions = {},
): Promise<SettlementReportsExport> {
  return exported('exportSettlementReports', dir, options, reportsKinds, async (settings, context) => {
    const { exportSettlementReports: write } = await import('../app/settlement-reports/export-settlement-reports.js');
    const { account, settlements = [] } = options;
    const [from, to] = [optionText(options.from), optionText(options.to)];
    return write({ ...settings, dir, account, settlements, from, to }, context);
  });
}

/**
 * Writes the journals of a month, or of a range of days, for an accounting program, as `ledgerlake export journal` does.
 *
 * @param output the file; Xero has one for each currency beside it
 * @throws LedgerlakeError USAGE where there is no lake, for an invalid range or version, and where a file can't be written; STOPPED
 */
export async function exportJournal(output: string, options: JournalExportOptions = {}): Promise<JournalExport> {
  return exported('exportJournal', output, options, journalKinds, async (settings, context) => {
    const [{ exportJournal: write }, { isJournalFormat, journalFormatNames }] = await Promise.all([
      import('../app/journal/export-journal.js'),
      import('../app/journal/journal-formats.js'),
    ]);
    const { account, month, since, basis = 'paid', for: format = 'generic' }: JournalExportOptions = options;
    if (!['paid', 'earned'].includes(basis)) throw usageError('expected basis of exportJournal to be paid or earned');
    if (!isJournalFormat(format)) {
      throw usageError(`expected for of exportJournal to be one of ${journalFormatNames.join(', ')}`);
    }
    const range = { month, since, from: optionText(options.from), to: optionText(options.to) };
    const journal = { ...settings, output, account, basis, for: format, ...range };
    return write(journal, { ...context, output: new PassThrough().resume() });
  });
}

/** Checks the options of an export, and runs it with the settings. */
async function exported<Summary extends object>(
  subject: string,
  place: string,
  options: ViewsExportOptions,
  kinds: Parameters<typeof checkOptions>[2],
  write: (settings: Settings, context: RunContext) => Promise<CommandResult<Summary>>,
): Promise<Summary> {
  if (typeof place !== 'string' || place === '' || place === '-') {
    throw usageError(`expected the path of ${subject} to be that of a file or folder`);
  }
  checkOptions(subject, options, kinds);
  const settings = await readCallSettings(options);
  return runTask(options, async (context) => (await write(settings, context)).summary);
}
