import { literal } from '../../core/duckdb/literals.js';
import { formatCount } from '../../core/text/amounts.js';
import type { Lake } from '../../lake/lake.js';
import { instantText } from '../command-text.js';
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
  figureTable,
  html,
  lakeCode,
  lakeText,
  numberColumn,
  scrolling,
  tableHead,
  tableRow,
  textColumn,
  type Html,
  type HtmlValue,
  type TableColumn,
} from './html.js';
import {
  amountsIn,
  currencyText,
  difference,
  minuteText,
  shownIn,
  signOf,
  sumOf,
  type AmountFormat,
} from './report-amounts.js';
import { groupedBy, type FigureReader, type FigureRow } from './report-statements.js';

/**
 * What can be said of a settlement's total: it is the beginning balance and the net entries together, to the millionth;
 * it isn't; the settlement is open; its events weren't read by settlement since it closed; some of them were forgotten.
 */
export type Verdict = 'adds-up' | 'differs' | 'open' | 'not-loaded' | 'forgotten';

/** What stands behind a settlement's net. */
interface SettlementEntries {
  readonly lines: readonly FigureRow<'lines'>[];
  readonly largest: readonly FigureRow<'largest'>[];
}

export interface SettlementFigures {
  readonly settlement: Settlement;
  readonly verdict: Verdict;
  /** What `verify` says of a total that isn't made; undefined for every other verdict. */
  readonly fault: string | undefined;
  /** Its own currency, or that of its entries; empty where there is none. */
  readonly currency: string;
  /** Sum of the net entries in that currency; undefined where none are loaded. */
  readonly net: string | undefined;
  /** Beginning balance and net together. */
  readonly sum: string;
  /** By how much sum and total are apart; undefined where they can't be compared. */
  readonly apart: string | undefined;
  /** Amounts behind it, net or not, and those of unknown role. */
  readonly times: number;
  readonly unknown: number;
  /** The later settlement whose transfer paid what its own did not. */
  readonly carried: FigureRow<'carried'> | undefined;
  /** Undefined where the report leaves them out. */
  readonly entries: SettlementEntries | undefined;
}

/**
 * Every settlement that opened in the range, the newest first, compared with its total as `verify` does it; `detailed`: how
 * many come with their entries, over all currencies.
 */
export async function readSettlements(
  { scope, database, signal, sql, rows }: FigureReader,
  lake: Lake,
  detailed: number,
): Promise<SettlementFigures[]> {
  const source = { table: listing.table, file: '', account: scope.account };
  const settlements = (await settlementsFrom(sql.settlements, source, database, signal)).toSorted(newestFirst);
  await database.execute(sql.makeSettled, { signal });
  const comparable = { lake, settlements, damaged: [], obscure: new Set<string>() };
  const byEvent = new Set(loadedSettlements(comparable));
  const windows = datedWindows(comparable, byTransaction, scope.account);
  const read = lake.loadKeys(bySettlement.pipeline, bySettlement.table, scope.account);
  // What v0 gave while a settlement was open isn't all of it, and stands in the way of what transactions paid.
  const isLoaded = (of: Settlement) => byEvent.has(of) || (!read.has(of.slice) && isCovered(of, windows));
  const broken = new Set((await rows(sql.brokenGroups)).map(({ groupId }) => groupId));
  const byGroup = <T extends { groupId: string }>(all: readonly T[]) => groupedBy(all, ({ groupId }) => groupId);
  const nets = byGroup(await rows(sql.nets));
  const carried = new Map((await rows(sql.carried)).map((of) => [of.groupId, of]));
  const figures = settlements.map((settlement) => {
    const verdict = verdictOf(settlement, isLoaded(settlement), !broken.has(settlement.id));
    return figuresOf(settlement, nets.get(settlement.id) ?? [], carried.get(settlement.id), verdict);
  });
  const wanted = detailedOf(figures, detailed).map(({ settlement }) => settlement.id);
  if (wanted.length === 0) return figures;
  const lines = byGroup(await rows(sql.lines(wanted)));
  const instants = (await rows(sql.largestAt(wanted))).map(({ micros }) => micros);
  const largest = byGroup(instants.length === 0 ? [] : await rows(sql.largest(wanted, instants)));
  const isWanted = new Set(wanted);
  return figures.map((of) => {
    const { id } = of.settlement;
    if (!isWanted.has(id)) return of;
    return { ...of, entries: { lines: lines.get(id) ?? [], largest: largest.get(id) ?? [] } };
  });
}

function newestFirst(one: Settlement, other: Settlement): number {
  const later = (other.start ?? -Infinity) - (one.start ?? -Infinity);
  return later > 0 || later < 0 ? later : one.id < other.id ? -1 : 1;
}

/** What can't be compared; undefined: the sums decide. */
function verdictOf({ isClosed }: Settlement, isLoaded: boolean, isWhole: boolean): Verdict | undefined {
  if (!isClosed) return 'open';
  if (!isLoaded) return 'not-loaded';
  return isWhole ? undefined : 'forgotten';
}

function figuresOf(
  settlement: Settlement,
  nets: readonly FigureRow<'nets'>[],
  carried: FigureRow<'carried'> | undefined,
  known: Verdict | undefined,
): SettlementFigures {
  const main = settlement.currency ?? settlement.beginningCurrency ?? nets[0]?.currency ?? null;
  const fault = known === undefined ? totalFault(settlement, nets) : undefined;
  const isRead = nets.length > 0 || known === undefined;
  const net = isRead ? (nets.find(({ currency }) => currency === main)?.net ?? '0') : undefined;
  const sum = sumOf([settlement.beginning ?? '0', net ?? '0']);
  const { total } = settlement;
  const apart = known === undefined && total !== null ? difference(sum, total) : undefined;
  return {
    settlement,
    verdict: known ?? (fault === undefined ? 'adds-up' : 'differs'),
    fault,
    currency: main ?? '',
    net,
    sum,
    apart: apart !== undefined && signOf(apart) !== 0 ? apart : undefined,
    times: nets.reduce((all, { times }) => all + times, 0),
    unknown: nets.reduce((all, { unknown }) => all + unknown, 0),
    carried,
    entries: undefined,
  };
}

/** Settlements of each currency whose entries are told however many currencies there are. */
const leastDetailed = 3;

/** Of each currency its part of what is wanted: those that don't add up first, then the newest ones. */
function detailedOf(figures: readonly SettlementFigures[], detailed: number): SettlementFigures[] {
  const currencies = groupedBy(figures, ({ currency }) => currency);
  const most = Math.max(leastDetailed, Math.floor(detailed / currencies.size));
  return [...currencies.values()].flatMap((of) => {
    const differing = of.filter(({ verdict }) => verdict === 'differs');
    const others = of.filter(({ verdict, times }) => verdict !== 'differs' && times > 0);
    return [...differing, ...others].slice(0, most);
  });
}

/** Settlements that a table lists, beside all that don't add up; the rest is counted. */
const mostSettlements = 150;

const columnsIn = (amount: AmountFormat): TableColumn<SettlementFigures>[] => [
  textColumn('Settlement', (of) => periodText(of)),
  numberColumn<SettlementFigures>(
    'Beginning balance',
    ({ settlement: { beginning } }) => orDash(beginning, amount),
    true,
  ),
  numberColumn('Net of its entries', ({ net }) => orDash(net, amount), true),
  numberColumn('Total', ({ settlement: { total } }) => orDash(total, amount)),
  textColumn('Adds up?', (of) => html`${verdictText(of)}${isUnpaid(of) ? unpaidMark : undefined}`),
  textColumn('Payout', payoutText, true),
];

/** Whether the bank got a settlement's payout. */
export function isPaid({ payoutStatus }: Settlement): boolean {
  return payoutStatus === 'Succeeded';
}

/** Whether the bank did not take a settlement's payout. */
export function isUnpaid({ settlement: { payoutStatus } }: SettlementFigures): boolean {
  return /^fail/i.test(payoutStatus ?? '');
}

/** Where the page is too narrow for the column of payouts. */
const unpaidMark = html` <span class="narrow bad"><span class="sign" aria-hidden="true">✗</span> payout failed</span>`;

/** `Failed 2026-09-21`: what became of the payout, in the service's word, and its date. */
function payoutText(of: SettlementFigures): Html {
  const { payoutStatus, paidAt } = of.settlement;
  if (payoutStatus === null) return html`–`;
  const date = paidAt === null ? undefined : html` <span class="date">${instantText(paidAt).slice(0, 10)}</span>`;
  const text = html`${lakeText(payoutStatus)}${date}`;
  return isUnpaid(of)
    ? html`<span class="payout bad"><span class="sign" aria-hidden="true">✗</span> ${text}</span>`
    : html`<span class="payout">${text}</span>`;
}

/** `, which was paid on 2026-09-21 with the settlement ID`; undefined where nothing has paid it. */
export function paidLater({ carried }: SettlementFigures): Html | undefined {
  if (carried === undefined) return undefined;
  const { paidBy, paidAt } = carried;
  const on = paidAt === null ? undefined : html` on <span class="date">${paidAt.slice(0, 10)}</span>`;
  return html`, which was paid${on} with the settlement ${lakeCode(paidBy)}`;
}

function orDash(text: string | null | undefined, amount: AmountFormat): HtmlValue {
  return text === null || text === undefined ? '–' : amount(text);
}

/** What a verdict is called, with a sign that says it without colour. */
const verdicts: Readonly<Record<Verdict, { readonly sign: string; readonly text: string }>> = {
  'adds-up': { sign: '✓', text: 'to the cent' },
  differs: { sign: '✗', text: 'does not add up' },
  open: { sign: '○', text: 'still open' },
  'not-loaded': { sign: '–', text: 'entries not loaded' },
  forgotten: { sign: '–', text: 'entries forgotten in part' },
};

/**
 * The settlements of one currency: each held against its total, with what stands behind it. `id` makes anchors; `isPart`: they are those
 * that opened in a part of what the lake holds.
 */
export function settlementSection(
  id: string,
  currency: string,
  settlements: readonly SettlementFigures[],
  isPartial: boolean,
): Html {
  if (settlements.length === 0)
    return html`<p class="none">No settlement in ${currencyText(currency)} opened in this time.</p>`;
  const amount = shownIn(currency);
  const shown = settlements.filter(({ verdict }, at) => at < mostSettlements || verdict === 'differs');
  const left = settlements.slice(mostSettlements).filter(({ verdict }) => verdict !== 'differs').length;
  const withoutEntries = shown.filter(({ entries, times }) => entries === undefined && times > 0).length;
  const columns = columnsIn(amount);
  const bodies = shown.map(
    (of, at) =>
      html`<tbody class="v-${of.verdict}" id="${id}-s${at + 1}">
        ${tableRow(
          columns,
          columns.map(({ cell }) => cell(of)),
        )}
        <tr class="more">
          <td colspan="${columns.length}">${behind(of, amount)}</td>
        </tr>
      </tbody>`,
  );
  return html`${scrolling(
      html`<table class="settlements">
        <caption>
          ${isPartial ? 'Settlements that opened in this time' : 'Settlements by their beginning'}, the newest first, in
          ${currencyText(currency)}
        </caption>
        ${tableHead(columns)}${bodies}${comparedFoot(columns, settlements, currency, isPartial)}
      </table>`,
    )}
    <p class="note">
      A closed settlement adds up when its beginning balance and the net of its entries make its total, to the last
      digit.
      ${left === 0 ? undefined : `${formatCount(left)} older ones are not listed; they add up or were not compared.`}
      ${
        withoutEntries === 0
          ? undefined
          : `What the entries of ${formatCount(withoutEntries)} older ones come to is left out of this file.`
      }
    </p>`;
}

/** What the settlements come to that were compared with their totals; undefined where that is one or none. */
function comparedFoot(
  columns: readonly TableColumn<SettlementFigures>[],
  settlements: readonly SettlementFigures[],
  currency: string,
  isPartial: boolean,
): Html | undefined {
  const compared = settlements.filter(({ verdict }) => verdict === 'adds-up' || verdict === 'differs');
  if (compared.length < 2) return undefined;
  const isAll = compared.length === settlements.filter(({ verdict }) => verdict !== 'open').length;
  const amount = shownIn(currency);
  const of = (amountOf: (of: SettlementFigures) => string | null | undefined) =>
    sumOf(compared.map((one) => amountOf(one) ?? '0'));
  const total = of(({ settlement }) => settlement.total);
  const apart = difference(
    of(({ sum }) => sum),
    total,
  );
  const paid = of(({ settlement }) => (isPaid(settlement) ? settlement.total : undefined));
  return html`<tfoot>
    ${tableRow(columns, [
      `${isAll ? `All ${formatCount(compared.length)} closed` : `${formatCount(compared.length)} compared`}${isPartial ? ' that opened in this time' : ''}`,
      amount(of(({ settlement }) => settlement.beginning)),
      amount(of(({ net }) => net)),
      amount(total),
      signOf(apart) === 0 ? 'to the cent' : html`${amountsIn(currency)(apart.replace('-', ''))} apart`,
      html`${amount(paid)} at the bank`,
    ])}
  </tfoot>`;
}

/** `2025-02-20 to 2025-03-06`; UTC. */
function periodText({ settlement: { start, end } }: SettlementFigures): Html {
  const date = (at: number) => html`<span class="date">${instantText(at).slice(0, 10)}</span>`;
  const from = start === null ? '?' : date(start);
  return end === null ? html`${from}, open` : html`${from} to ${date(end)}`;
}

function verdictText({ verdict, apart, currency }: SettlementFigures): Html {
  const { sign, text } = verdicts[verdict];
  const by = apart === undefined ? undefined : `, ${amountsIn(currency)(apart.replace('-', ''))} apart`;
  return html`<span class="verdict"><span class="sign" aria-hidden="true">${sign}</span> ${text}${by}</span>`;
}

/** The entries behind a settlement, on a click. */
function behind(of: SettlementFigures, amount: AmountFormat): Html {
  const { settlement, times, entries, currency, fault, unknown } = of;
  const summary = times === 0 ? 'No entries' : `${formatCount(times)} ${times === 1 ? 'entry' : 'entries'}`;
  const spoken = html`<span class="spoken"> of the settlement ${periodText(of)} in ${currencyText(currency)}</span>`;
  return html`<details>
    <summary>${summary}${spoken}</summary>
    <p>
      Settlement
      ${lakeCode(settlement.id)}${settlement.payoutStatus === null ? undefined : html`; payout: ${payoutText(of)}${paidLater(of)}`}
    </p>
    ${fault === undefined ? undefined : html`<p class="fault">It doesn’t add up: ${fault}.</p>`}
    ${
      unknown === 0
        ? undefined
        : html`<p class="fault">${formatCount(unknown, 'amount')} of unknown role in no sum: see the warnings.</p>`
    }
    ${reckoning(of, amount)} ${entries === undefined ? undefined : entriesHtml(of, entries, amount)}
    ${times === 0 ? undefined : allEntries(settlement.id)}
  </details>`;
}

/** How the sum comes about. */
function reckoning({ settlement, net, sum, currency, apart }: SettlementFigures, amount: AmountFormat): Html {
  const { beginning, total } = settlement;
  const lines = [
    { label: 'Beginning balance', text: orDash(beginning, amount) },
    { label: 'Net of its entries', text: net === undefined ? 'not loaded' : amount(net) },
    net !== undefined && { label: 'Together', text: amount(sum) },
    { label: 'Total as the service tells it', text: orDash(total, amount) },
    apart !== undefined && total !== null && { label: 'Apart', text: amountsIn(currency)(difference(sum, total)) },
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
  // One in another currency is in no sum.
  const money = (text: string, of: string) =>
    of === currency ? amount(text) : html`${shownIn(of)(text)} ${currencyText(of)}`;
  return html`${figureTable(
    html`Net entries by list, kind and name, in ${currencyText(currency)}`,
    lines,
    [
      textColumn('List', ({ eventList, lines: count }) => eventList ?? `${formatCount(count)} smaller sums`),
      textColumn('Kind', ({ kind }) => kind ?? ''),
      textColumn('Name', ({ name }) => optional(name)),
      numberColumn('Times', ({ times }) => formatCount(times)),
      numberColumn('Amount', ({ total, currency: of }) => money(total, of)),
    ],
    ['Net', '', '', '', amount(net ?? '0')],
  )}
  ${figureTable(html`Its largest ${formatCount(largest.length)} net amounts, in ${currencyText(currency)}`, largest, [
    textColumn('At, UTC', ({ effectiveAt }) => minuteText(effectiveAt)),
    textColumn('List', ({ eventList }) => lakeText(eventList)),
    textColumn('Name', ({ name, kind }) => lakeText(name ?? kind)),
    textColumn('Order', ({ amazonOrderId }) => optional(amazonOrderId)),
    textColumn('SKU', ({ sku }) => optional(sku)),
    numberColumn('Amount', ({ amount: text, currency: of }) => money(text, of)),
  ])}`;
}

/** Where every single one of them is: a file that had them all would be too large to open. */
function allEntries(id: string): Html {
  return html`<p class="note">
    Every entry: <code><bdi>SELECT * FROM group_entries WHERE group_id = ${literal(id)}</bdi></code>
  </p>`;
}
