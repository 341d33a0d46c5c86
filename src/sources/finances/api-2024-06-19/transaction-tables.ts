import type { Column, Table } from '../../../core/columns/table.js';
import {
  amazonOrderId,
  effectiveAt,
  filtered,
  addedLater,
  maybeEffectiveAt,
  nullable,
  postedAt,
  repeated,
  withBloomFilter,
  nullableText,
  unbounded,
} from '../model/columns.js';
import { column } from '../../../core/columns/table.js';

const transactionId = withBloomFilter(
  nullable('transaction_id', 'text', 'delta-length', 'As upstream gives it; null where it is none.'),
);
const transactionType = filtered(nullableText('transaction_type', '`Shipment`, `Refund`, `ServiceFee`, `Transfer` …'));
const status = filtered(nullableText('status', '`DEFERRED`, `DEFERRED_RELEASED` or `RELEASED`, in upper case.'));
const deferredTransactionId = nullable(
  'deferred_transaction_id',
  'text',
  'delta-length',
  'The deferred transaction that this one releases.',
);
const marketplace = nullableText('marketplace', 'Name of the marketplace: `Amazon.com`.');
const marketplaceId = nullableText('marketplace_id', 'Identifier of the marketplace: joins with `marketplaces`.');
const groupId = filtered(nullableText('group_id', 'The settlement, as `groups` has it.'));
const raw = column(
  'raw',
  'text',
  'plain',
  'The JSON exactly as received, byte for byte; only texts that are no JSON are repaired.',
);
const position = column('position', 'bigint', 'plain', 'Order of receipt within the slice, from 0.');

function transactionColumns(effective: Column): Column[] {
  return [
    column('content_hash', 'text', 'delta-length', 'What the transaction says, as a hash: the same in every table.'),
    withBloomFilter(
      column('event_id', 'text', 'delta-length', 'Unique in its table; the same bytes have the same one on every run.'),
    ),
    transactionId,
    transactionType,
    status,
    nullableText('description', 'What the transaction is for: `Order Payment`.'),
    postedAt,
    effective,
    nullable('total_amount', 'decimal', 'dictionary', 'Total of the transaction: exact, to a millionth.'),
    nullableText('total_text', 'Only where `total_amount` cannot hold it: the number as received.'),
    nullableText('currency', 'ISO 4217 code of the total, as received.'),
    nullableText('account_type', 'Type of the account: `Standard Orders`.'),
    marketplaceId,
    marketplace,
    amazonOrderId,
    nullable('shipment_id', 'text', 'delta-length', 'The shipment.'),
    groupId,
    filtered(nullableText('settlement_id', 'The settlement, as `settlement_summaries` has it.')),
    nullable('refund_id', 'text', 'delta-length', 'The refund.'),
    nullable('invoice_id', 'text', 'delta-length', 'The invoice.'),
    nullableText('disbursement_id', 'The disbursement to the bank.'),
    nullableText('transfer_id', 'The transfer to the bank.'),
    deferredTransactionId,
    nullable('release_transaction_id', 'text', 'delta-length', 'The transaction that releases this one.'),
    nullableText('deferral_reason', 'Why it is deferred: `DD7` until a week after delivery, `B2B` …'),
    nullable('maturity_at', 'instant', 'dictionary', 'When a deferred transaction is to be released.'),
    nullable('window_start', 'instant', 'dictionary', 'Start of the slice; null in `order_transactions`.'),
    nullable('window_end', 'instant', 'dictionary', 'End of the slice, exclusive; null in `order_transactions`.'),
    nullableText('requested_order_id', 'The requested order; set in `order_transactions`.'),
    position,
    raw,
  ];
}

function entryColumns(effective: Column): Column[] {
  return [
    withBloomFilter(
      column('event_id', 'text', 'dictionary', 'The transaction that holds the amount, as its table has it.'),
    ),
    repeated(transactionId),
    transactionType,
    status,
    repeated(deferredTransactionId),
    repeated(postedAt),
    repeated(effective),
    repeated(amazonOrderId),
    unbounded(addedLater(marketplaceId)),
    unbounded(marketplace),
    groupId,
    column('entry', 'integer', 'dictionary', 'Order within the transaction, from 0.'),
    unbounded(
      column('path', 'text', 'dictionary', 'Path of the amount: `items[].breakdowns[].breakdowns[].breakdownAmount`.'),
    ),
    nullableText('breakdown', 'Breakdown types from the top, `AmazonFees/Commission`; null for totals.'),
    nullable('item', 'integer', 'dictionary', 'Which element of the outermost array on the path, from 0.'),
    filtered(nullableText('sku', "The seller's SKU of the item, else of the transaction.")),
    nullableText('asin', 'Catalogue number of the item, else of the transaction.'),
    nullable('quantity', 'bigint', 'dictionary', 'Units of the item, else of the transaction.'),
    nullableText('fulfillment_network', 'Who ships the item: `AFN`, `MFN`.'),
    unbounded(
      column(
        'kind',
        'text',
        'dictionary',
        'Category of the amount: `charge`, `fee`, `tax` …; `unknown` if no rule has it.',
      ),
    ),
    unbounded(nullableText('name', 'The last breakdown type; null for totals.')),
    unbounded(
      column(
        'role',
        'text',
        'dictionary',
        '`net` adds up to the total of the transaction, `memo` repeats what others count.',
      ),
    ),
    nullable('amount', 'decimal', 'dictionary', 'Exact, to a millionth.'),
    filtered(nullableText('amount_text', 'Only where `amount` cannot hold it: the number as received.')),
    unbounded(nullableText('currency', 'ISO 4217 code as received.')),
  ];
}

export const transactions: Table = {
  name: 'transactions',
  about: 'One row per transaction received by date.',
  columns: transactionColumns(effectiveAt),
  row: 'transaction',
  agedBy: 'effective_at',
};
export const transactionEntries: Table = {
  name: 'transaction_entries',
  about: 'One row per amount of every transaction received by date.',
  columns: entryColumns(effectiveAt),
  row: 'entry',
};
export const orderTransactions: Table = {
  name: 'order_transactions',
  about: 'One row per transaction received by order.',
  columns: transactionColumns(maybeEffectiveAt),
  row: 'transaction',
  agedBy: 'effective_at',
};
export const orderTransactionEntries: Table = {
  name: 'order_transaction_entries',
  about: 'One row per amount of every transaction received by order.',
  columns: entryColumns(maybeEffectiveAt),
  row: 'entry',
};

const accountType = nullableText('account_type', 'Type of the account: `Standard Orders`.');
const windowStart = nullable('window_start', 'instant', 'dictionary', 'Start of the slice.');
const windowEnd = nullable('window_end', 'instant', 'dictionary', 'End of the slice, exclusive.');

export const settlementSummaries: Table = {
  name: 'settlement_summaries',
  about: 'One row per summary of a settlement that loaded transactions name.',
  columns: [
    filtered(column('settlement_id', 'text', 'plain', 'The requested settlement.')),
    accountType,
    marketplaceId,
    filtered(nullable('period_start', 'instant', 'plain', 'When the settlement begins.')),
    nullable('period_end', 'instant', 'plain', 'When the settlement ends.'),
    nullable('net_proceeds', 'decimal', 'plain', 'What the settlement adds up to.'),
    nullableText('currency', 'Currency of `net_proceeds`.'),
    windowStart,
    windowEnd,
    position,
    raw,
  ],
  sort: ['settlement_id'],
  agedBy: 'period_end',
};

export const payouts: Table = {
  name: 'payouts',
  about: 'One row per payout to the bank that was created in a range.',
  columns: [
    filtered(nullable('payout_id', 'text', 'plain', 'Identifier of the payout; null where it came without one.')),
    nullableText('status', '`STARTED`, `IN_TRANSIT`, `PAID`, `FAILED`, `CANCELLED` or `NO_PAYOUT`.'),
    nullableText('payout_type', '`SCHEDULED` or `ON_DEMAND`.'),
    nullable('amount', 'decimal', 'plain', 'What is paid out; null where nothing is.'),
    nullableText('currency', 'Currency of `amount`.'),
    accountType,
    marketplaceId,
    filtered(nullable('settlement_id', 'text', 'plain', 'The settlement that is paid out.')),
    nullableText('account_tail', 'Last digits of the bank account.'),
    nullableText('payment_method', '`BANK_ACCOUNT` or `DEBIT_CARD`.'),
    nullableText('payment_rail', 'The clearing system that transmits the payout.'),
    nullableText('trace_id', 'Number by which the bank traces the transfer.'),
    filtered(nullable('created_at', 'instant', 'plain', 'When the payout was created.')),
    nullable('period_start', 'instant', 'plain', 'Start of the time that the payout covers.'),
    nullable('period_end', 'instant', 'plain', 'End of the time that the payout covers.'),
    windowStart,
    windowEnd,
    position,
    raw,
  ],
  sort: ['created_at'],
  agedBy: 'created_at',
};
