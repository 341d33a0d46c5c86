import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entries, events, groups } from '../../../src/sources/finances/api-v0/event-tables.js';
import { extentOf, groupRows, rangesOf } from '../../../src/lake/files/sorted-file.js';
import { rowsIn } from '../../../src/lake/files/local-parquet.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';

/** Nothing of a lake is read. */
const noLake = { localPath: () => undefined };

test('ranges follow each other, and every row is in one of them, also without an instant', async () => {
  const instants = fc.array(fc.option(fc.integer({ min: 0, max: 20 })), { minLength: 1, maxLength: 60 });
  await withWorkspace(defaultLimits, noLake, async ({ database, newPath, clear }) => {
    await fc.assert(
      fc.asyncProperty(instants, fc.integer({ min: 1, max: 5000 }), async (seconds, rangeBytes) => {
        const path = newPath();
        const values = seconds.map(
          (second) => `(${second === null ? 'NULL' : `make_timestamptz(${second} * 1000001)`})`,
        );
        await database.execute(
          `COPY (SELECT effective_at::TIMESTAMPTZ AS effective_at FROM (VALUES ${values.join(', ')}) t(effective_at)) TO '${path}' (FORMAT parquet)`,
        );
        const ranges = await rangesOf(database, events, [path], await extentOf(database, events, [path]), rangeBytes);
        const found: unknown[] = [];
        for (const range of ranges) {
          const rows = await database.rows(
            `SELECT epoch_us(effective_at) // 1000001 AS second FROM ${rowsIn([path])} WHERE ${range} ORDER BY effective_at NULLS LAST`,
          );
          found.push(...rows.map(({ second }) => (second === null ? null : Number(second))));
        }
        const sorted = seconds.toSorted((a, b) => (a ?? Infinity) - (b ?? Infinity));
        expect(found).toEqual(sorted);
        await clear();
      }),
      { numRuns: 40 },
    );
  });
});

test('small files are one range, and so are those of a table without anything to sort by', async () => {
  await withWorkspace(defaultLimits, noLake, async ({ database, newPath }) => {
    const path = newPath();
    await database.execute(`COPY (SELECT now() AS effective_at, 'x' AS raw) TO '${path}' (FORMAT parquet)`);
    const extent = await extentOf(database, events, [path]);
    expect(extent.rows).toBe(1);
    expect(await rangesOf(database, entries, [path], extent, 64_000_000)).toEqual(['true']);
    const bare = { ...groups, columns: groups.columns.slice(1, 2) };
    expect(await rangesOf(database, bare, [path], { rows: 1000, bytes: 1e12, storedBytes: 1e12 }, 1)).toEqual(['true']);
  });
});

test('row groups hold fewer rows the wider these are, in whole vectors of 2,048', () => {
  const rowsOf = (rows: number, bytes: number, storedBytes: number) => groupRows({ rows, bytes, storedBytes });
  expect(rowsOf(1_000_000, 100_000_000, 100_000_000)).toBe(131_072);
  expect(rowsOf(1_000_000, 1_000_000_000, 60_000_000)).toBe(63_488);
  expect(rowsOf(1_000_000, 1_000_000_000, 1_000_000_000)).toBe(14_336);
  expect(rowsOf(10, 1_000_000_000, 1_000_000_000)).toBe(2048);
  expect(rowsOf(0, 0, 0)).toBe(131_072);
});
