import { isoInstant } from '../../core/numeric/instant.js';
import { sqlType, type Column, type Table } from '../../core/columns/table.js';
import { identifier, literal, timestampLiteral } from '../../core/duckdb/literals.js';
import { transactionEntries, transactions } from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import { attributesOf, entriesOf, extraColumns } from '../reconcile/event-history.js';

/**
 * The first change of each event after the instant `known_at`, which shows its state until then: an event that appeared
 * later was absent, one that vanished later was present.
 */
function after(main: Table): string {
  return (
    'SELECT account, event_id, arg_min(change, seen_at) AS change_ FROM event_history ' +
    `WHERE source = ${literal(main.name)} AND seen_at > CAST(known_at AS TIMESTAMPTZ) GROUP BY account, event_id`
  );
}

/**
 * Events that were present at the instant, have vanished since and are absent now, each from the first time that it
 * vanished.
 */
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

/** In SQL: rows of `table` from `gone`; `packed` has the columns that the history lacks. */
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
 * `events_as_known(instant)`, `entries_as_known(instant)` and their counterparts for transactions: the rows of the
 * tables as the lake held them at that instant, in SQL for DuckDB over the views of the same names. They are empty
 * before `firstLoad` (milliseconds since 1970), when the lake was first loaded. The first content of a window counts as
 * known since then. So windows that were first read later are included, without events that appeared in them or were
 * posted after the instant.
 */
export function asKnownMacros(firstLoad: number | undefined): readonly string[] {
  return [
    macro(events, events, attributesOf(events), firstLoad),
    macro(events, entries, entriesOf(entries), firstLoad),
    macro(transactions, transactions, attributesOf(transactions), firstLoad),
    macro(transactions, transactionEntries, entriesOf(transactionEntries), firstLoad),
  ];
}

/** Macros that a statement calls with an instant that it quotes, and that instant in milliseconds since 1970. */
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

/**
 * What is to be said of a statement that asks what was known before the lake was first loaded, at `firstLoad`
 * (milliseconds since 1970): nothing was, so there are no rows. Undefined for any other.
 */
export function knownTooEarly(statement: string, firstLoad: number | undefined): string | undefined {
  for (const { name, instant } of statedInstants(statement, '\\w+_as_known')) {
    if (firstLoad === undefined || instant >= firstLoad) continue;
    return `WARNING: ${name}: this lake was first loaded at ${isoInstant(firstLoad)}, after ${isoInstant(instant)}, so there are no rows`;
  }
  return undefined;
}
