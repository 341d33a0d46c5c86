import { roles } from '../../../pipelines/all-pipelines.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { loadedSpans } from '../../lake/loads/loaded-spans.js';
import { sqlType, type Column, type Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import macroText from './as_known.sql';
import { attributesOf, historyEntries, extraColumns } from '../reconcile/event-history.js';

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

/**
 * Statements that create `events_as_known(instant)`, `entries_as_known(instant)` and their counterparts for transactions: the
 * rows that the lake held at that instant, over the views of the tables and `loaded_spans()`. A row was there once its part of the
 * window was loaded; from then on `event_history` has what changed.
 */
export const asKnownMacros: readonly string[] = roles.byDate.flatMap(({ main, derived }) => [
  macro(main, main, attributesOf(main)),
  ...derived.map((entries) => macro(main, entries, historyEntries(entries))),
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
  const spans = roles.byDate.flatMap(({ name, main }) =>
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
