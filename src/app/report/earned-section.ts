import { categories, tradeCategories, type Category } from '../query/categories.js';
import { stackedChart } from './charts.js';
import type { CurrencyFigures, MonthFigures } from './currency-figures.js';
import { monthNamed, monthNumberOf } from '../../core/windows.js';
import { figureTable, html, numberColumn, textColumn, type Html } from './html.js';
import type { BasisFigures } from './basis.js';
import { amountsIn, currencyText, difference, shownIn, signOf, decimalSum } from './figure-texts.js';
import { sheetColumns, type CurrencyChapter, type Section } from './section.js';

/** The amounts of each month by category. */
export const earnedSection: Section = {
  anchor: 'months',
  title: 'Earned by month',
  sheet: {
    name: 'earned',
    columns: sheetColumns({
      month: 'text',
      earned: 'amount',
      ...Object.fromEntries(categories.map(({ id }) => [id, 'amount' as const])),
      unsummed: 'number',
      net_proceeds: 'amount',
    }),
  },
  read: ({ chapters, basis }) => ({
    ofCurrency: (chapter) =>
      chapter.figures && html`${monthsHtml(chapter.figures)}${totalsHtml(chapter, chapter.figures, basis)}`,
    rows: chapters.flatMap(({ currency, figures }) =>
      (figures?.months ?? []).map(({ month, amounts, earned, net, unsummed }) => [
        currency,
        month,
        earned,
        ...categories.map(({ id }) => amounts[id]),
        unsummed,
        net,
      ]),
    ),
  }),
};

/** Largest number of months in the chart; the table has all. */
const mostMonths = 60;

/** The amounts earned by month: their categories as stacked bars, and a table, which also has amounts that were not earned. */
function monthsHtml({ currency, months, amounts: totals, earned }: CurrencyFigures): Html {
  const amount = shownIn(currency);
  const used = categories.filter(({ id }) => signOf(totals[id]) !== 0 || id === 'sales');
  const table = figureTable(
    html`Earned by month, on the paid basis, in ${currencyText(currency)}`,
    months,
    [
      textColumn('Month', ({ month }) => month),
      numberColumn('Earned', (row) => html`<b>${amount(row.earned)}</b>`),
      ...used.map(({ id, label }) => numberColumn<MonthFigures>(label, ({ amounts }) => amount(amounts[id]))),
    ],
    months.length > 1 && ['All', amount(earned), ...used.map(({ id }) => amount(totals[id]))],
  );
  return html`${monthChart(currency, months, used)}${table}`;
}

/** How what was earned leads to each total beside it, one line a total. */
function totalsHtml(
  { id, currency, settlements }: CurrencyChapter,
  { earned, amounts, net, deferred, released }: CurrencyFigures,
  { apis }: BasisFigures,
): Html {
  const amount = shownIn(currency);
  const paidOut = decimalSum(settlements.map((settlement) => settlement.paidOut));
  const left = difference(net, paidOut);
  const totals = [
    {
      label: 'Earned, paid basis',
      total: earned,
      about: html`When Amazon released it: <code>earned</code> of <code>pnl_by_month</code>`,
    },
    {
      label: 'Earned, earned basis',
      total: difference(decimalSum([earned, deferred]), released),
      about: apis.every(({ api: { figures } }) => figures === undefined)
        ? html`The same, as Finances v0 does not show a sale before its release: <code>pnl_by_month_earned</code>`
        : html`When it happened: with ${amount(deferred)} that was deferred in this period, without ${amount(released)}
            of releases of deferred sales: <code>earned</code> of <code>pnl_by_month_earned</code>`,
    },
    {
      label: 'Net proceeds',
      total: net,
      about: html`Earned on the paid basis, with ${amount(amounts.loans_and_transfers)} of loans and transfers and
        ${amount(amounts.unknown)} of unknown amounts: <code>net_proceeds</code> of <code>pnl_by_month</code>`,
    },
    settlements.length > 0 && {
      label: 'Paid out',
      total: paidOut,
      about: html`Payouts of the <a href="#${id}-settlements">settlements</a> below: the net proceeds without
        ${amount(left)} that is in open settlements, was carried over, or belongs to settlements or days that are not
        here: see the <a href="#${id}-bank">reconciliation</a>`,
    },
  ].filter((total) => total !== false);
  return figureTable(html`From what was earned to the totals beside it, in ${currencyText(currency)}`, totals, [
    textColumn('Total', ({ label }) => label),
    numberColumn('Amount', ({ total }) => amount(total)),
    textColumn('How it follows', ({ about }) => about),
  ]);
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
  const nets = shown.map(({ month, earned }) => {
    return { month, value: Number(earned), title: `${month}, earned: ${amount(earned)} ${currency}` };
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
  const [first = '', last = ''] = [months[0], months.at(-1)];
  const [from, to] = [monthNumberOf(first), monthNumberOf(last)];
  if (!/^\d{4}-\d\d$/.test(first) || to - from >= mostMonths) return months;
  return Array.from({ length: to - from + 1 }, (_, at) => monthNamed(from + at));
}
