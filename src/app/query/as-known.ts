import { financialEvents } from '../../../pipelines/financial-events.js';
import { transactionsPipeline } from '../../../pipelines/transactions.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { joined } from '../../core/windows.js';
import type { LoadedSpan } from '../../lake/catalog/load-key.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import type { Lake } from '../../lake/lake.js';
import { loadedSpans } from '../../lake/loads/loaded-spans.js';
import { sqlType, tablesOf, type Column, type Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import { spansText } from '../command-text.js';
import macroText from './as_known.sql';
import { attributesOf, entriesOf, extraColumns } from '../reconcile/event-history.js';

/** In SQL: rows of `table` from `gone_`. `packed`: the columns that the history lacks, as a struct. */
function vanished(table: Table, packed: string): string {
  const extra = extraColumns(table);
  const shared = `${table.columns
    .filter((column) => !extra.includes(column))
    .map(identified)
    .join(', ')}, account, month`;
  if (extra.length === 0) return `SELECT ${shared} FROM gone_`;
  const decimals = extra.filter(({ type }) => type === 'decimal');
  const casts = decimals.map((column) => `CAST(${identified(column)} AS ${sqlType(column)}) AS ${identified(column)}`);
  return `SELECT * REPLACE (${casts.join(', ')}) FROM (SELECT ${shared}, unnest(${packed}, recursive := true) FROM gone_)`;
}

function identified({ name }: Column): string {
  return identifier(name);
}

function macro(main: Table, table: Table, packed: string): string {
  return macroText
    .replaceAll('$vanished', () => vanished(table, packed))
    .replaceAll('$main', main.name)
    .replaceAll('$table', table.name);
}

/** The pipelines whose tables have a macro of what was known at an instant. */
const asKnownPipelines = [financialEvents, transactionsPipeline];

/**
 * Statements that create `events_as_known(instant)`, `entries_as_known(instant)` and their counterparts for transactions: the
 * rows that the lake held at that instant, over the views of the tables and `loaded_spans()`. A row was there once its part of the
 * window was loaded; from then on `event_history` has what changed.
 */
export const asKnownMacros: readonly string[] = asKnownPipelines.flatMap(({ main, derived }) => [
  macro(main, main, attributesOf(main)),
  ...derived.map((entries) => macro(main, entries, entriesOf(entries))),
]);

const spanColumns = {
  window_start: 'BIGINT',
  window_end: 'BIGINT',
  starts_at: 'BIGINT',
  ends_at: 'BIGINT',
  since: 'BIGINT',
};
const spansType = [{ source: 'VARCHAR', account: 'VARCHAR', is_imported: 'BOOLEAN', ...spanColumns }];

/**
 * A statement that creates `loaded_spans()` from the load keys of a snapshot: since when each part (`starts_at` to `ends_at`) of
 * the window of a table's rows is loaded, in milliseconds since 1970. It must be executed before `asKnownMacros`.
 */
export function loadedSpansMacro(snapshot: Snapshot): string {
  const spans = asKnownPipelines.flatMap(({ name, main }) =>
    [...snapshot.accounts()].flatMap((account) =>
      [...snapshot.keysOf(account, name).values()].flatMap((key) => {
        const { start, end } = key.window ?? { start: 0, end: 0 };
        const named = {
          source: main.name,
          account,
          is_imported: key.origin === 'import',
          window_start: start,
          window_end: end,
        };
        return loadedSpans(key).map((span) => ({
          ...named,
          starts_at: span.start,
          ends_at: span.end,
          since: span.since,
        }));
      }),
    ),
  );
  return (
    'CREATE OR REPLACE MACRO loaded_spans() AS TABLE SELECT ' +
    `unnest(from_json(${literal(JSON.stringify(spans))}, ${literal(JSON.stringify(spansType))}), recursive := true)`
  );
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

/**
 * A note for a statement that asks what was known at an instant of days that the lake loaded later; undefined for any other. What
 * was not loaded is not known, also where the days were over: its rows are left out.
 */
export function knownLater(statement: string, lake: Lake): string | undefined {
  for (const { name, instant } of statedInstants(statement, '\\w+_as_known')) {
    const source = asKnownPipelines.find((pipeline) =>
      tablesOf(pipeline).some((table) => table.name === name.replace('_as_known', '')),
    );
    for (const account of source === undefined ? [] : [...lake.accounts()].toSorted()) {
      const keys = [...lake.snapshot.keysOf(account, source?.name ?? '').values()];
      const isLater = ({ start, since }: LoadedSpan) => start < instant && since > instant;
      const later = joined(keys.flatMap(loadedSpans).filter(isLater));
      if (later.length === 0) continue;
      const days = later.map(({ start, end }) => ({ start, end: Math.min(end, instant) }));
      return `WARNING: ${name}: what ${account} has of ${spansText(days)} was loaded after ${isoInstant(instant)}, so it is left out`;
    }
  }
  return undefined;
}
