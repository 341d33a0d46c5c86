import type { Field, RecordBatch, Data } from 'apache-arrow';
import { arrow } from './arrow.js';
import { decimalPrecision, decimalScale } from '../numeric/decimal.js';

/** The types that a column can have, named by what they hold. */
export type ColumnType = 'text' | 'instant' | 'date' | 'decimal' | 'bigint' | 'integer' | 'boolean';

/** How Parquet stores a column's values; chosen for each by what they look like. */
export type Encoding = 'dictionary' | 'plain' | 'delta' | 'delta-length';

/** How many digits a decimal has. */
export interface Digits {
  readonly precision: number;
  readonly scale: number;
}

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly encoding: Encoding;
  /** Of a decimal: digits in all, 18 at the most, and digits behind the point; left out: as amounts have them. */
  readonly digits?: Digits;
  /** Whether people filter by it: the log then keeps its least and greatest value for each file. */
  readonly filtered?: true;
  /** Whether files go without its least and greatest value, as these would let no reader skip anything. */
  readonly unbounded?: true;
  /** Whether people look for single values of it: a file then has a Bloom filter of them. */
  readonly bloomFilter?: true;
  /** Whether files that earlier versions of this program wrote lack it. */
  readonly later?: true;
  /** For the reference of tables: what the column holds, in a sentence. */
  readonly about: string;
}

/** A table of the lake, partitioned by `account` and `month`, which are folders and not columns of its files. */
export interface Table {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  /** Its files come with a main table's commit, as those of derived tables do, and count for good once it has named them. */
  readonly appendOnly?: true;
  /** The columns that its rows are sorted by first; left out: those that `lake/files/sorted-file.ts` names. */
  readonly sort?: readonly string[];
  /** Of a table that a user's definition describes: the pipeline that fills it, window by window. */
  readonly customPipeline?: string;
  /** Of such a table whose rows are lines of another one's records: that table. Its files come with that one's, as derived ones. */
  readonly linesOf?: string;
}

const sqlTypes: Readonly<Record<Exclude<ColumnType, 'decimal'>, string>> = {
  text: 'VARCHAR',
  instant: 'TIMESTAMP WITH TIME ZONE',
  date: 'DATE',
  bigint: 'BIGINT',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
};

/** The column's type as DuckDB names it. */
export function sqlType(column: Pick<Column, 'type' | 'digits'>): string {
  if (column.type !== 'decimal') return sqlTypes[column.type];
  const { precision, scale } = digitsOf(column);
  // A type is part of a statement's text: whatever else was overlooked, nothing but numbers comes into it.
  if (!Number.isSafeInteger(precision) || !Number.isSafeInteger(scale)) throw new TypeError('digits are whole numbers');
  return `DECIMAL(${precision},${scale})`;
}

/** How many digits a decimal column has. */
export function digitsOf({ digits }: Pick<Column, 'digits'>): Digits {
  return digits ?? { precision: decimalPrecision, scale: decimalScale };
}

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
    fields.push(new (arrow().Field)(column.name, data.type, column.nullable));
    return data;
  });
  if (Object.keys(arrays).length !== children.length) throw new Error(`${table.name}: arrays that are no columns`);
  const struct = arrow().makeData({ type: new (arrow().Struct)(fields), length, nullCount: 0, children });
  return new (arrow().RecordBatch)(new (arrow().Schema)(fields), struct);
}

/** The tables that one pipeline fills: what its files hold comes and goes together. */
export interface Family {
  readonly pipeline: string;
  /** The table whose files count by themselves, and name the derived ones. */
  readonly main: Table;
  readonly derived: readonly Table[];
}

/** The tables of a pipeline: those derived from the main table first, the main table last. */
export interface Tabled {
  readonly name: string;
  readonly tables: readonly Table[];
}

/** The pipelines of users that fill some of these tables. */
export function customPipelinesOf(tables: readonly Table[]): Tabled[] {
  return tables.flatMap((main) => {
    const { customPipeline, linesOf } = main;
    if (customPipeline === undefined || linesOf !== undefined) return [];
    const lines = tables.filter((table) => table.customPipeline === customPipeline && table.linesOf === main.name);
    return [{ name: customPipeline, tables: [...lines, main] }];
  });
}

/** The families of some pipelines, in their order. */
export function familiesOf(pipelines: readonly Tabled[]): Family[] {
  return pipelines.flatMap(({ name, tables }) => {
    const main = tables.at(-1);
    return main === undefined ? [] : [{ pipeline: name, main, derived: tables.slice(0, -1) }];
  });
}
