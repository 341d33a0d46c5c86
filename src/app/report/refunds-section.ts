import { formatCount } from '../../core/text/amounts.js';
import { rateChart } from './charts.js';
import { percentText, refundRate, type CurrencyFigures } from './currency-figures.js';
import { countColumn, figureTable, html, numberColumn, textColumn, type Html } from './html.js';
import { currencyText, perHundred } from './figure-texts.js';
import { sheetColumns, type Section } from './section.js';

/** The rate of refunded orders to orders shipped in the same month. */
export const refundsSection: Section = {
  anchor: 'refunds',
  title: 'Refund rate',
  sheet: {
    name: 'refunds',
    columns: sheetColumns({ month: 'text', shipped: 'number', refunded: 'number', refund_rate_percent: 'number' }),
  },
  read: ({ chapters }) => ({
    ofCurrency: ({ figures }) => figures && refundsHtml(figures),
    // An order may be in two months, so that the row of all months isn't a sum.
    rows: chapters.flatMap(({ currency, figures }) =>
      (figures?.orders ?? []).map((row) => [
        currency,
        row.ofMonth ?? 'all',
        row.shipped,
        row.refunded,
        refundRate(row) ?? null,
      ]),
    ),
  }),
};

function refundsHtml({ currency, orders, amounts }: CurrencyFigures): Html {
  const all = orders.find(({ ofMonth }) => ofMonth === null);
  if (all === undefined) return html`<p class="none">No order was shipped or refunded in this period.</p>`;
  const months = orders.flatMap((row) => (row.ofMonth === null ? [] : [{ ...row, month: row.ofMonth }]));
  const points = months.flatMap((row) => {
    const rate = refundRate(row);
    const title = `${row.month}: ${rate ?? ''} % (${formatCount(row.refunded)} of ${formatCount(row.shipped)} orders)`;
    return rate === undefined ? [] : [{ month: row.month, value: Number(rate), title }];
  });
  const share = perHundred(amounts.refunds, amounts.sales);
  const chart = rateChart('Line chart of the refund rate by month; the table below it has the figures.', points);
  return html`${points.length > 1 && html`<figure>${chart}</figure>`}
    ${figureTable(
      html`Shipped and refunded orders with amounts in ${currencyText(currency)}, by month`,
      months,
      [
        textColumn('Month', ({ month }) => month),
        countColumn('Shipped', ({ shipped }) => shipped),
        countColumn('Refunded', ({ refunded }) => refunded),
        numberColumn('Refund rate', (row) => percentText(refundRate(row))),
      ],
      months.length > 1 && ['All', formatCount(all.shipped), formatCount(all.refunded), percentText(refundRate(all))],
    )}
    <p class="note">
      A refunded order had a refund, a guarantee claim or a chargeback. An order counts in each month in which it was
      shipped or refunded, and once in all; it may be refunded in a later month, and its shipment may lie before the
      loaded
      time.${share !== undefined && ` Refunds came to ${share.replace('-', '')} of each 100 ${currency} of sales.`}
    </p>`;
}
