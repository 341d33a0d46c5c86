import type { ResultColumn } from '../../core/text/rows.js';
import type { Sheet } from '../../core/text/workbook.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { categories } from '../query/categories.js';
import { earnedOf, rateText } from './money-section.js';
import type { AccountFigures } from './report-page.js';
import { skuColumns } from './report-statements.js';
import { isPaid } from './settlement-section.js';

const text = (name: string): ResultColumn => ({ name, kind: 'text' });
const count = (name: string): ResultColumn => ({ name, kind: 'number' });
const amount = (name: string): ResultColumn => ({ name, kind: 'number', isAmount: true });
const columnName = (label: string) => label.toLowerCase().replaceAll(' ', '_');

/** Names of the sheets. */
export const sheetNames = ['earned', 'fees', 'skus', 'refunds', 'settlements', 'reconciliation'] as const;

/** The tables of a report for other programs, with exact amounts; each has all accounts and currencies. */
export function reportSheets(accounts: readonly AccountFigures[]): readonly Sheet[] {
  const figures = accounts.flatMap(({ account, currencies }) => currencies.map((one) => ({ account, ...one })));
  const keyColumns = [text('account'), text('currency')];
  return [
    {
      name: 'earned',
      columns: [
        ...keyColumns,
        text('month'),
        amount('earned'),
        ...categories.map(({ label }) => amount(columnName(label))),
        count('unsummed'),
        amount('net_proceeds'),
      ],
      rows: figures.flatMap(({ account, currency, months }) =>
        months.map(({ month, amounts, net, inexact }) => [
          ...[account, currency, month, earnedOf(amounts)],
          ...categories.map(({ id }) => amounts[id]),
          ...[inexact, net],
        ]),
      ),
    },
    {
      name: 'fees',
      columns: [...keyColumns, text('fee'), text('list'), count('times'), amount('total')],
      rows: figures.flatMap(({ account, currency, fees }) =>
        fees.map(({ fee, list, fees: others, times, total }) => [
          ...[account, currency, fee ?? `${others} other fees`, list, times, total],
        ]),
      ),
    },
    {
      name: 'skus',
      columns: [...keyColumns, text('sku'), count('orders'), ...skuColumns.map((id) => amount(id)), amount('net')],
      rows: figures.flatMap(({ account, currency, everySku }) =>
        everySku.map((sku) => [
          ...[account, currency, sku.sku ?? 'no SKU', sku.sku === null ? null : sku.orders],
          ...skuColumns.map((id) => sku[id]),
          sku.net,
        ]),
      ),
    },
    {
      name: 'refunds',
      columns: [...keyColumns, text('month'), count('shipped'), count('refunded'), count('refund_rate_percent')],
      // An order may be in two months, so that the row of all months isn't a sum.
      rows: figures.flatMap(({ account, currency, refunds }) =>
        refunds.map((row) => [
          ...[account, currency, row.ofMonth ?? 'all', row.shipped, row.refunded],
          rateText(row) ?? null,
        ]),
      ),
    },
    {
      name: 'settlements',
      columns: [
        ...keyColumns,
        ...['settlement', 'started_at', 'ended_at', 'state'].map(text),
        ...['beginning_balance', 'net_of_entries', 'total', 'difference', 'paid_out'].map(amount),
        ...['payout_status', 'payout_at'].map(text),
      ],
      rows: accounts.flatMap(({ account, settlements }) =>
        settlements.map(({ currency, settlement, verdict, net, discrepancy }) => [
          ...[account, currency, settlement.id],
          ...[settlement.start, settlement.end].map((at) => (at === null ? null : isoInstant(at))),
          ...[verdict, settlement.beginning, net ?? null, settlement.total],
          discrepancy ?? (verdict === 'adds-up' ? '0.000000' : null),
          isPaid(settlement) ? settlement.total : settlement.isClosed ? '0.000000' : null,
          ...[settlement.payoutStatus, settlement.paidAt === null ? null : isoInstant(settlement.paidAt)],
        ]),
      ),
    },
    {
      name: 'reconciliation',
      columns: [...keyColumns, text('line'), amount('amount')],
      rows: accounts.flatMap(({ account, reconciliation }) =>
        reconciliation.map(({ currency, line, amount: value }) => [account, currency, line, value]),
      ),
    },
  ];
}
