import { isoInstant } from '../../core/numeric/instant.js';
import { sqlType, type Column, type Table } from '../../core/columns/table.js';
import { identifier, literal, timestampLiteral } from '../../core/duckdb/literals.js';
import { transactionEntries, transactions } from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import { attributesOf, entriesOf, extraColumns } from '../reconcile/event-history.js';

/** In SQL: the first change of each event after `known_at`, which shows whether the event was present then. */
function after(main: Table): string {
  return (
    'SELECT account, event_id, arg_min(change, seen_at) AS change_ FROM event_history ' +
    `WHERE source = ${literal(main.name)} AND seen_at > CAST(known_at AS TIMESTAMPTZ) GROUP BY account, event_id`
  );
}

/** In SQL: events that were present at `known_at` and are absent now, as they were when they first vanished. */
function gone(main: Table): string {
  return (
    `SELECT * FROM event_history WHERE source = ${literal(main.name)} AND change = 'vanished' ` +
    'AND seen_at > CAST(known_at AS TIMESTAMPTZ) ' +
    `AND NOT EXISTS (SELECT 1 FROM ${identifier(main.name)} AS now ` +
    'WHERE now.account = event_history.account AND now.event_id = event_history.event_id) ' +
    "AND EXISTS (SELECT 1 FROM after WHERE change_ = 'vanished' " +
    'AND after.account = event_history.account AND after.event_id = event_history.event_id) ' +
    'QUALIFY row_number() OVER (PARTITION BY account, event_id ORDER BY seen_at) = 1'
  );
}

/** In SQL: rows of `table` from `gone`. `packed`: the columns that the history lacks, as a struct. */
function vanished(table: Table, packed: string): string {
  const extra = extraColumns(table);
  const shared = `${table.columns
    .filter((column) => !extra.includes(column))
    .map(identified)
    .join(', ')}, account, month`;
  if (extra.length === 0) return `SELECT ${shared} FROM gone`;
  const decimals = extra.filter(({ type }) => type === 'decimal');
  const casts = decimals.map((column) => `CAST(${identified(column)} AS ${sqlType(column)}) AS ${identified(column)}`);
  return `SELECT * REPLACE (${casts.join(', ')}) FROM (SELECT ${shared}, unnest(${packed}, recursive := true) FROM gone)`;
}

function identified({ name }: Column): string {
  return identifier(name);
}

function macro(main: Table, table: Table, packed: string, firstLoad: number | undefined): string {
  const since = firstLoad === undefined ? 'true' : `CAST(known_at AS TIMESTAMPTZ) >= ${timestampLiteral(firstLoad)}`;
  return (
    `CREATE OR REPLACE MACRO ${table.name}_as_known(known_at) AS TABLE ` +
    `WITH after AS (${after(main)}), gone AS (${gone(main)}) SELECT * FROM (SELECT rows.* FROM ${identifier(table.name)} AS rows ` +
    "LEFT JOIN after USING (account, event_id) WHERE change_ IS DISTINCT FROM 'appeared' " +
    `UNION ALL BY NAME ${vanished(table, packed)}) WHERE ${since} ` +
    // A window may have been read after the instant; an event posted after it can't have been known.
    'AND (effective_at IS NULL OR effective_at <= CAST(known_at AS TIMESTAMPTZ))'
  );
}

/**
 * Statements that create `events_as_known(instant)`, `entries_as_known(instant)` and their counterparts for transactions: the
 * rows that the lake held at that instant, over the views of the tables. They are empty before `firstLoad`, when the lake was
 * first loaded (milliseconds since 1970). What the first read of a window returned counts as known since then: a window that was
 * first read after the instant is included, without events that appeared in it or were posted after the instant.
 */
export function asKnownMacros(firstLoad: number | undefined): readonly string[] {
  return [
    macro(events, events, attributesOf(events), firstLoad),
    macro(events, entries, entriesOf(entries), firstLoad),
    macro(transactions, transactions, attributesOf(transactions), firstLoad),
    macro(transactions, transactionEntries, entriesOf(transactionEntries), firstLoad),
  ];
}

/** The calls of macros with a quoted instant in a statement; instants in milliseconds since 1970. */
export function statedInstants(
  statement: string,
  macros: string,
): readonly { readonly name: string; readonly instant: number }[] {
  return [...statement.matchAll(new RegExp(`\\b(${macros})\\s*\\(\\s*(?:\\w+\\s+)?'([^']*)'`, 'gi'))].flatMap(
    ([, name = '', text = '']) => {
      const zoned = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(text) || !/\d:\d/.test(text) ? text : `${text}Z`;
      const instant = Date.parse(zoned.replace(' ', 'T').replace(/(:.*[+-]\d\d)$/, '$1:00'));
      return Number.isNaN(instant) ? [] : [{ name, instant }];
    },
  );
}

/** A note for a statement that asks what was known before `firstLoad` (milliseconds since 1970); undefined for any other. */
export function knownTooEarly(statement: string, firstLoad: number | undefined): string | undefined {
  for (const { name, instant } of statedInstants(statement, '\\w+_as_known')) {
    if (firstLoad === undefined || instant >= firstLoad) continue;
    return `WARNING: ${name}: this lake was first loaded at ${isoInstant(firstLoad)}, after ${isoInstant(instant)}, so there are no rows`;
  }
  return undefined;
}
