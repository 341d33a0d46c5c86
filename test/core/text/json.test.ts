import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonText, ndjsonText } from '../../../src/core/text/formats.js';
import { chunked, textOf } from './streams.js';
import type { ResultColumn } from '../../../src/core/text/rows.js';

const columns: readonly ResultColumn[] = [
  { name: 'n', kind: 'number' },
  { name: 'b', kind: 'boolean' },
  { name: 't', kind: 'text' },
  { name: 'j', kind: 'json' },
];
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));
const row = fc.tuple(
  fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number))),
  fc.option(fc.boolean()),
  fc.option(text),
  fc.option(fc.json()),
);
const chunks = fc.array(fc.array(row, { maxLength: 4 }), { maxLength: 4 });
const objects = (rows: (readonly [number | null, boolean | null, string | null, string | null])[]): unknown[] =>
  rows.map(([n, b, t, j]) => ({ n, b, t, j: j === null ? null : (JSON.parse(j) as unknown) }));

test('JSON.parse reads the array as the rows that went in', async () => {
  await fc.assert(
    fc.asyncProperty(chunks, async (given) => {
      expect(JSON.parse(await textOf(jsonText(columns, chunked(...given))))).toEqual(objects(given.flat()));
    }),
  );
});

test('ndjson has an object a line', async () => {
  await fc.assert(
    fc.asyncProperty(chunks, async (given) => {
      const lines = (await textOf(ndjsonText(columns, chunked(...given)))).split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(objects(given.flat()));
    }),
  );
});

describe('what a double would spoil', () => {
  const one = async (kind: ResultColumn['kind'], cell: string | number | bigint): Promise<string> =>
    (await textOf(ndjsonText([{ name: 'x', kind }], chunked([[cell]])))).trimEnd();

  test('stands as a number with all its digits', async () => {
    expect(await one('number', '25.100000')).toBe('{"x":25.100000}');
    expect(await one('number', '-999999999999.999999')).toBe('{"x":-999999999999.999999}');
    expect(await one('number', 170141183460469231731687303715884105727n)).toBe(
      '{"x":170141183460469231731687303715884105727}',
    );
    expect(await one('number', -0)).toBe('{"x":-0}');
  });

  test('is null where JSON has no number for it', async () => {
    for (const cell of [NaN, Infinity, -Infinity]) expect(await one('number', cell)).toBe('{"x":null}');
  });

  test('is one line even where stored JSON has line breaks', async () => {
    expect(await one('json', '{\n"a":\r\n1.50}')).toBe('{"x":{ "a": 1.50}}');
  });
});

test('columns of one name keep their values apart', async () => {
  const named = ['a', 'a', 'a_1', 'a', '__proto__'].map((name) => ({ name, kind: 'number' }) as const);
  expect(await textOf(ndjsonText(named, chunked([[1, 2, 3, 4, 5]])))).toBe(
    '{"a":1,"a_2":2,"a_1":3,"a_3":4,"__proto__":5}\n',
  );
});

test('no row is an empty array, and a source that fails leaves the array open', async () => {
  expect(await textOf(jsonText(columns, chunked()))).toBe('[]\n');
  expect(await textOf(jsonText(columns, chunked([], [])))).toBe('[]\n');
  const pieces = jsonText(
    [{ name: 'x', kind: 'number' }],
    (async function* () {
      yield await Promise.resolve([[1]]);
      throw new Error('broken off');
    })(),
  );
  let seen = '';
  await expect(
    (async () => {
      for await (const piece of pieces) seen += piece;
    })(),
  ).rejects.toThrow('broken off');
  expect(seen).toBe('[\n{"x":1}');
});
