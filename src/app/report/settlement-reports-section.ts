import { formatCount } from '../../core/text/amounts.js';
import { groupBy } from '../../core/group-by.js';
import { statement, type FigureRow } from './figure-reader.js';
import {
  countColumn,
  dayText,
  figureTable,
  html,
  lakeCode,
  lakeName,
  lakeText,
  numberColumn,
  signMark,
  textColumn,
  type Html,
} from './html.js';
import { currencyText, difference, shownIn } from './figure-texts.js';
import { sheetColumns, type CurrencyChapter, type Section } from './section.js';
import reportsText from './settlement-reports.sql';
import linesText from './unexplained-lines.sql';

const reports = statement(reportsText, {
  settlementId: 'text',
  currency: 'text',
  startedAt: 'textOrNull',
  endedAt: 'textOrNull',
  source: 'text',
  total: 'decimal',
  lake: 'decimal',
  explained: 'count',
  notInV0: 'count',
  notLoaded: 'count',
  unexplained: 'count',
  apart: 'decimal',
});

const unexplainedLines = statement(linesText, {
  currency: 'text',
  settlementId: 'text',
  source: 'text',
  orderId: 'textOrNull',
  postedOn: 'textOrNull',
  name: 'textOrNull',
  reportAmount: 'decimal',
  lakeAmount: 'decimal',
  difference: 'decimal',
  lines: 'text',
});

type SettlementReportFigures = FigureRow<typeof reports>;
type UnexplainedLine = FigureRow<typeof unexplainedLines>;

/** Largest number of settlement reports in a table, besides those with differences that nothing explains. */
const mostSettlementReports = 60;
/** Largest number of differences of a currency that are listed. */
const mostLines = 20;

/** Settlement reports compared with v0 and transactions; left out where none is loaded. */
export const settlementReportsSection: Section = {
  anchor: 'reports',
  title: 'Settlement reports',
  sheet: {
    name: 'settlement_reports',
    columns: sheetColumns({
      settlement: 'text',
      started_at: 'text',
      ended_at: 'text',
      source: 'text',
      report_total: 'amount',
      lake_total: 'amount',
      difference: 'amount',
      explained: 'number',
      not_in_v0: 'number',
      not_loaded: 'number',
      unexplained: 'number',
      unexplained_amount: 'amount',
    }),
  },
  read: async ({ rows }) => {
    const all = await rows(reports);
    if (all.length === 0) return {};
    const hasLines = all.some(({ unexplained }) => unexplained > 0);
    const lines = hasLines ? await rows(unexplainedLines, { most: mostLines }) : [];
    const byCurrency = groupBy(all, ({ currency }) => currency);
    const linesOf = groupBy(lines, ({ currency }) => currency);
    return {
      ofCurrency: ({ currency }) =>
        settlementReportsHtml(currency, byCurrency.get(currency) ?? [], linesOf.get(currency) ?? []),
      currencyConcerns: (chapter) => [unexplainedConcern(chapter, byCurrency.get(chapter.currency) ?? [])],
      rows: all.map((row) => [
        row.currency,
        row.settlementId,
        row.startedAt,
        row.endedAt,
        row.source,
        row.total,
        row.lake,
        difference(row.total, row.lake),
        row.explained,
        row.notInV0,
        row.notLoaded,
        row.unexplained,
        row.apart,
      ]),
    };
  },
};

function unexplainedConcern({ id, currency }: CurrencyChapter, all: readonly SettlementReportFigures[]): Html | false {
  const found = new Set(all.filter(({ unexplained }) => unexplained > 0).map(({ settlementId }) => settlementId)).size;
  const what = `${formatCount(found, 'settlement report')} in ${currencyText(currency)}`;
  return (
    found > 0 &&
    html`<a href="#${id}-reports">${what}</a> ${found === 1 ? 'has' : 'have'} differences that nothing explains.`
  );
}

function settlementReportsHtml(
  currency: string,
  all: readonly SettlementReportFigures[],
  lines: readonly UnexplainedLine[],
): Html | undefined {
  if (all.length === 0) return undefined;
  const amount = shownIn(currency);
  const shown = all.filter(({ unexplained }, at) => at < mostSettlementReports || unexplained > 0);
  const left = all.length - shown.length;
  return html`${figureTable(
      html`Settlement reports against the lake, the newest first, in ${currencyText(currency)}`,
      shown,
      [
        textColumn(
          'Settlement',
          ({ settlementId, startedAt, endedAt }) =>
            html`${lakeCode(settlementId)} ${dayText(startedAt ?? '?')} to ${dayText(endedAt ?? '?')}`,
        ),
        textColumn('Source', ({ source }) => source),
        numberColumn('Report', ({ total }) => amount(total)),
        numberColumn('Lake', ({ lake }) => amount(lake)),
        numberColumn('Difference', ({ total, lake }) => amount(difference(total, lake))),
        textColumn('Compared', differencesText),
        countColumn('Explained', ({ explained }) => explained),
      ],
    )}
    ${lines.length > 0 && linesHtml(currency, lines)}
    <p class="note">
      Each line of a report is compared with the amounts of v0 and of transactions. Explained differences are joined,
      split, renamed or on another day, and 0 in
      all.${left > 0 && ` ${formatCount(left)} older comparisons without unexplained differences are not listed.`} The
      view settlement_differences has all of them.
    </p>`;
}

function differencesText({ source, unexplained, notLoaded, notInV0 }: SettlementReportFigures): Html {
  const parts = [
    unexplained > 0 && `${formatCount(unexplained)} not explained`,
    notInV0 > 0 && `${formatCount(notInV0)} not in v0`,
    notLoaded > 0 && 'not loaded in full',
  ].filter((part) => part !== false);
  const [sign, text] =
    source === ''
      ? ['–', 'no amounts']
      : parts.length === 0
        ? ['✓', 'each line']
        : [unexplained > 0 ? '✗' : '–', parts.join(', ')];
  return html`<span class="verdict${unexplained > 0 && ' bad'}">${signMark(sign)} ${text}</span>`;
}

function linesHtml(currency: string, lines: readonly UnexplainedLine[]): Html {
  const amount = shownIn(currency);
  return figureTable(
    html`The ${formatCount(lines.length, 'largest difference')} that nothing explains, in ${currencyText(currency)}`,
    lines,
    [
      textColumn('Settlement', ({ settlementId }) => lakeCode(settlementId)),
      textColumn('Source', ({ source }) => source),
      textColumn('Order or day', ({ orderId, postedOn }) => (orderId === null ? (postedOn ?? '') : lakeText(orderId))),
      textColumn('Name', ({ name }) => (name === null ? '' : lakeName(name))),
      textColumn('Lines', ({ lines: numbers }) => numbers),
      numberColumn('Report', ({ reportAmount }) => amount(reportAmount)),
      numberColumn('Lake', ({ lakeAmount }) => amount(lakeAmount)),
      numberColumn('Difference', (row) => amount(row.difference)),
    ],
  );
}
