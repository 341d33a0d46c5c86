import { expect, test } from 'vitest';
import { addsOf, changeOf } from '../../src/lake/commit-files.js';
import { memoryStore } from './memory-store.js';
import { committed, newFileOf, opened, sliceOf, things } from './small-table.js';

test('files of other files’ rows are no news, unless some of these rows are gone', async () => {
  const lake = await opened(memoryStore());
  await committed(lake, sliceOf('k'));
  await committed(lake, sliceOf('l'));
  const removed = [...lake.snapshot.files('things')];
  const isNews = (rows: number) => {
    const file = newFileOf(things, 'both', { rows, dataChange: false });
    const commit = { operation: 'OPTIMIZE', main: things, files: [file], replaced: () => ({ removed }) };
    const { tables } = changeOf(
      lake.snapshot,
      addsOf(commit, '0-a', () => 0, 0),
      { removed },
      0,
    );
    return [tables?.['things']?.add, tables?.['things']?.remove].map((some) => some?.map((one) => one.dataChange));
  };
  expect(isNews(2)).toEqual([[false], [false, false]]);
  expect(isNews(1)).toEqual([[false], [true, true]]);
});
