import type { Database } from '../../core/duckdb/connection.js';
import { isCategory, type CategoryAmounts, type CategoryId } from './categories.js';
import { sumOf } from './report-amounts.js';
import { skuColumns, statementsOf, type Scope, groupedBy, rowsOf, type Row } from './report-statements.js';

/** One month's net amounts in one currency. */
export interface MonthFigures {
  /** `2025-03`, UTC. */
  readonly month: string;
  readonly amounts: CategoryAmounts;
  readonly net: string;
}

export interface FeeFigures {
  /** Null: all fees that aren't listed by themselves. */
  readonly name: string | null;
  /** The list that they come from; null where there are several. */
  readonly list: string | null;
  /** Fees that are in this line. */
  readonly fees: number;
  readonly times: number;
  readonly total: string;
}

export interface SkuFigures {
  /** Null: all SKUs that aren't listed by themselves. */
  readonly sku: string | null;
  readonly skus: number;
  readonly orders: number;
  readonly refunded: number;
  readonly amounts: CategoryAmounts;
  readonly net: string;
}

export interface RefundFigures {
  /** Null: the whole range. */
  readonly month: string | null;
  /** Orders with a shipment. */
  readonly shipped: number;
  /** Orders with a refund. */
  readonly refunded: number;
}

/** All net amounts of one currency that were received by date. Amounts are decimal texts. */
export interface CurrencyFigures {
  /** ISO 4217 code as received; empty where an amount had none. */
  readonly currency: string;
  /** Net amounts that were summed, and those that DECIMAL(18,6) can't hold, which no sum has. */
  readonly times: number;
  readonly inexact: number;
  readonly net: string;
  readonly totals: CategoryAmounts;
  readonly months: readonly MonthFigures[];
  readonly fees: readonly FeeFigures[];
  readonly skus: readonly SkuFigures[];
  readonly refunds: readonly RefundFigures[];
}

/** The figures of one scope, currency by currency: the one with most amounts first. */
export async function readFigures(
  database: Database,
  scope: Scope,
  signal: AbortSignal | undefined,
): Promise<CurrencyFigures[]> {
  const sql = statementsOf(scope);
  await database.execute(sql.makeTotals, { signal });
  await database.execute(sql.makeSkus, { signal });
  const byCurrency = async (statement: string) => grouped(await rowsOf(database, statement, signal));
  const currencies = await rowsOf(database, sql.currencies, signal);
  const months = await byCurrency(sql.months);
  const fees = await byCurrency(sql.fees);
  const skus = await byCurrency(sql.skus);
  const refunds = await byCurrency(sql.refunds);
  return currencies.map((row) => {
    const currency = row.text('currency');
    const ofMonths = monthsOf(months.get(currency) ?? []);
    return {
      currency,
      times: row.count('times'),
      inexact: row.count('inexact'),
      net: row.decimal('net'),
      totals: totalsOf(ofMonths),
      months: ofMonths,
      fees: (fees.get(currency) ?? []).map(feeOf),
      skus: (skus.get(currency) ?? []).map(skuOf),
      refunds: (refunds.get(currency) ?? []).map(refundOf),
    };
  });
}

/** Rows by their currency. */
export function grouped(rows: readonly Row[]): Map<string, Row[]> {
  return groupedBy(rows, (row) => row.text('currency'));
}

function monthsOf(rows: readonly Row[]): MonthFigures[] {
  return [...groupedBy(rows, (row) => row.text('month'))].map(([month, own]) => ({
    month,
    amounts: amountsOf(own.map((row) => [row.text('category'), row.decimal('total')])),
    net: sumOf(own.map((row) => row.decimal('total'))),
  }));
}

function totalsOf(months: readonly MonthFigures[]): CategoryAmounts {
  const all = groupedBy(
    months.flatMap(({ amounts }) => [...amounts]),
    ([id]) => id,
  );
  return new Map([...all].map(([id, own]) => [id, sumOf(own.map(([, amount]) => amount))]));
}

function amountsOf(pairs: readonly (readonly [string, string])[]): CategoryAmounts {
  const amounts = new Map<CategoryId, string>();
  for (const [id, amount] of pairs) if (isCategory(id)) amounts.set(id, amount);
  return amounts;
}

function feeOf(row: Row): FeeFigures {
  return {
    name: row.textOrNull('fee'),
    list: row.textOrNull('list'),
    fees: row.count('fees'),
    times: row.count('times'),
    total: row.decimal('total'),
  };
}

function skuOf(row: Row): SkuFigures {
  return {
    sku: row.textOrNull('sku'),
    skus: row.count('skus'),
    orders: row.count('orders'),
    refunded: row.count('refunded'),
    amounts: amountsOf(skuColumns.map((id) => [id, row.decimal(id)])),
    net: row.decimal('net'),
  };
}

function refundOf(row: Row): RefundFigures {
  return { month: row.textOrNull('of_month'), shipped: row.count('shipped'), refunded: row.count('refunded') };
}
