import { groupBy } from '../../core/group-by.js';
import { formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import { categories, tradeCategories, type Category, type CategoryId } from '../query/categories.js';
import { rateChart, stackedChart, stepsChart, type Step } from './charts.js';
import { countColumn, figureTable, html, lakeName, lakeText, numberColumn, textColumn, type Html } from './html.js';
import { amountsIn, currencyText, difference, perHundred, shownIn, signOf, sumOf, timesOf } from './report-amounts.js';
import { skuColumns, type FigureReader, type FigureRow } from './report-statements.js';

/** Amounts by category, as decimal texts. */
type CategoryAmounts = Readonly<Record<CategoryId, string>>;

/** The net amounts of one month in one currency. */
interface MonthFigures {
  /** `2025-03`, UTC. */
  readonly month: string;
  readonly amounts: CategoryAmounts;
  readonly net: string;
  /** Number of amounts that no sum has. */
  readonly inexact: number;
}

/** The net amounts of one currency by date. `currency`: the ISO 4217 code as received; empty where there is none. */
export interface CurrencyFigures extends FigureRow<'currencies'> {
  readonly totals: CategoryAmounts;
  /** Sum of the categories of trade. */
  readonly earned: string;
  readonly months: readonly MonthFigures[];
  readonly fees: readonly FigureRow<'fees'>[];
  readonly skus: readonly FigureRow<'skus'>[];
  /** All SKUs for an export, else empty. */
  readonly everySku: readonly FigureRow<'everySku'>[];
  readonly refunds: readonly FigureRow<'refunds'>[];
}

/** Reads the figures by currency, the one with the most amounts first. `isExport`: with all SKUs and fees. */
export async function readFigures(
  { database, signal, sql, rows }: FigureReader,
  isExport: boolean,
): Promise<CurrencyFigures[]> {
  await database.execute(sql.makeAmounts, { signal });
  await database.execute(sql.makeTotals, { signal });
  await database.execute(sql.makeSkus, { signal });
  const byCurrency = <T extends { currency: string }>(all: readonly T[]) => groupBy(all, ({ currency }) => currency);
  const currencies = await rows(sql.currencies);
  const months = byCurrency(await rows(sql.months));
  const fees = byCurrency(await rows(isExport ? sql.everyFee : sql.fees));
  const skus = byCurrency(await rows(sql.skus));
  const everySku = byCurrency(isExport ? await rows(sql.everySku) : []);
  const refunds = byCurrency(await rows(sql.refunds));
  return currencies.map((figures) => {
    const { currency } = figures;
    const sums = months.get(currency) ?? [];
    return {
      ...figures,
      totals: amountsOf(sums),
      earned: earnedOf(amountsOf(sums)),
      months: [...groupBy(sums, ({ month }) => month)].map(([month, rows]) => ({
        ...{ month, amounts: amountsOf(rows), net: sumOf(rows.map(({ total }) => total)) },
        inexact: rows.reduce((sum, { inexact }) => sum + inexact, 0),
      })),
      fees: fees.get(currency) ?? [],
      skus: skus.get(currency) ?? [],
      everySku: everySku.get(currency) ?? [],
      refunds: refunds.get(currency) ?? [],
    };
  });
}

function amountsOf(sums: readonly FigureRow<'months'>[]): CategoryAmounts {
  const totalOf = ({ id }: Category) => sumOf(sums.flatMap(({ category, total }) => (category === id ? [total] : [])));
  return Object.fromEntries(categories.map((category) => [category.id, totalOf(category)])) as CategoryAmounts;
}

/** The sum of the categories of trade: income and costs of selling. */
export function earnedOf(amounts: CategoryAmounts): string {
  return sumOf(tradeCategories.map(({ id }) => amounts[id]));
}

/** Largest number of months in the chart; the table has all. */
const mostMonths = 60;

/** The amounts earned by month: their categories as stacked bars, and a table, which also has amounts that were not earned. */
export function monthSection({ currency, months, totals, earned }: CurrencyFigures): Html {
  const amount = shownIn(currency);
  const used = categories.filter(({ id }) => signOf(totals[id]) !== 0 || id === 'sales');
  const table = figureTable(
    html`Earned by month, in ${currencyText(currency)}`,
    months,
    [
      textColumn('Month', ({ month }) => month),
      numberColumn('Earned', ({ amounts }) => html`<b>${amount(earnedOf(amounts))}</b>`),
      ...used.map(({ id, label }) => numberColumn<MonthFigures>(label, ({ amounts }) => amount(amounts[id]))),
    ],
    months.length > 1 && ['All', amount(earned), ...used.map(({ id }) => amount(totals[id]))],
  );
  return html`${monthChart(currency, months, used)}${table}`;
}

function monthChart(currency: string, months: readonly MonthFigures[], used: readonly Category[]): Html {
  const amount = amountsIn(currency);
  const traded = used.filter((category) => tradeCategories.includes(category));
  const shown = months.slice(-mostMonths);
  const parts = shown.flatMap(({ month, amounts }) =>
    traded.flatMap(({ id, label }) => {
      const text = amounts[id];
      const title = `${month}, ${label}: ${amount(text)} ${currency}`;
      return signOf(text) === 0 ? [] : [{ month, series: id, value: Number(text), title }];
    }),
  );
  if (parts.length === 0) return html``;
  const nets = shown.map(({ month, amounts }) => {
    const text = earnedOf(amounts);
    return { month, value: Number(text), title: `${month}, earned: ${amount(text)} ${currency}` };
  });
  const keys = traded.map(({ id, label }) => html`<li><span class="key ${id}"></span>${label}</li>`);
  const left = traded.length < used.length && 'The table also has what was not earned, such as loans and transfers. ';
  const older = months.length > shown.length && `The chart has the last ${shown.length} months. `;
  return html`<figure>
    <ul class="keys">
      ${keys}
      <li><span class="key net"></span>Earned</li>
    </ul>
    ${stackedChart(
      `Bar chart of what was earned by month in ${currency}; the table below it has the figures.`,
      withEmptyMonths(shown.map(({ month }) => month)),
      parts,
      nets,
    )}
    <figcaption>${currencyText(currency)}. ${left}${older}</figcaption>
  </figure>`;
}

/** Months with the empty ones between them, so that a gap is visible; unchanged where there would be too many. */
function withEmptyMonths(months: readonly string[]): readonly string[] {
  const monthIndex = (month: string) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;
  const [first = '', last = ''] = [months[0], months.at(-1)];
  if (!/^\d{4}-\d\d$/.test(first) || monthIndex(last) - monthIndex(first) >= mostMonths) return months;
  return Array.from({ length: monthIndex(last) - monthIndex(first) + 1 }, (_, at) => {
    const index = monthIndex(first) + at;
    return `${String(Math.floor(index / 12)).padStart(4, '0')}-${String((index % 12) + 1).padStart(2, '0')}`;
  });
}

/** The categories as shares of each 100 that buyers were charged. */
export function salesBreakdownSection({ currency, totals, net }: CurrencyFigures): Html {
  const sales = totals.sales;
  if (signOf(sales) <= 0) return html`<p class="none">Nothing was charged in this period, so there are no shares.</p>`;
  const [amount, exactly] = [shownIn(currency), amountsIn(currency)];
  const used = tradeCategories.filter(({ id }) => signOf(totals[id]) !== 0);
  const earned = sumOf(used.map(({ id }) => totals[id]));
  const share = (text: string) => perHundred(text, sales) ?? '';
  const steps: Step[] = [];
  let at = '0';
  for (const { id, label } of used) {
    const text = totals[id];
    const next = sumOf([at, text]);
    const title = `${label}: ${exactly(text)} ${currency}`;
    steps.push({ label, series: id, from: Number(at), to: Number(next), figure: share(text), title });
    at = next;
  }
  const title = `Earned: ${exactly(earned)} ${currency}`;
  steps.push({ label: 'Earned', series: 'left', from: 0, to: Number(earned), figure: share(earned), title });
  const transfers = totals.loans_and_transfers;
  return html`<figure>
      ${stepsChart(`Bar chart of where each 100 ${currency} of sales went; the table below it has the figures.`, steps)}
    </figure>
    ${figureTable(
      html`Where each 100 of sales went, in ${currencyText(currency)}`,
      used,
      [
        textColumn('', ({ label }) => label),
        numberColumn('Amount', ({ id }) => amount(totals[id])),
        numberColumn('Of each 100', ({ id }) => share(totals[id])),
      ],
      ['Earned', amount(earned), share(earned)],
    )}
    ${
      signOf(transfers) !== 0 &&
      html`<p class="note">
        Earned, ${amount(earned)}, and loans and transfers, ${amount(transfers)}, make the net proceeds of
        ${amount(net)} ${currency}.
      </p>`
    }`;
}

/** Fees by name. */
export function feeSection({ currency, fees, totals }: CurrencyFigures): Html {
  if (fees.length === 0) return html`<p class="none">No fees in this period.</p>`;
  const [amount, exactly] = [shownIn(currency), amountsIn(currency)];
  const nameOf = ({ fee, fees: count }: FigureRow<'fees'>) => fee ?? `${formatCount(count)} other fees`;
  const share = (part: string) => perHundred(part, totals.sales) ?? '–';
  const steps = fees.map((fee) => {
    const [label, figure] = [printable(nameOf(fee)), exactly(fee.total)];
    const title = `${label}: ${figure} ${currency}`;
    return { label, series: 'fees', from: 0, to: -Number(fee.total), figure, title };
  });
  return html`<figure>
      ${stepsChart(`Bar chart of fees in ${currency}; the table below it has the figures.`, steps)}
    </figure>
    ${figureTable(
      html`Fees by name, in ${currencyText(currency)}; those of refunds are part of the refunds`,
      fees,
      [
        textColumn('Fee', (row) => (row.fee === null ? nameOf(row) : lakeName(row.fee))),
        textColumn('List', ({ list }) => (list === null ? '' : lakeText(list)), true),
        countColumn('Times', ({ times }) => times),
        numberColumn('Amount', ({ total }) => amount(total)),
        numberColumn('Of each 100 of sales', ({ total }) => share(total)),
      ],
      [...['All fees', '', formatCount(timesOf(fees))], ...[amount(totals.fees), share(totals.fees)]],
    )}`;
}

/** The SKUs with the highest sales, and the share of their fees. */
export function skuSection({ currency, skus, months }: CurrencyFigures): Html {
  if (skus.length === 0) return html`<p class="none">No amount in this period names a SKU.</p>`;
  const unnamed = difference(sumOf(months.map(({ net }) => net)), sumOf(skus.map(({ net }) => net)));
  const amount = shownIn(currency);
  const used = skuColumns.filter((id) => skus.some((row) => signOf(row[id]) !== 0));
  const listed = skus.filter(({ sku }) => sku !== null);
  return html`${figureTable(
      listed.length === skus.length
        ? html`SKUs by sales, in ${currencyText(currency)}`
        : html`The ${listed.length} SKUs with most sales, in ${currencyText(currency)}`,
      skus,
      [
        textColumn('SKU', ({ sku, skus: count }) =>
          sku === null ? `${formatCount(count)} other SKUs` : lakeText(sku),
        ),
        // An order may have several SKUs: a sum would count it more than once.
        numberColumn('Orders', ({ sku, orders }) => (sku === null ? '' : formatCount(orders))),
        ...used.map((id) => numberColumn<FigureRow<'skus'>>(labelOf(id), (row) => amount(row[id]))),
        numberColumn('Net', ({ net }) => html`<b>${amount(net)}</b>`),
        numberColumn('Fees of each 100', ({ fees, sales }) => perHundred(fees, sales) ?? '–'),
      ],
    )}
    <p>${amount(unnamed)} of the net proceeds name no SKU: advertising, storage and the like.</p>`;
}

function labelOf(id: CategoryId): string {
  return categories.find((category) => category.id === id)?.label ?? id;
}

/** The rate of refunded orders to orders shipped in the same month. */
export function refundSection({ currency, refunds, totals }: CurrencyFigures): Html {
  const all = refunds.find(({ ofMonth }) => ofMonth === null);
  if (all === undefined) return html`<p class="none">No order was shipped or refunded in this period.</p>`;
  const months = refunds.flatMap((row) => (row.ofMonth === null ? [] : [{ ...row, month: row.ofMonth }]));
  const points = months.flatMap((row) => {
    const rate = rateText(row);
    const title = `${row.month}: ${rate ?? ''} % (${formatCount(row.refunded)} of ${formatCount(row.shipped)} orders)`;
    return rate === undefined ? [] : [{ month: row.month, value: Number(rate), title }];
  });
  const share = perHundred(totals.refunds, totals.sales);
  const chart = rateChart('Line chart of the refund rate by month; the table below it has the figures.', points);
  return html`${points.length > 1 && html`<figure>${chart}</figure>`}
    ${figureTable(
      html`Shipped and refunded orders with amounts in ${currencyText(currency)}, by month`,
      months,
      [
        textColumn('Month', ({ month }) => month),
        countColumn('Shipped', ({ shipped }) => shipped),
        countColumn('Refunded', ({ refunded }) => refunded),
        numberColumn('Refund rate', (row) => percentText(rateText(row))),
      ],
      months.length > 1 && ['All', formatCount(all.shipped), formatCount(all.refunded), percentText(rateText(all))],
    )}
    <p class="note">
      An order counts in each month in which it was shipped or refunded, and once in all; it may be refunded in a later
      month, and its shipment may lie before the loaded
      time.${share !== undefined && ` Refunds came to ${share.replace('-', '')} of each 100 ${currency} of sales.`}
    </p>`;
}

/** Refunded orders for each 100 shipped, to two decimal places; undefined where none was shipped. */
export function rateText({ shipped, refunded }: FigureRow<'refunds'>): string | undefined {
  return perHundred(String(refunded), String(shipped));
}

export function percentText(rate: string | undefined): string {
  return rate === undefined ? '–' : `${rate} %`;
}
