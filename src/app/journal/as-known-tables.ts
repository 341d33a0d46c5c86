import { roles } from '../../../pipelines/all-pipelines.js';
import type { Database } from '../../core/duckdb/connection.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import groupEntries from './known-group-entries.sql';
import groupEvents from './known-group-events.sql';
import groups from './known-groups.sql';
import knownMain from './known-main.sql';
import { knownSettlements } from './known-settlements.js';
import type { KnownVersion } from './known-version.js';

/** The tables that journals are made of, and their queries. Each may read those before it, as `known_NAME`. */
const queries: readonly (readonly [table: string, query: string])[] = [
  ...roles.byDate.flatMap(({ main, derived }) => [
    [main.name, knownMain.replaceAll('$table', main.name)] as const,
    ...derived.map(({ name }) => [name, `SELECT * FROM ${name}_as_known($known_at)`] as const),
  ]),
  ['groups', groups],
  ['group_events', groupEvents],
  ['group_entries', groupEntries],
  ['settlement_reports', 'SELECT * EXCLUDE (raw) FROM settlement_reports'],
];

/**
 * Makes the views of a lake's tables show them as they were known at a version, as far as journals read them.
 *
 * @param version the statements of the newest version
 * @param duckdb the same database, which fetches nothing
 * @param newest the version that the tables show
 */
export async function showAsKnown(
  version: Database,
  duckdb: Database,
  known: KnownVersion,
  newest: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  for (const [table, query] of knownSettlements(known, newest)) {
    await duckdb.execute(`CREATE OR REPLACE TABLE ${table} AS ${query}`, { signal });
  }
  for (const [table, query] of queries) {
    const text = query.replaceAll('$known_at', timestampLiteral(known.at));
    await version.execute(`CREATE OR REPLACE TABLE known_${table} AS ${text}`, { signal });
  }
  for (const [table] of queries) {
    await duckdb.execute(`CREATE OR REPLACE VIEW ${table} AS FROM known_${table}`, { signal });
  }
}
