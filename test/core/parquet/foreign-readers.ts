import { tableFromIPC, type Data, type Vector } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { readParquet } from 'parquet-wasm/esm';
import type { Column, ColumnType } from '../../../src/core/columns/table.js';
// It loads the WebAssembly.
import '../../../src/core/parquet/wasm.js';
import { compressors } from './compressors.js';

/** A value as a text: an instant in microseconds, a date in days, a decimal in its last digit. Undefined: null. */
export type Cell = string | undefined;

/** The columns' names and types. */
export type ReadColumns = readonly Pick<Column, 'name' | 'type'>[];

/** The rows of a Parquet file by hyparquet. Throws an Error where it lacks a column. */
export async function byHyparquet(bytes: Uint8Array, columns: ReadColumns): Promise<Cell[][]> {
  const file = new Uint8Array(bytes).buffer;
  const metadata = parquetMetadata(file);
  const rows = await parquetReadObjects({
    file,
    compressors,
    metadata: { ...metadata, schema: metadata.schema.map(integerOfDecimal) },
    columns: columns.map(({ name }) => name),
    parsers: {
      timestampFromMicroseconds: (micros) => micros,
      dateFromDays: (days) => days,
      stringFromBytes: (text) => Buffer.from(text).toString(),
    },
  });
  return rows.map((row: Readonly<Record<string, string | bigint | number | boolean | null>>) =>
    columns.map(({ name }) => row[name]?.toString()),
  );
}

/** It gives decimals as doubles, and the integers that they are stored as where it isn't told what they are. */
function integerOfDecimal(element: SchemaElement): SchemaElement {
  if (element.converted_type !== 'DECIMAL') return element;
  const { name, type, repetition_type } = element;
  return { name, repetition_type, ...(type !== undefined && { type }) } as SchemaElement;
}

/** The rows of a Parquet file by parquet-wasm. Throws an Error where it lacks a column. */
export function byParquetWasm(bytes: Uint8Array, columns: ReadColumns): Cell[][] {
  const table = tableFromIPC(readParquet(bytes).intoIPCStream());
  return table.batches.flatMap((batch) => {
    const cells = columns.map(({ name, type }) => {
      const vector = batch.getChild(name);
      if (vector === null) throw new Error(`expected a column ${name}`);
      const cell = cellsOf(vector, type);
      return (row: number): Cell => (vector.isValid(row) ? cell(row) : undefined);
    });
    return Array.from({ length: batch.numRows }, (_, row) => cells.map((cell) => cell(row)));
  });
}

/** The values where they lie: Arrow's own readers round, and drop a byte order mark that a text begins with. */
function cellsOf(vector: Vector, type: ColumnType): (row: number) => string {
  const data = vector.data[0] as Data;
  const values: unknown = data.values;
  switch (type) {
    case 'text': {
      const [bytes, offsets] = [values as Uint8Array, data.valueOffsets as Int32Array];
      return (row) => Buffer.from(bytes.subarray(offsets[row], offsets[row + 1])).toString();
    }
    case 'decimal': {
      const words = values as Uint32Array;
      const width = words.length / data.length;
      return (row) => String(integerOf(words.subarray(row * width, (row + 1) * width)));
    }
    case 'instant':
    case 'bigint':
    case 'date':
    case 'integer':
      return (row) => String((values as BigInt64Array | Int32Array)[row]);
    case 'boolean':
      return (row) => String(vector.get(row));
  }
}

/** A signed integer of 32-bit words, the least significant first. */
function integerOf(words: Uint32Array): bigint {
  const bits = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return BigInt.asIntN(words.length * 32, bits);
}
