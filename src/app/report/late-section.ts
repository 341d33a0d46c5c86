import { groupBy } from '../../core/group-by.js';
import { literal } from '../../core/duckdb/literals.js';
import { formatCount } from '../../core/text/amounts.js';
import {
  countColumn,
  figureTable,
  html,
  lakeText,
  numberColumn,
  textColumn,
  type Html,
  type HtmlColumn,
} from './html.js';
import { shownIn, currencyText, minuteText, moneyText } from './report-amounts.js';
import { type FigureReader, type FigureRow } from './report-statements.js';

/** Events that arrived late or vanished, from `event_history`: runs, months by currency, and events, newest first. */
export interface LateFigures {
  readonly runs: readonly FigureRow<'lateRuns'>[];
  readonly months: ReadonlyMap<string, readonly FigureRow<'lateMonths'>[]>;
  readonly events: readonly FigureRow<'lateEvents'>[];
}

/** Reads the events by date that changed after their window was first read. */
export async function readLate({ database, signal, sql, rows }: FigureReader): Promise<LateFigures> {
  await database.execute(sql.makeLate, { signal });
  const runs = await rows(sql.lateRuns);
  if (runs.length === 0) return { runs, months: new Map(), events: [] };
  await database.execute(sql.makeLateAmounts, { signal });
  const months = groupBy(await rows(sql.lateMonths), ({ currency }) => currency);
  return { runs, months, events: await rows(sql.lateEvents) };
}

/** Largest number of months listed for a currency; the newest ones are shown. */
const mostMonths = 24;

/** Events that arrived late, and events that a re-read no longer found. */
export function lateSection({ runs, months, events }: LateFigures, account: string): Html {
  const [first] = runs;
  if (first === undefined) {
    return html`<p class="none">No re-read event had changed, or none has been re-read yet.</p>`;
  }
  return html`${[...months].map(([currency, rows]) => monthTable(currency, rows))}
    ${figureTable(
      first.runs > runs.length
        ? `The last ${runs.length} of ${formatCount(first.runs)} runs that found changes`
        : 'Runs that found changes',
      runs,
      [
        textColumn('Re-read at, UTC', ({ seenAt }) => minuteText(seenAt)),
        ...changeColumns,
        textColumn('Events from', ({ earliest }) => earliest.slice(0, 10)),
        textColumn('to', ({ latest }) => latest.slice(0, 10)),
      ],
    )}
    <details>
      <summary>The last changes, event by event</summary>
      ${figureTable('Events that appeared or vanished, the newest first', events, [
        textColumn('Change', ({ change }) => change),
        textColumn('Found at, UTC', ({ seenAt }) => minuteText(seenAt)),
        textColumn('Dated', ({ effectiveAt }) => effectiveAt.slice(0, 10)),
        textColumn('List', ({ eventList }) => lakeText(eventList)),
        textColumn('Order', ({ amazonOrderId }) => (amazonOrderId === null ? '' : lakeText(amazonOrderId))),
        numberColumn('Net', ({ net, currency }) =>
          net === null || currency === null ? '–' : moneyText(net, currency),
        ),
      ])}
      <p class="note">
        ${formatCount(first.changes)} changes in all. Every change of the account:
        <code>SELECT * FROM event_history WHERE account = ${literal(account)} AND source = 'events'</code>
      </p>
    </details>`;
}

const changeColumns: readonly HtmlColumn<{ readonly appeared: number; readonly vanished: number }>[] = [
  countColumn('Appeared', ({ appeared }) => appeared),
  countColumn('Vanished', ({ vanished }) => vanished),
];

function monthTable(currency: string, months: readonly FigureRow<'lateMonths'>[]): Html {
  const amount = shownIn(currency);
  const rows = months.slice(0, mostMonths);
  const omitted = months.length - rows.length;
  return figureTable(
    html`Months that changed after they were first read, in
    ${currencyText(currency)}${omitted > 0 && `; ${formatCount(omitted)} older ones are left out`}`,
    rows,
    [
      textColumn('Month', ({ month }) => month),
      ...changeColumns,
      numberColumn('Net changed by', ({ changed }) => amount(changed)),
      textColumn('Last found', ({ lastSeen }) => lastSeen.slice(0, 10)),
    ],
  );
}
