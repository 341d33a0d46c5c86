import { formatCount } from '../../core/text/amounts.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { warningTexts } from '../load/run-summary.js';
import { shortIsoInstant } from '../command-text.js';
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
import { currencyText, minuteText, moneyText } from './report-amounts.js';
import type { FigureReader, FigureRow } from './report-statements.js';

/** Unexpected data in the lake. */
export interface WarningFigures {
  readonly unknownLists: readonly FigureRow<'unknownLists'>[];
  readonly unknownAmounts: readonly FigureRow<'unknownAmounts'>[];
  readonly unknownKinds: readonly FigureRow<'unknownKinds'>[];
  readonly inexactAmounts: readonly FigureRow<'inexactAmounts'>[];
}

export async function readWarningFigures({ sql, rows }: FigureReader): Promise<WarningFigures> {
  return {
    unknownLists: await rows(sql.unknownLists),
    unknownAmounts: await rows(sql.unknownAmounts),
    unknownKinds: await rows(sql.unknownKinds),
    inexactAmounts: await rows(sql.inexactAmounts),
  };
}

/** Largest number of rows listed in a table; further ones are counted. */
const mostRows = 30;

/** Unexpected data, which no figure includes for certain, and the warnings of the last run. */
export function warningsSection(warnings: WarningFigures, lastRun: LastRun | undefined, account: string): Html {
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
    'Amounts whose kind is not known',
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
  ${lastRunHtml(lastRun?.account === account ? lastRun : undefined)}`;
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
  const range = `${shortIsoInstant(Date.parse(from))} to ${shortIsoInstant(Date.parse(to))}`;
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
