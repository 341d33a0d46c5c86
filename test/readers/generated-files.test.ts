import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ColumnType, Encoding } from '../../src/core/columns/table.js';
import { encodeTable } from '../../src/core/parquet/encoder/encode-table.js';
import { byHyparquet, byParquetWasm } from '../core/parquet/foreign-readers.js';
import { encodings, expectForeignRead, metadata, place, tableOf, type Value } from '../core/parquet/read-back.js';
import { manyRows, sample } from '../core/parquet/samples.js';

// test/core/parquet/encoder.test.ts reads what the encoder writes; here is what DuckDB makes of it, and what takes long.

/** A column of each encoding with the same values, which is that of the type. */
function columnsOf(type: ColumnType, values: readonly Value[], more: object = {}) {
  const nullable = values.includes(undefined);
  return encodings[type].map((encoding: Encoding) => ({
    column: { type, nullable, encoding, about: '', ...more },
    values,
  }));
}

test('hyparquet and parquet-wasm find in the files that DuckDB merges what was handed over, whatever the columns', async () => {
  const at = await place();
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 6 }), async (samples) => {
      await expectForeignRead(tableOf(samples), at, 2048);
    }),
    { numRuns: 60 },
  );
});

test.each([
  [20_000, 2048],
  [150_000, 100_000],
])('files of several pages: %s rows, merged into row groups of %s', async (rows, groupRows) => {
  await expectForeignRead(manyRows(rows, 30_000), await place(), groupRows);
});

test('texts of every plane of Unicode, of no length and of a megabyte', async () => {
  const planes = Array.from({ length: 17 }, (_, plane) =>
    String.fromCodePoint(...[0, 1, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff].map((last) => plane * 0x1_0000 + last)),
  );
  const texts = ['', '\u0000', '\ufeff', '\ufeffa', ...planes, planes.join(''), '\u{10ffff}'.repeat(250_000), 'a', ''];
  for (const values of [texts, [undefined, ...texts, undefined], ['']])
    await expectForeignRead(tableOf(columnsOf('text', values)), await place(), 2048);
});

test('a million distinct values, whose dictionary overflows', async () => {
  const values = Array.from({ length: 1_000_000 }, (_, row) => `value ${row * 7}`);
  const columns = columnsOf('text', values).filter(({ column }) => column.encoding === 'dictionary');
  await expectForeignRead(tableOf(columns), await place(), 122_880);
});

test('the ends of each type, no value at all, and one row', async () => {
  const at = await place();
  const decimals = [1, 9, 10, 18].flatMap((precision) =>
    [...new Set([0, 1, precision])].map((scale) => ({ type: 'decimal' as const, precision, scale })),
  );
  const ends: readonly { type: ColumnType; values: readonly Value[]; more?: object }[] = [
    { type: 'instant', values: [-62_135_596_800_000_000n, -1n, 0n, 1n, 253_402_300_799_999_999n] },
    { type: 'date', values: [-719_162, -1, 0, 1, 2_932_896] },
    { type: 'bigint', values: [-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n] },
    { type: 'integer', values: [-(2 ** 31), -1, 0, 1, 2 ** 31 - 1] },
    { type: 'boolean', values: [true, false, true, true, false] },
    { type: 'text', values: ['', '\u0000', 'a', '\u{10ffff}', 'ü'] },
    ...decimals.map(({ type, precision, scale }) => {
      const most = 10n ** BigInt(precision) - 1n;
      return { type, values: [-most, -1n, 0n, 1n, most], more: { digits: { precision, scale } } };
    }),
  ];
  const shapes: readonly ((values: readonly Value[]) => readonly Value[])[] = [
    (values) => values,
    (values) => values.slice(0, 1),
    (values) => values.slice(-1),
    (values) => values.flatMap((value) => [undefined, value]),
    (values) => values.map(() => undefined),
    () => [undefined],
  ];
  for (const shape of shapes)
    await expectForeignRead(
      tableOf(ends.flatMap(({ type, values, more }) => columnsOf(type, shape(values), more))),
      at,
      2048,
    );
});

test('any instant that a file can hold', async () => {
  const values = [-(2n ** 63n), -(2n ** 63n) + 1n, -(2n ** 53n) - 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, undefined];
  const { table, rows } = tableOf(columnsOf('instant', values));
  const { bytes } = await encodeTable(rows, metadata, 'ledgerlake test');
  const wanted = values.map((value) => table.columns.map(() => value?.toString()));
  expect(byParquetWasm(bytes, table.columns)).toEqual(wanted);
  expect(await byHyparquet(bytes, table.columns)).toEqual(wanted);
});
