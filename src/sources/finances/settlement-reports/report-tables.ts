import type { LoadKeyKind } from '../../../lake/catalog/load-key.js';
import type { Column, PipelineTables, Table } from '../../../core/columns/table.js';
import { column } from '../../../core/columns/table.js';
import { filtered, nullable, withBloomFilter, nullableText, unbounded } from '../model/columns.js';

const settlementId = withBloomFilter(
  filtered(column('settlement_id', 'text', 'dictionary', "Amazon's number of the settlement.")),
);
const startedAt = filtered(nullable('started_at', 'instant', 'dictionary', 'Start of the settlement.'));
const endedAt = filtered(nullable('ended_at', 'instant', 'dictionary', 'End of the settlement.'));

/** One row for each line; the columns of `settlement_reports` that rows are chosen by are in both. */
const lineColumns: readonly Column[] = [
  withBloomFilter(
    column(
      'event_id',
      'text',
      'delta-length',
      'Unique: the settlement, a colon and `content_hash`; the second, third … equal line gets `-2`, `-3` …',
    ),
  ),
  column(
    'content_hash',
    'text',
    'delta-length',
    'The first 128 bits of the SHA-256 of `settlement_lines`, a zero byte and `raw`.',
  ),
  settlementId,
  column('line', 'bigint', 'plain', 'Number of the line in its settlement, from 1.'),
  nullableText('transaction_type', '`Order`, `Refund`, `other-transaction` …'),
  withBloomFilter(
    filtered(
      nullable(
        'order_id',
        'text',
        'delta-length',
        'As received: often the order, but of a fee the shipment to a warehouse.',
      ),
    ),
  ),
  nullable('merchant_order_id', 'text', 'delta-length', 'The order, as the seller numbers it.'),
  nullableText('adjustment_id', 'Number of a refund or another adjustment.'),
  nullableText('shipment_id', 'Number of the shipment.'),
  unbounded(nullableText('marketplace', 'The marketplace, as the report has it: `Amazon.com`.')),
  nullableText('amount_type', '`ItemPrice`, `ItemFees`, `Promotion` …'),
  nullableText('amount_description', '`Principal`, `Commission` …; of a coupon its text.'),
  unbounded(nullableText('kind', 'Category of the amount, as in `entries`; null where no rule names it.')),
  unbounded(nullableText('name', "The amount's type, as `entries` have it; null where no rule names it.")),
  nullable('amount', 'decimal', 'dictionary', 'Exact, to a millionth.'),
  filtered(
    nullableText('amount_text', 'Only where `amount` cannot hold it, or it is no number: the text as received.'),
  ),
  unbounded(nullableText('currency', 'Currency of the settlement.')),
  nullableText('fulfillment_id', '`AFN`, or `MFN`.'),
  nullable('posted_on', 'date', 'dictionary', 'The day of the line, as the report has it.'),
  filtered(nullable('posted_at', 'instant', 'dictionary', 'The instant of the line; null where it has none.')),
  unbounded(nullableText('order_item_id', 'Number of the item within its order.')),
  nullableText('merchant_order_item_id', 'Number of the item, as the seller gives it.'),
  nullableText('merchant_adjustment_item_id', 'Number of the adjusted item, as the seller gives it.'),
  filtered(nullableText('sku', "The seller's SKU.")),
  nullable('quantity', 'bigint', 'dictionary', 'Units.'),
  nullableText('promotion_id', 'Number of the promotion.'),
  startedAt,
  endedAt,
  column('raw', 'text', 'plain', 'The line as received, without its line end.'),
];

const reportsName = 'settlement_reports';

export const settlementLines: Table = {
  name: 'settlement_lines',
  about: "One row per line of Amazon's settlement reports (flat file V2).",
  columns: lineColumns,
  sort: ['started_at', 'settlement_id', 'line'],
  row: 'line',
  linesOf: reportsName,
};

export const settlementReports: Table = {
  name: reportsName,
  about: 'One row per settlement of the settlement reports.',
  columns: [
    settlementId,
    startedAt,
    endedAt,
    nullable('deposit_at', 'instant', 'plain', 'When the money is sent, as far as the report knows; a forecast.'),
    nullable('total_amount', 'decimal', 'plain', 'What its lines add up to.'),
    nullableText('currency', 'Currency of all its amounts.'),
    column('lines', 'bigint', 'plain', 'Number of its lines.'),
    nullableText(
      'document',
      'The document that it was read from: the id of a report, or the name of an imported file.',
    ),
    column('raw', 'text', 'plain', "The document's line of names, a line feed, and the settlement's first line."),
  ],
  sort: ['started_at', 'settlement_id'],
  agedBy: 'ended_at',
};

/** The tables of settlement reports; a load key is a settlement. */
export const settlementReportTables = {
  name: 'settlement-reports',
  loadKeyKind: 'settlement',
  main: settlementReports,
  derived: [settlementLines],
} as const satisfies PipelineTables & { readonly loadKeyKind: LoadKeyKind };
