import { tradeCategories } from '../query/categories.js';
import { stepsChart, type Step } from './charts.js';
import type { CurrencyFigures } from './currency-figures.js';
import { figureTable, html, numberColumn, textColumn, type Html } from './html.js';
import { amountsIn, currencyText, perHundred, shownIn, signOf, decimalSum } from './figure-texts.js';
import type { Section } from './section.js';

/** The categories as shares of each 100 that buyers were charged. */
export const sharesSection: Section = {
  anchor: 'hundred',
  title: 'Where each 100 of sales goes',
  read: () => ({ ofCurrency: ({ figures }) => figures && sharesHtml(figures) }),
};

function sharesHtml({ currency, amounts: totals, earned }: CurrencyFigures): Html {
  const sales = totals.sales;
  if (signOf(sales) <= 0) return html`<p class="none">Nothing was charged in this period, so there are no shares.</p>`;
  const [amount, exactly] = [shownIn(currency), amountsIn(currency)];
  const used = tradeCategories.filter(({ id }) => signOf(totals[id]) !== 0);
  const share = (text: string) => perHundred(text, sales) ?? '';
  const steps: Step[] = [];
  let at = '0';
  for (const { id, label } of used) {
    const text = totals[id];
    const next = decimalSum([at, text]);
    const title = `${label}: ${exactly(text)} ${currency}`;
    steps.push({ label, series: id, from: Number(at), to: Number(next), figure: share(text), title });
    at = next;
  }
  const title = `Earned: ${exactly(earned)} ${currency}`;
  steps.push({ label: 'Earned', series: 'left', from: 0, to: Number(earned), figure: share(earned), title });
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
    )}`;
}
