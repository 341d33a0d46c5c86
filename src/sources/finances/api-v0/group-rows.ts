import type { RecordBatch } from 'apache-arrow';
import { bytesArray, decimalArray, dictionaryArray, instantArray } from '../../../core/columns/arrays.js';
import type { ByteRange } from '../../../core/columns/byte-ranges.js';
import { compare } from '../../../core/compare.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { digitsOf, recordBatch } from '../../../core/columns/table.js';
import { type Int64Halves, readDecimal } from '../../../core/numeric/decimal.js';
import { readInstant } from '../../../core/numeric/instant.js';
import { numberRange } from '../../../core/json/node-values.js';
import { type Tape, kind } from '../../../core/json/tape.js';
import { micros } from '../model/event-ids.js';
import { count } from '../../../core/count.js';
import { type EventWarnings, none } from '../model/slice-rows.js';
import { groups } from './event-tables.js';

interface Money {
  readonly amount: Int64Halves | undefined;
  readonly currency: string | undefined;
}

/** The fields of a financial event group. */
export interface GroupRow {
  /** Undefined: absent, or not a string. */
  readonly id: string | undefined;
  readonly texts: Readonly<Record<GroupText, string | undefined>>;
  readonly money: Readonly<Record<GroupMoney, Money>>;
  /** Microseconds since 1970. */
  readonly fundTransferAt: bigint | undefined;
  readonly startedAt: bigint | undefined;
  readonly endedAt: bigint | undefined;
  readonly raw: ByteRange & { readonly page: Buffer };
}

type GroupText = 'processing_status' | 'fund_transfer_status' | 'trace_id' | 'account_tail';
type GroupMoney = 'original' | 'converted' | 'beginning';

/** The fields of one group. A field of an unexpected type is undefined and counted. */
class GroupFields {
  readonly #tape: Tape;
  readonly #group: number;
  readonly #warnings: EventWarnings;

  constructor(tape: Tape, group: number, warnings: EventWarnings) {
    this.#tape = tape;
    this.#group = group;
    this.#warnings = warnings;
  }

  count(field: string, warning: 'oddFields' | 'textAmounts' = 'oddFields'): void {
    count(this.#warnings[warning], `FinancialEventGroupList: ${field}`);
  }

  text(field: string): string | undefined {
    const node = this.#node(field);
    if (node === undefined) return undefined;
    if (this.#tape.isString(node)) return this.#tape.stringValue(node);
    this.count(field);
    return undefined;
  }

  instant(field: string): bigint | undefined {
    const text = this.text(field);
    const instant = text === undefined ? undefined : readInstant(text);
    if (text !== undefined && instant === undefined) this.count(field);
    return instant;
  }

  money(field: string): Money {
    const node = this.#node(field);
    if (node === undefined) return { amount: undefined, currency: undefined };
    const tape = this.#tape;
    const amount = tape.member(node, 'CurrencyAmount');
    const halves = { low: 0, high: 0 };
    const number = amount === undefined ? undefined : numberRange(tape, amount);
    const isExact = number !== undefined && readDecimal(number.page, number.start, number.end, halves);
    const code = tape.member(node, 'CurrencyCode');
    const currency = code !== undefined && tape.isString(code) ? tape.stringValue(code) : undefined;
    if (!isExact || currency === undefined) this.count(field);
    else if (amount !== undefined && tape.isString(amount)) this.count(field, 'textAmounts');
    return { amount: isExact ? halves : undefined, currency };
  }

  /** The node of a field; undefined where it is absent or null. */
  #node(field: string): number | undefined {
    const node = this.#tape.member(this.#group, field);
    return node === undefined || this.#tape.kind(node) === kind.null ? undefined : node;
  }
}

/** Reads one group; `group` is its node, whose equal keys are shadowed. */
export function readGroup(tape: Tape, group: number, warnings: EventWarnings): GroupRow {
  const fields = new GroupFields(tape, group, warnings);
  const id = fields.text('FinancialEventGroupId');
  if (id === undefined || id === '') fields.count('FinancialEventGroupId');
  if (tape.isRepaired(group)) count(warnings.repaired, 'FinancialEventGroupList');
  return {
    id,
    texts: {
      processing_status: fields.text('ProcessingStatus'),
      fund_transfer_status: fields.text('FundTransferStatus'),
      trace_id: fields.text('TraceId'),
      account_tail: fields.text('AccountTail'),
    },
    money: {
      original: fields.money('OriginalTotal'),
      converted: fields.money('ConvertedTotal'),
      beginning: fields.money('BeginningBalance'),
    },
    fundTransferAt: fields.instant('FundTransferDate'),
    startedAt: fields.instant('FinancialEventGroupStart'),
    endedAt: fields.instant('FinancialEventGroupEnd'),
    raw: { page: tape.bytes, start: tape.start(group), end: tape.end(group) },
  };
}

/** Groups as a batch of the table `groups`, in order of their start. */
export function groupBatch(rows: readonly GroupRow[], window: { start: number; end: number }): RecordBatch {
  const sorted = rows.toSorted((a, b) => compare(a.startedAt ?? 0n, b.startedAt ?? 0n) || byId(a, b));
  const { length } = sorted;
  const row = (index: number): GroupRow => {
    const found = sorted[index];
    if (found === undefined) throw new Error(`no group ${index}`);
    return found;
  };
  const text = (textOf: (group: GroupRow) => string | undefined) => {
    const values = new Dictionary();
    return dictionaryArray(values, length, (index) => {
      const value = textOf(row(index));
      return value === undefined ? none : values.addString(value);
    });
  };
  const amount = (name: GroupMoney) =>
    decimalArray(length, digitsOf({}), (index) => {
      const halves = row(index).money[name].amount;
      return halves && (BigInt(halves.high) << 32n) | BigInt(halves.low >>> 0);
    });
  return recordBatch(groups, length, {
    group_id: text((group) => group.id),
    processing_status: text((group) => group.texts.processing_status),
    fund_transfer_status: text((group) => group.texts.fund_transfer_status),
    original_total: amount('original'),
    original_currency: text((group) => group.money.original.currency),
    converted_total: amount('converted'),
    converted_currency: text((group) => group.money.converted.currency),
    beginning_balance: amount('beginning'),
    beginning_currency: text((group) => group.money.beginning.currency),
    fund_transfer_at: instantArray(length, (index) => row(index).fundTransferAt),
    started_at: instantArray(length, (index) => row(index).startedAt),
    ended_at: instantArray(length, (index) => row(index).endedAt),
    trace_id: text((group) => group.texts.trace_id),
    account_tail: text((group) => group.texts.account_tail),
    window_start: instantArray(length, () => micros(window.start)),
    window_end: instantArray(length, () => micros(window.end)),
    raw: bytesArray(sorted.map(({ raw }) => raw)),
  });
}

/** Groups without an id come last, as in merged files. */
function byId({ id: a }: GroupRow, { id: b }: GroupRow): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compare(a, b);
}
