import { pipelineNamed, roles } from '../../../pipelines/all-pipelines.js';
import type { LastRuns } from '../../lake/upkeep/last-run.js';
import { dayMs, type Window } from '../../core/windows.js';
import type { Day, DayState } from '../../engine/run/day-states.js';
import { coverageText, type AccountCoverage, type PipelineCoverage } from '../status/lake-status.js';
import { needsEndpoint } from '../status/suggestions.js';
import { formatCount } from '../../core/text/amounts.js';
import type { BasisFigures } from './basis.js';
import { calendarChart, daySigns } from './charts.js';
import { figureTable, html, lakeCode, lakeText, numberColumn, textColumn, type Html } from './html.js';
import { isoDate, isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import type { Section } from './section.js';

/** Largest number of months in a calendar and of gaps in the list; the newest ones are shown. */
const mostMonths = 36;
const mostGaps = 30;

const stateTexts: Readonly<Record<DayState, string>> = {
  full: 'loaded',
  empty: 'loaded, nothing in it',
  forgotten: 'loaded, its rows forgotten',
  partial: 'loaded in part',
  imported: 'imported only',
  missing: 'missing',
};

/** The loaded days of each pipeline, and the command that loads the gaps. */
export const coverageSection: Section = {
  anchor: 'coverage',
  title: 'Coverage',
  read: ({ id, status, basis, report }) => ({
    ofAccount: coverageHtml(status, basis, report.lastRuns),
    concerns: [
      ...status.pipelines
        .filter(({ days }) => days.some(({ state }) => state !== 'full' && state !== 'empty'))
        .map(({ pipeline, days }) => html`<a href="#${id}-coverage">${lakeText(pipeline)}</a>: ${coverageText(days)}.`),
      status.unused.length > 0 &&
        html`<a href="#${id}-coverage">Nothing was loaded yet</a> of ${status.unused.join(', ')}.`,
    ],
  }),
};

function coverageHtml(status: AccountCoverage, basis: BasisFigures, lastRuns: LastRuns): Html {
  const { pipelines, range, load, account, unused } = status;
  const dated = pipelines.filter(({ days }) => days.length > 0);
  if (dated.length === 0) return html`<p class="none">No data of this account was loaded by date.</p>`;
  const states = (Object.keys(stateTexts) as DayState[]).filter((state) =>
    dated.some(({ days }) => days.some((day) => day.state === state)),
  );
  const legend = states.map(
    (state) => html`<li><span class="key day-${state}">${daySigns[state]}</span>${stateTexts[state]}</li>`,
  );
  const hint = needsEndpoint(account, lastRuns) ? ' beside the --endpoint that serves the account' : '';
  return html`<p>UTC days from ${dateOrInstant(range.start)} to ${dateOrInstant(range.end)}, the end excluded.</p>
    <ul class="keys">
      ${legend}
    </ul>
    ${dated.map((pipeline) => pipelineCalendar(pipeline, figuresText(pipeline.pipeline, basis)))}
    ${
      load === undefined
        ? html`<p>
            No gap:
            ${unused.length === 0 ? 'everything in this period is loaded' : `the pipelines in use are loaded; nothing yet of ${unused.join(', ')}`}.
          </p>`
        : html`<p>This loads the gaps${hint}:</p>
            <pre tabindex="0"><code>${load.command}</code></pre>`
    }`;
}

/** A pipeline's part of the figures by month; empty where these don't come from a dated pipeline. */
function figuresText(name: string, { apis }: BasisFigures): string {
  if (apis.length === 0 || roles.byDate.every((pipeline) => pipeline.name !== name)) return '';
  const at = apis.findIndex(({ pipeline }) => pipeline.name === name);
  const { since, until } = apis[at] ?? {};
  if (since === undefined || until === undefined) return ', in no figure by month';
  const from = at === 0 ? '' : ` from ${isoDate(since)} on`;
  return `: the figures by month${from}${until === Infinity ? '' : ` until ${isoDate(until)}`}`;
}

function pipelineCalendar({ pipeline, days, gaps }: PipelineCoverage, figures: string): Html {
  const shown = days.slice(-shownDayCount(days));
  const older = days.length - shown.length;
  const cells = shown.map(({ start, state }) => {
    const date = isoInstant(start);
    return { month: date.slice(0, 7), day: Number(date.slice(8, 10)), state };
  });
  const coverage = coverageText(days);
  return html`<figure class="calendar">
      <h4>${pipelineNamed(pipeline)?.title ?? pipeline}${figures}</h4>
      ${calendarChart(`Calendar: ${coverage}.`, cells)}
      <figcaption>
        ${lakeCode(pipeline)}:
        ${coverage}.${older > 0 && ` The calendar has the last ${mostMonths} months, the list of gaps all.`}
      </figcaption>
    </figure>
    ${gaps.length > 0 && gapTable(pipeline, gaps)}`;
}

/** Number of days at the end that belong to the shown months. */
function shownDayCount(days: readonly Day[]): number {
  const last = days.at(-1);
  if (last === undefined) return 0;
  const end = new Date(last.start);
  const first = Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - mostMonths + 1);
  return Math.min(days.length, Math.round((last.start - first) / dayMs) + 1);
}

function gapTable(pipeline: string, gaps: readonly Window[]): Html {
  const shown = gaps.slice(-mostGaps).toReversed();
  const more = gaps.length - shown.length;
  return figureTable(
    html`Gaps of ${pipeline}${more > 0 && `, the last ${shown.length} of ${formatCount(gaps.length)}`}`,
    shown,
    [
      textColumn('From', ({ start }) => dateOrInstant(start)),
      textColumn('To, excluded', ({ end }) => dateOrInstant(end)),
      numberColumn('Days', ({ start, end }) => lengthInDays(end - start)),
    ],
  );
}

/** A duration in days: whole, or to a tenth. */
function lengthInDays(ms: number): string {
  return ms % dayMs === 0 ? formatCount(ms / dayMs) : (ms / dayMs).toFixed(1);
}
