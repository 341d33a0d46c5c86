import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import type { ViewedTable } from '../../../src/core/duckdb/views.js';
import { literal } from '../../../src/core/duckdb/literals.js';

/** A few columns of the lake's tables. */
export const tables: readonly ViewedTable[] = [
  {
    name: 'events',
    columns: [
      { name: 'event_id', type: 'VARCHAR' },
      { name: 'posted_at', type: 'TIMESTAMPTZ' },
      { name: 'raw', type: 'VARCHAR' },
    ],
  },
  {
    name: 'entries',
    columns: [
      { name: 'event_id', type: 'VARCHAR' },
      { name: 'entry', type: 'INTEGER' },
      { name: 'quantity', type: 'BIGINT' },
      { name: 'amount', type: 'DECIMAL(18,6)' },
      { name: 'posted_at', type: 'TIMESTAMPTZ' },
    ],
  },
];

export interface LakeFolder {
  readonly root: string;
  /** Writes a query's rows as one Parquet file; `path` is relative to the folder. The absolute address. */
  write(path: string, query: string): Promise<string>;
  remove(): void;
}

/** A temporary folder whose Parquet files DuckDB writes. */
export function lakeFolder(name = 'lake'): LakeFolder {
  const top = mkdtempSync(join(tmpdir(), 'ledgerlake-sql-'));
  const root = join(top, name);
  return {
    root,
    write: async (path, query) => {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      const database = await openDatabase();
      await database.execute(`COPY (${query}) TO ${literal(file)} (FORMAT parquet)`);
      database.close();
      return file;
    },
    remove: () => {
      rmSync(top, { recursive: true });
    },
  };
}

/** `count` entries of 12.345678 each. */
export function entriesQuery(event: string, count: number): string {
  return (
    `SELECT '${event}' AS event_id, i::INTEGER AS entry, (9007199254740993 + i)::BIGINT AS quantity, ` +
    `12.345678::DECIMAL(18,6) AS amount, TIMESTAMPTZ '2025-03-04 05:06:07.25+00' AS posted_at FROM range(${count}) t(i)`
  );
}
