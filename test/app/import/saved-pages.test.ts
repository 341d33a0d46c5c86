import { expect, test } from 'vitest';
import { savedPages } from '../../../src/app/import/saved-pages.js';

test('blank lines without an end are stopped between two pieces', async () => {
  const stop = new AbortController();
  let pieces = 0;
  const input = {
    name: 'blank',
    open: async function* () {
      const blank = Buffer.alloc(100_000, '\n');
      for (; pieces < 1000; pieces++) yield await Promise.resolve(blank);
    },
  };
  const reading = savedPages(input, () => undefined, stop.signal).next();
  setImmediate(() => {
    stop.abort(new Error('stopped'));
  });
  await expect(reading).rejects.toThrow('stopped');
  expect(pieces).toBeLessThan(10);
});
