import { expect, test } from 'vitest';
import type { Revisions } from '../../../src/lake/slices/slice-writer.js';
import { memoryStore } from '../memory-store.js';
import { committed, newFileOf, noRevisions, opened, sliceOf, standing, things } from '../small-table.js';

const reread = (key: string, text: string) =>
  sliceOf(key, { reread: 'complete', files: [newFileOf(things, text, { loadKeys: [key] })] });

test('a slice that loses each attempt to another run fails, and says so', async () => {
  const store = memoryStore();
  const [lake, other] = [await opened(store), await opened(store)];
  await committed(lake, sliceOf('k'));
  let attempts = 0;
  const beaten: Revisions = {
    compare: async (replacement) => {
      await other.refresh();
      await committed(other, reread('k', `of the other ${++attempts}`));
      return noRevisions.compare(replacement);
    },
  };
  await expect(committed(lake, reread('k', 'lost'), standing, beaten)).rejects.toMatchObject({
    code: 'LAKE_CONFLICT',
    message:
      'expected the rows of things to stay as WRITE had read them, got changes of other runs each time; nothing was replaced, ' +
      'run the same command again',
  });
  expect(attempts).toBe(20);
  const texts = [...store.files].flatMap(([path, bytes]) => (path.startsWith('things/a') ? [String(bytes)] : []));
  expect(texts).toEqual(['of the other 20']);
});

test('a slice of a file with other rows fails where these can’t be told apart, and nothing is lost', async () => {
  const store = memoryStore();
  const lake = await opened(store);
  await committed(lake, sliceOf('k', { loadKeys: ['k', 'l'] }));
  const before = new Map(store.files);
  await expect(committed(lake, reread('k', 'new'))).rejects.toMatchObject({
    code: 'LAKE_CONFLICT',
    message: expect.stringContaining('which contains more than what is read again') as string,
  });
  expect(store.files).toEqual(before);
});
