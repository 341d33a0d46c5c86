import { amountsIn, drawn, ofHundred, signOf, sumOf, countText } from './report-amounts.js';
import { categories, tradeCategories, type Category } from './categories.js';
import { stackedChart, stepsChart, type Step, rateChart } from './charts.js';
import type { CurrencyFigures, MonthFigures, RefundFigures, SkuFigures } from './figures.js';
import { html, type Html, figureTable, lakeText } from './html.js';
import { printable } from '../../core/printable.js';
import { skuColumns } from './report-statements.js';

/** More months than these are only in the table. */
const mostMonths = 60;

/** Net proceeds by month: what they are made of as stacked bars, and the figures. */
export function monthSection({ currency, months, totals, net }: CurrencyFigures): Html {
  const amount = amountsIn(currency);
  const used = categories.filter(({ id }) => signOf(totals.get(id) ?? '0') !== 0 || id === 'charges');
  const columns = [
    { label: 'Month', kind: 'text' },
    { label: 'Net proceeds', kind: 'number' },
    ...used.map(({ label }) => ({ label, kind: 'number' }) as const),
  ] as const;
  const cells = (amounts: MonthFigures['amounts']) => used.map(({ id }) => amount(amounts.get(id) ?? '0'));
  const table = figureTable({
    caption: html`Net proceeds by month, in ${currencyText(currency)}`,
    columns,
    rows: months.map(({ month, amounts, net: own }) => [month, html`<b>${amount(own)}</b>`, ...cells(amounts)]),
    foot: months.length < 2 ? undefined : ['All', amount(net), ...cells(totals)],
  });
  return html`${monthChart(currency, months, used)}${table}`;
}

function monthChart(currency: string, months: readonly MonthFigures[], used: readonly Category[]): Html {
  const amount = amountsIn(currency);
  const traded = used.filter(({ id }) => id !== 'transfers');
  const isWhole = traded.length === used.length;
  const shown = months.slice(-mostMonths);
  const what = isWhole ? 'net proceeds' : 'net proceeds before loans and transfers';
  const parts = shown.flatMap(({ month, amounts }) =>
    traded.flatMap(({ id, label }) => {
      const text = amounts.get(id) ?? '0';
      const title = `${month}, ${label}: ${amount(text)} ${currency}`;
      return signOf(text) === 0 ? [] : [{ place: month, series: id, value: drawn(text), title }];
    }),
  );
  if (parts.length === 0) return html``;
  const nets = shown.map(({ month, amounts }) => {
    const text = sumOf(traded.map(({ id }) => amounts.get(id) ?? '0'));
    return { place: month, value: drawn(text), title: `${month}, ${what}: ${amount(text)} ${currency}` };
  });
  const keys = traded.map(({ id, label }) => html`<li><span class="key ${id}"></span>${label}</li>`);
  const left = isWhole ? undefined : 'Loans and transfers stand in the table only. ';
  const older = months.length > shown.length ? `The chart has the last ${shown.length} months. ` : undefined;
  return html`<figure>
    <ul class="keys">
      ${keys}
      <li><span class="key net"></span>${isWhole ? 'Net' : 'Net of these'}</li>
    </ul>
    ${stackedChart(
      `Bar chart of ${what} by month in ${currency}; the table below it has the figures.`,
      filled(shown.map(({ month }) => month)),
      parts,
      nets,
    )}
    <figcaption>${currencyText(currency)}. ${left}${older}</figcaption>
  </figure>`;
}

/** Months with those between them that hold nothing, so that a gap shows; as they are where that would be too many. */
function filled(months: readonly string[]): readonly string[] {
  const number = (month: string) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;
  const [first = '', last = ''] = [months[0], months.at(-1)];
  if (!/^\d{4}-\d\d$/.test(first) || number(last) - number(first) >= mostMonths) return months;
  return Array.from({ length: number(last) - number(first) + 1 }, (_, at) => {
    const of = number(first) + at;
    return `${String(Math.floor(of / 12)).padStart(4, '0')}-${String((of % 12) + 1).padStart(2, '0')}`;
  });
}

/** Where each 100 of what buyers were charged went. */
export function hundredSection({ currency, totals, net }: CurrencyFigures): Html {
  const charges = totals.get('charges') ?? '0';
  if (signOf(charges) <= 0)
    return html`<p class="none">Nothing was charged in this time, so there is nothing to part.</p>`;
  const amount = amountsIn(currency);
  const used = tradeCategories.filter(({ id }) => signOf(totals.get(id) ?? '0') !== 0);
  const left = sumOf(used.map(({ id }) => totals.get(id) ?? '0'));
  const share = (text: string) => ofHundred(text, charges) ?? '';
  const steps: Step[] = [];
  let at = '0';
  for (const { id, label } of used) {
    const text = totals.get(id) ?? '0';
    const next = sumOf([at, text]);
    const title = `${label}: ${amount(text)} ${currency}`;
    steps.push({ label, series: id, from: drawn(at), to: drawn(next), figure: share(text), title });
    at = next;
  }
  steps.push({
    label: 'Left',
    series: 'left',
    from: 0,
    to: drawn(left),
    figure: share(left),
    title: `Left: ${amount(left)} ${currency}`,
  });
  const transfers = totals.get('transfers') ?? '0';
  return html`<figure>
      ${stepsChart(`Bar chart of where each 100 ${currency} of charges went; the table below it has the figures.`, steps)}
    </figure>
    ${figureTable({
      caption: html`Where each 100 of charges went, in ${currencyText(currency)}`,
      columns: [
        { label: '', kind: 'text' },
        { label: 'Amount', kind: 'number' },
        { label: 'Of each 100', kind: 'number' },
      ],
      rows: used.map(({ id, label }) => {
        const text = totals.get(id) ?? '0';
        return [label, amount(text), share(text)];
      }),
      foot: ['Left', amount(left), share(left)],
    })}
    ${
      signOf(transfers) === 0
        ? undefined
        : html`<p class="note">
            Left, ${amount(left)}, and loans and transfers, ${amount(transfers)}, make the net proceeds of
            ${amount(net)} ${currency}.
          </p>`
    }`;
}

/** A currency's code, or what stands for the lack of one. */
export function currencyText(currency: string): string {
  return currency === '' ? 'no currency' : currency;
}

/** Fees by their own names. */
export function feeSection({ currency, fees, totals }: CurrencyFigures): Html {
  if (fees.length === 0) return html`<p class="none">No fees in this time.</p>`;
  const amount = amountsIn(currency);
  const label = ({ name, fees: many }: (typeof fees)[number]) => name ?? `${countText(many)} other fees`;
  const steps = fees.map((fee) => {
    const title = `${printable(label(fee))}: ${amount(fee.total)} ${currency}`;
    return {
      label: printable(label(fee)),
      series: 'fees',
      from: 0,
      to: -drawn(fee.total),
      figure: amount(fee.total),
      title,
    };
  });
  return html`<figure>
      ${stepsChart(`Bar chart of fees in ${currency}; the table below it has the figures.`, steps)}
    </figure>
    ${figureTable({
      caption: html`Fees by name, in ${currencyText(currency)}; those of refunds are part of the refunds`,
      columns: [
        { label: 'Fee', kind: 'text' },
        { label: 'List', kind: 'text', isExtra: true },
        { label: 'Times', kind: 'number' },
        { label: 'Amount', kind: 'number' },
        { label: 'Of each 100 charged', kind: 'number' },
      ],
      rows: fees.map((fee) => [
        fee.name === null ? label(fee) : lakeText(fee.name),
        fee.list === null ? '' : lakeText(fee.list),
        countText(fee.times),
        amount(fee.total),
        ofHundred(fee.total, totals.get('charges') ?? '0') ?? '–',
      ]),
      foot: [
        'All fees',
        '',
        countText(fees.reduce((sum, { times }) => sum + times, 0)),
        amount(totals.get('fees') ?? '0'),
        ofHundred(totals.get('fees') ?? '0', totals.get('charges') ?? '0') ?? '–',
      ],
    })}`;
}

/** The SKUs with most charges, and what their fees took. */
export function skuSection({ currency, skus }: CurrencyFigures): Html {
  if (skus.length === 0) return html`<p class="none">No amount of this time names a SKU.</p>`;
  const amount = amountsIn(currency);
  const used = skuColumns.filter((id) => skus.some(({ amounts }) => signOf(amounts.get(id) ?? '0') !== 0));
  const listed = skus.filter(({ sku }) => sku !== null).length;
  const others = skus.find(({ sku }) => sku === null);
  const name = ({ sku, skus: many }: SkuFigures) => (sku === null ? `${countText(many)} other SKUs` : lakeText(sku));
  return figureTable({
    caption:
      others === undefined
        ? html`SKUs by charges, in ${currencyText(currency)}`
        : html`The ${listed} SKUs with most charges, in ${currencyText(currency)}`,
    columns: [
      { label: 'SKU', kind: 'text' },
      { label: 'Orders', kind: 'number' },
      ...used.map((id) => ({ label: labelOf(id), kind: 'number' }) as const),
      { label: 'Net', kind: 'number' },
      { label: 'Fees of each 100', kind: 'number' },
    ],
    rows: skus.map((of) => [
      name(of),
      // One order may have several SKUs: a sum would count it more than once.
      of.sku === null ? '' : countText(of.orders),
      ...used.map((id) => amount(of.amounts.get(id) ?? '0')),
      html`<b>${amount(of.net)}</b>`,
      ofHundred(of.amounts.get('fees') ?? '0', of.amounts.get('charges') ?? '0') ?? '–',
    ]),
  });
}

function labelOf(id: string): string {
  return categories.find((category) => category.id === id)?.label ?? id;
}

/** How many orders were refunded, of those that were shipped in the same month. */
export function refundSection({ currency, refunds, totals }: CurrencyFigures): Html {
  const all = refunds.find(({ month }) => month === null);
  if (all === undefined) return html`<p class="none">No order was shipped or refunded in this time.</p>`;
  const months = refunds.flatMap((of) => (of.month === null ? [] : [{ ...of, month: of.month }]));
  const points = months.flatMap((of) => {
    const rate = rateText(of);
    const title = `${of.month}: ${rate ?? ''} % (${countText(of.refunded)} of ${countText(of.shipped)} orders)`;
    return rate === undefined ? [] : [{ place: of.month, value: Number(rate), title }];
  });
  const cells = (of: RefundFigures) => [countText(of.shipped), countText(of.refunded), percentText(rateText(of))];
  const charges = totals.get('charges') ?? '0';
  const share = ofHundred(totals.get('refunds') ?? '0', charges);
  const chart = rateChart('Line chart of the refund rate by month; the table below it has the figures.', points);
  return html`${points.length < 2 ? undefined : html`<figure>${chart}</figure>`}
    ${figureTable({
      caption: html`Orders with amounts in ${currencyText(currency)} that were shipped, and that were refunded, by month`,
      columns: [
        { label: 'Month', kind: 'text' },
        { label: 'Shipped', kind: 'number' },
        { label: 'Refunded', kind: 'number' },
        { label: 'Refund rate', kind: 'number' },
      ],
      rows: months.map((of) => [of.month, ...cells(of)]),
      foot: months.length < 2 ? undefined : ['All', ...cells(all)],
    })}
    <p class="note">
      An order counts in each month in which it was shipped or refunded, and once in
      all.${
        share === undefined ? undefined : ` Refunds came to ${share.replace('-', '')} of each 100 ${currency} charged.`
      }
    </p>`;
}

/** Orders refunded of each 100 shipped, to two places; undefined where none was shipped. */
export function rateText({ shipped, refunded }: RefundFigures): string | undefined {
  return ofHundred(String(refunded), String(shipped));
}

export function percentText(rate: string | undefined): string {
  return rate === undefined ? '–' : `${rate} %`;
}
