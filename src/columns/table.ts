import { Field, RecordBatch, Schema, Struct, makeData, type Data } from 'apache-arrow';
import { decimalPrecision, decimalScale } from '../exact/decimal.js';

/** The types that a column can have, named by what they hold. */
export type ColumnType = 'text' | 'instant' | 'decimal' | 'bigint' | 'integer';

/** How Parquet stores a column's values; chosen for each by what they look like. */
export type Encoding = 'dictionary' | 'plain' | 'delta' | 'delta-length';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly encoding: Encoding;
  /** Whether people filter by it: the log then keeps its least and greatest value for each file. */
  readonly filtered?: true;
  /** For the reference of tables: what the column holds, in a sentence. */
  readonly about: string;
}

/** A table of the lake, partitioned by `account` and `month`, which are folders and not columns of its files. */
export interface Table {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  /** Its files come with a main table's commit, as those of derived tables do, and count for good once it has named them. */
  readonly lasting?: true;
}

/** As DuckDB names them. */
export const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'VARCHAR',
  instant: 'TIMESTAMP WITH TIME ZONE',
  decimal: `DECIMAL(${decimalPrecision},${decimalScale})`,
  bigint: 'BIGINT',
  integer: 'INTEGER',
};

/**
 * Puts one array per column together.
 *
 * @throws Error where an array is missing, too many, or of another length: a fault of the caller's
 */
export function recordBatch(table: Table, length: number, arrays: Readonly<Record<string, Data>>): RecordBatch {
  const fields: Field[] = [];
  const children = table.columns.map((column) => {
    const data = arrays[column.name];
    if (data?.length !== length) {
      throw new Error(`${table.name}.${column.name}: expected ${length} values, got ${data?.length ?? 'none'}`);
    }
    fields.push(new Field(column.name, data.type, column.nullable));
    return data;
  });
  if (Object.keys(arrays).length !== children.length) throw new Error(`${table.name}: arrays that are no columns`);
  const struct = makeData({ type: new Struct(fields), length, nullCount: 0, children });
  return new RecordBatch(new Schema(fields), struct);
}
