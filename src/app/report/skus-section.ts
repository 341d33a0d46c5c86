import { groupBy } from '../../core/group-by.js';
import { formatCount } from '../../core/text/amounts.js';
import { categories } from '../query/categories.js';
import { statement, type FigureRow } from './figure-reader.js';
import { figureTable, html, lakeText, numberColumn, textColumn, type Html } from './html.js';
import { currencyText, perHundred, shownIn, signOf, decimalSum } from './figure-texts.js';
import { sheetColumns, type Section } from './section.js';
import text from './skus.sql';

const skus = statement(text, {
  currency: 'text',
  sku: 'textOrNull',
  skus: 'count',
  orders: 'count',
  sales: 'decimal',
  promotions: 'decimal',
  fees: 'decimal',
  taxes: 'decimal',
  refunds: 'decimal',
  reimbursements: 'decimal',
  loans_and_transfers: 'decimal',
  unknown: 'decimal',
  net: 'decimal',
});

type Sku = FigureRow<typeof skus>;

/** Largest number of SKUs listed on the page; further ones are summed in one line. */
const mostSkus = 20;

/** The SKUs with the highest sales, and the share of their fees. */
export const skusSection: Section = {
  anchor: 'skus',
  title: 'Top SKUs and their fees',
  sheet: {
    name: 'skus',
    columns: sheetColumns({
      sku: 'text',
      orders: 'number',
      ...Object.fromEntries(categories.map(({ id }) => [id, 'amount' as const])),
      net: 'amount',
    }),
  },
  read: async ({ rows, chapters, report }) => {
    const read = async (most: number) => groupBy(await rows(skus, { most }), ({ currency }) => currency);
    const listed = await read(mostSkus);
    const all = report.isExport ? await read(Number.MAX_SAFE_INTEGER) : undefined;
    return {
      ofCurrency: ({ figures }) => figures && skusHtml(figures.currency, listed.get(figures.currency) ?? []),
      // What names no SKU comes last, so that the rows of a currency add up to its net proceeds.
      rows: chapters.flatMap(({ currency }) =>
        (all?.get(currency) ?? []).map((row) => [
          currency,
          row.sku ?? 'no SKU',
          row.sku === null ? null : row.orders,
          ...categories.map(({ id }) => row[id]),
          row.net,
        ]),
      ),
    };
  },
};

function skusHtml(currency: string, all: readonly Sku[]): Html {
  const named = all.filter((row) => row.skus > 0);
  if (named.length === 0) return html`<p class="none">No amount in this period names a SKU.</p>`;
  const unnamed = decimalSum(all.flatMap((row) => (row.skus === 0 ? [row.net] : [])));
  const amount = shownIn(currency);
  const used = categories.filter(({ id }) => named.some((row) => signOf(row[id]) !== 0));
  const listed = named.filter(({ sku }) => sku !== null);
  return html`${figureTable(
      listed.length === named.length
        ? html`SKUs by sales, in ${currencyText(currency)}`
        : html`The ${listed.length} SKUs with most sales, in ${currencyText(currency)}`,
      named,
      [
        textColumn('SKU', ({ sku, skus: count }) =>
          sku === null ? `${formatCount(count)} other SKUs` : lakeText(sku),
        ),
        // An order may have several SKUs: a sum would count it more than once.
        numberColumn('Orders', ({ sku, orders }) => (sku === null ? '' : formatCount(orders))),
        ...used.map(({ id, label }) => numberColumn<Sku>(label, (row) => amount(row[id]))),
        numberColumn('Net', ({ net }) => html`<b>${amount(net)}</b>`),
        numberColumn('Fees of each 100', ({ fees, sales }) => perHundred(fees, sales) ?? '–'),
      ],
    )}
    <p>${amount(unnamed)} of the net proceeds name no SKU: advertising, storage and the like.</p>`;
}
