import { formatCount } from '../../core/text/amounts.js';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { literal } from '../../core/duckdb/literals.js';
import {
  countColumn,
  dayText,
  figureTable,
  html,
  lakeCode,
  lakeText,
  numberColumn,
  scrolling,
  signMark,
  tableHead,
  tableRow,
  textColumn,
  type Html,
  type HtmlValue,
  type HtmlColumn,
} from './html.js';
import {
  amountsIn,
  apartText,
  currencyText,
  difference,
  minuteText,
  moneyText,
  shownIn,
  signOf,
  decimalSum,
  type AmountFormat,
} from './figure-texts.js';
import { sheetColumns, type CurrencyChapter, type Section } from './section.js';
import {
  isPaid,
  isUnpaid,
  type SettlementEntries,
  type SettlementFigures,
  type SettlementVerdict,
} from './settlements.js';

/** The settlements of a currency: each compared with its total, with its entries. */
export const settlementSection: Section = {
  anchor: 'settlements',
  title: 'Settlements',
  sheet: {
    name: 'settlements',
    columns: sheetColumns({
      settlement: 'text',
      started_at: 'text',
      ended_at: 'text',
      state: 'text',
      beginning_balance: 'amount',
      net_of_entries: 'amount',
      total: 'amount',
      difference: 'amount',
      paid_out: 'amount',
      payout_status: 'text',
      payout_at: 'text',
      trace_id: 'text',
      converted_total: 'amount',
      converted_currency: 'text',
    }),
  },
  read: ({ settlements, report }) => ({
    ofCurrency: (chapter) => settlementsHtml(chapter, report.isPartial),
    currencyConcerns,
    rows: settlements.map(({ currency, settlement, verdict, net, discrepancy }) => [
      currency,
      settlement.id,
      instantOrNull(settlement.start),
      instantOrNull(settlement.end),
      verdict,
      settlement.beginning,
      net ?? null,
      settlement.total,
      discrepancy ?? (verdict === 'adds-up' ? '0.000000' : null),
      isPaid(settlement) ? settlement.total : settlement.isClosed ? '0.000000' : null,
      settlement.payoutStatus,
      instantOrNull(settlement.paidAt),
      settlement.traceId,
      settlement.convertedTotal,
      settlement.convertedCurrency,
    ]),
  }),
};

function instantOrNull(at: number | null): string | null {
  return at === null ? null : isoInstant(at);
}

/** Settlements that don't add up, could not be compared, or were not paid. */
function currencyConcerns({ id, currency, settlements }: CurrencyChapter): (Html | false)[] {
  const code = currencyText(currency);
  const concern = (count: number, problem: string) =>
    count > 0 && html`<a href="#${id}-settlements">${formatCount(count, 'settlement')} in ${code}</a> ${problem}.`;
  const differing = settlements.filter(({ verdict }) => verdict === 'differs').length;
  const unloaded = settlements.filter(({ verdict }) => verdict === 'not-loaded' || verdict === 'forgotten').length;
  return [
    concern(differing, `${differing === 1 ? 'does' : 'do'} not add up`),
    concern(unloaded, 'could not be compared: not all entries are loaded'),
    unpaidConcern(id, currency, settlements.filter(isUnpaid)),
  ];
}

/** Failed payouts, with the details of the newest; false where there is none. */
function unpaidConcern(link: string, currency: string, unpaid: readonly SettlementFigures[]): Html | false {
  const [newest] = unpaid;
  if (newest === undefined) return false;
  const { total, paidAt } = newest.settlement;
  const date = paidAt !== null && html` of ${dayText(dateOrInstant(paidAt))}`;
  const amount = total !== null && html` over ${moneyText(total, currency)}`;
  const failed = `${formatCount(unpaid.length, 'payout')} in ${currencyText(currency)} failed`;
  return html`<a href="#${link}-settlements">${failed}</a>: the bank did not take
    ${unpaid.length === 1 ? 'that' : 'the newest'}${date}${amount}${laterPaymentText(newest)}.`;
}

/** Largest number of settlements in a table, besides those that don't add up; further ones are counted. */
const mostSettlements = 150;

const settlementColumns = (amount: AmountFormat): HtmlColumn<SettlementFigures>[] => [
  textColumn('Settlement', (figures) => periodText(figures)),
  numberColumn<SettlementFigures>(
    'Beginning balance',
    ({ settlement: { beginning } }) => orDash(beginning, amount),
    true,
  ),
  numberColumn('Net of its entries', ({ net }) => orDash(net, amount), true),
  numberColumn('Total', ({ settlement: { total } }) => orDash(total, amount)),
  textColumn('Adds up?', (figures) => html`${verdictText(figures)}${isUnpaid(figures) && unpaidMark}`),
  textColumn('Payout', payoutText, true),
];

/** Replaces the column of payouts where the page is too narrow for it. */
const unpaidMark = html` <span class="narrow bad">${signMark('✗')} payout failed</span>`;

/** The status of a payout, in the service's word, with its date: `Failed 2026-09-21`. */
function payoutText(figures: SettlementFigures): Html {
  const { payoutStatus, paidAt } = figures.settlement;
  if (payoutStatus === null) return html`–`;
  const date = paidAt !== null && html` ${dayText(dateOrInstant(paidAt))}`;
  const text = html`${lakeText(payoutStatus)}${date}`;
  return isUnpaid(figures)
    ? html`<span class="payout bad">${signMark('✗')} ${text}</span>`
    : html`<span class="payout">${text}</span>`;
}

/** `, which was paid on 2026-09-21 with the settlement ID`; undefined where no later transfer paid it. */
function laterPaymentText({ laterPayment }: SettlementFigures): Html | undefined {
  if (laterPayment === undefined) return undefined;
  const { paidBy, paidAt } = laterPayment;
  const on = paidAt !== null && html` on ${dayText(paidAt)}`;
  return html`, which was paid${on} with the settlement ${lakeCode(paidBy)}`;
}

function orDash(text: string | null | undefined, amount: AmountFormat): HtmlValue {
  return text === null || text === undefined ? '–' : amount(text);
}

/** The text of each verdict, with a sign that doesn't need colour. */
const verdicts: Readonly<Record<SettlementVerdict, { readonly sign: string; readonly text: string }>> = {
  'adds-up': { sign: '✓', text: 'to the cent' },
  differs: { sign: '✗', text: 'does not add up' },
  open: { sign: '○', text: 'still open' },
  'not-loaded': { sign: '–', text: 'entries not loaded' },
  forgotten: { sign: '–', text: 'entries forgotten in part' },
};

/** `isPartial`: the report covers a part of the lake only. */
function settlementsHtml({ id, currency, settlements }: CurrencyChapter, isPartial: boolean): Html {
  if (settlements.length === 0)
    return html`<p class="none">
      No settlement in ${currencyText(currency)} overlaps this period or had its transfer in it.
    </p>`;
  const amount = shownIn(currency);
  const shown = settlements.filter(({ verdict }, at) => at < mostSettlements || verdict === 'differs');
  const left = settlements.slice(mostSettlements).filter(({ verdict }) => verdict !== 'differs').length;
  const withoutEntries = shown.filter(({ entries, times }) => entries === undefined && times > 0).length;
  const columns = settlementColumns(amount);
  const bodies = shown.map(
    (one, at) =>
      html`<tbody class="v-${one.verdict}" id="${id}-s${at + 1}">
        ${tableRow(
          columns,
          columns.map(({ cell }) => cell(one)),
        )}
        <tr class="more">
          <td colspan="${columns.length}">${entriesDetails(one, amount)}</td>
        </tr>
      </tbody>`,
  );
  return html`${scrolling(
      html`<table class="settlements">
        <caption>
          ${isPartial ? 'Settlements that overlap this period or whose transfer was in it' : 'Settlements by their beginning'},
          the newest first, in ${currencyText(currency)}
        </caption>
        ${tableHead(columns)}${bodies}${comparedTotals(columns, settlements, currency, isPartial)}
      </table>`,
    )}
    <p class="note">
      A closed settlement adds up when its beginning balance and the net of its entries make its total, to the last
      digit. ${left > 0 && `${formatCount(left)} older ones are not listed; they add up or were not compared.`}
      ${withoutEntries > 0 && `The entries of ${formatCount(withoutEntries)} older ones are left out of this file.`}
    </p>`;
}

/** The sums of the settlements that were compared with their totals; undefined for fewer than two. */
function comparedTotals(
  columns: readonly HtmlColumn<SettlementFigures>[],
  settlements: readonly SettlementFigures[],
  currency: string,
  isPartial: boolean,
): Html | undefined {
  const compared = settlements.filter(({ verdict }) => verdict === 'adds-up' || verdict === 'differs');
  if (compared.length < 2) return undefined;
  const isAll = compared.length === settlements.filter(({ verdict }) => verdict !== 'open').length;
  const amount = shownIn(currency);
  const sumOver = (amountOf: (figures: SettlementFigures) => string | null | undefined) =>
    decimalSum(compared.map((one) => amountOf(one) ?? '0'));
  const total = sumOver(({ settlement }) => settlement.total);
  const discrepancy = difference(
    sumOver(({ sum }) => sum),
    total,
  );
  const paid = sumOver(({ paidOut }) => paidOut);
  return html`<tfoot>
    ${tableRow(columns, [
      `${isAll ? `All ${formatCount(compared.length)} closed` : `${formatCount(compared.length)} compared`}${isPartial ? ' of this period' : ''}`,
      amount(sumOver(({ settlement }) => settlement.beginning)),
      amount(sumOver(({ net }) => net)),
      amount(total),
      signOf(discrepancy) === 0 ? 'to the cent' : apartText(discrepancy, currency),
      html`${amount(paid)} at the bank`,
    ])}
  </tfoot>`;
}

/** The period of a settlement in UTC days: `2025-02-20 to 2025-03-06`. */
function periodText({ settlement: { start, end } }: SettlementFigures): Html {
  const date = (at: number) => dayText(dateOrInstant(at));
  const from = start === null ? '?' : date(start);
  return end === null ? html`${from}, open` : html`${from} to ${date(end)}`;
}

function verdictText({ verdict, discrepancy, currency }: SettlementFigures): Html {
  const { sign, text } = verdicts[verdict];
  const by = discrepancy !== undefined && `, ${apartText(discrepancy, currency)}`;
  return html`<span class="verdict">${signMark(sign)} ${text}${by}</span>`;
}

/** The entries of a settlement, shown on a click. */
function entriesDetails(figures: SettlementFigures, amount: AmountFormat): Html {
  const { settlement, times, entries, currency, fault, unknown } = figures;
  const summary = times === 0 ? 'No entries' : `${formatCount(times)} ${times === 1 ? 'entry' : 'entries'}`;
  const period = periodText(figures);
  const spoken = html`<span class="spoken"> of the settlement ${period} in ${currencyText(currency)}</span>`;
  return html`<details>
    <summary>${summary}${spoken}</summary>
    <p>
      Settlement
      ${lakeCode(settlement.id)}${settlement.payoutStatus !== null && html`; payout: ${payoutText(figures)}${laterPaymentText(figures)}`}${transferText(figures)}
    </p>
    ${fault !== undefined && html`<p class="fault">It doesn’t add up: ${fault}.</p>`}
    ${
      unknown > 0 &&
      html`<p class="fault">${formatCount(unknown, 'amount')} of unknown role in no sum: see the warnings.</p>`
    }
    ${totalTable(figures, amount)} ${entries && entriesHtml(figures, entries, amount)}
    ${times > 0 && entriesQuery(settlement.id)}
  </details>`;
}

/** `; transfer ID; 91.20 EUR at the bank`; empty where neither is known, or nothing is converted. */
function transferText({ settlement, currency }: SettlementFigures): Html {
  const { traceId, convertedTotal, convertedCurrency } = settlement;
  const converted = convertedTotal !== null && convertedCurrency !== null && convertedCurrency !== currency;
  return html`${
    traceId !== null && html`; transfer ${lakeCode(traceId)}`
  }${converted && html`; converted total ${moneyText(convertedTotal, convertedCurrency)}`}`;
}

/** The addition of a settlement's sum, compared with its total. */
function totalTable({ settlement, net, sum, currency, discrepancy }: SettlementFigures, amount: AmountFormat): Html {
  const { beginning, total } = settlement;
  const lines = [
    { label: 'Beginning balance', text: orDash(beginning, amount) },
    { label: 'Net of its entries', text: net === undefined ? 'not loaded' : amount(net) },
    net !== undefined && { label: 'Together', text: amount(sum) },
    { label: 'Total reported by the service', text: orDash(total, amount) },
    discrepancy !== undefined &&
      total !== null && { label: 'Apart', text: amountsIn(currency)(difference(sum, total)) },
  ];
  const rows = lines.filter((line) => line !== false);
  return figureTable(html`How it adds up, in ${currencyText(currency)}`, rows, [
    textColumn('', ({ label }) => label),
    numberColumn('Amount', ({ text }) => text),
  ]);
}

function entriesHtml({ currency, net }: SettlementFigures, entries: SettlementEntries, amount: AmountFormat): Html {
  const { lines, largest } = entries;
  const optional = (text: string | null) => (text === null ? '' : lakeText(text));
  // An amount in another currency is in no sum.
  const money = (text: string, code: string) => (code === currency ? amount(text) : moneyText(text, code));
  return html`${figureTable(
    html`Net entries by list, kind and name, in ${currencyText(currency)}`,
    lines,
    [
      textColumn('List', ({ eventList, lines: count }) => eventList ?? `${formatCount(count)} smaller sums`),
      textColumn('Kind', ({ kind }) => kind ?? ''),
      textColumn('Name', ({ name }) => optional(name)),
      countColumn('Times', ({ times }) => times),
      numberColumn('Amount', ({ total, currency: code }) => money(total, code)),
    ],
    ['Net', '', '', '', amount(net ?? '0')],
  )}
  ${figureTable(html`Its largest ${formatCount(largest.length)} net amounts, in ${currencyText(currency)}`, largest, [
    textColumn('At, UTC', ({ effectiveAt }) => minuteText(effectiveAt)),
    textColumn('List', ({ eventList }) => lakeText(eventList)),
    textColumn('Name', ({ name, kind }) => lakeText(name ?? kind)),
    textColumn('Order', ({ amazonOrderId }) => optional(amazonOrderId)),
    textColumn('SKU', ({ sku }) => optional(sku)),
    numberColumn('Amount', ({ amount: text, currency: code }) => money(text, code)),
  ])}`;
}

/** A query for all entries, which would make the file too large. */
function entriesQuery(id: string): Html {
  return html`<p class="note">
    Every entry: <code><bdi>SELECT * FROM settlement_amounts WHERE group_id = ${literal(id)}</bdi></code>
  </p>`;
}
