import { groupBy } from '../../core/group-by.js';
import { categories, tradeCategories, type Category, type CategoryId } from '../query/categories.js';
import basesText from './bases.sql';
import { statement, type FigureReader, type FigureRow } from './figure-reader.js';
import monthText from './months.sql';
import refundText from './refunds.sql';
import { perHundred, decimalSum } from './figure-texts.js';

/** Amounts by category, as decimal texts. */
type CategoryAmounts = Readonly<Record<CategoryId, string>>;

const monthSums = statement(monthText, {
  currency: 'text',
  month: 'text',
  category: 'text',
  lines: 'count',
  total: 'decimal',
  unsummed: 'count',
});
const basesSums = statement(basesText, { currency: 'text', deferred: 'decimal', released: 'decimal' });
const monthOrders = statement(refundText, {
  currency: 'text',
  ofMonth: 'textOrNull',
  shipped: 'count',
  refunded: 'count',
});

/** Net amounts, with their sums. */
interface AmountFigures {
  readonly amounts: CategoryAmounts;
  /** Sum of the categories of trade: income and costs of selling. */
  readonly earned: string;
  readonly net: string;
  /** Number of net amounts. */
  readonly times: number;
  /** Number of those outside of DECIMAL(18,6), which no sum has. */
  readonly unsummed: number;
}

/** The net amounts of one month in one currency. `month`: `2025-03`. */
export interface MonthFigures extends AmountFigures {
  readonly month: string;
}

/** Shipped and refunded orders of a month, or of all months. */
type OrderFigures = FigureRow<typeof monthOrders>;

/** The net amounts of one currency by date. */
export interface CurrencyFigures extends AmountFigures {
  /** The ISO 4217 code as received; empty where there is none. */
  readonly currency: string;
  readonly months: readonly MonthFigures[];
  /** What is earned on the earned basis only, and what on the paid basis only. */
  readonly deferred: string;
  readonly released: string;
  /** By month, and for all months (`ofMonth` null). */
  readonly orders: readonly OrderFigures[];
}

/** Reads the figures by currency, the one with the most amounts first. */
export async function readFigures(rows: FigureReader): Promise<CurrencyFigures[]> {
  const sums = groupBy(await rows(monthSums), ({ currency }) => currency);
  const bases = new Map((await rows(basesSums)).map((row) => [row.currency, row]));
  const orders = groupBy(await rows(monthOrders), ({ currency }) => currency);
  return [...sums]
    .map(([currency, ofCurrency]) => ({
      currency,
      ...amountsOf(ofCurrency),
      months: [...groupBy(ofCurrency, ({ month }) => month)].map(([month, ofMonth]) => ({
        month,
        ...amountsOf(ofMonth),
      })),
      deferred: bases.get(currency)?.deferred ?? '0',
      released: bases.get(currency)?.released ?? '0',
      orders: orders.get(currency) ?? [],
    }))
    .toSorted((one, other) => other.times - one.times);
}

function amountsOf(sums: readonly FigureRow<typeof monthSums>[]): AmountFigures {
  const totalOf = ({ id }: Category) =>
    decimalSum(sums.flatMap(({ category, total }) => (category === id ? [total] : [])));
  const amounts = Object.fromEntries(categories.map((category) => [category.id, totalOf(category)])) as CategoryAmounts;
  return {
    amounts,
    earned: decimalSum(tradeCategories.map(({ id }) => amounts[id])),
    net: decimalSum(sums.map(({ total }) => total)),
    times: sums.reduce((all, { lines }) => all + lines, 0),
    unsummed: sums.reduce((all, { unsummed }) => all + unsummed, 0),
  };
}

/** Refunded orders for each 100 shipped, to two decimal places; undefined where none was shipped. */
export function refundRate({ shipped, refunded }: OrderFigures): string | undefined {
  return perHundred(String(refunded), String(shipped));
}

export function percentText(rate: string | undefined): string {
  return rate === undefined ? '–' : `${rate} %`;
}
