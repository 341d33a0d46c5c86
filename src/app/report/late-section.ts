import { literal } from '../../core/duckdb/views.js';
import { instantText } from '../status/backfill-command.js';
import { amountsIn, countText } from './report-amounts.js';
import { html, type Html, figureTable, lakeText } from './html.js';
import { currencyText } from './money-section.js';
import type { Database } from '../../core/duckdb/connection.js';
import { grouped } from './figures.js';
import { statementsOf, type Scope, rowsOf } from './report-statements.js';

/** What one run found changed in what it read again. Instants are ISO 8601, UTC. */
interface LateRun {
  readonly seenAt: string;
  readonly appeared: number;
  readonly vanished: number;
  /** When the first and the last of these events stand. */
  readonly earliest: string;
  readonly latest: string;
}

/** What a month of one currency has changed by since it was first read. */
interface LateMonth {
  readonly month: string;
  readonly appeared: number;
  readonly vanished: number;
  /** Net amount of what appeared less that of what vanished. */
  readonly changed: string;
  readonly lastSeen: string;
}

interface LateEvent {
  readonly change: string;
  readonly seenAt: string;
  readonly at: string;
  readonly list: string;
  readonly order: string | null;
  readonly currency: string | null;
  /** Null where it has no net amount. */
  readonly net: string | null;
}

/** What arrived late or vanished, as `event_history` has it. */
export interface LateFigures {
  /** Runs that found something, and the newest ones of them. */
  readonly runCount: number;
  /** Changes of all runs. */
  readonly changeCount: number;
  readonly runs: readonly LateRun[];
  readonly months: ReadonlyMap<string, readonly LateMonth[]>;
  /** The newest ones. */
  readonly events: readonly LateEvent[];
}

/** Reads what came by date later than its window was first read. */
export async function readLate(
  database: Database,
  scope: Scope,
  signal: AbortSignal | undefined,
): Promise<LateFigures> {
  const sql = statementsOf(scope);
  await database.execute(sql.makeLate, { signal });
  const runs = await rowsOf(database, sql.lateRuns, signal);
  const [first] = runs;
  if (first === undefined) return { runCount: 0, changeCount: 0, runs: [], months: new Map(), events: [] };
  await database.execute(sql.makeLateAmounts, { signal });
  const months = grouped(await rowsOf(database, sql.lateMonths, signal));
  return {
    runCount: first.count('runs'),
    changeCount: first.count('changes'),
    runs: runs.map((row) => ({
      seenAt: row.text('seen_at'),
      appeared: row.count('appeared'),
      vanished: row.count('vanished'),
      earliest: row.text('earliest'),
      latest: row.text('latest'),
    })),
    months: new Map(
      [...months].map(([currency, own]) => [
        currency,
        own.map((row) => ({
          month: row.text('month'),
          appeared: row.count('appeared'),
          vanished: row.count('vanished'),
          changed: row.decimal('changed'),
          lastSeen: row.text('last_seen'),
        })),
      ]),
    ),
    events: (await rowsOf(database, sql.lateEvents, signal)).map((row) => ({
      change: row.text('change'),
      seenAt: row.text('seen_at'),
      at: row.text('effective_at'),
      list: row.text('event_list'),
      order: row.textOrNull('amazon_order_id'),
      currency: row.textOrNull('currency'),
      net: row.textOrNull('net'),
    })),
  };
}

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
