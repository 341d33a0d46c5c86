import { extname } from 'node:path';
import type { Database } from '../../core/duckdb/connection.js';
import { usageError } from '../../core/errors.js';
import { writeFault } from '../../core/io/output-file.js';
import { replaceFile } from '../../core/io/write-file.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { lackText, windowsByAccount } from '../query/loaded-months.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { chunksOf, csvText } from '../../core/text/formats.js';
import { textOrNull, type ResultRow } from '../../core/text/rows.js';
import { writeExact } from '../../core/text/sink.js';
import { readInstantOption } from '../../core/text/value-forms.js';
import type { CommandResult } from '../command-result.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import type { QuerySettings } from '../configuration/settings.js';
import type { ReadingContext } from '../context.js';
import type { JournalExport } from '../results.js';
import { LakeDatabase } from '../query/lake-database.js';
import { openLakeReader, type LakeReader } from '../query/lake-files.js';
import journalLinesView from '../query/views/journal_lines.sql';
import { adjustmentsOf } from './adjustments.js';
import { showAsKnown } from './as-known-tables.js';
import {
  amountText,
  journalColumns,
  journalFiles,
  journalFormats,
  rowOf,
  type JournalFormatName,
  type JournalLine,
} from './journal-formats.js';
import journalLines from './journal-lines.sql';
import { knownVersion, type KnownVersion } from './known-version.js';
import postedAmounts from './posted-amounts.sql';
import suspended from './suspended.sql';
import unclearPayouts from './unclear-payouts.sql';

export type JournalBasis = 'paid' | 'earned';

export interface JournalOptions extends QuerySettings {
  readonly lake: string;
  /** Left out: all. */
  readonly account?: string | undefined;
  /** `YYYY-MM`; instead of `from` and `to`. */
  readonly month?: string | undefined;
  /** ISO 8601: the first day, and the day after the last one. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** A version of the catalog: only what has changed since. */
  readonly since?: number | undefined;
  readonly basis: JournalBasis;
  readonly for: JournalFormatName;
  /** A file; undefined and `-`: standard output. */
  readonly output?: string | undefined;
}

/** Endings of files that journals can't be, as they are CSV. */
const foreignEndings: ReadonlySet<string> = new Set(['.xlsx', '.xls', '.parquet', '.json', '.ndjson', '.html', '.pdf']);

/** Days as `YYYY-MM-DD`; `to` is not one of them. */
type Days = Readonly<Record<'from' | 'to', string>>;

/**
 * `ledgerlake export journal`: writes the journals of a range of days for an accounting program, or what has changed of them since a
 * version. Notes name what is posted to suspense; the last one is the version of the catalog that the journals are made from.
 *
 * @throws LedgerlakeError USAGE for an invalid range or version, and for an output that can't be written; as `openLakeReader`
 */
export async function exportJournal(
  options: JournalOptions,
  { clock, signal, emit, output }: ReadingContext,
): Promise<CommandResult<JournalExport>> {
  const { lake: location, account, basis, since } = options;
  const days = daysOf(options);
  const path = options.output === '-' ? undefined : options.output;
  const ending = extname(path ?? '').toLowerCase();
  if (foreignEndings.has(ending))
    throw usageError(`expected --output to end with .csv, got ${path ?? ''}; no journal is written as ${ending}`);
  const format = journalFormats[options.for];
  if (format.mostLines !== undefined && path === undefined) {
    throw usageError(
      `expected --output FILE with --for ${options.for}, got none; it writes a file for each currency beside that name`,
    );
  }
  // No journal reads unit costs.
  const settings = { ...options, costs: undefined };
  const reader = await openLakeReader(location, clock, { ...settings, emit, scope: { lake: location } });
  const { lake } = reader;
  refuseUnknownAccount(account, lake.snapshot.accounts(), location);
  const accounts = [...lake.snapshot.accounts()].filter((name) => account === undefined || name === account);
  const known = since === undefined ? undefined : await knownVersion(lake, since);
  const views = await LakeDatabase.open(reader, { signal });
  const read = await views
    .readNewest((version) =>
      readJournals({ version, duckdb: views.duckdb }, reader, { ...options, days, accounts, known, signal }),
    )
    .finally(() => {
      views.close();
    });
  for (const note of read.notes) emit({ event: 'message', message: note });
  const { version } = lake.snapshot;
  const lines = read.lines.map((line) => ({ ...line, memo: `${line.memo}, catalog version ${version}` }));
  const files = path === undefined ? [{ path, lines }] : journalFiles(path, format, lines);
  for (const file of files) {
    const text = csvText(journalColumns(format), chunksOf(file.lines.map((line) => rowOf(format, line))), {
      isSafe: true,
    });
    if (file.path === undefined) await writeExact(output, text);
    else await writeFile(file.path, text);
    if (format.mostLines !== undefined && file.lines.length >= format.mostLines) {
      emit({
        event: 'message',
        message: `WARNING: ${file.path ?? ''}: one journal has more than the ${format.mostLines} lines that a file may have`,
      });
    }
  }
  if (lines.length === 0) {
    emit({
      event: 'message',
      message:
        since === undefined
          ? `no journals from ${days.from} to ${days.to}, basis ${basis}`
          : `nothing has changed since version ${since} in the journals from ${days.from} to ${days.to}, basis ${basis}`,
    });
  }
  const journals = new Set(lines.map(({ journal }) => journal)).size;
  const names = files.flatMap((file) => file.path ?? []);
  emit({ event: 'message', message: `made from version ${version} of the catalog` });
  return {
    text:
      path === undefined
        ? ''
        : `\n${formatCount(journals, 'journal')} with ${formatCount(lines.length, 'line')} in ${names.map(printable).join(', ')}\n`,
    summary: { status: 'done', lake: location, version, journals, lines: lines.length, files: names },
  };
}

interface JournalQuestion extends JournalOptions {
  readonly days: Days;
  readonly accounts: readonly string[];
  /** The version of `since`. */
  readonly known: KnownVersion | undefined;
  readonly signal: AbortSignal;
}

/** Reads the lines of journals, and notes on them. The views of the database then show what `known` knew. */
async function readJournals(
  { version, duckdb }: Readonly<Record<'version' | 'duckdb', Database>>,
  reader: LakeReader,
  { days, accounts, known, basis, since, account, timeZone, signal }: JournalQuestion,
): Promise<{ readonly lines: readonly JournalLine[]; readonly notes: readonly string[] }> {
  const { lake } = reader;
  const parameters = { basis, ...days, account: account ?? null };
  const read = async (from: Database) => {
    await from.execute(`CREATE OR REPLACE TABLE posted_amounts AS ${postedAmounts}`, { signal, parameters });
    return (await duckdb.rows(linesOfPosted, { signal })).map(lineOf);
  };
  const now = await read(version);
  const warnings = [
    ...(since === undefined ? lackNotes(lake, accounts, days, timeZone) : []),
    ...reader.notesOn('FROM journal_lines'),
    ...(await readNotes(version, basis, accounts, signal)),
  ];
  const notes = warnings.map((note) => `WARNING: ${note.replace(/^WARNING: /, '')}`);
  if (known === undefined || since === undefined) return { lines: now, notes };
  const lastDays = new Map(
    (await version.rows('SELECT account, CAST(last_day AS VARCHAR) AS day FROM last_loaded_days')).map(
      ({ account, day }) => [String(account), String(day)],
    ),
  );
  await showAsKnown(version, duckdb, known, lake.snapshot, signal);
  notes.push(...(await unclearNotes(duckdb, known, { ...parameters, since }, signal)));
  return { lines: adjustmentsOf(await read(duckdb), now, { lastDays, since }), notes };
}

/**
 * The days of `--month`, or of `--from` and `--to`.
 *
 * @throws LedgerlakeError USAGE
 */
function daysOf({ month, from, to, since }: JournalOptions): Days {
  if (month !== undefined) {
    if (from !== undefined || to !== undefined) throw usageError('expected --month, or --from and --to, got both');
    const [, year = '', monthNumber = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
    if (year === '') throw usageError(`expected --month YYYY-MM, got ${JSON.stringify(month)}`);
    return { from: `${month}-01`, to: isoInstant(Date.UTC(Number(year), Number(monthNumber), 1)).slice(0, 10) };
  }
  if (from === undefined || to === undefined) {
    throw usageError('expected --month YYYY-MM, or --from and --to, with `export journal`, got none');
  }
  const [start = '', end = ''] = [readInstantOption('--from', from), readInstantOption('--to', to)].map((instant) =>
    isoInstant(instant).slice(0, 10),
  );
  if (start >= end) throw usageError(`expected --from before --to, got ${start} and ${end}`);
  if (since !== undefined && !(start.endsWith('-01') && end.endsWith('-01'))) {
    throw usageError(
      `expected --from and --to at the beginning of months with --since, got ${start} and ${end}; months are adjusted as a whole`,
    );
  }
  return { from: start, to: end };
}

function lineOf(row: ResultRow): JournalLine {
  const text = (name: string): string => textOrNull(row[name]) ?? '';
  return {
    account: text('account'),
    journal: text('journal'),
    date: text('date'),
    basis: text('basis'),
    settlement: textOrNull(row['settlement_id']),
    month: text('month'),
    code: text('ledger_code'),
    ledgerAccount: text('ledger_account'),
    taxRate: text('taxRate'),
    debit: text('debit'),
    credit: text('credit'),
    currency: textOrNull(row['currency']),
    memo: text('memo'),
  };
}

/** The view journal_amounts takes seconds: journals and notes read the table posted_amounts in its place. */
const withPosted = 'WITH journal_amounts AS (FROM posted_amounts)';
const linesOfPosted = `${withPosted}, journal_lines AS (${journalLinesView}) ${journalLines}`;

/** The months of a range that are loaded in part only, or not at all. */
function lackNotes(lake: Lake, accounts: readonly string[], { from, to }: Days, timeZone = 'UTC'): string[] {
  const loaded = windowsByAccount(lake);
  const range = { first: from.slice(0, 7), last: isoInstant(Date.parse(to) - dayMs).slice(0, 7) };
  return accounts.flatMap((account) => {
    const lack = lackText(account, loaded.get(account) ?? [], timeZone, range);
    return lack === undefined ? [] : [`${lack}; --since adjusts its journals later`];
  });
}

/** What the chart doesn't name of posted_amounts, and accounts whose bases are equal. */
async function readNotes(
  database: Database,
  basis: JournalBasis,
  accounts: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const rows = await database.rows(`${withPosted} ${suspended}`, { signal });
  const notes = rows.map((row) => {
    const [kind, name, currency] = ['kind', 'name', 'currency'].map((column) => textOrNull(row[column]) ?? 'none');
    const amount = `${amountText(textOrNull(row['amount']) ?? '0.00')} ${currency ?? ''}`;
    const times = formatCount(Number(row['times']), 'amount');
    return `${times} of ${String(row['account'])} named ${printable(name ?? '')} (${kind ?? ''}), ${amount}, posted to suspense: the chart has no row for them`;
  });
  if (basis === 'paid') return notes;
  const later = await database.rows('SELECT DISTINCT account FROM transactions', { signal });
  const known = new Set(later.map(({ account }) => account));
  const equal = accounts
    .filter((account) => !known.has(account))
    .map(
      (account) =>
        `no transactions of ${account} are loaded, so that its journals of the basis earned equal those of paid`,
    );
  return [...notes, ...equal];
}

/** What a version knew of settlements, as far as the lake can't tell. */
async function unclearNotes(
  database: Database,
  { isErased }: KnownVersion,
  { since, from, to, account }: Days & { readonly since: number; readonly account: string | null },
  signal: AbortSignal,
): Promise<string[]> {
  if (isErased) {
    return [
      `WARNING: the commits before version ${since} are erased, so that its settlements are those of now that had begun and were loaded by then`,
    ];
  }
  const [row] = await database.rows(unclearPayouts, { signal, parameters: { from, to, account } });
  const times = Number(row?.['times']);
  if (times === 0) return [];
  return [
    `WARNING: the lake has no history of transfers: those of ${formatCount(times, 'settlement')} that had closed by version ${since} and were listed again since are taken for known then`,
  ];
}

async function writeFile(path: string, pieces: AsyncIterable<string>): Promise<void> {
  let text = '';
  for await (const piece of pieces) text += piece;
  try {
    await replaceFile(path, text);
  } catch (error) {
    throw writeFault(path, error);
  }
}
