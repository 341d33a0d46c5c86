import { expect, onTestFinished, test } from 'vitest';
import { asKnownMacros } from '../../../src/app/query/as-known.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { StatementScopes } from '../../../src/app/query/statement-scope.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { emptyWithout, viewStatements, viewTexts } from '../../../src/app/query/views.js';

const tables = lakeTables.map(({ name }) => name);
const views = [...viewStatements(lakeTables).values()];
const all = [...asKnownMacros, ...views];
const scopes = () => new StatementScopes(tables, views, asKnownMacros);

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
  expect(scopes().of(statement).tables.toSorted()).toEqual(expected.toSorted());
});

test.each([
  ['SELECT * FROM Pnl_by_month', ['ledger_amounts', 'entries', 'transaction_entries']],
  ['FROM fees_by_type', ['ledger_amounts', 'entries']],
  ['FROM reconciliation', ['group_entries', 'reconciliation_events']],
  ["SELECT 'FROM ledger'", []],
])('%s names what its views read, and no quoted text', (statement, expected) => {
  const { names } = scopes().of(statement);
  expect(expected.filter((name) => !names.has(name))).toEqual([]);
  if (expected.length === 0) expect(names.has('ledger')).toBe(false);
});

test('a statement can read what earlier ones named, as by a view or a prepared statement of theirs', () => {
  const session = scopes();
  expect(session.of('CREATE VIEW mine AS FROM groups').tables).toEqual(['groups']);
  expect(session.of('FROM mine').tables).toEqual(['groups']);
});

test.each([
  ['SELECT 1', 0],
  ['FROM entries JOIN groups USING (group_id)', 0],
  ['SHOW TABLES', all.length],
  ['DESCRIBE', all.length],
  ['SELECT view_name FROM duckdb_views()', all.length],
  ['FROM information_schema.tables', all.length],
  ["FROM query('FROM led' || 'ger')", all.length],
])('%s can read or list %s views and macros', (statement, expected) => {
  expect(scopes().of(statement).definitions).toHaveLength(expected);
});

test('a view is created with those that it reads, in their order', async () => {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  await createViews(database, lakeTables, new Map());
  const created = scopes().of('FROM Ledger').definitions;
  expect(all.filter((statement) => created.includes(statement))).toEqual(created);
  expect(created.length).toBeLessThan(all.length / 2);
  for (const statement of created) await database.execute(statement);
  expect(await database.rows('FROM ledger')).toEqual([]);
});

test('a view is known to be empty without a table where its text says so', () => {
  const said = [...viewTexts()].flatMap(([name, text]) =>
    Array.from(text.matchAll(/Empty without (\w+)\./g), ([, table]) => [name, table]),
  );
  expect(said).toEqual([...emptyWithout]);
  for (const [name, table] of emptyWithout)
    expect(scopes().of(`FROM ${name}`).relations).toEqual([{ name, tables: [table] }]);
});
