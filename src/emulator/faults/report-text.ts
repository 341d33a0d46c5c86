import { hash } from 'node:crypto';
import { readScaled } from '../../core/numeric/decimal.js';
import type { ReportField } from '../../sources/finances/settlement-reports/report-fields.js';
import { reportAmountText } from '../seller/report-books.js';

/** A line of a document by column. */
type ReportRow = ReadonlyMap<ReportField, string>;

/** A document of one settlement. */
interface SettlementTable {
  readonly names: readonly ReportField[];
  readonly header: ReportRow;
  readonly lines: readonly ReportRow[];
}

/** Reads a document as the backend writes it. */
export function settlementIn(text: string): SettlementTable {
  const [names = [], header = [], ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  const columns = names as ReportField[];
  const rowOf = (fields: readonly string[]): ReportRow => new Map(columns.map((name, at) => [name, fields[at] ?? '']));
  return { names: columns, header: rowOf(header), lines: lines.map(rowOf) };
}

/** The lines of a settlement without the line of names, each with its line end. */
export function textOfSettlement({ names, header, lines }: SettlementTable): string {
  return [header, ...lines].map((row) => `${names.map((name) => row.get(name) ?? '').join('\t')}\n`).join('');
}

/** Changes a settlement. */
export type SettlementEdit = (settlement: SettlementTable) => SettlementTable;

function edited(row: ReportRow, changes: readonly (readonly [ReportField, string])[]): ReportRow {
  return new Map([...row, ...changes]);
}

const field = (row: ReportRow, column: ReportField) => row.get(column) ?? '';

function eachLine(edit: (row: ReportRow) => ReportRow): SettlementEdit {
  return (settlement) => ({ ...settlement, lines: settlement.lines.map(edit) });
}

/** Rewrites columns in the header and in all lines. */
function eachField(columns: readonly ReportField[], rewrite: (text: string) => string): SettlementEdit {
  const edit = (row: ReportRow) =>
    edited(
      row,
      columns.map((column) => [column, rewrite(field(row, column))] as const),
    );
  return (settlement) => ({ ...settlement, header: edit(settlement.header), lines: settlement.lines.map(edit) });
}

export const decimalComma = eachField(['total-amount', 'amount'], (text) => text.replace('.', ','));

/** Dates as `02.03.2026 07:11:20 UTC`. */
export const dottedDates = eachField(
  ['settlement-start-date', 'settlement-end-date', 'deposit-date', 'posted-date', 'posted-date-time'],
  (text) => text.replace(/^(\d{4})-(\d\d)-(\d\d)/, '$3.$2.$1'),
);

/** Labels that Amazon has changed, or could change. */
const newLabels: ReadonlyMap<string, string> = new Map([
  ['Storage Fee', 'StorageRenewalBilling'],
  ['Subscription Fee', 'Monthly subscription fee'],
  ['FBAPerUnitFulfillmentFee', 'FBA fulfilment fee per unit'],
  ['WAREHOUSE_LOST', 'MISSING_FROM_INBOUND'],
]);

export const labelsRenamed = eachLine((row) => {
  const label = newLabels.get(field(row, 'amount-description'));
  return label === undefined ? row : edited(row, [['amount-description', label]]);
});

export const marketplaceBlank = eachLine((row) =>
  field(row, 'order-id') === '' ? row : edited(row, [['marketplace-name', '']]),
);

const serviceFees = /^(?:FBAFees|AmazonFees)\t|Fee$|^other-transaction\t(?:Removal|Disposal)Complete$/;

/** Fees of no order name the shipment to a warehouse as their order. */
export const shipmentAsOrder = eachLine((row) => {
  const label = `${field(row, 'transaction-type')}\t${field(row, 'amount-description')}`;
  if (field(row, 'order-id') !== '' || !serviceFees.test(label)) return row;
  const shipment = hash('sha256', `${label}\t${field(row, 'posted-date-time')}`)
    .slice(0, 7)
    .toUpperCase();
  return edited(row, [['order-id', `FBA15${shipment}`]]);
});

function millionthsOf(row: ReportRow): bigint {
  return readScaled(field(row, 'amount'), 38, 6) ?? 0n;
}

/** What the fees that become one line have in common; undefined for another line. */
function feeKey(row: ReportRow): string | undefined {
  const isService = /^(?:FBA|Amazon)Fees$/.test(field(row, 'transaction-type'));
  if (!isService && field(row, 'amount-type') !== 'ItemFees') return undefined;
  const columns = [
    'transaction-type',
    'order-id',
    'amount-type',
    'order-item-code',
    'sku',
    'posted-date-time',
  ] as const;
  return columns.map((column) => field(row, column)).join('\t');
}

/** The fees of an item, and the parts of a service's fee, are one line. */
export const feesJoined: SettlementEdit = (settlement) => {
  const lines: ReportRow[] = [];
  let lastKey: string | undefined;
  for (const row of settlement.lines) {
    const key = feeKey(row);
    const last = lines.at(-1);
    if (key !== undefined && key === lastKey && last !== undefined) {
      const amount = reportAmountText(millionthsOf(last) + millionthsOf(row));
      lines[lines.length - 1] = edited(last, [
        ['amount-description', 'TransactionTotalAmount'],
        ['amount', amount],
      ]);
    } else lines.push(row);
    lastKey = key;
  }
  return { ...settlement, lines };
};

/** The largest amount is two lines: what an earlier report of the settlement says. */
export const largestDivided: SettlementEdit = (settlement) => {
  const { lines } = settlement;
  const sizes = lines.map((row) => {
    const millionths = millionthsOf(row);
    return millionths < 0n ? -millionths : millionths;
  });
  const largest = sizes.reduce((most, size) => (size > most ? size : most), 0n);
  const at = sizes.indexOf(largest);
  const row = lines[at];
  if (row === undefined) return settlement;
  const part = (millionthsOf(row) / 3_000_000n) * 1_000_000n;
  const parts = [part, millionthsOf(row) - part].map((each) => edited(row, [['amount', reportAmountText(each)]]));
  return { ...settlement, lines: lines.toSpliced(at, 1, ...parts) };
};
