import { literal } from '../../core/duckdb/views.js';
import { instantText } from '../status/backfill-command.js';
import { formatCount } from '../../core/text/amounts.js';
import { amountsIn, countText, difference, type AmountText } from './report-amounts.js';
import {
  html,
  type Html,
  type Part,
  cellOf,
  figureTable,
  lakeCode,
  lakeText,
  scrolling,
  tableHead,
  type TableColumn,
} from './html.js';
import { minuteText } from './late-section.js';
import { currencyText } from './money-section.js';
import type { SettlementEntries, SettlementFigures, SettlementLine, Verdict } from './settlement-figures.js';

/** Settlements that a table lists, beside all that don't add up; the rest is counted. */
const mostSettlements = 150;

const columns: readonly TableColumn[] = [
  { label: 'Settlement', kind: 'text' },
  { label: 'Beginning balance', kind: 'number', isExtra: true },
  { label: 'Net of its entries', kind: 'number', isExtra: true },
  { label: 'Total', kind: 'number' },
  { label: 'Adds up?', kind: 'text' },
];

/** What a verdict is called, with a sign that says it without colour. */
export const verdicts: Readonly<Record<Verdict, { readonly sign: string; readonly text: string }>> = {
  'adds-up': { sign: '✓', text: 'to the cent' },
  differs: { sign: '✗', text: 'does not add up' },
  open: { sign: '○', text: 'still open' },
  'not-loaded': { sign: '–', text: 'entries not loaded' },
  forgotten: { sign: '–', text: 'entries forgotten in part' },
};

/** The settlements of one currency: each held against its total, with what stands behind it. `id` makes anchors. */
export function settlementSection(id: string, currency: string, settlements: readonly SettlementFigures[]): Html {
  if (settlements.length === 0)
    return html`<p class="none">No settlement in ${currencyText(currency)} opened in this time.</p>`;
  const amount = amountsIn(currency);
  const shown = settlements.filter(({ verdict }, at) => at < mostSettlements || verdict === 'differs');
  const left = settlements.slice(mostSettlements).filter(({ verdict }) => verdict !== 'differs').length;
  const withoutEntries = shown.filter(({ entries, times }) => entries === undefined && times > 0).length;
  const bodies = shown.map((of, at) => settlementBody(`${id}-s${at + 1}`, of, amount));
  return html`${scrolling(
      html`<table class="settlements">
        <caption>
          Settlements by their beginning, the newest first, in ${currencyText(currency)}
        </caption>
        ${tableHead(columns)}${bodies}
      </table>`,
    )}
    <p class="note">
      A closed settlement adds up when its beginning balance and the net of its entries make its total, to the last
      digit.
      ${left === 0 ? undefined : `${countText(left)} older ones are not listed; they add up or were not compared.`}
      ${
        withoutEntries === 0
          ? undefined
          : `What the entries of ${countText(withoutEntries)} older ones come to is left out of this file.`
      }
    </p>`;
}

function settlementBody(id: string, of: SettlementFigures, amount: AmountText): Html {
  const { settlement, net } = of;
  const cells = [
    periodText(of),
    settlement.beginning === null ? '–' : amount(settlement.beginning),
    net === undefined ? '–' : amount(net),
    settlement.total === null ? '–' : amount(settlement.total),
    verdictText(of, amount),
  ];
  return html`<tbody class="v-${of.verdict}" id="${id}">
    <tr>
      ${cells.map((cell, at) => cellOf(cell, at, columns))}
    </tr>
    <tr class="more">
      <td colspan="${columns.length}">${behind(of, amount)}</td>
    </tr>
  </tbody>`;
}

/** `2025-02-20 to 2025-03-06`; UTC. */
function periodText({ settlement: { start, end } }: SettlementFigures): Html {
  const date = (at: number) => html`<span class="date">${instantText(at).slice(0, 10)}</span>`;
  const from = start === null ? '?' : date(start);
  return end === null ? html`${from}, open` : html`${from} to ${date(end)}`;
}

function verdictText({ verdict, apart }: SettlementFigures, amount: AmountText): Html {
  const { sign, text } = verdicts[verdict];
  const by = apart === undefined ? undefined : `, ${amount(apart.replace('-', ''))} apart`;
  return html`<span class="verdict"><span class="sign" aria-hidden="true">${sign}</span> ${text}${by}</span>`;
}

/** The entries behind a settlement, on a click. */
function behind(of: SettlementFigures, amount: AmountText): Html {
  const { settlement, times, entries, currency, fault, unknown } = of;
  const summary = times === 0 ? 'No entries' : `${countText(times)} ${times === 1 ? 'entry' : 'entries'}`;
  const spoken = html`<span class="spoken"> of the settlement ${periodText(of)} in ${currencyText(currency)}</span>`;
  return html`<details>
    <summary>${summary}${spoken}</summary>
    <p>Settlement ${lakeCode(settlement.id)}</p>
    ${fault === undefined ? undefined : html`<p class="fault">It doesn’t add up: ${fault}.</p>`}
    ${
      unknown === 0
        ? undefined
        : html`<p class="fault">${formatCount(unknown, 'amount')} of unknown role in no sum: see what was noticed.</p>`
    }
    ${reckoning(of, amount)} ${entries === undefined ? undefined : entriesHtml(of, entries, amount)}
    ${times === 0 ? undefined : allEntries(settlement.id)}
  </details>`;
}

/** How the sum comes about. */
function reckoning({ settlement, net, sum, currency, apart }: SettlementFigures, amount: AmountText): Html {
  const { beginning, total } = settlement;
  const rows: Part[][] = [
    ['Beginning balance', beginning === null ? '–' : amount(beginning)],
    ['Net of its entries', net === undefined ? 'not loaded' : amount(net)],
    ...(net === undefined ? [] : [['Together', amount(sum)]]),
    ['Total as the service tells it', total === null ? '–' : amount(total)],
    ...(apart === undefined || total === null ? [] : [['Apart', amount(difference(sum, total))]]),
  ];
  return figureTable({
    caption: html`How it adds up, in ${currencyText(currency)}`,
    columns: [
      { label: '', kind: 'text' },
      { label: 'Amount', kind: 'number' },
    ],
    rows,
  });
}

function entriesHtml({ currency, net }: SettlementFigures, entries: SettlementEntries, amount: AmountText): Html {
  const { lines, largest } = entries;
  const money = (of: string, own: string) => (own === currency ? amount(of) : foreign(of, own));
  const lineCells = (line: SettlementLine) =>
    line.list === null
      ? [`${countText(line.lines)} smaller sums`, '', '']
      : [line.list, line.kind ?? '', line.name === null ? '' : lakeText(line.name)];
  return html`${figureTable({
    caption: html`Net entries by list, kind and name, in ${currencyText(currency)}`,
    columns: [
      { label: 'List', kind: 'text' },
      { label: 'Kind', kind: 'text' },
      { label: 'Name', kind: 'text' },
      { label: 'Times', kind: 'number' },
      { label: 'Amount', kind: 'number' },
    ],
    rows: lines.map((line) => [...lineCells(line), countText(line.times), money(line.total, line.currency)]),
    foot: ['Net', '', '', '', amount(net ?? '0')],
  })}
  ${figureTable({
    caption: html`Its largest ${countText(largest.length)} net amounts, in ${currencyText(currency)}`,
    columns: [
      { label: 'At, UTC', kind: 'text' },
      { label: 'List', kind: 'text' },
      { label: 'Name', kind: 'text' },
      { label: 'Order', kind: 'text' },
      { label: 'SKU', kind: 'text' },
      { label: 'Amount', kind: 'number' },
    ],
    rows: largest.map(({ at, list, name, kind, order, sku, amount: of, currency: own }) => [
      minuteText(at),
      lakeText(list),
      lakeText(name ?? kind),
      order === null ? '' : lakeText(order),
      sku === null ? '' : lakeText(sku),
      money(of, own),
    ]),
  })}`;
}

/** Where every single one of them is: a file that had them all would be too large to open. */
function allEntries(id: string): Html {
  return html`<p class="note">
    Every entry: <code><bdi>SELECT * FROM group_entries WHERE group_id = ${literal(id)}</bdi></code>
  </p>`;
}

/** An amount in another currency than the settlement's, which no sum has. */
function foreign(text: string, currency: string): string {
  return `${amountsIn(currency)(text)} ${currencyText(currency)}`;
}
