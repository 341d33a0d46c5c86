import { expect, test } from 'vitest';
import { asKnownMacros } from '../../../src/app/query/as-known.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { namesIn, NamedTables } from '../../../src/app/query/named-tables.js';
import { viewStatements } from '../../../src/app/query/views.js';

const tables = lakeTables.map(({ name }) => name);
const named = () => new NamedTables(tables, [...asKnownMacros, ...viewStatements(lakeTables).values()]);

test.each([
  ['SELECT 1', []],
  ['FROM Groups', ['groups']],
  ['SELECT count(*) FROM "ENTRIES" JOIN groups USING (group_id)', ['entries', 'groups']],
  ['FROM payout_lines', ['group_entries', 'group_events', 'groups', 'transaction_entries']],
  ["FROM entries_as_known('2026-01-01')", ['entries', 'events', 'event_history']],
  ['FROM ledger', ['entries', 'events', 'transactions', 'transaction_entries']],
  ["FROM query_table('ent' || 'ries')", tables],
  ["FROM query('FROM ent' || 'ries')", tables],
])('%s can read its tables and those of its views', (statement, expected) => {
  expect(named().in(statement).toSorted()).toEqual(expected.toSorted());
});

test.each([
  ['SELECT * FROM Pnl_by_month', ['ledger_amounts', 'entries', 'transaction_entries']],
  ['FROM fees_by_type', ['ledger_amounts', 'entries']],
  ['FROM reconciliation', ['group_entries', 'reconciliation_events']],
  ["SELECT 'FROM ledger'", []],
])('%s names what its views read, and no quoted text', (statement, expected) => {
  const names = namesIn(statement);
  expect(expected.filter((name) => !names.has(name))).toEqual([]);
  if (expected.length === 0) expect(names.has('ledger')).toBe(false);
});

test('a statement can read what earlier ones named, as by a view or a prepared statement of theirs', () => {
  const session = named();
  expect(session.in('CREATE VIEW mine AS FROM groups')).toEqual(['groups']);
  expect(session.in('FROM mine')).toEqual(['groups']);
});

test.each([
  ['SELECT 1', false],
  ['FROM entries JOIN groups USING (group_id)', false],
  ['FROM Ledger', true],
  ["FROM entries_as_known('2026-01-01')", true],
  ['SHOW TABLES', true],
  ['DESCRIBE', true],
  ['SELECT view_name FROM duckdb_views()', true],
  ['FROM information_schema.tables', true],
  ["FROM query('FROM led' || 'ger')", true],
])('%s can read or list a view: %s', (statement, expected) => {
  expect(named().hasDefinition(statement)).toBe(expected);
});
