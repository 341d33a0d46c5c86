import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { viewStatements } from '../../../src/app/query/views.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { statementsOf } from '../../../src/core/duckdb/sql-statements.js';
import { createViews, type ViewedTable } from '../../../src/core/duckdb/views.js';

const eventsOf: Readonly<Record<string, string>> = {
  entries: 'events',
  group_entries: 'group_events',
  order_entries: 'order_events',
  transaction_entries: 'transactions',
};

/** What says where an event was read, and has no place in entries. */
const ofReads = new Set(['content_hash', 'position', 'raw', 'requested_order_id', 'window_end', 'window_start']);

const parameters: Readonly<Record<string, string | number>> = {
  account: 'shop',
  from: '2026-01-01T00:00:00Z',
  to: '2026-02-01T00:00:00Z',
  most: 3,
  ids: '["G-1"]',
  whole: '[]',
  instants: '["1767225600000000"]',
  windows: '[{"start": 0, "end": 1}]',
  tab: 'transactions',
  by: 'group_id',
};

/** The table of verify's session that gets the rows of a statement, by its name. */
const sessionTable = /\/session\/([a-z]+)(?:-of-[a-z-]+)?\.sql$/;

/** The tables that statements read with the numbers of files. */
const ofFiles: Readonly<Record<string, string>> = {
  'totals-of-summaries.sql': 'settlement_summaries',
  'totals-of-reports.sql': 'settlement_reports',
};

/** Tables of entries that have the columns of their events too, as a later version may store them. */
const widerTables = lakeTables.map((table): ViewedTable => {
  const events = lakeTables.find(({ name }) => name === eventsOf[table.name]);
  const more = events?.columns.filter(
    ({ name }) => !ofReads.has(name) && table.columns.every((own) => own.name !== name),
  );
  return more === undefined ? table : { ...table, columns: [...table.columns, ...more] };
});

test.each([
  ['of this version', lakeTables],
  ['whose entries have the columns of their events', widerTables],
])('the statements of commands run over the views of tables %s, each with a comment', async (_what, tables) => {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  await createViews(database, tables, new Map());
  for (const statement of viewStatements(tables).values()) await database.execute(statement);
  const rows = 'AS SELECT *, 0 AS "source file" FROM';
  await database.execute(`CREATE VIEW read_rows ${rows} (SELECT '' AS content_hash, '' AS raw)`);
  await database.execute(`CREATE VIEW read_events AS SELECT *, 0 AS "source file", 'events' AS tab FROM events`);
  await database.execute(`CREATE VIEW read_entries AS SELECT *, 0 AS "source file", 'entries' AS tab FROM entries`);
  await database.execute(`CREATE VIEW read_lines ${rows} settlement_lines`);
  await database.execute(`CREATE VIEW event_texts AS SELECT 0 AS bundle, event_id, '[]' AS text, raw FROM events`);
  await database.execute(
    `CREATE VIEW entry_texts AS SELECT 0 AS bundle, event_id, '[]' AS text, 0 AS file, amount_text FROM entries`,
  );
  const session = 'src/app/verify/session/tables.sql';
  for (const statement of statementsOf(await readFile(session, 'utf8'))) await database.execute(statement);

  const files: string[] = [];
  const folders = ['settlements', 'settlement-reports', 'verify/session', 'verify/statements', 'report'];
  for (const folder of folders.map((name) => join('src/app', name)))
    files.push(...(await readdir(folder)).map((name) => join(folder, name)));
  const statements = files.filter((file) => file.endsWith('.sql') && file !== session);
  expect(statements.length).toBeGreaterThan(25);
  for (const file of statements) {
    const comment = await readFile(file, 'utf8');
    expect(comment, file).toMatch(/^-- One row/);
    const numbered = ofFiles[basename(file)];
    const text =
      numbered === undefined
        ? comment
        : `WITH ${numbered} AS (SELECT *, 0 AS "source file" FROM main.${numbered})\n${comment}`;
    const named = Object.entries(parameters).filter(([name]) => new RegExp(String.raw`\$${name}\b`).test(text));
    const run = database.rows(text, { parameters: Object.fromEntries(named) });
    await expect(run, file).resolves.toBeInstanceOf(Array);
    // What verify collects over all files has the columns of its table.
    const table = sessionTable.exec(file)?.[1];
    if (table !== undefined) {
      const { columns } = await database.query(text, { parameters: Object.fromEntries(named) });
      const stored = await database.rows(`DESCRIBE ${table}`);
      expect(columns.map(({ name }) => name)).toEqual(stored.map(({ column_name: name }) => name));
    }
  }
});
