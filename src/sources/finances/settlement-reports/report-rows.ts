import { millisecondsOf } from '../../../core/numeric/instant.js';
import type { Data } from 'apache-arrow';
import {
  bigintArray,
  dateArray,
  decimalArray,
  dictionaryArray,
  instantArray,
  textArray,
} from '../../../core/columns/arrays.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { digitsOf, recordBatch, type TableBatch } from '../../../core/columns/table.js';
import { count } from '../../../core/count.js';
import { formatCount } from '../../../core/text/amounts.js';
import { excerpt } from '../../../engine/retry/api-refusal.js';
import type { Warnings } from '../../../engine/run/pipeline.js';
import { readInteger, readScaled } from '../../../core/numeric/decimal.js';
import { monthOf } from '../../../core/windows.js';
import { contentHashOf, nthSuffix } from '../model/event-ids.js';
import { decimalMarkOf, plainAmount, type DecimalMark, type UnclearAmounts } from './amount-forms.js';
import { reportDay, reportInstant, slashOrderOf, type SlashOrder } from './date-forms.js';
import { lineKind, type LineKind } from './line-kinds.js';
import { fieldsOf, type SettlementText } from './report-document.js';
import { textFields } from './report-fields.js';
import { settlementLines, settlementReports } from './report-tables.js';

/** A settlement as rows of its two tables. */
export interface SettlementRows {
  readonly id: string;
  readonly currency: string;
  /** The partition: the month of its start. */
  readonly month: string;
  /** Milliseconds since 1970. */
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** The lines first; left out where there are none. */
  readonly batches: readonly TableBatch[];
  /** Values of an unexpected form, by column: null there, complete in `raw`. */
  readonly oddFields: ReadonlyMap<string, number>;
  /** Lines without an amount that can be read: the number of each in the document, and what it has. */
  readonly unreadable: readonly { readonly line: number; readonly text: string }[];
  /** The number of exact amounts that no sum has. */
  readonly inexact: number;
}

/** Texts of a column, or null. */
class LineTexts {
  readonly #dictionary = new Dictionary();
  readonly #number = remembered((text) => this.#dictionary.addString(text));
  readonly #numbers: number[] = [];

  /** Adds a row; undefined is null. */
  push(text: string | undefined): void {
    this.#numbers.push(text === undefined ? -1 : this.#number(text));
  }

  /** Adds a field: one without a text is null. */
  pushField(text: string): void {
    this.push(text === '' ? undefined : text);
  }

  array(): Data {
    return dictionaryArray(this.#dictionary, this.#numbers.length, (row) => this.#numbers[row] ?? -1);
  }
}

/** A column with one text in all rows; an empty one is null. */
function sameTexts(length: number, text: string): Data {
  const dictionary = new Dictionary();
  const number = text === '' ? -1 : dictionary.addString(text);
  return dictionaryArray(dictionary, length, () => number);
}

/** A function of texts that computes each one once: the texts of a report repeat. */
function remembered<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined || known.has(text)) return found as T;
    const value = compute(text);
    known.set(text, value);
    return value;
  };
}

/**
 * Reads a settlement: decides how its amounts and its dates are written, and makes rows of its lines.
 *
 * @param document the name of the document
 * @returns the reason where its amounts could mean either of two things, so that none can be trusted
 */
export function readSettlement(settlement: SettlementText, document: string): SettlementRows | UnclearAmounts {
  const { names, header, lines } = settlement;
  const headerFields = fieldsOf(header.raw);
  const amounts = new Set([names.field(headerFields, 'total-amount')]);
  const dates = new Set<string>();
  const amountOf = names.reader('amount');
  const dayOf = names.reader('posted-date');
  const instantOf = names.reader('posted-date-time');
  for (const { raw } of lines) {
    const fields = fieldsOf(raw);
    amounts.add(amountOf(fields));
    dates.add(dayOf(fields));
    dates.add(instantOf(fields));
  }
  const mark = decimalMarkOf(amounts);
  if (typeof mark !== 'string') return mark;
  const bounds = (['settlement-start-date', 'settlement-end-date'] as const).map((name) =>
    names.field(headerFields, name),
  );
  const order = orderOfDates(dates, bounds);
  return new SettlementReader(settlement, mark, order).read(document);
}

/** The order of the dates with slashes; those of lines lie within the settlement. */
function orderOfDates(dates: ReadonlySet<string>, bounds: readonly string[]): SlashOrder {
  const ofBounds = slashOrderOf(bounds, () => false);
  const [first = -Infinity, last = Infinity] = bounds.map((text) => reportDay(text, ofBounds));
  return slashOrderOf([...dates, ...bounds], (day) => day >= first - 1 && day <= last + 1);
}

/** What lines have of their settlement. */
interface HeaderValues {
  readonly startedAt: bigint | undefined;
  readonly endedAt: bigint | undefined;
  readonly currency: string;
}

/** Reads one settlement, whose forms are decided. */
class SettlementReader {
  readonly #settlement: SettlementText;
  readonly #order: SlashOrder;
  readonly #oddFields = new Map<string, number>();
  readonly #amount: (text: string) => bigint | undefined;
  readonly #plain: (text: string) => string | undefined;

  constructor(settlement: SettlementText, mark: DecimalMark, order: SlashOrder) {
    this.#settlement = settlement;
    this.#order = order;
    const { precision, scale } = digitsOf({});
    this.#plain = remembered((text) => plainAmount(text, mark));
    this.#amount = remembered((text) => readScaled(this.#plain(text) ?? '', precision, scale));
  }

  read(document: string): SettlementRows {
    const { id, names, header, lines } = this.#settlement;
    const fields = fieldsOf(header.raw);
    const field = (name: string) => names.field(fields, name);
    const instant = (column: string, name: string) => this.#instant(`settlement_reports.${column}`, field(name));
    const startedAt = instant('started_at', 'settlement-start-date');
    const endedAt = instant('ended_at', 'settlement-end-date');
    const depositAt = instant('deposit_at', 'deposit-date');
    const total = this.#amount(field('total-amount'));
    if (total === undefined) count(this.#oddFields, 'settlement_reports.total_amount');
    const currency = field('currency');
    const report = recordBatch(settlementReports, 1, {
      settlement_id: sameTexts(1, id),
      started_at: instantArray(1, () => startedAt),
      ended_at: instantArray(1, () => endedAt),
      deposit_at: instantArray(1, () => depositAt),
      total_amount: decimalArray(1, digitsOf({}), () => total),
      currency: sameTexts(1, currency),
      lines: bigintArray(1, () => BigInt(lines.length)),
      document: sameTexts(1, document),
      raw: textArray(1, () => `${names.raw}\n${header.raw}`),
    });
    const { batch, unreadable, inexact } = this.#lines({ startedAt, endedAt, currency });
    const [start, end] = [startedAt, endedAt].map((at) => (at === undefined ? undefined : millisecondsOf(at)));
    return {
      id,
      currency,
      month: start === undefined ? 'unknown' : monthOf(start),
      start,
      end,
      batches: [...(lines.length === 0 ? [] : [batch]), { table: settlementReports, rows: report }],
      oddFields: this.#oddFields,
      unreadable,
      inexact,
    };
  }

  #lines({ startedAt, endedAt, currency }: HeaderValues) {
    const { id, names, lines } = this.#settlement;
    const { length } = lines;
    const fieldColumns = Object.entries(textFields).map(([column, name]) => ({
      column,
      read: names.reader(name),
      texts: new LineTexts(),
    }));
    const [kindColumn, nameColumn, amountTexts] = [new LineTexts(), new LineTexts(), new LineTexts()];
    const read = {
      type: names.reader('transaction-type'),
      amountType: names.reader('amount-type'),
      description: names.reader('amount-description'),
      amount: names.reader('amount'),
      quantity: names.reader('quantity-purchased'),
      date: names.reader('posted-date'),
      dateTime: names.reader('posted-date-time'),
    };
    const ids = new Array<string>(length);
    const hashes = new Array<string>(length);
    const times = new Map<string, number>();
    const amounts: (bigint | undefined)[] = [];
    const quantities: (bigint | undefined)[] = [];
    const days: (number | undefined)[] = [];
    const instants: (bigint | undefined)[] = [];
    const unreadable: { line: number; text: string }[] = [];
    const kinds = new Map<string, LineKind | undefined>();
    const day = remembered((text) => reportDay(text, this.#order));
    const instant = remembered((text) => reportInstant(text, this.#order));
    let inexact = 0;
    for (const [row, { number, raw }] of lines.entries()) {
      const fields = fieldsOf(raw);
      const hash = contentHashOf(settlementLines.name, Buffer.from(raw));
      const nth = (times.get(hash) ?? 0) + 1;
      times.set(hash, nth);
      hashes[row] = hash;
      ids[row] = `${id}:${hash}${nthSuffix(nth)}`;
      for (const column of fieldColumns) column.texts.pushField(column.read(fields));

      const amountText = read.amount(fields);
      const amount = this.#amount(amountText);
      amounts.push(amount);
      // An empty text is no null here: it says that the line has no amount that can be read.
      amountTexts.push(amount === undefined ? amountText : undefined);
      if (amount === undefined && this.#plain(amountText) === undefined)
        unreadable.push({ line: number, text: amountText });
      else if (amount === undefined) inexact++;

      const types = [read.type(fields), read.amountType(fields), read.description(fields)] as const;
      const key = types.join('\t');
      if (!kinds.has(key)) kinds.set(key, lineKind(...types));
      const kind = kinds.get(key);
      kindColumn.push(kind?.kind);
      nameColumn.push(kind?.name);

      const quantity = read.quantity(fields);
      const units = quantity === '' ? undefined : readInteger(this.#plain(quantity) ?? '');
      if (quantity !== '' && units === undefined) count(this.#oddFields, 'settlement_lines.quantity');
      quantities.push(units);

      const [date, dateTime] = [read.date(fields), read.dateTime(fields)];
      const at = dateTime === '' ? undefined : instant(dateTime);
      if (dateTime !== '' && at === undefined) count(this.#oddFields, 'settlement_lines.posted_at');
      instants.push(at);
      const on = day(date === '' ? dateTime : date);
      if (date !== '' && on === undefined) count(this.#oddFields, 'settlement_lines.posted_on');
      days.push(on);
    }
    const rows = recordBatch(settlementLines, length, {
      ...Object.fromEntries(fieldColumns.map(({ column, texts }) => [column, texts.array()])),
      settlement_id: sameTexts(length, id),
      currency: sameTexts(length, currency),
      kind: kindColumn.array(),
      name: nameColumn.array(),
      amount_text: amountTexts.array(),
      event_id: textArray(length, (row) => ids[row] ?? ''),
      content_hash: textArray(length, (row) => hashes[row] ?? ''),
      line: bigintArray(length, (row) => BigInt(row + 1)),
      amount: decimalArray(length, digitsOf({}), (row) => amounts[row]),
      posted_on: dateArray(length, (row) => days[row]),
      posted_at: instantArray(length, (row) => instants[row]),
      quantity: bigintArray(length, (row) => quantities[row]),
      started_at: instantArray(length, () => startedAt),
      ended_at: instantArray(length, () => endedAt),
      raw: textArray(length, (row) => lines[row]?.raw ?? ''),
    });
    return { batch: { table: settlementLines, rows }, unreadable, inexact };
  }

  #instant(column: string, text: string): bigint | undefined {
    if (text === '') return undefined;
    const found = reportInstant(text, this.#order);
    if (found === undefined) count(this.#oddFields, column);
    return found;
  }
}

/** Why a settlement is left out. */
export function unclearText(id: string, { text, found }: UnclearAmounts): string {
  return `expected amounts of the settlement ${excerpt(id)} that can be read in one way, found ${text}, which is ${found}`;
}

/** Lines that are named each; further ones of a settlement are counted. */
const mostNamed = 20;

/** Unexpected data of a settlement. `document`: its name. */
export function settlementWarnings(
  { id, currency, oddFields, unreadable, inexact }: SettlementRows,
  document: string,
): Warnings {
  const unread = new Map<string, number>();
  for (const { line, text } of unreadable.slice(0, mostNamed)) {
    unread.set(`${document}, line ${line}: ${JSON.stringify(text)}`, 1);
  }
  const others = unreadable.length - mostNamed;
  if (others > 0) unread.set(`${formatCount(others)} more of the settlement ${id}`, others);
  const inexactAmounts = new Map(inexact > 0 ? [[currency, inexact]] : []);
  return { oddFields, unreadAmounts: unread, inexactAmounts };
}
