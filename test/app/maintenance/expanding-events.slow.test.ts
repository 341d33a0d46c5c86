import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { temporaryFolder } from '../lake-run.js';
import { addOf, changeAdd, pathOf, sealed } from '../verify/damage.js';
import { copied, rebuilt, steppingClock } from './kept-lake.js';
import { smallLake } from './small-lake.js';

const clock = steppingClock();
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock, 2);
});
afterAll(() => small.remove());

test('a small file of events that expands is refused before it is unpacked, and the entries of the others are derived', async () => {
  const lake = await copied(small.lake);
  const add = addOf(lake, 'events');
  const file = pathOf(lake, 'events', add);
  const expanding = join(await temporaryFolder(), 'expanding.parquet');
  const opened = await openDatabase();
  const rows = `SELECT * REPLACE (repeat('x', 40_000_000) AS raw) FROM read_parquet(${literal(file)}, hive_partitioning = false) LIMIT 1`;
  await opened.execute(`COPY (${rows}) TO ${literal(expanding)} (FORMAT parquet, COMPRESSION zstd)`);
  opened.close();
  await copyFile(expanding, file);
  expect((await stat(file)).size).toBeLessThan(40_000);
  changeAdd(lake, 'events', add.path, (old) => sealed(lake, 'events', old));
  const error: unknown = await rebuilt({ lake }, { clock }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'LAKE_STORE' });
  const message = (error as Error).message;
  expect(message).toContain(join('events', add.path));
  expect(message).toMatch(
    /it can't be read as a file of events \(expected a page of at most \d+\.\d MB, got one that unpacks to 40\.\d MB\)/,
  );
  expect(message).toContain('the entries of all others are derived again; ');
});
