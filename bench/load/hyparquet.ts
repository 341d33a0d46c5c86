import { withoutRuns } from '../../test/core/columns/without-runs.js';
import { join } from 'node:path';
import type { Vector } from 'apache-arrow';
import { arrow } from '../../src/core/columns/arrow.js';
import { parquetWriteFile } from 'hyparquet-writer';
import { decimalPrecision, decimalScale } from '../../src/core/numeric/decimal.js';
import type { Column } from '../../src/core/columns/table.js';
import { dayBatches } from './ours.js';

/** Our own columns, written by hyparquet-writer (snappy, the only codec that it brings) in place of parquet-wasm. */
export async function loadHyparquet(input: string, output: string): Promise<void> {
  for await (const { label, batches } of dayBatches(input)) {
    for (const { table, rows: held } of batches) {
      const rows = withoutRuns(table, held);
      const columnData = table.columns.map(({ name }) => ({ name, data: valuesOf(rows.getChild(name)) }));
      const schema = [
        { name: 'root', num_children: table.columns.length },
        ...table.columns.map((column) => ({ ...elementOf(column), repetition_type: 'OPTIONAL' as const })),
      ];
      const filename = join(output, `${table.name}-${label}.parquet`);
      parquetWriteFile({ filename, columnData, schema, rowGroupSize: 131_072 });
    }
  }
}

function elementOf({ name, type }: Column) {
  switch (type) {
    case 'text':
      return { name, type: 'BYTE_ARRAY' as const, converted_type: 'UTF8' as const };
    case 'integer':
      return { name, type: 'INT32' as const };
    case 'decimal':
      return {
        name,
        type: 'INT64' as const,
        converted_type: 'DECIMAL' as const,
        precision: decimalPrecision,
        scale: decimalScale,
      };
    case 'instant':
    case 'bigint':
      return { name, type: 'INT64' as const };
    case 'date':
    case 'boolean':
      throw new Error(`${name}: events and entries have no such column`);
  }
}

/** Arrow's own reader goes through doubles for instants and decimals: their 64 bits are taken as they lie. */
function valuesOf(vector: Vector | null): unknown[] {
  const data = vector?.data[0];
  if (vector === null || data === undefined) throw new Error('a column is missing');
  if (!(vector.type instanceof arrow().Decimal || vector.type instanceof arrow().Timestamp))
    return [...(vector as Iterable<unknown>)];
  const lying: unknown = data.values;
  if (!ArrayBuffer.isView(lying)) throw new Error('a column holds no 64-bit integers');
  const values = new BigInt64Array(lying.buffer, lying.byteOffset, lying.byteLength / 8);
  return Array.from(values, (value, row) => (vector.isValid(row) ? value : null));
}
