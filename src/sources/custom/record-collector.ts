import { createHash } from 'node:crypto';
import type { Data } from 'apache-arrow';
import {
  decimalArray,
  integerArray,
  bigintArray,
  dictionaryArray,
  instantArray,
  textArray,
  booleanArray,
  dateArray,
} from '../../core/columns/arrays.js';
import { Dictionary } from '../../core/columns/dictionary.js';
import { digitsOf, type Column, type ColumnType, type Table } from '../../core/columns/table.js';
import { TableRows } from '../../core/columns/table-rows.js';
import type { Collector } from '../../engine/run/pipeline.js';
import type { Window } from '../../core/windows.js';
import { definitionError } from './load-definitions.js';
import type { Json, Cell, Row } from './definition.js';
import { readInstant } from '../../core/numeric/instant.js';
import { readInteger, readScaled } from '../../core/numeric/decimal.js';
import { JsonNode } from './json-node.js';

/** The rows of a window, column by column. */
interface Rows {
  readonly values: ReadonlyMap<string, Value[]>;
  /** Of each row, where the table keeps it. */
  readonly raw: string[];
  length: number;
}

/** Records of an answer. */
export interface RecordPage {
  readonly records: readonly Json[];
}

/** A table whose rows are records, and how a record becomes rows. */
export interface RecordTable {
  /** The file of the definition, for messages. */
  readonly file: string;
  readonly table: Table;
  /** The partition of the slice's rows. */
  readonly month: string;
  /** @throws LedgerlakeError USAGE where the definition fails */
  rows(record: Json): Row | readonly Row[];
  /** Whether another table keeps `raw`, so that a value that doesn't fit isn't lost; left out: none does. */
  readonly isKept?: boolean;
  /** What makes a record, which is one row, the same as another: what comes last counts. Left out, or undefined: nothing does. */
  key?(record: Json): string | undefined;
}

/** Columns that no record gives. */
const commonColumns: ReadonlySet<string> = new Set(['window_start', 'window_end', 'position', 'content_hash', 'raw']);

/** Collects the records of a slice as rows of a table, sorted as it says. `window`: undefined where the slice has none. */
export function recordCollector(definition: RecordTable, window?: Window): Collector<RecordPage> {
  const { table } = definition;
  const has = (column: string) => table.columns.some(({ name }) => name === column);
  const keepsRaw = has('raw');
  const keepsHash = has('content_hash');
  const columns = table.columns.filter(({ name }) => !commonColumns.has(name));
  const rows: Rows = { values: new Map(columns.map(({ name }) => [name, []])), raw: [], length: 0 };
  const warnings = {
    oddFields: new Map<string, number>(),
    unfitValues: new Map<string, number>(),
    repeated: new Map<string, number>(),
  };
  const rowIndexes = new Map<string, number>();

  /** The index of the record's row: that of the row with the same key, which it replaces, or one behind all others. */
  const rowIndexOf = (record: Json): number => {
    const key = definition.key?.(record);
    const rowIndex = rowIndexes.get(key ?? '') ?? rows.length;
    if (key === undefined) return rows.length;
    if (rowIndex < rows.length) warnings.repeated.set(table.name, (warnings.repeated.get(table.name) ?? 0) + 1);
    rowIndexes.set(key, rowIndex);
    return rowIndex;
  };

  const addRecord = (record: Json): void => {
    const returned = definition.rows(record);
    for (const row of isList(returned) ? returned : [returned]) {
      const rowIndex = rowIndexOf(record);
      refuseUnknown(definition, columns, row);
      for (const column of columns) {
        const value = readCell(column, row[column.name]);
        if (value instanceof Unfit) {
          if (!keepsRaw && definition.isKept !== true) throw lost(definition, column, value, record);
          const unfit = value.why === 'type' ? warnings.oddFields : warnings.unfitValues;
          const name = `${table.name}.${column.name}`;
          unfit.set(name, (unfit.get(name) ?? 0) + 1);
        }
        const values = rows.values.get(column.name);
        if (values !== undefined) values[rowIndex] = value instanceof Unfit ? undefined : value;
      }
      if (keepsRaw) rows.raw[rowIndex] = record.raw;
      rows.length = Math.max(rows.length, rowIndex + 1);
    }
  };

  return {
    warnings,
    // Nothing says that an API's records come in order of time.
    reach: undefined,
    add: ({ records }) => {
      for (const record of records) addRecord(record);
      return records.length;
    },
    finish: () => {
      if (rows.length === 0) return [];
      const order = sorted(rows, table.sort ?? []);
      const { length } = order;
      const instant = (ms?: number) => instantArray(length, () => (ms === undefined ? undefined : BigInt(ms) * 1000n));
      const arrays: Record<string, Data> = {
        window_start: instant(window?.start),
        window_end: instant(window?.end),
        position: bigintArray(length, (row) => BigInt(order[row] ?? 0)),
      };
      for (const column of columns) {
        const values = rows.values.get(column.name) ?? [];
        arrays[column.name] = arrayOf(
          column,
          order.map((row) => values[row]),
        );
      }
      if (keepsRaw) {
        const raw = order.map((row) => rows.raw[row] ?? '');
        arrays['raw'] = textArray(length, (row) => raw[row] ?? '');
        if (keepsHash) arrays['content_hash'] = textArray(length, (row) => hashOf(raw[row] ?? ''));
      }
      return [{ month: definition.month, rows: new TableRows(table, length, arrays), tags: {} }];
    },
  };
}

function refuseUnknown({ file, table }: RecordTable, columns: readonly Column[], row: unknown): void {
  if (typeof row !== 'object' || row === null) {
    throw definitionError(file, 'rows', `expected an object of values by column, or a list of them, got ${typeof row}`);
  }
  const unknown = Object.keys(row).find((name) => !columns.some((column) => column.name === name));
  if (unknown !== undefined)
    throw definitionError(file, 'rows', `${table.name} has no column ${JSON.stringify(unknown)}`);
}

function lost({ file, table }: RecordTable, column: Column, { why }: Unfit, record: Json) {
  const qualifiedName = `${table.name}.${column.name}`;
  const what =
    why === 'type'
      ? `got a value of another type for ${qualifiedName}`
      : `got a value that ${qualifiedName} can't hold exactly`;
  return definitionError(
    file,
    'rows',
    `${what} (it would be lost, because the table has no raw): ${record.raw.slice(0, 200)}`,
  );
}

function hashOf(raw: string): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, 32);
}

/** The numbers of the rows by the sort columns, nulls last, then by order of receipt: as DuckDB sorts them. */
function sorted({ values, length }: Rows, sort: readonly string[]): number[] {
  // By bytes: JavaScript compares the halves of what lies beyond 16 bits.
  const keyOf = (value: Value) => (typeof value === 'string' ? Buffer.from(value) : value);
  const keys = sort.map((name) => values.get(name)?.map(keyOf) ?? []);
  return Array.from({ length }, (_, row) => row).toSorted((a, b) => {
    for (const key of keys) {
      const order = compare(key[a], key[b]);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

function compare(a: Value | Buffer, b: Value | Buffer): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (Buffer.isBuffer(a) && Buffer.isBuffer(b)) return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A value as its column holds it: texts; microseconds since 1970 of instants, days of dates; decimals as whole numbers of
 * their last digit. Undefined is null.
 */
type Value = string | bigint | number | boolean | undefined;

/** What doesn't fit the column: a value of another type, or one that it can't hold exactly. */
class Unfit {
  readonly why: 'type' | 'size';

  constructor(why: Unfit['why']) {
    this.why = why;
  }
}

const ofAnotherType = new Unfit('type');
const tooLarge = new Unfit('size');

/** Reads what a definition gave for a column, exactly or not at all. */
function readCell(column: Column, cell: Cell): Value | Unfit {
  if (cell === null || cell === undefined || (cell instanceof JsonNode && cell.kind === 'null')) return undefined;
  return columnKinds[column.type].read(cell, column) ?? ofAnotherType;
}

function arrayOf(column: Column, values: readonly Value[]): Data {
  return columnKinds[column.type].array(values, column);
}

/** How values of a column's type are read, and come to Arrow; `read` gives undefined for a value of another type. */
interface ColumnKind {
  read(cell: Cell, column: Column): Value | Unfit;
  array(values: readonly Value[], column: Column): Data;
}

const columnKinds: Readonly<Record<ColumnType, ColumnKind>> = {
  text: {
    read: textOf,
    array: (values) => {
      const dictionary = new Dictionary();
      return dictionaryArray(dictionary, values.length, (row) => {
        const value = values[row];
        return typeof value === 'string' ? dictionary.addString(value) : -1;
      });
    },
  },
  instant: {
    read: (cell) => {
      if (cell instanceof Date) return Number.isNaN(cell.getTime()) ? undefined : BigInt(cell.getTime()) * 1000n;
      return readInstant(stringOf(cell) ?? '');
    },
    array: (values) => instantArray(values.length, (row) => ofBigint(values[row])),
  },
  date: {
    read: (cell) => {
      const text = stringOf(cell) ?? '';
      const micros = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readInstant(text) : undefined;
      return micros === undefined ? undefined : Number(micros / 86_400_000_000n);
    },
    array: (values) => dateArray(values.length, (row) => ofNumber(values[row])),
  },
  boolean: {
    read: (cell) => {
      if (typeof cell === 'boolean') return cell;
      return cell instanceof JsonNode && cell.kind === 'boolean' ? cell.text === 'true' : undefined;
    },
    array: (values) => booleanArray(values.length, (row) => ofBoolean(values[row])),
  },
  decimal: {
    read: (cell, column) => {
      const { precision, scale } = digitsOf(column);
      return exactNumber(cell, (text) => readScaled(text, precision, scale));
    },
    array: (values, column) => decimalArray(values.length, digitsOf(column), (row) => ofBigint(values[row])),
  },
  bigint: {
    read: (cell) => exactNumber(cell, readInteger),
    array: (values) => bigintArray(values.length, (row) => ofBigint(values[row])),
  },
  integer: {
    read: (cell) =>
      exactNumber(cell, (text) => {
        const value = readInteger(text);
        return value !== undefined && value === BigInt.asIntN(32, value) ? Number(value) : undefined;
      }),
    array: (values) => integerArray(values.length, (row) => ofNumber(values[row])),
  },
};

function ofBigint(value: Value): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}

function ofNumber(value: Value): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function textOf(cell: Cell): string | undefined {
  if (cell instanceof JsonNode) return cell.text;
  return typeof cell === 'string' || typeof cell === 'bigint' || typeof cell === 'boolean' ? String(cell) : undefined;
}

function stringOf(cell: Cell): string | undefined {
  if (typeof cell === 'string') return cell;
  return cell instanceof JsonNode && cell.kind === 'string' ? cell.text : undefined;
}

const numberText = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Reads a number from its text. One of JavaScript's own may have lost digits unless it is whole and small enough. */
function exactNumber(cell: Cell, read: (text: string) => bigint | number | undefined): Value | Unfit {
  const isWhole = typeof cell === 'bigint' || (typeof cell === 'number' && Number.isSafeInteger(cell));
  const isText = typeof cell === 'string' || (cell instanceof JsonNode && cell.kind !== 'boolean');
  const text = isWhole ? String(cell) : isText ? textOf(cell) : undefined;
  return text === undefined || !numberText.test(text) ? undefined : (read(text) ?? tooLarge);
}

function ofBoolean(value: Value): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

type RecordRows = ReturnType<RecordTable['rows']>;

function isList(given: RecordRows): given is Extract<RecordRows, readonly unknown[]> {
  return Array.isArray(given);
}
