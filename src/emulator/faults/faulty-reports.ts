import { dayMs } from '../../core/windows.js';
import type { ReportBackend, SettlementReport } from '../../serve/reports-2021-06-30/report-backend.js';
import type { FaultInjector } from './fault-injector.js';
import type { FaultKind } from './fault-settings.js';
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
function settlementIn(text: string): SettlementTable {
  const [names = [], header = [], ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  const columns = names as ReportField[];
  const rowOf = (fields: readonly string[]): ReportRow => new Map(columns.map((name, at) => [name, fields[at] ?? '']));
  return { names: columns, header: rowOf(header), lines: lines.map(rowOf) };
}

/** The lines of a settlement without the line of names, each with its line end. */
function textOfSettlement({ names, header, lines }: SettlementTable): string {
  return [header, ...lines].map((row) => `${names.map((name) => row.get(name) ?? '').join('\t')}\n`).join('');
}

/** Changes a settlement. */
type SettlementEdit = (settlement: SettlementTable) => SettlementTable;

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

const decimalComma = eachField(['total-amount', 'amount'], (text) => text.replace('.', ','));

/** Dates as `02.03.2026 07:11:20 UTC`. */
const dottedDates = eachField(
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

const labelsRenamed = eachLine((row) => {
  const label = newLabels.get(field(row, 'amount-description'));
  return label === undefined ? row : edited(row, [['amount-description', label]]);
});

const marketplaceBlank = eachLine((row) =>
  field(row, 'order-id') === '' ? row : edited(row, [['marketplace-name', '']]),
);

const serviceFees = /^(?:FBAFees|AmazonFees)\t|Fee$|^other-transaction\t(?:Removal|Disposal)Complete$/;

/** Fees of no order name the shipment to a warehouse as their order. */
const shipmentAsOrder = eachLine((row) => {
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
const feesJoined: SettlementEdit = (settlement) => {
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
const largestDivided: SettlementEdit = (settlement) => {
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

/** How each fault changes the settlements that it hits, in this order. */
const edits = [
  ['fees-joined', feesJoined],
  ['shipment-as-order', shipmentAsOrder],
  ['labels-renamed', labelsRenamed],
  ['marketplace-blank', marketplaceBlank],
  ['decimal-comma', decimalComma],
  ['dotted-dates', dottedDates],
] as const satisfies readonly (readonly [FaultKind, SettlementEdit])[];

/** A report, and the settlement that it is of: a restated report has the settlement of the one before it. */
interface FaultyReport extends SettlementReport {
  readonly of: SettlementReport;
}

/**
 * A backend's settlement reports with everything that is known of Amazon's: documents that overlap, settlements that come again, and the forms
 * of other marketplaces. A fault hits a settlement in all documents alike, by its id.
 */
export function faultyReports(backend: ReportBackend, injector: FaultInjector): ReportBackend {
  const negative = new Map<string, boolean>();

  async function isNegative(report: SettlementReport): Promise<boolean> {
    const found =
      negative.get(report.id) ??
      field(settlementIn((await backend.documentOf(report)).text).header, 'total-amount').startsWith('-');
    negative.set(report.id, found);
    return found;
  }

  async function reports(asOf: number): Promise<readonly FaultyReport[]> {
    const found: FaultyReport[] = [];
    for (const report of await backend.reports(asOf)) {
      if (injector.hitsItem('report-missing', report.id) && (await isNegative(report)))
        injector.count('report-missing');
      else found.push({ ...report, of: report });
    }
    return [...found, ...found.flatMap((report) => restated(injector, report.of, asOf))];
  }

  /** The lines of the settlement of a report. */
  async function linesOf({ id, of }: FaultyReport): Promise<string> {
    const settlement = settlementIn((await backend.documentOf(of)).text);
    const isEarlier = id === of.id && injector.hitsItem('report-restated', id);
    const kinds = edits.filter(([kind]) => injector.hitsItem(kind, of.id));
    for (const [kind] of kinds) injector.count(kind);
    const start = isEarlier ? largestDivided(settlement) : settlement;
    return textOfSettlement(kinds.reduce((rows, [, edit]) => edit(rows), start));
  }

  return {
    reports,
    documentOf: async (asked) => {
      const all = (await reports(asked.createdAt)).toSorted((a, b) => a.createdAt - b.createdAt);
      const at = all.findIndex(({ id }) => id === asked.id);
      const isOverlapping = injector.hitsItem('reports-overlap', asked.id);
      if (isOverlapping) injector.count('reports-overlap');
      const settlements = all.slice(
        isOverlapping ? Math.max(0, at + 1 - injector.amount('reports-overlap')) : at,
        at + 1,
      );
      const { text, encoding } = await backend.documentOf(all[at]?.of ?? asked);
      const [names = ''] = text.split('\n', 1);
      const blocks: string[] = [];
      for (const settlement of settlements) blocks.push(await linesOf(settlement));
      const isOtherwise = injector.hitsItem('windows-1252', asked.id);
      if (isOtherwise) injector.count('windows-1252');
      // The Japanese marketplace has an encoding of its own.
      const other = text.includes('\tJPY\t') ? 'shift_jis' : 'windows-1252';
      return { text: `${names}\n${blocks.join('')}`, encoding: isOtherwise ? other : encoding };
    },
  };
}

/** The later report of a settlement that is restated. */
function restated(injector: FaultInjector, report: SettlementReport, asOf: number): readonly FaultyReport[] {
  if (!injector.hitsItem('report-restated', report.id)) return [];
  const later = injector.amount('report-restated') * dayMs;
  const createdAt = report.createdAt + later;
  if (createdAt > asOf) return [];
  injector.count('report-restated');
  return [
    {
      ...report,
      id: `${report.id}2`,
      documentId: `${report.documentId}2`,
      createdAt,
      doneAt: report.doneAt + later,
      of: report,
    },
  ];
}
