import { pipelineNamed } from '../../../pipelines/all-pipelines.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { dayMs, type Window } from '../../core/windows.js';
import { instantText } from '../status/backfill-command.js';
import type { Day, DayState } from '../../engine/slicing/day-states.js';
import { type AccountStatus, type PipelineStatus, needsEndpoint } from '../status/lake-status.js';
import { countText } from './report-amounts.js';
import { calendarChart, daySigns } from './charts.js';
import { html, type Html, figureTable, lakeCode } from './html.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** Months that a calendar shows, the newest ones, and gaps that are listed. */
const mostMonths = 36;
const mostGaps = 30;

const stateTexts: Readonly<Record<DayState, string>> = {
  full: 'loaded',
  empty: 'loaded, nothing in it',
  partial: 'loaded in part',
  imported: 'imported only',
  missing: 'missing',
};

/** Which days the lake holds, and the command that loads the others. */
export function coverageSection(status: AccountStatus, lastRun: LastRun | undefined): Html {
  const { pipelines, range, command, account, unused } = status;
  const dated = pipelines.filter(({ days }) => days.length > 0);
  if (dated.length === 0) return html`<p class="none">Nothing of this account was read by date.</p>`;
  const states = (Object.keys(stateTexts) as DayState[]).filter((state) =>
    dated.some(({ days }) => days.some((day) => day.state === state)),
  );
  const keys = states.map(
    (state) => html`<li><span class="key day-${state}">${daySigns[state]}</span>${stateTexts[state]}</li>`,
  );
  const hint = needsEndpoint(account, lastRun) ? ' beside the --endpoint that serves the account' : '';
  return html`<p>UTC days from ${instantText(range.start)} to ${instantText(range.end)}, the end excluded.</p>
    <ul class="keys">
      ${keys}
    </ul>
    ${dated.map(pipelineHtml)}
    ${
      command === undefined
        ? html`<p>
            No gap:
            ${unused.length === 0 ? 'everything in this time is loaded' : `what was begun with is loaded; nothing yet of ${unused.join(', ')}`}.
          </p>`
        : html`<p>This loads the gaps${hint}:</p>
            <pre tabindex="0"><code>${command}</code></pre>`
    }`;
}

function pipelineHtml({ pipeline, days, gaps }: PipelineStatus): Html {
  const shown = days.slice(-mostDays(days));
  const older = days.length - shown.length;
  const cells = shown.map(({ start, state }) => {
    const date = isoInstant(start);
    return { month: date.slice(0, 7), day: Number(date.slice(8, 10)), state };
  });
  const told = coverageText(days);
  return html`<figure class="calendar">
      <h4>${pipelineNamed(pipeline)?.title ?? pipeline}</h4>
      ${calendarChart(`Calendar: ${told}.`, cells)}
      <figcaption>
        ${lakeCode(pipeline)}:
        ${told}.${older === 0 ? undefined : ` The calendar has the last ${mostMonths} months, the list of gaps all.`}
      </figcaption>
    </figure>
    ${gaps.length === 0 ? undefined : gapTable(pipeline, gaps)}`;
}

/** How many days at the end make the months that are shown. */
function mostDays(days: readonly Day[]): number {
  const last = days.at(-1);
  if (last === undefined) return 0;
  const end = new Date(last.start);
  const first = Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - mostMonths + 1);
  return Math.min(days.length, Math.round((last.start - first) / dayMs) + 1);
}

/** `5 of 16 days loaded, 11 missing`. */
export function coverageText(days: readonly Day[]): string {
  const count = (state: DayState) => days.filter((day) => day.state === state).length;
  const parts = [`${countText(count('full') + count('empty'))} of ${countText(days.length)} days loaded`];
  if (count('partial') > 0) parts.push(`${countText(count('partial'))} in part`);
  if (count('imported') > 0) parts.push(`${countText(count('imported'))} imported only`);
  if (count('missing') > 0) parts.push(`${countText(count('missing'))} missing`);
  return parts.join(', ');
}

function gapTable(pipeline: string, gaps: readonly Window[]): Html {
  const shown = gaps.slice(-mostGaps).toReversed();
  const more = gaps.length - shown.length;
  return figureTable({
    caption: html`Gaps of
    ${pipeline}${more === 0 ? undefined : `, the last ${shown.length} of ${countText(gaps.length)}`}`,
    columns: [
      { label: 'From', kind: 'text' },
      { label: 'To, excluded', kind: 'text' },
      { label: 'Days', kind: 'number' },
    ],
    rows: shown.map(({ start, end }) => [instantText(start), instantText(end), daysText(end - start)]),
  });
}

/** Whole days, or a part of one to a tenth. */
function daysText(ms: number): string {
  return ms % dayMs === 0 ? countText(ms / dayMs) : (ms / dayMs).toFixed(1);
}
