import { groupBy } from '../../core/group-by.js';
import { literal } from '../../core/duckdb/literals.js';
import { formatCount } from '../../core/text/amounts.js';
import type { Lake } from '../../lake/lake.js';
import { shortIsoInstant } from '../command-text.js';
import { byGroup as bySettlement, byTransaction, listing } from '../verify/checks/main-tables.js';
import {
  datedWindows,
  isCovered,
  loadedSettlements,
  settlementsFrom,
  totalFault,
  type Settlement,
} from '../verify/checks/settlements.js';
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
  sumOf,
  timesOf,
  type AmountFormat,
} from './report-amounts.js';
import { type FigureReader, type FigureRow } from './report-statements.js';

/**
 * The check of a settlement's total, in this order: it equals the beginning balance plus the net entries, to the millionth; it
 * doesn't; the settlement is open; its events weren't loaded after it closed; some of its events were forgotten.
 */
type SettlementVerdict = 'adds-up' | 'differs' | 'open' | 'not-loaded' | 'forgotten';

/** Entries of a settlement's net: sums by name, and the largest amounts. */
interface SettlementEntries {
  readonly lines: readonly FigureRow<'lines'>[];
  readonly largest: readonly FigureRow<'largest'>[];
}

export interface SettlementFigures {
  readonly settlement: Settlement;
  readonly verdict: SettlementVerdict;
  /** The finding of `verify` on a total that differs; undefined for every other verdict. */
  readonly fault: string | undefined;
  /** Its currency, or that of its entries; empty where there is none. */
  readonly currency: string;
  /** Sum of the net entries in that currency; undefined where none is loaded. */
  readonly net: string | undefined;
  /** Beginning balance and net together. */
  readonly sum: string;
  /** Sum less total; undefined where it is 0 or they can't be compared. */
  readonly discrepancy: string | undefined;
  /** Number of its amounts, net or not, and of those with an unknown role. */
  readonly times: number;
  readonly unknown: number;
  /** The later settlement whose transfer paid this one; undefined: none. */
  readonly laterPayment: FigureRow<'laterPayments'> | undefined;
  /** Undefined where the report leaves them out. */
  readonly entries: SettlementEntries | undefined;
}

/**
 * Reads the settlements that opened in the range, newest first, and compares each with its total like `verify`.
 * `detailed`: the number of settlements with entries, over all currencies.
 */
export async function readSettlements(
  { scope, database, signal, sql, rows }: FigureReader,
  lake: Lake,
  detailed: number,
): Promise<SettlementFigures[]> {
  const source = { table: listing.table, file: '', account: scope.account };
  const settlements = (await settlementsFrom(sql.settlements, source, database, signal)).toSorted(newestFirst);
  await database.execute(sql.makeSettled, { signal });
  const comparable = { lake, settlements, damaged: [], obscure: [] };
  const byEvent = new Set(loadedSettlements(comparable));
  const windows = datedWindows(comparable, byTransaction, scope.account);
  const read = lake.loadKeys(bySettlement.pipeline, scope.account);
  // Events that v0 returned while the settlement was open are incomplete, and its transactions aren't read then.
  const isLoaded = (settlement: Settlement) =>
    byEvent.has(settlement) || (!read.has(settlement.slice) && isCovered(settlement, windows));
  const broken = new Set((await rows(sql.brokenGroups)).map(({ groupId }) => groupId));
  const byGroup = <T extends { groupId: string }>(all: readonly T[]) => groupBy(all, ({ groupId }) => groupId);
  const nets = byGroup(await rows(sql.nets));
  const laterPayments = new Map((await rows(sql.laterPayments)).map((row) => [row.groupId, row]));
  const figures = settlements.map((settlement) => {
    const verdict = verdictOf(settlement, isLoaded(settlement), !broken.has(settlement.id));
    return figuresOf(settlement, nets.get(settlement.id) ?? [], laterPayments.get(settlement.id), verdict);
  });
  const wanted = selectDetailed(figures, detailed).map(({ settlement }) => settlement.id);
  if (wanted.length === 0) return figures;
  const lines = byGroup(await rows(sql.lines(wanted)));
  const instants = (await rows(sql.largestAt(wanted))).map(({ micros }) => micros);
  const largest = byGroup(instants.length === 0 ? [] : await rows(sql.largest(wanted, instants)));
  const wantedIds = new Set(wanted);
  return figures.map((one) => {
    const { id } = one.settlement;
    if (!wantedIds.has(id)) return one;
    return { ...one, entries: { lines: lines.get(id) ?? [], largest: largest.get(id) ?? [] } };
  });
}

function newestFirst(one: Settlement, other: Settlement): number {
  const later = (other.start ?? -Infinity) - (one.start ?? -Infinity);
  return later > 0 || later < 0 ? later : one.id < other.id ? -1 : 1;
}

/** The verdict on a settlement that can't be compared; undefined: its sum decides. */
function verdictOf({ isClosed }: Settlement, isLoaded: boolean, isWhole: boolean): SettlementVerdict | undefined {
  if (!isClosed) return 'open';
  if (!isLoaded) return 'not-loaded';
  return isWhole ? undefined : 'forgotten';
}

function figuresOf(
  settlement: Settlement,
  nets: readonly FigureRow<'nets'>[],
  laterPayment: FigureRow<'laterPayments'> | undefined,
  known: SettlementVerdict | undefined,
): SettlementFigures {
  const main = settlement.currency ?? settlement.beginningCurrency ?? nets[0]?.currency ?? null;
  const fault = known === undefined ? totalFault(settlement, nets) : undefined;
  const isRead = nets.length > 0 || known === undefined;
  const net = isRead ? (nets.find(({ currency }) => currency === main)?.net ?? '0') : undefined;
  const sum = sumOf([settlement.beginning ?? '0', net ?? '0']);
  const { total } = settlement;
  const discrepancy = known === undefined && total !== null ? difference(sum, total) : undefined;
  return {
    settlement,
    verdict: known ?? (fault === undefined ? 'adds-up' : 'differs'),
    fault,
    currency: main ?? '',
    net,
    sum,
    discrepancy: discrepancy !== undefined && signOf(discrepancy) !== 0 ? discrepancy : undefined,
    times: timesOf(nets),
    unknown: nets.reduce((all, { unknown }) => all + unknown, 0),
    laterPayment,
    entries: undefined,
  };
}

/** Smallest number of settlements of each currency with entries, whatever the number of currencies. */
const leastDetailed = 3;

/** The settlements to show with entries, as many for each currency: those that don't add up first, then the newest ones. */
function selectDetailed(figures: readonly SettlementFigures[], detailed: number): SettlementFigures[] {
  const currencies = groupBy(figures, ({ currency }) => currency);
  const most = Math.max(leastDetailed, Math.floor(detailed / currencies.size));
  return [...currencies.values()].flatMap((settlements) => {
    const differing = settlements.filter(({ verdict }) => verdict === 'differs');
    const others = settlements.filter(({ verdict, times }) => verdict !== 'differs' && times > 0);
    return [...differing, ...others].slice(0, most);
  });
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

/** Whether the bank received a settlement's payout. */
export function isPaid({ payoutStatus }: Settlement): boolean {
  return payoutStatus === 'Succeeded';
}

/** Whether the payout of a settlement failed. */
export function isUnpaid({ settlement: { payoutStatus } }: SettlementFigures): boolean {
  return /^fail/i.test(payoutStatus ?? '');
}

/** Replaces the column of payouts where the page is too narrow for it. */
const unpaidMark = html` <span class="narrow bad">${signMark('✗')} payout failed</span>`;

/** The status of a payout, in the service's word, with its date: `Failed 2026-09-21`. */
function payoutText(figures: SettlementFigures): Html {
  const { payoutStatus, paidAt } = figures.settlement;
  if (payoutStatus === null) return html`–`;
  const date = paidAt !== null && html` ${dayText(shortIsoInstant(paidAt))}`;
  const text = html`${lakeText(payoutStatus)}${date}`;
  return isUnpaid(figures)
    ? html`<span class="payout bad">${signMark('✗')} ${text}</span>`
    : html`<span class="payout">${text}</span>`;
}

/** `, which was paid on 2026-09-21 with the settlement ID`; undefined where no later transfer paid it. */
export function laterPaymentText({ laterPayment }: SettlementFigures): Html | undefined {
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

/**
 * The settlements of one currency: each compared with its total, with its entries. `id`: prefix of the anchors;
 * `isPartial`: the report covers a part of the lake only.
 */
export function settlementSection(
  id: string,
  currency: string,
  settlements: readonly SettlementFigures[],
  isPartial: boolean,
): Html {
  if (settlements.length === 0)
    return html`<p class="none">No settlement in ${currencyText(currency)} opened in this period.</p>`;
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
          ${isPartial ? 'Settlements that opened in this period' : 'Settlements by their beginning'}, the newest first,
          in ${currencyText(currency)}
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
    sumOf(compared.map((one) => amountOf(one) ?? '0'));
  const total = sumOver(({ settlement }) => settlement.total);
  const discrepancy = difference(
    sumOver(({ sum }) => sum),
    total,
  );
  const paid = sumOver(({ settlement }) => (isPaid(settlement) ? settlement.total : undefined));
  return html`<tfoot>
    ${tableRow(columns, [
      `${isAll ? `All ${formatCount(compared.length)} closed` : `${formatCount(compared.length)} compared`}${isPartial ? ' that opened in this period' : ''}`,
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
  const date = (at: number) => dayText(shortIsoInstant(at));
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
      ${lakeCode(settlement.id)}${settlement.payoutStatus !== null && html`; payout: ${payoutText(figures)}${laterPaymentText(figures)}`}
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
    Every entry: <code><bdi>SELECT * FROM group_entries WHERE group_id = ${literal(id)}</bdi></code>
  </p>`;
}
