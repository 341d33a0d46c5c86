import type { Window } from '../../core/windows.js';
import { join } from 'node:path';
import { roles } from '../../../pipelines/all-pipelines.js';
import type { QueryResult } from '../../core/duckdb/connection.js';
import { usageError } from '../../core/errors.js';
import { makeFolders, openFault } from '../../core/io/files.js';
import { openOutputFile, type OutputFile } from '../../core/io/output-file.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import { isoDate, isoInstant } from '../../core/numeric/instant.js';
import { printable } from '../../core/printable.js';
import { shortHash } from '../../core/short-hash.js';
import { formatCount } from '../../core/text/amounts.js';
import { unknownName } from '../../core/text/fault-line.js';
import { textOrNull } from '../../core/text/rows.js';
import { writeExact } from '../../core/text/sink.js';
import { readInstantOption } from '../../core/text/value-forms.js';
import type { Lake } from '../../lake/lake.js';
import { lineLabels, wholeFees, type LineLabels } from '../../sources/finances/settlement-reports/line-kinds.js';
import { reportFields, textFields, type ReportField } from '../../sources/finances/settlement-reports/report-fields.js';
import {
  namesLine,
  writtenAmount,
  writtenInstant,
  writtenLine,
  writtenMoment,
  type WrittenFields,
} from '../../sources/finances/settlement-reports/report-writing.js';
import { loadingCommand } from '../command-text.js';
import type { CommandResult } from '../command-result.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import type { RangeOptions } from '../configuration/range.js';
import type { CacheOptions } from '../configuration/settings.js';
import type { RunContext } from '../context.js';
import type { SettlementReportsExport } from '../results.js';
import { LakeDatabase } from '../query/lake-database.js';
import { openLakeReader } from '../query/lake-files.js';
import settlementRows from '../settlements/settlements.sql';
import {
  isSettlementIn,
  loadedSettlements,
  settlementsByDate,
  settlementsFrom,
  totalFault,
  type NetSum,
  type Settlement,
} from '../settlements/settlements.js';
import groupLines from './group-lines.sql';
import paidLines from './paid-lines.sql';

export interface SettlementReportOptions extends Pick<RangeOptions, 'from' | 'to'>, CacheOptions {
  /** As the user wrote it. */
  readonly lake: string;
  /** The folder of the files. */
  readonly dir: string;
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** Ids of groups or of settlements; empty: all that are closed. */
  readonly settlements: readonly string[];
}

/** A settlement to write. */
interface ChosenSettlement {
  readonly settlement: Settlement;
  /** What its lines have as `settlement-id`. */
  readonly id: string;
}

/** What the written files have, for the notes. */
interface Written {
  settlements: number;
  lines: number;
  /** Files without a date of the deposit. */
  undeposited: number;
  /** Files with the id of the group. */
  unnumbered: number;
  /** Fields that the format can't hold as they are. */
  altered: number;
  /** Amounts that DECIMAL(18,6) can't hold. */
  inexact: number;
  /** Amounts in another currency, which add up to 0. */
  foreign: number;
  /** Fields that a line has. */
  readonly filled: Set<ReportField>;
}

/**
 * `ledgerlake export settlement-report`: writes the settlement report (flat file V2) of each closed settlement that the lake holds whole,
 * from its events of v0 or else from its paid transactions. A file gets its name once it is complete, and replaces an earlier one.
 *
 * @returns exit code 1 where a closed settlement isn't whole: its file isn't written, and the log names it
 * @throws LedgerlakeError USAGE where there is no lake, for an unknown account or settlement, and where a file can't be written
 */
export async function exportSettlementReports(
  options: SettlementReportOptions,
  { clock, signal, emit }: RunContext,
): Promise<CommandResult<SettlementReportsExport>> {
  const { lake: location, dir, cache, cacheGigabytes } = options;
  const range = exportRange(options);
  const settings = { cache, cacheGigabytes };
  const reader = await openLakeReader(location, clock, { ...settings, emit, scope: { lake: location } });
  const { lake } = reader;
  const views = await LakeDatabase.open(reader, { signal });
  try {
    await views.refresh();
    refuseUnknownAccount(options.account, lake.snapshot.accounts(), location);
    const accounts = [...lake.snapshot.accounts()].toSorted().filter((name) => (options.account ?? name) === name);
    const chosen = new Map<string, readonly ChosenSettlement[]>();
    const known: string[] = [];
    for (const account of accounts) {
      const all = await settlementsOf(account, views);
      known.push(...all.flatMap(({ settlement, id }) => [id, settlement.id]));
      chosen.set(
        account,
        all.filter((one) => isChosen(one, options.settlements, range)),
      );
    }
    const unknown = options.settlements.find((named) => !known.includes(named));
    if (unknown !== undefined) {
      throw unknownName(`--settlement to be a settlement of ${printable(location)}`, unknown, known.slice(-mostNamed));
    }
    await makeFolders(dir).catch((error: unknown) => {
      throw usageError(`expected --dir ${printable(dir)} to take the settlement reports: ${openFault(error)}`);
    });
    const written: Written = {
      settlements: 0,
      lines: 0,
      undeposited: 0,
      unnumbered: 0,
      altered: 0,
      inexact: 0,
      foreign: 0,
      filled: new Set(),
    };
    const left: { account: string; settlement: string; reason: string }[] = [];
    for (const [account, settlements] of chosen) {
      const writer = new SettlementReportWriter({ account, lake, views, dir, written });
      for (const [{ settlement, id }, reason] of await writer.write(settlements)) {
        const days = [settlement.start, settlement.end].map((at) => (at === null ? '' : isoDate(at))).join(' to ');
        emit({
          event: 'message',
          message: `not written: the settlement ${printable(id)} of ${account} (${days}): ${reason}`,
        });
        left.push({ account, settlement: id, reason });
      }
    }
    for (const note of notesOn(written)) emit({ event: 'message', message: note });
    const { settlements, lines } = written;
    return {
      text: `\n${formatCount(settlements, 'settlement report')} of ${printable(location)} in ${printable(dir)}: ${formatCount(lines, 'line')}\n`,
      summary: {
        status: left.length === 0 ? 'done' : 'failed',
        lake: location,
        dir,
        settlements,
        lines,
        not_written: left,
      },
      exitCode: left.length === 0 ? 0 : 1,
    };
  } finally {
    views.close();
  }
}

/** Known settlements that an error names. */
const mostNamed = 20;

/** @throws LedgerlakeError USAGE for a bound that is no instant, and for an empty range */
function exportRange({ from, to }: SettlementReportOptions) {
  const start = from === undefined ? -Infinity : readInstantOption('--from', from);
  const end = to === undefined ? Infinity : readInstantOption('--to', to);
  if (start >= end) throw usageError(`expected --from to be earlier than --to, got ${from ?? ''} and ${to ?? ''}`);
  return { start, end };
}

/** The settlements of an account, oldest first. */
async function settlementsOf(account: string, views: LakeDatabase): Promise<ChosenSettlement[]> {
  const source = { table: roles.settlements.main.name, file: '', account };
  const settlements = await settlementsFrom(settlementRows, source, views);
  const statement = 'SELECT group_id, settlement_id FROM settlement_ids WHERE account = $account';
  const rows = await views.rows(statement, { parameters: { account } });
  const ids = new Map(rows.map((row) => [String(row['group_id']), String(row['settlement_id'])]));
  return settlements
    .map((settlement) => ({ settlement, id: ids.get(settlement.id) ?? settlement.id }))
    .toSorted((one, other) => (one.settlement.start ?? 0) - (other.settlement.start ?? 0));
}

/** A settlement that is named, or without names each closed one. */
function isChosen({ settlement, id }: ChosenSettlement, named: readonly string[], range: Window): boolean {
  const isNamed = named.length === 0 ? settlement.isClosed : named.includes(settlement.id) || named.includes(id);
  const isAll = range.start === -Infinity && range.end === Infinity;
  return isNamed && (isAll || isSettlementIn(settlement, range));
}

interface WriterOptions {
  readonly account: string;
  readonly lake: Lake;
  readonly views: LakeDatabase;
  readonly dir: string;
  readonly written: Written;
}

/** What settlements can be written from. */
interface LineSource {
  /** Takes `account` and `ids`. */
  readonly statement: string;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Whether it has all of a settlement. */
  readonly has: (settlement: Settlement) => boolean;
}

/** Writes the settlements of an account. */
class SettlementReportWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Returns the settlements that aren't whole, and why. */
  async write(chosen: readonly ChosenSettlement[]): Promise<Map<ChosenSettlement, string>> {
    const { lake } = this.#options;
    const settlements = chosen.map(({ settlement }) => settlement);
    const comparable = { lake, settlements, damaged: [] };
    const byEvent = new Set(loadedSettlements(comparable));
    const sources: readonly LineSource[] = [
      { statement: groupLines, has: (settlement) => byEvent.has(settlement) },
      {
        statement: paidLines,
        parameters: { whole: JSON.stringify(wholeFees) },
        has: settlementsByDate(comparable),
      },
    ];
    const left = new Map(chosen.map((one) => [one, this.#unloadedText(one.settlement)]));
    for (const source of sources) {
      const tried = [...left.keys()].filter(({ settlement }) => settlement.isClosed && source.has(settlement));
      if (tried.length === 0) continue;
      const faults = await this.#writeFrom(source, tried);
      for (const one of tried) {
        const fault = faults.get(one);
        if (fault === undefined) left.delete(one);
        else left.set(one, fault);
      }
    }
    return left;
  }

  #unloadedText({ account, isClosed, start }: Settlement): string {
    if (!isClosed) return 'it is still open';
    const windows = start === null ? [] : [{ start, end: start + 1000 }];
    const command = loadingCommand({ pipeline: roles.bySettlement.name, account, windows });
    return `the lake doesn't hold it whole; \`${command}\` loads its events`;
  }

  /** Writes settlements from the rows of a statement; returns those that don't add up, and how. */
  async #writeFrom(source: LineSource, tried: readonly ChosenSettlement[]): Promise<Map<ChosenSettlement, string>> {
    const { account, views } = this.#options;
    const waiting = new Map(tried.map((one) => [one.settlement.id, one]));
    const faults = new Map<ChosenSettlement, string>();
    const parameters = { account, ids: JSON.stringify([...waiting.keys()]), ...source.parameters };
    let file: SettlementReportFile | undefined;
    try {
      for await (const row of reportRows(await views.query(source.statement, { parameters }))) {
        const id = row['group_id'] ?? '';
        if (file?.chosen.settlement.id !== id) {
          if (file !== undefined) await this.#complete(file, faults);
          const next = waiting.get(id);
          waiting.delete(id);
          file = next && (await SettlementReportFile.open(next, this.#options));
        }
        await file?.add(row);
      }
      if (file !== undefined) await this.#complete(file, faults);
    } finally {
      await file?.discard();
    }
    for (const one of waiting.values())
      await this.#complete(await SettlementReportFile.open(one, this.#options), faults);
    return faults;
  }

  async #complete(file: SettlementReportFile, faults: Map<ChosenSettlement, string>): Promise<void> {
    const fault = await file.complete();
    if (fault !== undefined) faults.set(file.chosen, fault);
  }
}

/** A row of texts by the names of its columns. */
type TextRow = Readonly<Record<string, string | null>>;

async function* reportRows({ columns, chunks }: QueryResult): AsyncGenerator<TextRow> {
  for await (const rows of chunks) {
    for (const row of rows) yield Object.fromEntries(columns.map(({ name }, at) => [name, textOrNull(row[at])]));
  }
}

/** Characters of a file that are written at once. */
const batchLength = 1 << 16;

/** The file of a settlement, until it is complete. */
class SettlementReportFile {
  readonly chosen: ChosenSettlement;
  readonly #file: OutputFile;
  readonly #written: Written;
  readonly #nets = new Map<string | null, { net: bigint; inexact: number; unknown: number }>();
  readonly #labels = new Map<string, LineLabels>();
  #pending = '';
  #lines = 0;
  #foreign = 0;
  #altered = 0;

  private constructor(chosen: ChosenSettlement, file: OutputFile, written: Written) {
    this.chosen = chosen;
    this.#file = file;
    this.#written = written;
  }

  /** Opens a file and writes its names, the settlement's header and its beginning balance. */
  static async open(
    chosen: ChosenSettlement,
    { account, dir, written }: Pick<WriterOptions, 'account' | 'dir' | 'written'>,
  ): Promise<SettlementReportFile> {
    const path = join(dir, fileName(account, chosen.id));
    const file = new SettlementReportFile(chosen, await openOutputFile(path), written);
    file.#begin();
    return file;
  }

  #begin(): void {
    const { start, end, paidAt, total, currency, beginning } = this.chosen.settlement;
    this.#pending = `${namesLine}\n`;
    this.#push({
      'settlement-start-date': writtenMoment(start),
      'settlement-end-date': writtenMoment(end),
      'deposit-date': writtenMoment(paidAt),
      'total-amount': writtenAmount(total ?? '0'),
      currency: currency ?? '',
    });
    if (beginning === null || millionths(beginning) === 0n) return;
    const labels = this.#labelsOf('Adjustment', 'adjustment', 'ReserveCredit');
    this.#pushLine({
      ...labels,
      ...postedFields(start === null ? null : isoInstant(start)),
      amount: writtenAmount(beginning),
    });
  }

  #labelsOf(list: string, kind: string, name: string, part?: string): WrittenFields {
    const key = JSON.stringify([list, kind, name, part]);
    const { transactionType, amountType, description } =
      this.#labels.get(key) ?? lineLabels(list, { kind, name }, part);
    this.#labels.set(key, { transactionType, amountType, description });
    return {
      'transaction-type': transactionType,
      'amount-type': amountType,
      'amount-description': description,
    };
  }

  #pushLine(fields: WrittenFields): void {
    this.#lines++;
    this.#push(fields);
    for (const field of reportFields) if ((fields[field] ?? '') !== '') this.#written.filled.add(field);
  }

  #push(fields: WrittenFields): void {
    const { text, altered } = writtenLine({ 'settlement-id': this.chosen.id, ...fields });
    this.#pending += `${text}\n`;
    this.#altered += altered;
  }

  /** Adds an amount; one of unknown role is only counted. */
  async add(row: TextRow): Promise<void> {
    const { currency = null, amount = null, amount_text: inexact = null } = row;
    const sums = this.#nets.get(currency) ?? { net: 0n, inexact: 0, unknown: 0 };
    this.#nets.set(currency, sums);
    if (row['role'] !== 'net') sums.unknown++;
    else if (inexact !== null) sums.inexact++;
    else if (amount !== null) sums.net += millionths(amount);
    const text = inexact ?? (amount === null ? undefined : writtenAmount(amount));
    if (row['role'] !== 'net' || text === undefined) return;
    if (currency !== this.chosen.settlement.currency) {
      this.#foreign++;
      return;
    }
    const [list = '', kind = '', name = ''] = ['event_list', 'kind', 'name'].map((column) => row[column] ?? '');
    const fields: Partial<Record<ReportField, string>> = { amount: text };
    for (const [column, field] of Object.entries(textFields)) fields[field] = row[column] ?? '';
    const labels = this.#labelsOf(list.replace(/EventList$/, ''), kind, name, row['part'] ?? undefined);
    // On one line of an item, so that they can be added up.
    if (labels['amount-type'] === 'ItemPrice' && name === 'Principal')
      fields['quantity-purchased'] = row['quantity'] ?? '';
    this.#pushLine({ ...fields, ...labels, ...postedFields(row['posted_at'] ?? null) });
    if (this.#pending.length >= batchLength) await this.#flush();
  }

  async #flush(): Promise<void> {
    await writeExact(this.#file.stream, [this.#pending]);
    this.#pending = '';
  }

  /** Gives the file its name where its lines add up to the total; else returns how they differ, and deletes it. */
  async complete(): Promise<string | undefined> {
    const { settlement, id } = this.chosen;
    const nets = Array.from(this.#nets, ([currency, sums]): NetSum => ({
      currency,
      inexact: 0,
      unknown: sums.unknown,
      net: millionthsText(sums.net),
    }));
    const inexact = [...this.#nets.values()].reduce((sum, one) => sum + one.inexact, 0);
    // What no sum has is written, and can't be compared.
    const fault = inexact > 0 && settlement.total !== null ? undefined : totalFault(settlement, nets);
    if (fault !== undefined) {
      await this.discard();
      return fault;
    }
    await this.#flush();
    await this.#file.commit();
    const written = this.#written;
    written.settlements++;
    written.lines += this.#lines;
    written.inexact += inexact;
    written.foreign += this.#foreign;
    written.altered += this.#altered;
    if (settlement.paidAt === null) written.undeposited++;
    if (id === settlement.id) written.unnumbered++;
    return undefined;
  }

  discard(): Promise<void> {
    return this.#file.discard();
  }
}

/** @param at an ISO 8601 instant in UTC; null: not known */
function postedFields(at: string | null): WrittenFields {
  return at === null ? {} : { 'posted-date': at.slice(0, at.indexOf('T')), 'posted-date-time': writtenInstant(at) };
}

/** Lower-case letters, digits and `-`: file systems differ on all others. Other ids end with their hash. */
function fileName(account: string, id: string): string {
  const safe = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-')
      .slice(0, 80);
  const name = `${safe(account)}-${safe(id)}`;
  return name === `${account}-${id}` ? `${name}.txt` : `${name}-${shortHash(JSON.stringify([account, id]))}.txt`;
}

/** Fields of lines that no event and no transaction may have. */
const lineFields = reportFields.slice(reportFields.indexOf('order-id'));

function notesOn(written: Written): string[] {
  const { settlements, lines, undeposited, unnumbered, altered, inexact, foreign, filled } = written;
  const blank = lines === 0 ? [] : lineFields.filter((field) => !filled.has(field));
  const ofSettlements = `of ${formatCount(settlements)}`;
  const notes: readonly (readonly [count: number, text: string])[] = [
    [blank.length, `blank in all lines, because the lake doesn't have it: ${blank.join(', ')}`],
    [
      undeposited,
      `${formatCount(undeposited, 'settlement')} ${ofSettlements} without a known deposit-date, which is blank`,
    ],
    [
      unnumbered,
      `${formatCount(unnumbered, 'settlement')} ${ofSettlements} without a known settlement-id: the id of the group is written`,
    ],
    [
      altered,
      `${formatCount(altered, 'field')} with a tab, a line end or blanks around it, which the format can't hold: written without them`,
    ],
    [
      inexact,
      `${formatCount(inexact, 'amount')} beyond DECIMAL(18,6), written as received: such settlements aren't compared with their totals`,
    ],
    [
      foreign,
      `${formatCount(foreign, 'amount')} in a currency other than the settlement's, which add up to 0 and are left out`,
    ],
  ];
  return notes.flatMap(([count, text]) => (count === 0 ? [] : [text]));
}
