import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentsOf, isSpreadOut } from '../../../src/core/json/documents.js';
import { jsonText } from '../../reference/arbitraries.js';

async function documents(
  bytes: Buffer,
  cuts: readonly number[] = [],
  longest = 1000,
): Promise<[number, string | undefined][]> {
  const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
  const chunks = (async function* () {
    for (const [index, end] of at.slice(1).entries()) {
      const passing = Buffer.from(bytes.subarray(at[index], end));
      yield await Promise.resolve(passing);
      passing.fill('x');
    }
  })();
  const found: [number, string | undefined][] = [];
  for await (const { line, bytes: document } of documentsOf(chunks, longest)) found.push([line, document?.toString()]);
  return found;
}

test('objects come as they are, in arrays or not, however their bytes are cut', async () => {
  const texts = fc.array(
    jsonText.map((text) => `{"v":${text}}`),
    { maxLength: 4 },
  );
  const cuts = fc.array(fc.nat(300), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), cuts, async (objects, isArray, at) => {
      const text = isArray ? ` [\n${objects.join(' ,\n')}] ` : objects.join('\n');
      const found = await documents(Buffer.from(text), at, 1_000_000);
      expect(found.map(([, document]) => document)).toEqual(objects);
      const lines = text.slice(0, text.lastIndexOf(objects.at(-1) ?? '')).split('\n').length;
      if (objects.length > 0) expect(found.at(-1)?.[0]).toBe(lines);
    }),
    { numRuns: 300 },
  );
});

test('what is no object, or is not complete, is a document for its reader to refuse', async () => {
  expect(await documents(Buffer.from('[1, "a",\n{"b":[2'))).toEqual([
    [1, '1'],
    [1, '"a"'],
    [2, '{"b":[2'],
  ]);
  expect(await documents(Buffer.from('[{"a":1},'))).toEqual([
    [1, '{"a":1}'],
    [1, '['],
  ]);
  expect(await documents(Buffer.from('{"a":"123456789"}{"b":1}'), [5], 10)).toEqual([
    [1, undefined],
    [1, '{"b":1}'],
  ]);
});

test.each([
  ['[{"a":1}]', true],
  ['\ufeff\n [', true],
  ['{\r\n  "a": 1}', true],
  ['{ "a": {\n', true],
  ['{"a":1}\n{"a":2}', false],
  ['{"a":', false],
  ['{"a":[1,\n', false],
  ['', false],
  ['<html>\n', false],
  [`{"a":"${'x'.repeat(5000)}{\n`, false],
])('%j is spread over lines: %s', (text, expected) => {
  expect(isSpreadOut(Buffer.from(text))).toBe(expected);
});
