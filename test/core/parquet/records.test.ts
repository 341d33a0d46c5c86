import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import {
  listValue,
  encodeRecords,
  listField,
  mapField,
  mapValue,
  type RecordField,
  type RecordValue,
} from '../../../src/core/parquet/encoder/encode-records.js';
import { checkFooterRows } from '../../../src/core/parquet/footer.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { compressors } from './compressors.js';

const fields: readonly RecordField[] = [
  { name: 'id', type: 'bigint', repetition: 'required' },
  { name: 'name', type: 'text' },
  {
    name: 'all',
    type: [
      { name: 'flag', type: 'boolean' },
      { name: 'small', type: 'integer' },
      mapField('tags'),
      { name: 'inner', type: [listField('words'), { name: 'size', type: 'bigint' }] },
    ],
  },
];

/** What readers find: maps as objects, what is null as null. */
interface Row {
  readonly id: number;
  readonly name: string | null;
  readonly all: {
    readonly flag: boolean | null;
    readonly small: number | null;
    readonly tags: Readonly<Record<string, string | null>> | null;
    readonly inner: { readonly words: readonly string[] | null; readonly size: number | null } | null;
  } | null;
}

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 200, maxLength: 300 }));
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 2 });
const key = fc.stringMatching(/^[a-z]{1,4}$/);
const row: fc.Arbitrary<Row> = fc.record({
  id: fc.maxSafeInteger(),
  name: orNull(text),
  all: orNull(
    fc.record({
      flag: orNull(fc.boolean()),
      small: orNull(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
      tags: orNull(fc.dictionary(key, orNull(text), { maxKeys: 4, noNullPrototype: true })),
      inner: orNull(fc.record({ words: orNull(fc.array(text, { maxLength: 4 })), size: orNull(fc.maxSafeInteger()) })),
    }),
  ),
});

function recordOf({ id, name, all }: Row): RecordValue {
  if (all === null) return { id, name };
  const { flag, small, tags, inner } = all;
  return {
    id,
    name,
    all: {
      flag,
      small,
      tags: tags === null ? null : mapValue(tags),
      inner: inner === null ? null : { words: inner.words === null ? null : listValue(inner.words), size: inner.size },
    },
  };
}

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

test('two readers find the nested rows that were handed over, in row groups of any size', async () => {
  const folder = await temporaryFolder();
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  let files = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), fc.constantFrom(1, 3, 1000), async (rows, groupRows) => {
      const { bytes, rows: written } = await encodeRecords(fields, rows.map(recordOf), groupRows, 'test');
      expect(written).toBe(rows.length);
      checkFooterRows(bytes, rows.length, 'test', 'nothing');
      const groups = parquetMetadata(bufferOf(bytes)).row_groups;
      expect(groups.map((group) => Number(group.num_rows))).toEqual(
        Array.from({ length: Math.ceil(rows.length / groupRows) }, (_, at) =>
          Math.min(groupRows, rows.length - at * groupRows),
        ),
      );

      const path = join(folder, `${files++}.parquet`);
      await writeFile(path, bytes);
      const found = await database.rows(`SELECT to_json(each)::VARCHAR AS json FROM '${path}' AS each`);
      expect(found.map(({ json }) => JSON.parse(String(json)) as unknown)).toEqual(rows);

      const objects = await parquetReadObjects({
        file: bufferOf(bytes),
        compressors,
      });
      const plain: unknown = JSON.parse(
        JSON.stringify(objects, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : (value ?? null))),
      );
      expect(plain).toEqual(rows);
    }),
    { numRuns: 150 },
  );
});

test('a value of another type, or one that is required and missing, is refused and named', async () => {
  const encoded = (value: RecordValue) => encodeRecords(fields, [value], 10, 'test');
  await expect(encoded({ name: 'x' })).rejects.toThrow('expected a value of id, got none');
  await expect(encoded({ id: 0.5 })).rejects.toThrow('expected a value of type bigint for id, got number');
  await expect(encoded({ id: 1, name: true })).rejects.toThrow('expected a value of type text for name, got boolean');
  await expect(encoded({ id: 1, all: { small: 2 ** 31 } })).rejects.toThrow(
    'expected a value of type integer for all.small, got number',
  );
  await expect(encoded({ id: 1, all: 'x' })).rejects.toThrow('expected columns for all, got string');
});
