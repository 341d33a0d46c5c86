import { groupBy } from '../../core/group-by.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { stepsChart } from './charts.js';
import type { CurrencyFigures } from './currency-figures.js';
import text from './fees.sql';
import { statement, type FigureRow } from './figure-reader.js';
import { countColumn, figureTable, html, lakeName, lakeText, numberColumn, textColumn, type Html } from './html.js';
import { amountsIn, currencyText, perHundred, shownIn, timesOf } from './figure-texts.js';
import { sheetColumns, type Section } from './section.js';

const fees = statement(text, {
  currency: 'text',
  fee: 'textOrNull',
  list: 'textOrNull',
  fees: 'count',
  times: 'count',
  total: 'decimal',
});

type Fee = FigureRow<typeof fees>;

/** Largest number of fees listed on the page; further ones are summed in one line. */
const mostFees = 12;

/** The fees by name. */
export const feesSection: Section = {
  anchor: 'fees',
  title: 'Fees by name',
  sheet: { name: 'fees', columns: sheetColumns({ fee: 'text', list: 'text', times: 'number', total: 'amount' }) },
  read: async ({ rows, chapters, report }) => {
    const most = report.isExport ? Number.MAX_SAFE_INTEGER : mostFees;
    const byCurrency = groupBy(await rows(fees, { most }), ({ currency }) => currency);
    return {
      ofCurrency: ({ figures }) => figures && feesHtml(figures, byCurrency.get(figures.currency) ?? []),
      rows: chapters.flatMap(({ currency }) =>
        (byCurrency.get(currency) ?? []).map(({ fee, list, fees: others, times, total }) => [
          currency,
          fee ?? `${others} other fees`,
          list,
          times,
          total,
        ]),
      ),
    };
  },
};

function feesHtml({ currency, amounts: totals }: CurrencyFigures, fees: readonly Fee[]): Html {
  if (fees.length === 0) return html`<p class="none">No fees in this period.</p>`;
  const [amount, exactly] = [shownIn(currency), amountsIn(currency)];
  const nameOf = ({ fee, fees: count }: Fee) => fee ?? `${formatCount(count)} other fees`;
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
      ['All fees', '', formatCount(timesOf(fees)), amount(totals.fees), share(totals.fees)],
    )}`;
}
