import type { Window } from '../../../src/core/windows.js';
import type { TransactionBackend } from '../../../src/serve/api-2024-06-19/transaction-backend.js';

/** One sale of one item that was paid at once, by a settlement of its own. */
export interface Sale {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly order: string;
  readonly settlement: string;
  readonly sku: string;
  readonly amount: number | string;
}

const hours = 3_600_000;
const iso = (instant: number): string => new Date(instant).toISOString();

/** The transaction, the settlement's summary and the payout of each sale. */
export function arrayTransactions(sales: readonly Sale[]): TransactionBackend {
  const page = (items: readonly object[]) =>
    Promise.resolve({ items: items.map((item) => ({ list: '', json: JSON.stringify(item) })), next: undefined });
  const within = ({ start, end }: Window): readonly Sale[] => sales.filter(({ at }) => at >= start && at < end);
  return {
    transactions: ({ range, orderId }) =>
      page(
        within(range)
          .filter(({ order }) => (orderId ?? order) === order)
          .map(transactionOf),
      ),
    summaries: ({ settlementId }) =>
      page(
        sales
          .filter(({ settlement }) => settlement === settlementId)
          .map((sale) => ({
            netProceeds: moneyOf(sale),
            periodStart: iso(sale.at - 6 * hours),
            periodEnd: iso(sale.at + 6 * hours),
          })),
      ),
    payouts: ({ range }) =>
      page(
        within(range).map((sale) => ({
          id: `P-${sale.settlement}`,
          amount: moneyOf(sale),
          creationDate: iso(sale.at),
        })),
      ),
  };
}

function moneyOf({ amount }: Sale): object {
  return { currencyCode: 'USD', currencyAmount: amount };
}

function transactionOf(sale: Sale): object {
  const identifiers = { ORDER_ID: sale.order, SETTLEMENT_ID: sale.settlement };
  const totalAmount = moneyOf(sale);
  return {
    transactionId: `T-${sale.order}`,
    transactionType: 'Shipment',
    transactionStatus: 'RELEASED',
    postedDate: iso(sale.at),
    totalAmount,
    items: [{ totalAmount, contexts: [{ contextType: 'ProductContext', sku: sale.sku }] }],
    relatedIdentifiers: Object.entries(identifiers).map(([name, value]) => ({
      relatedIdentifierName: name,
      relatedIdentifierValue: value,
    })),
  };
}
