import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';
import { addOf, changeAdd, pathOf, sealed } from '../verify/damage.js';
import { copied, rebuilt, steppingClock } from './kept-lake.js';
import { open, smallLake, window } from './small-lake.js';
import { fetchFiles } from '../../../src/lake/files/bundles.js';
import { DamagedFile } from '../../../src/lake/delta/data-file.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';

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

test('a file with other bytes that the log agrees with is named with its slice, not by its copy', async () => {
  const lake = await copied(small.lake);
  const add = addOf(lake, 'events');
  await writeFile(pathOf(lake, 'events', add), 'no Parquet');
  changeAdd(lake, 'events', add.path, (old) => sealed(lake, 'events', old));
  const opened = await open(lake, clock);
  const fetched = withWorkspace(defaultLimits, opened.store, (workspace) =>
    fetchFiles({ lake: opened, workspace }, opened.snapshot.filesOf('events', 'shop', 'financial-events')),
  );
  const error: unknown = await fetched.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DamagedFile);
  expect((error as Error).message).toContain(join('events', add.path));
  expect((error as Error).message).toContain(
    `it has ${window(1).label.replace(/^/, 'window/')} and is no Parquet file`,
  );
});

test.each([
  ['rebuild', ['rebuild']],
  ['compact', ['compact']],
  ['sql', ['sql', 'SELECT count(DISTINCT COLUMNS(*)) FROM events']],
])(
  '%s names a file with damage within a page that the log agrees with, and its slice, and no copy',
  async (_, words) => {
    const lake = await copied(small.lake);
    const add = addOf(lake, 'events');
    const bytes = await readFile(pathOf(lake, 'events', add));
    // Within the first page: its header and the footer stay.
    bytes.fill(0x5a, 60, 200);
    await writeFile(pathOf(lake, 'events', add), bytes);
    changeAdd(lake, 'events', add.path, (old) => sealed(lake, 'events', old));
    const folder = await temporaryFolder();
    const { code, err } = await builtCommand([...words, '--lake', lake], { folder });
    expect(code).toBe(1);
    expect(err).toContain(pathOf(lake, 'events', add));
    expect(err).toContain(`window/${window(1).label}`);
    expect(err).toMatch(/ZSTD Decompression failure|Data corruption detected/);
    expect(err).not.toContain('ledgerlake-files-');
  },
);
