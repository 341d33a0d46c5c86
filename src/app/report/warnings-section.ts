import { dateOrInstant } from '../../core/numeric/instant.js';
import { groupBy } from '../../core/group-by.js';
import { eventLists } from '../../sources/finances/api-v0/event-records.js';
import { formatCount } from '../../core/text/amounts.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { warningTexts } from '../load/run-summary.js';
import {
  countColumn,
  figureTable,
  html,
  lakeCode,
  lakeText,
  numberColumn,
  separated,
  textColumn,
  type Html,
  type HtmlColumn,
  type HtmlValue,
} from './html.js';
import listText from './event-lists.sql';
import { statement, type FigureRow } from './figure-reader.js';
import { currencyText, minuteText, moneyText, timesOf } from './figure-texts.js';
import type { Section } from './section.js';
import text from './warnings.sql';

const placesWithWarnings = statement(text, {
  warning: 'text',
  currency: 'text',
  eventList: 'text',
  path: 'text',
  name: 'text',
  role: 'text',
  times: 'count',
  total: 'decimal',
  example: 'textOrNull',
});
const lists = statement(listText, { eventList: 'text', events: 'count', groupEvents: 'count' });

type Warning = FigureRow<typeof placesWithWarnings>;

/** Unexpected data, which no figure includes for certain, and the warnings of the last run. */
export const warningsSection: Section = {
  anchor: 'noticed',
  title: 'Warnings',
  read: async ({ account, id, rows, report: { lastRuns } }) => {
    const unknownLists = (await rows(lists)).filter(({ eventList }) => !(eventList in eventLists));
    const warnings = groupBy(await rows(placesWithWarnings), ({ warning }) => warning);
    const [unknownAmounts = [], unknownKinds = [], inexactAmounts = []] = ['role', 'kind', 'inexact'].map((warning) =>
      warnings.get(warning),
    );
    const ownRun = lastRuns.get(account);
    const anchor = `#${id}-noticed`;
    const unknown = timesOf(unknownAmounts);
    const kinds = timesOf(unknownKinds);
    return {
      ofAccount: warningsHtml({ unknownLists, unknownAmounts, unknownKinds, inexactAmounts }, ownRun),
      currencyConcerns: ({ currency, figures }) => {
        const inexact = figures?.unsummed ?? 0;
        return [
          inexact > 0 &&
            html`<a href="${anchor}">${formatCount(inexact, 'net amount')} in ${currencyText(currency)}</a>
              ${inexact === 1 ? 'does' : 'do'} not fit a decimal of 18 digits and ${isAre(inexact)} in no figure.`,
        ];
      },
      concerns: [
        unknown > 0 &&
          html`<a href="${anchor}">${formatCount(unknown, 'amount')}</a> ${isAre(unknown)} of an unknown role and in no
            figure.`,
        kinds > 0 &&
          html`<a href="${anchor}">${formatCount(kinds, 'net amount')}</a> ${isAre(kinds)} of an unknown type and not in
            the earned amounts.`,
        unknownLists.length > 0 &&
          html`<a href="${anchor}">${formatCount(unknownLists.length, 'list')} of events</a>
            ${isAre(unknownLists.length)} new to the model.`,
        ownRun?.status === 'failed' && html`<a href="${anchor}">The last run failed.</a>`,
      ],
    };
  },
};

function isAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/** Unexpected data in the lake. */
interface WarningFigures {
  readonly unknownLists: readonly FigureRow<typeof lists>[];
  readonly unknownAmounts: readonly Warning[];
  readonly unknownKinds: readonly Warning[];
  readonly inexactAmounts: readonly Warning[];
}

/** Largest number of rows listed in a table; further ones are counted. */
const mostRows = 30;

function warningsHtml(warnings: WarningFigures, lastRun: LastRun | undefined): Html {
  const { unknownLists, unknownAmounts, unknownKinds, inexactAmounts } = warnings;
  const isClean = [unknownLists, unknownAmounts, unknownKinds, inexactAmounts].every((rows) => rows.length === 0);
  return html`${
    isClean && html`<p>Every list of events and every amount is one that the model knows, and every amount fits.</p>`
  }
  ${warningTable('Lists of events that the model does not know', 'their amounts are in no figure', unknownLists, [
    listColumn,
    countColumn('Events by date', ({ events }) => events),
    countColumn('By settlement', ({ groupEvents }) => groupEvents),
  ])}
  ${warningTable(
    'Amounts at paths that the model does not know (role unknown)',
    'they are in no figure',
    unknownAmounts,
    [listColumn, pathColumn, timesColumn, sumColumn],
  )}
  ${warningTable(
    'Amounts whose type is not known',
    'they are in the net proceeds, and not in what was earned',
    unknownKinds,
    [
      textColumn('Type', ({ eventList }) => lakeText(eventList)),
      textColumn('Name', ({ name, path }) => (name === '' ? lakeCode(path) : lakeText(name))),
      timesColumn,
      sumColumn,
    ],
  )}
  ${warningTable(
    'Amounts that DECIMAL(18,6) cannot hold, or that are no numbers',
    'they are in no figure',
    inexactAmounts,
    [
      listColumn,
      pathColumn,
      textColumn('Role', ({ role }) => role),
      timesColumn,
      numberColumn('For example', ({ example, currency }) =>
        example === null ? 'no number' : html`${lakeText(example)} ${currencyText(currency)}`,
      ),
    ],
  )}
  ${lastRunHtml(lastRun)}`;
}

const listColumn = textColumn<{ readonly eventList: string }>('List', ({ eventList }) => lakeText(eventList));
const pathColumn = textColumn<{ readonly path: string }>('Path', ({ path }) => lakeCode(path));
const timesColumn = countColumn<{ readonly times: number }>('Times', ({ times }) => times);
const sumColumn = numberColumn<{ readonly total: string; readonly currency: string }>('Sum', ({ total, currency }) =>
  moneyText(total, currency),
);

function warningTable<T>(
  title: string,
  where: string,
  rows: readonly T[],
  columns: readonly HtmlColumn<T>[],
): HtmlValue {
  const more = rows.length > mostRows ? `, the first ${mostRows} of ${formatCount(rows.length)}` : '';
  return rows.length > 0 && figureTable(`${title}${more}; ${where}`, rows.slice(0, mostRows), columns);
}

/** The result and warnings of the last run, where it was one of this account. */
function lastRunHtml(run: LastRun | undefined): Html {
  if (run === undefined) return html`<p class="none">The last run has no summary of this account.</p>`;
  const { command, status, endedAt, from, to, failure, pipelines } = run;
  const range = `${dateOrInstant(Date.parse(from))} to ${dateOrInstant(Date.parse(to))}`;
  const lines = Object.entries(pipelines).flatMap(([pipeline, { warnings = {} }]) =>
    Object.entries(warnings).map(([kind, places]) => {
      const times = Object.values(places).reduce((sum, count) => sum + count, 0);
      const shownPlaces = Object.keys(places).slice(0, 3).map(lakeCode);
      const unnamed = Object.keys(places).length - shownPlaces.length;
      return html`<li>
        ${lakeText(pipeline)}: ${formatCount(times)} ${warningTexts[kind] ?? kind}:
        ${separated(shownPlaces)}${unnamed > 0 ? ` and ${unnamed} more` : ''}
      </li>`;
    }),
  );
  return html`<p>
      The last run, ${lakeText(command)} of ${range}, ${status === 'done' ? 'was done' : 'failed'} at
      ${minuteText(endedAt)}
      UTC${
        failure === null ? '' : html`: <span class="fault">${failure}</span>`
      }.${lines.length === 0 ? ' It had no warnings.' : ' Its warnings:'}
    </p>
    ${
      lines.length > 0 &&
      html`<ul>
        ${lines}
      </ul>`
    }`;
}
