import type { LastRun } from '../../lake/upkeep/last-run.js';
import { warningTexts } from '../load/run-summary.js';
import { instantText } from '../status/backfill-command.js';
import { amountsIn, countText } from './report-amounts.js';
import { html, type Html, figureTable, lakeCode, lakeText } from './html.js';
import { minuteText } from './late-section.js';
import { currencyText } from './money-section.js';
import type { Database } from '../../core/duckdb/connection.js';
import { statementsOf, type Scope, rowsOf } from './report-statements.js';

interface UnknownList {
  readonly list: string;
  /** Events of it by date and by settlement. */
  readonly events: number;
  readonly groupEvents: number;
}

interface UnknownAmounts {
  readonly currency: string;
  readonly list: string;
  readonly path: string;
  readonly times: number;
  readonly total: string;
}

interface InexactAmounts {
  readonly currency: string;
  readonly list: string;
  readonly path: string;
  readonly role: string;
  readonly times: number;
  /** One of them as received; null where it is no number. */
  readonly example: string | null;
}

/** What of the lake's rows nobody expected. */
export interface WarningFigures {
  readonly unknownLists: readonly UnknownList[];
  readonly unknownAmounts: readonly UnknownAmounts[];
  readonly inexactAmounts: readonly InexactAmounts[];
}

/** Reads what stands in no figure, or in none that is certain. */
export async function readWarningFigures(
  database: Database,
  scope: Scope,
  signal: AbortSignal | undefined,
): Promise<WarningFigures> {
  const sql = statementsOf(scope);
  return {
    unknownLists: (await rowsOf(database, sql.unknownLists, signal)).map((row) => ({
      list: row.text('event_list'),
      events: row.count('events'),
      groupEvents: row.count('group_events'),
    })),
    unknownAmounts: (await rowsOf(database, sql.unknownAmounts, signal)).map((row) => ({
      currency: row.text('currency'),
      list: row.text('event_list'),
      path: row.text('path'),
      times: row.count('times'),
      total: row.decimal('total'),
    })),
    inexactAmounts: (await rowsOf(database, sql.inexactAmounts, signal)).map((row) => ({
      currency: row.text('currency'),
      list: row.text('event_list'),
      path: row.text('path'),
      role: row.text('role'),
      times: row.count('times'),
      example: row.textOrNull('example'),
    })),
  };
}

/** Places that a table lists; the rest is counted. */
const mostPlaces = 30;

/** What of the rows is in no figure, or in none that is certain, and what the last run noticed. */
export function warningsSection(warnings: WarningFigures, lastRun: LastRun | undefined, account: string): Html {
  const { unknownLists, unknownAmounts, inexactAmounts } = warnings;
  const isClean = unknownLists.length + unknownAmounts.length + inexactAmounts.length === 0;
  return html`${
    isClean
      ? html`<p>Every list of events and every amount is one that the model knows, and every amount fits.</p>`
      : undefined
  }
  ${unknownLists.length === 0 ? undefined : listTable(unknownLists)}
  ${unknownAmounts.length === 0 ? undefined : unknownTable(unknownAmounts)}
  ${inexactAmounts.length === 0 ? undefined : inexactTable(inexactAmounts)}
  ${runHtml(lastRun?.account === account ? lastRun : undefined)}`;
}

function listTable(lists: readonly UnknownList[]): Html {
  return figureTable({
    caption: html`Lists of events that the model does not know${more(lists.length)}; their amounts are in no figure`,
    columns: [
      { label: 'List', kind: 'text' },
      { label: 'Events by date', kind: 'number' },
      { label: 'By settlement', kind: 'number' },
    ],
    rows: lists
      .slice(0, mostPlaces)
      .map(({ list, events, groupEvents }) => [lakeText(list), countText(events), countText(groupEvents)]),
  });
}

function unknownTable(amounts: readonly UnknownAmounts[]): Html {
  return figureTable({
    caption: html`Amounts at paths that the model does not know (role unknown)${more(amounts.length)}; they are in no
    figure`,
    columns: [
      { label: 'List', kind: 'text' },
      { label: 'Path', kind: 'text' },
      { label: 'Times', kind: 'number' },
      { label: 'Sum', kind: 'number' },
    ],
    rows: amounts
      .slice(0, mostPlaces)
      .map(({ list, path, times, total, currency }) => [
        lakeText(list),
        lakeCode(path),
        countText(times),
        `${amountsIn(currency)(total)} ${currencyText(currency)}`,
      ]),
  });
}

function inexactTable(amounts: readonly InexactAmounts[]): Html {
  return figureTable({
    caption: html`Amounts that DECIMAL(18,6) cannot hold, or that are no numbers${more(amounts.length)}; they are in no
    figure`,
    columns: [
      { label: 'List', kind: 'text' },
      { label: 'Path', kind: 'text' },
      { label: 'Role', kind: 'text' },
      { label: 'Times', kind: 'number' },
      { label: 'For example', kind: 'number' },
    ],
    rows: amounts
      .slice(0, mostPlaces)
      .map(({ list, path, role, times, example, currency }) => [
        lakeText(list),
        lakeCode(path),
        role,
        countText(times),
        example === null ? 'no number' : html`${lakeText(example)} ${currencyText(currency)}`,
      ]),
  });
}

/** What the last run told of itself, where it was one of this account. */
function runHtml(run: LastRun | undefined): Html {
  if (run === undefined) return html`<p class="none">The run that ended last left no word about this account.</p>`;
  const { command, status, endedAt, from, to, failure, pipelines } = run;
  const range = `${instantText(Date.parse(from))} to ${instantText(Date.parse(to))}`;
  const lines = Object.entries(pipelines).flatMap(([pipeline, { warnings = {} }]) =>
    Object.entries(warnings).map(([kind, places]) => {
      const times = Object.values(places).reduce((sum, own) => sum + own, 0);
      const named = Object.keys(places).slice(0, 3).map(lakeCode);
      const unnamed = Object.keys(places).length - named.length;
      return html`<li>
        ${lakeText(pipeline)}: ${countText(times)} ${warningTexts[kind] ?? kind}:
        ${named.map((place, at) => html`${at === 0 ? '' : ', '}${place}`)}${unnamed > 0 ? ` and ${unnamed} more` : ''}
      </li>`;
    }),
  );
  return html`<p>
      The last run, ${lakeText(command)} of ${range}, ${status === 'done' ? 'was done' : 'failed'} at
      ${minuteText(endedAt)}
      UTC${
        failure === null ? '' : html`: <span class="fault">${failure}</span>`
      }.${lines.length === 0 ? ' It noticed nothing unexpected.' : ' It noticed:'}
    </p>
    ${
      lines.length === 0
        ? undefined
        : html`<ul>
            ${lines}
          </ul>`
    }`;
}

function more(count: number): string {
  return count > mostPlaces ? `, the first ${mostPlaces} of ${countText(count)}` : '';
}
