import { amountsIn, countText, drawn, ofHundred, signOf } from './amounts.js';
import { printable } from '../../core/printable.js';
import { categories } from './categories.js';
import { rateChart, stepsChart } from './charts.js';
import type { CurrencyFigures, RefundFigures, SkuFigures } from './figures.js';
import { html, type Html, figureTable, lakeText } from './html.js';
import { currencyText } from './month-section.js';
import { skuColumns } from './statements.js';

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
