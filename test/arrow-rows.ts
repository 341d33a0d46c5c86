import type { Data, RecordBatch, Vector } from 'apache-arrow';
import type { Table } from '../src/core/columns/table.js';

export type Row = Readonly<Record<string, unknown>>;

/** The rows of a batch, with 64-bit values as they lie in it: Arrow's own readers go through doubles. */
export function rowsOf(table: Table, batch: RecordBatch): Row[] {
  const vectors = table.columns.map((column) => {
    const vector = batch.getChild(column.name);
    if (vector === null) throw new Error(`expected a column ${column.name}`);
    const is64 = ['instant', 'bigint', 'decimal'].includes(column.type);
    return { name: column.name, vector, values: is64 ? int64s(vector) : undefined };
  });
  return Array.from({ length: batch.numRows }, (_, row) =>
    Object.fromEntries(
      vectors.map(({ name, vector, values }): [string, unknown] => [
        name,
        vector.isValid(row) ? (values === undefined ? textOrInteger(vector.data[0], row) : values[row]) : null,
      ]),
    ),
  );
}

/** A value of a column of texts or 32-bit integers. Arrow's own reader drops a byte order mark that a text begins with. */
function textOrInteger(data: Data | undefined, row: number): unknown {
  const values: unknown = data?.values;
  if (data === undefined || !(values instanceof Uint8Array || values instanceof Int32Array)) {
    throw new Error('expected a column of texts or integers');
  }
  if (data.dictionary !== undefined) return textOrInteger(data.dictionary.data[0], Number(values[row]));
  if (values instanceof Int32Array) return values[row];
  const offsets: unknown = data.valueOffsets;
  if (!(offsets instanceof Int32Array)) throw new Error('expected a column of texts');
  return Buffer.from(values.subarray(offsets[row], offsets[row + 1])).toString('utf8');
}

/** A column's values in their memory, whatever array they were put there with. */
function int64s(vector: Vector): BigInt64Array {
  const values: unknown = vector.data[0]?.values;
  if (!ArrayBuffer.isView(values)) throw new Error('expected a column of 64-bit values');
  return new BigInt64Array(values.buffer, values.byteOffset, values.byteLength / 8);
}
