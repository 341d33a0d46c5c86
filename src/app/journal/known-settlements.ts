import { roles } from '../../../pipelines/all-pipelines.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import { contains } from '../../core/windows.js';
import { nameIn, refusedAfter } from '../../lake/catalog/load-key.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import type { KnownVersion } from './known-version.js';

const listing = roles.settlements.main.name;

/**
 * Queries of what a version knew of settlements by its load keys and the list of settlements in its log:
 *
 * - `loaded_settlements`: account, group_id of those whose events were loaded
 * - `listed_settlements`: those that were listed. has_ended, is_closed, has_total: their state; read_at: when it was read; is_same:
 *   whether the rows of now are those of the version
 */
export function knownSettlements(
  { at, snapshot }: KnownVersion,
  newest: Snapshot,
): readonly (readonly [table: string, query: string])[] {
  const accounts = [...snapshot.accounts()];
  const loaded = accounts.flatMap((account) =>
    [...snapshot.keysOf(account, roles.bySettlement.name).values()].flatMap(({ key, since, holes }) => {
      const id = nameIn('group', key);
      return id === undefined || refusedAfter(holes) !== undefined || (typeof since === 'number' && since > at)
        ? []
        : [{ account, group_id: id }];
    }),
  );
  const listed = accounts.flatMap((account) => {
    const keys = snapshot.keysOf(account, roles.settlements.name);
    return snapshot.filesOf(listing, account).flatMap((file) => {
      const read = file.loadKeys.flatMap((key) => keys.get(key) ?? []);
      return (file.groups ?? []).map(({ id, start, end, open, awaited }) => {
        const load = read.find(({ window }) => window !== undefined && start !== null && contains(window, start));
        const readAt = Math.min(load?.readAt ?? at, at);
        const hasEnded = end !== null && end <= readAt;
        const isClosed = hasEnded && open !== true;
        const state = { has_ended: hasEnded, is_closed: isClosed, has_total: isClosed && awaited !== true };
        const isSame = newest.has(file.lakePath) && (load?.readAt ?? at) <= at;
        return { account, group_id: id, ...state, read_at: readAt, is_same: isSame };
      });
    });
  });
  const state = {
    has_ended: 'BOOLEAN',
    is_closed: 'BOOLEAN',
    has_total: 'BOOLEAN',
    read_at: 'BIGINT',
    is_same: 'BOOLEAN',
  };
  return [
    ['loaded_settlements', valuesStatement(loaded, { account: 'VARCHAR', group_id: 'VARCHAR' })],
    ['listed_settlements', valuesStatement(listed, { account: 'VARCHAR', group_id: 'VARCHAR', ...state })],
  ];
}

/** In SQL: rows with columns of these types. */
function valuesStatement(rows: readonly object[], columns: Readonly<Record<string, string>>): string {
  const list = `from_json(${literal(JSON.stringify(rows))}, ${literal(JSON.stringify([columns]))})`;
  const names = Object.keys(columns).map(identifier).join(', ');
  return `SELECT DISTINCT ON (account, group_id) ${names} FROM (SELECT unnest(${list}, recursive := true))`;
}
