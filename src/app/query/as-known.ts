import { events, entries } from '../../sources/finances/model/tables.js';
import { identifier } from '../../core/duckdb/literals.js';
import { entriesType, entryColumns } from '../reconcile/event-history.js';

/**
 * What became of each event after the instant `known_at`: its first change tells what it was until then. An event that
 * appeared after it wasn't there, one that vanished was.
 */
const after =
  'SELECT account, event_id, arg_min(change, seen_at) AS change_ FROM event_history ' +
  `WHERE source = '${events.name}' AND seen_at > CAST(known_at AS TIMESTAMPTZ) GROUP BY account, event_id`;

/** Events that had vanished by now and were there then, each from its first vanishing after it. */
const gone =
  `SELECT * FROM event_history WHERE source = '${events.name}' AND change = 'vanished' ` +
  'AND seen_at > CAST(known_at AS TIMESTAMPTZ) ' +
  'AND NOT EXISTS (SELECT 1 FROM events AS now ' +
  'WHERE now.account = event_history.account AND now.event_id = event_history.event_id) ' +
  "AND EXISTS (SELECT 1 FROM after WHERE change_ = 'vanished' " +
  'AND after.account = event_history.account AND after.event_id = event_history.event_id) ' +
  'QUALIFY row_number() OVER (PARTITION BY account, event_id ORDER BY seen_at) = 1';

const withParts = `WITH after AS (${after}), gone AS (${gone})`;
const columns = (names: readonly { readonly name: string }[]) => names.map(({ name }) => identifier(name)).join(', ');
const folders = 'account, month';

/**
 * `events_as_known(instant)` and `entries_as_known(instant)`: the rows of `events` and `entries` as the lake held them
 * then, in SQL for DuckDB over the views of the same names. What a window held when it was read first counts as known
 * from its beginning, so that windows that were first read later are there too, without what appeared in them.
 */
export const asKnownMacros: readonly string[] = [
  `CREATE OR REPLACE MACRO events_as_known(known_at) AS TABLE ${withParts} ` +
    `SELECT events.* FROM events LEFT JOIN after USING (account, event_id) WHERE change_ IS DISTINCT FROM 'appeared' ` +
    `UNION ALL BY NAME SELECT ${columns(events.columns)}, ${folders} FROM gone`,
  `CREATE OR REPLACE MACRO entries_as_known(known_at) AS TABLE ${withParts} ` +
    `SELECT entries.* FROM entries LEFT JOIN after USING (account, event_id) WHERE change_ IS DISTINCT FROM 'appeared' ` +
    `UNION ALL BY NAME SELECT * REPLACE (CAST(amount AS DECIMAL(18,6)) AS amount) FROM (` +
    `SELECT ${columns(entries.columns.filter(({ name }) => !entryColumns.some((own) => own.name === name)))}, ${folders}, ` +
    `unnest(from_json(entries, ${entriesType}), recursive := true) FROM gone)`,
];
