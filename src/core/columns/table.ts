import type { Field, RecordBatch, Data } from 'apache-arrow';
import { arrow } from './arrow.js';
import { decimalPrecision, decimalScale } from '../numeric/decimal.js';

/** The types of columns. */
export type ColumnType = 'text' | 'instant' | 'date' | 'decimal' | 'bigint' | 'integer' | 'boolean';

/**
 * The Parquet encoding of a column's values, chosen for its data; a dictionary that saves nothing becomes plain. Some engines
 * can't read lengths: of the built-in tables only ids have them, until DuckDB merges the files.
 */
export type Encoding = 'dictionary' | 'plain' | 'delta-length';

/** Precision and scale of a decimal. */
export interface Digits {
  readonly precision: number;
  readonly scale: number;
}

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly encoding: Encoding;
  /** Precision (at most 18) and scale of a decimal; left out: those of amounts. */
  readonly digits?: Digits;
  /** Whether people filter by it: the log then has the bounds of its values for each file. */
  readonly filtered?: true;
  /** Whether files have no bounds of its values, because these would let no reader skip anything. */
  readonly unbounded?: true;
  /** Whether people look up single values: files then have a Bloom filter of them. */
  readonly bloomFilter?: true;
  /** Whether files of earlier program versions lack it. */
  readonly later?: true;
  /** A sentence on its content, for the reference of tables. */
  readonly about: string;
}

/** A column that is never null. */
export function column(name: string, type: ColumnType, encoding: Encoding, about: string): Column {
  return { name, type, encoding, nullable: false, about };
}

/** Rows of a table, as a record batch of its columns. */
export interface TableBatch {
  readonly table: Table;
  readonly rows: RecordBatch;
}

/**
 * What a row of a table is, and with it what identifies it. Left out: it is its values, and has no history.
 *
 * - `event`, `transaction`: `event_id`. `event_history` keeps their changes. They have a `content_hash`, `posted_at` and `effective_at`; a
 *   transaction keeps its `transaction_id` when its status changes.
 * - `entry`: the `event_id` of the main table's row, from whose `raw` it follows, and `entry`.
 * - `group`: its settlement.
 * - `line` of a settlement report: `event_id`, with the history of events.
 */
export type RowKind = 'event' | 'transaction' | 'entry' | 'group' | 'line';

/** A table of the lake. It is partitioned by `account` and `month`, which are folders and not columns of its files. */
export interface Table {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly row?: RowKind;
  /**
   * Its files are added with a main table's commit, like those of derived tables, but count permanently once a commit
   * has referenced them.
   */
  readonly appendOnly?: true;
  /** The first sort columns; left out: those of `lake/files/sorted-file.ts`. */
  readonly sort?: readonly string[];
  /** Of a main table that `forget --before` removes rows of: the instant by which they are old. A row without it stays. */
  readonly agedBy?: string;
  /** The custom pipeline that fills the table, window by window; left out for built-in tables. */
  readonly customPipeline?: string;
  /** The table whose records have these rows as lines: this table is derived from it, and a load key has rows of both. */
  readonly linesOf?: string;
}

/** Whether rows are events, as transactions are: those of a main table with entries. */
export function hasEvents({ row }: Table): boolean {
  return row === 'event' || row === 'transaction';
}

/** Whether a table has a column. What its rows are, `row` says. */
export function hasColumn(table: Table, column: string): boolean {
  return table.columns.some(({ name }) => name === column);
}

/** Whether a table stores what its rows are derived from: custom tables may leave it out. */
export function storesRaw(table: Table): boolean {
  return hasColumn(table, 'raw');
}

const sqlTypes: TypeNames = {
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
  // The type becomes part of a statement, so only numbers may get into it.
  if (!Number.isSafeInteger(precision) || !Number.isSafeInteger(scale)) throw new TypeError('digits are whole numbers');
  return `DECIMAL(${precision},${scale})`;
}

/** Precision and scale of a decimal column. */
export function digitsOf({ digits }: Pick<Column, 'digits'>): Digits {
  return digits ?? { precision: decimalPrecision, scale: decimalScale };
}

/** The names of column types in another system, in which a decimal is `decimal(PRECISION,SCALE)`. */
export type TypeNames = Readonly<Record<Exclude<ColumnType, 'decimal'>, string>>;

/** The name of a column's type in another system. */
export function typeName(column: Pick<Column, 'type' | 'digits'>, names: TypeNames): string {
  if (column.type !== 'decimal') return names[column.type];
  const { precision, scale } = digitsOf(column);
  return `decimal(${precision},${scale})`;
}

/**
 * A record batch of one array for each column; those of a loaded slice may be run-end encoded (`run-end-encoded.ts`).
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

/** The tables of one pipeline, whose files are committed and removed together. */
export interface PipelineTables {
  readonly name: string;
  /** The table whose files count by themselves and name the derived files: a slice counts as loaded once it is committed there. */
  readonly main: Table;
  readonly derived: readonly Table[];
}

/** The tables of a pipeline in the order in which they are written: the main table is last. */
export function tablesOf({ main, derived }: Omit<PipelineTables, 'name'>): readonly Table[] {
  return [...derived, main];
}

/** The custom pipelines that fill some of these tables. */
export function customPipelinesOf(tables: readonly Table[]): PipelineTables[] {
  return tables.flatMap((main) => {
    const { customPipeline, linesOf } = main;
    if (customPipeline === undefined || linesOf !== undefined) return [];
    const derived = tables.filter((table) => table.customPipeline === customPipeline && table.linesOf === main.name);
    return [{ name: customPipeline, main, derived }];
  });
}
