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
import { statement, type FigureRow } from './figure-reader.js';
import eventText from './late-events.sql';
import monthText from './late-months.sql';
import runText from './late-runs.sql';
import { shownIn, currencyText, minuteText, moneyText } from './figure-texts.js';
import type { Section } from './section.js';

const lateRuns = statement(runText, {
  seenAt: 'text',
  appeared: 'count',
  vanished: 'count',
  earliest: 'text',
  latest: 'text',
  runs: 'count',
  changes: 'count',
});
const lateMonths = statement(monthText, {
  currency: 'text',
  month: 'text',
  appeared: 'count',
  vanished: 'count',
  changed: 'decimal',
  lastSeen: 'text',
});
const lateEvents = statement(eventText, {
  change: 'text',
  seenAt: 'text',
  effectiveAt: 'text',
  eventList: 'text',
  amazonOrderId: 'textOrNull',
  currency: 'textOrNull',
  net: 'textOrNull',
});

/** Largest numbers of listed runs and events; the newest ones are shown. */
const mostRuns = 20;
const mostEvents = 20;

/** The events by date that changed after their window was first read, from `event_history`. */
export const lateSection: Section = {
  anchor: 'late',
  title: 'Late arrivals',
  read: async ({ account, id, rows }) => {
    const runs = await rows(lateRuns, { most: mostRuns });
    const [first] = runs;
    if (first === undefined) {
      return { ofAccount: html`<p class="none">No re-read event had changed, or none has been re-read yet.</p>` };
    }
    const months = await rows(lateMonths);
    const events = await rows(lateEvents, { most: mostEvents });
    return {
      ofAccount: lateHtml(account, { runs, first, months, events }),
      concerns: [
        html`<a href="#${id}-late">Events arrived late or vanished</a>: ${formatCount(first.runs, 'run')} found changes
          in what they re-read.`,
      ],
    };
  },
};

/** Runs, months by currency, and events, the newest first. */
interface LateFigures {
  readonly runs: readonly FigureRow<typeof lateRuns>[];
  readonly first: FigureRow<typeof lateRuns>;
  readonly months: readonly FigureRow<typeof lateMonths>[];
  readonly events: readonly FigureRow<typeof lateEvents>[];
}

/** Largest number of months listed for a currency; the newest ones are shown. */
const mostMonths = 24;

/** Events that arrived late, and events that a re-read no longer found. */
function lateHtml(account: string, { runs, first, months, events }: LateFigures): Html {
  const byCurrency = groupBy(months, ({ currency }) => currency);
  return html`${[...byCurrency].map(([currency, rows]) => monthTable(currency, rows))}
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

const changeColumns: readonly HtmlColumn<Pick<FigureRow<typeof lateRuns>, 'appeared' | 'vanished'>>[] = [
  countColumn('Appeared', ({ appeared }) => appeared),
  countColumn('Vanished', ({ vanished }) => vanished),
];

function monthTable(currency: string, months: readonly FigureRow<typeof lateMonths>[]): Html {
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
