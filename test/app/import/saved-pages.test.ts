import { expect, test } from 'vitest';
import { savedLines, linesOf } from '../../../src/app/import/saved-pages.js';
import fc from 'fast-check';

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
  const reading = savedLines(input, stop.signal).next();
  setImmediate(() => {
    stop.abort(new Error('stopped'));
  });
  await expect(reading).rejects.toThrow('stopped');
  expect(pieces).toBeLessThan(10);
});

async function lines(chunks: readonly Buffer[], longest?: number): Promise<[number, string | undefined][]> {
  const found: [number, string | undefined][] = [];
  // Each chunk is valid until the next one is asked for.
  const of = (async function* () {
    for (const chunk of chunks) {
      const passing = Buffer.from(chunk);
      yield await Promise.resolve(passing);
      passing.fill('x');
    }
  })();
  for await (const { number, bytes } of linesOf(of, longest)) found.push([number, bytes?.toString('utf8')]);
  return found;
}

test('lines are the same however their bytes are cut', async () => {
  const text = fc.array(fc.constantFrom('a', 'bc', ' ', '\n', '\r\n', '\ufeff', 'é'), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4 }), async (parts, cuts) => {
      const bytes = Buffer.from(parts.join(''));
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
      const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index] ?? 0, end));
      const expected = parts
        .join('')
        .split('\n')
        .map((line, index): [number, string] => [index + 1, line.replace(/^\ufeff/, '')])
        .filter(([, line]) => !/^[ \r]*$/.test(line));
      expect(await lines(chunks)).toEqual(expected);
    }),
  );
});

test('a line that is too long is named and not kept, and the next one is read', async () => {
  const chunks = ['12', '345', '678\n', 'ok\n', '123456'].map((text) => Buffer.from(text));
  expect(await lines(chunks, 5)).toEqual([
    [1, undefined],
    [2, 'ok'],
    [3, undefined],
  ]);
});
