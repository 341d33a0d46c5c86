import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { exportViews } from '../../../src/app/query/export-views.js';
import type { Clock } from '../../../src/core/clock.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { temporaryFolder } from '../lake-run.js';

/** A plain DuckDB with the views that were exported into a folder, closed when the test ends. */
export async function plainViews(dir: string): Promise<Database> {
  const plain = await openDatabase();
  onTestFinished(() => {
    plain.close();
  });
  for (const name of ['lake.sql', 'views.sql']) await plain.query(await readFile(join(dir, name), 'utf8'));
  return plain;
}

/** The same for the views of a lake, in a time zone. */
export async function plainViewsOf(lake: string, clock: Clock, timeZone: string): Promise<Database> {
  const dir = await temporaryFolder();
  await exportViews({ lake, dir, timeZone }, { clock, emit: () => undefined });
  return plainViews(dir);
}
