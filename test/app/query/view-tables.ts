import { onTestFinished } from 'vitest';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { viewStatements } from '../../../src/app/query/views.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';

export type Values = Readonly<Record<string, string | number>>;

export interface ViewTables {
  readonly database: Database;
  /** Adds rows, of the account `shop` and the month 2026-03 where they don't name others. */
  readonly insert: (table: string, rows: readonly Values[]) => Promise<void>;
}

/** Empty tables of a lake with the views over them, closed when the test ends. */
export async function viewTables(): Promise<ViewTables> {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  for (const { name, columns } of lakeTables) {
    const folders = ['account', 'month'].map((folder) => ({ name: folder, type: 'VARCHAR' }));
    const declared = [...columns, ...folders].map((column) => `"${column.name}" ${column.type}`);
    await database.execute(`CREATE TABLE ${name} (${declared.join(', ')})`);
  }
  for (const statement of viewStatements(lakeTables).values()) await database.execute(statement);
  const insert = async (table: string, rows: readonly Values[]): Promise<void> => {
    if (rows.length === 0) return;
    const values = rows.map((row): Values => ({ account: 'shop', month: '2026-03', ...row }));
    const names = [...new Set(values.flatMap((row) => Object.keys(row)))];
    const tuples = values.map((row) => `(${names.map((name) => valueOf(row[name])).join(', ')})`);
    const columns = names.map((name) => `"${name}"`).join(', ');
    await database.execute(`INSERT INTO ${table} BY NAME FROM (VALUES ${tuples.join(', ')}) AS rows_(${columns})`);
  };
  return { database, insert };
}

function valueOf(value: string | number | undefined): string {
  return value === undefined ? 'NULL' : literal(String(value));
}
