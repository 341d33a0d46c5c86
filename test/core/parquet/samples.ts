import fc from 'fast-check';
import type { Column, ColumnType, Encoding } from '../../../src/core/columns/table.js';
import { digits, encodings, tableOf, type Sample, type Value } from './read-back.js';

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
export const values: Readonly<Record<ColumnType, fc.Arbitrary<Value>>> = {
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 60, maxLength: 300 }), fc.constantFrom('', 'a')),
  // Those of the years 1 to 9999.
  instant: fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }),
  date: fc.integer({ min: -700_000, max: 2_000_000 }),
  decimal: fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
  bigint: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -300n, max: 300n })),
  integer: fc.oneof(int32, fc.integer({ min: -3, max: 300 })),
  boolean: fc.boolean(),
};

/** Values in runs, as those of an event with several amounts are, from a few or from many. */
function runs(value: fc.Arbitrary<Value>, nullable: boolean): fc.Arbitrary<Value[]> {
  const one = nullable ? fc.option(value, { nil: undefined, freq: 3 }) : value;
  const run = fc.tuple(one, fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 })));
  return fc
    .array(run, { size: 'medium', maxLength: 60 })
    .map((all) => all.flatMap(([of, length]) => Array.from({ length }, () => of)));
}

/** A column with its values, of any type. */
export const sample: fc.Arbitrary<Omit<Sample, 'column'> & { column: Omit<Column, 'name'> }> = fc
  .record({
    type: fc.constantFrom(...(Object.keys(values) as ColumnType[])),
    nullable: fc.boolean(),
    isFiltered: fc.boolean(),
    hasFilter: fc.boolean(),
    encoding: fc.nat({ max: 2 }),
    longestRun: fc.constantFrom(undefined, 1, 5, 100),
  })
  .chain(({ type, nullable, isFiltered, hasFilter, encoding, longestRun }) => {
    const chosen = encodings[type][encoding % encodings[type].length] ?? 'plain';
    const column = {
      type,
      nullable,
      encoding: chosen,
      about: '',
      ...(type === 'decimal' ? { digits } : {}),
      ...(isFiltered && (type === 'text' || type === 'instant') ? { filtered: true as const } : {}),
      ...(hasFilter && type === 'text' ? { bloomFilter: true as const } : {}),
    };
    return runs(values[type], nullable).map((of) => ({ column, values: of, longestRun }));
  });

/** Numbers that look random, and are the same each time. */
function* noise(): Generator<number> {
  for (let state = 1; ; state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) yield state >>> 8;
}

/** Rows of several pages and row groups, as a month of entries has them. */
export function manyRows(length: number, longestRun?: number): ReturnType<typeof tableOf> {
  const next = noise();
  const random = (below: number): number => Number(next.next().value) % below;
  const nullable = { nullable: true, about: '' };
  const filtered = { filtered: true } as const;
  const column = (type: ColumnType, encoding: Encoding, values: (row: number) => Value, more = {}) => ({
    column: { type, encoding, ...nullable, ...more },
    values: Array.from({ length }, (_, row) => values(row)),
    longestRun,
  });
  const hour = 3_600_000_000n;
  return tableOf([
    column('text', 'dictionary', (row) => `event-${Math.floor(row / 9)}`.padEnd(34, '-'), {
      bloomFilter: true,
      ...filtered,
    }),
    column('text', 'delta-length', () => `order-${random(1e6)}`, { bloomFilter: true }),
    column('text', 'plain', (row) => (row % 1000 === 7 ? 'x'.repeat(random(30_000)) : `{"a":${random(99)}}`)),
    column('text', 'dictionary', () => (random(3) === 0 ? undefined : `sku-${random(70_000)}`)),
    column('instant', 'dictionary', (row) => BigInt(Date.UTC(2026, 0)) * 1000n + BigInt(row) * hour, filtered),
    column('instant', 'dictionary', (row) => (row % 7 < 3 ? undefined : BigInt(row >> 4) * hour)),
    column('decimal', 'dictionary', () => BigInt(random(200_000) - 100_000) * 10_000n, { digits }),
    column('integer', 'dictionary', (row) => row % 9, { nullable: false }),
    column('bigint', 'plain', (row) => BigInt(row) + (row % 3 === 0 ? 2n ** 40n : 0n)),
    column('boolean', 'plain', () => [true, false, undefined][random(3)]),
  ]);
}
