import { expect, test } from 'vitest';
import { expectRead, place, plainValues, tableOf } from './read-back.js';
import { manyRows } from './samples.js';

// encoder.test.ts has what fits into one page.

test.each([undefined, 1, 30_000])('files of several pages and row groups, in runs of %s rows', async (longestRun) => {
  await expectRead(manyRows(150_000, longestRun), await place());
});

test.each([undefined, 40_000])(
  'a row group of nulls has no dictionary page, in runs of %s rows',
  async (longestRun) => {
    const groupRows = 128 * 1024;
    const types = ['text', 'instant', 'decimal', 'integer', 'bigint', 'date'] as const;
    const made = tableOf(
      types.map((type) => ({
        column: { type, nullable: true, encoding: 'dictionary', about: '' },
        values: Array.from({ length: 2 * groupRows }, (_, row) => (row < groupRows ? undefined : plainValues[type])),
        longestRun,
      })),
    );
    const at = await place();
    const dictionaries = async () => {
      const chunks = await at.database.rows(
        `SELECT row_group_id AS "group", dictionary_page_offset IS NOT NULL AS has FROM parquet_metadata('${at.path}') GROUP BY ALL ORDER BY ALL`,
      );
      return chunks.map(({ group, has }) => [Number(group), has]);
    };
    await expectRead(made, at);
    expect(await dictionaries()).toEqual([
      [0, false],
      [1, true],
    ]);
  },
);
