import { literal } from '../../core/duckdb/views.js';
import { instantText } from '../status/backfill-command.js';
import { amountsIn, countText } from './amounts.js';
import { html, type Html } from './html.js';
import type { LateEvent, LateFigures, LateMonth } from './late-figures.js';
import { currencyText } from './month-section.js';
import { figureTable, lakeText } from './tables.js';

/** Months of a currency that are listed, the newest ones. */
const mostMonths = 24;

/** What arrived after its time, or was gone when it was read again. */
export function lateSection({ runs, runCount, changeCount, months, events }: LateFigures, account: string): Html {
  if (runs.length === 0) {
    return html`<p class="none">Nothing that was read again had changed, or nothing was read again yet.</p>`;
  }
  return html`${[...months].map(([currency, own]) => monthTable(currency, own))}
    ${figureTable({
      caption:
        runCount > runs.length
          ? `The last ${runs.length} of ${countText(runCount)} runs that found changes`
          : 'Runs that found changes',
      columns: [
        { label: 'Read again at, UTC', kind: 'text' },
        { label: 'Appeared', kind: 'number' },
        { label: 'Vanished', kind: 'number' },
        { label: 'Events from', kind: 'text' },
        { label: 'to', kind: 'text' },
      ],
      rows: runs.map(({ seenAt, appeared, vanished, earliest, latest }) => [
        minuteText(seenAt),
        countText(appeared),
        countText(vanished),
        earliest.slice(0, 10),
        latest.slice(0, 10),
      ]),
    })}
    <details>
      <summary>The last changes, event by event</summary>
      ${figureTable({
        caption: 'Events that appeared or vanished, the newest first',
        columns: [
          { label: 'Change', kind: 'text' },
          { label: 'Noticed at, UTC', kind: 'text' },
          { label: 'Dated', kind: 'text' },
          { label: 'List', kind: 'text' },
          { label: 'Order', kind: 'text' },
          { label: 'Net', kind: 'number' },
        ],
        rows: events.map(eventCells),
      })}
      <p class="note">
        ${countText(changeCount)} changes in all. Every one of the account:
        <code>SELECT * FROM event_history WHERE account = ${literal(account)} AND source = 'events'</code>
      </p>
    </details>`;
}

function monthTable(currency: string, months: readonly LateMonth[]): Html {
  const amount = amountsIn(currency);
  const shown = months.slice(0, mostMonths);
  const left = months.length - shown.length;
  return figureTable({
    caption: html`Months that changed after they were first read, in
    ${currencyText(currency)}${left === 0 ? undefined : `; ${countText(left)} older ones are left out`}`,
    columns: [
      { label: 'Month', kind: 'text' },
      { label: 'Appeared', kind: 'number' },
      { label: 'Vanished', kind: 'number' },
      { label: 'Net changed by', kind: 'number' },
      { label: 'Last noticed', kind: 'text' },
    ],
    rows: shown.map(({ month, appeared, vanished, changed, lastSeen }) => [
      month,
      countText(appeared),
      countText(vanished),
      amount(changed),
      lastSeen.slice(0, 10),
    ]),
  });
}

function eventCells({ change, seenAt, at, list, order, currency, net }: LateEvent) {
  const money = net === null || currency === null ? '–' : `${amountsIn(currency)(net)} ${currencyText(currency)}`;
  const dated = instantText(Date.parse(at)).slice(0, 10);
  return [change, minuteText(seenAt), dated, lakeText(list), order === null ? '' : lakeText(order), money];
}

/** `2025-03-08 00:05`. */
export function minuteText(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}
