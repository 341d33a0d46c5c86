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
import { count } from '../../core/count.js';
import { Dictionary } from '../../core/columns/dictionary.js';
import {
  digitsOf,
  hasColumn,
  recordBatch,
  storesRaw,
  type Column,
  type ColumnType,
  type Table,
} from '../../core/columns/table.js';
import type { Batch, Collector } from '../../engine/run/pipeline.js';
import { sliceHoles, type SliceHole, type PageWithHoles } from '../../engine/run/slice-holes.js';
import type { Window } from '../../core/windows.js';
import { definitionError } from './definition-error.js';
import type { Json, Cell, Row } from './record.js';
import { readInstant } from '../../core/numeric/instant.js';
import { readInteger, readScaled } from '../../core/numeric/decimal.js';
import { JsonNode } from './json-node.js';

/** Records of an answer. */
export interface RecordPage extends PageWithHoles {
  readonly records: readonly Json[];
}

/** A table whose rows are records, and how a record becomes rows. */
interface RecordTable {
  /** The file of the definition, for messages. */
  readonly file: string;
  readonly table: Table;
  /** The partition of the slice's rows. */
  readonly month: string;
  /** @throws LedgerlakeError USAGE where the definition fails */
  rows(record: Json): Row | readonly Row[];
  /** Whether another table stores `raw`, so that a value that doesn't fit isn't lost; default false. */
  readonly isRawStored?: boolean;
  /** Identifies a record of one row: the last record with a key replaces earlier ones. Left out, or undefined: each record counts. */
  key?(record: Json): string | undefined;
}

/** Columns that no record gives. */
const commonColumns: ReadonlySet<string> = new Set(['window_start', 'window_end', 'position', 'content_hash', 'raw']);

/** Collects the records of a slice as rows of a table, in the table's sort order. */
export class RecordCollector implements Collector<RecordPage> {
  readonly #definition: RecordTable;
  readonly #window: Window | undefined;
  readonly #columns: readonly Column[];
  /** By column, then by row. */
  readonly #values: ReadonlyMap<string, Value[]>;
  readonly #hasRaw: boolean;
  /** By row; empty where the table has no `raw`. */
  readonly #raw: string[] = [];
  #length = 0;
  readonly #rowIndexes = new Map<string, number>();
  readonly warnings = {
    oddFields: new Map<string, number>(),
    /** Of the APIs of finances: those of users may have amounts as text by their own rules. */
    textAmounts: new Map<string, number>(),
    unfitValues: new Map<string, number>(),
    repeated: new Map<string, number>(),
    repaired: new Map<string, number>(),
  };
  readonly holes: SliceHole[] = [];
  #pages = 0;
  /** An API's records come in any order. */
  readonly reach = undefined;

  /** @param window undefined for a slice without one */
  constructor(definition: RecordTable, window?: Window) {
    this.#definition = definition;
    this.#window = window;
    this.#columns = definition.table.columns.filter(({ name }) => !commonColumns.has(name));
    this.#values = new Map(this.#columns.map(({ name }) => [name, []]));
    this.#hasRaw = storesRaw(definition.table);
  }

  add(page: RecordPage): number {
    this.holes.push(...sliceHoles(page, this.#pages++));
    for (const record of page.records) this.#addRecord(record);
    return page.records.length;
  }

  finish(): readonly Batch[] {
    if (this.#length === 0) return [];
    const { table, month } = this.#definition;
    const order = sorted(this.#values, this.#length, table.sort ?? []);
    const arrays = { ...this.#windowArrays(order), ...this.#valueArrays(order), ...this.#rawArrays(order) };
    return [{ table, month, rows: recordBatch(table, order.length, arrays) }];
  }

  #addRecord(record: Json): void {
    const rows = this.#definition.rows(record);
    if (record instanceof JsonNode && record.isRepaired) count(this.warnings.repaired, this.#definition.table.name);
    for (const row of isList(rows) ? rows : [rows]) {
      const rowIndex = this.#rowIndexOf(record);
      refuseUnknown(this.#definition, this.#columns, row);
      for (const column of this.#columns) {
        const cell = row[column.name];
        const value = readCell(column, cell);
        if (value instanceof Unfit) this.#countUnfit(column, value, record);
        else if (this.#isTextAmount(column, cell)) count(this.warnings.textAmounts, this.#nameOf(column));
        const values = this.#values.get(column.name);
        if (values !== undefined) values[rowIndex] = value instanceof Unfit ? undefined : value;
      }
      if (this.#hasRaw) this.#raw[rowIndex] = record.raw;
      this.#length = Math.max(this.#length, rowIndex + 1);
    }
  }

  /** The index of a record's row: that of the row with the same key, which it replaces, or a new one. */
  #rowIndexOf(record: Json): number {
    const key = this.#definition.key?.(record);
    if (key === undefined) return this.#length;
    const rowIndex = this.#rowIndexes.get(key) ?? this.#length;
    if (rowIndex < this.#length) count(this.warnings.repeated, this.#definition.table.name);
    this.#rowIndexes.set(key, rowIndex);
    return rowIndex;
  }

  #countUnfit(column: Column, value: Unfit, record: Json): void {
    const { isRawStored = false } = this.#definition;
    if (!this.#hasRaw && !isRawStored) throw lost(this.#definition, column, value, record);
    const { oddFields, unfitValues } = this.warnings;
    count(value.why === 'type' ? oddFields : unfitValues, this.#nameOf(column));
  }

  #nameOf({ name }: Column): string {
    return `${this.#definition.table.name}.${name}`;
  }

  #isTextAmount({ type }: Column, cell: Cell): boolean {
    const { customPipeline } = this.#definition.table;
    return customPipeline === undefined && type === 'decimal' && cell instanceof JsonNode && cell.kind === 'string';
  }

  #windowArrays(order: readonly number[]): Record<string, Data> {
    const { length } = order;
    const instants = (ms?: number) => instantArray(length, () => (ms === undefined ? undefined : BigInt(ms) * 1000n));
    return {
      window_start: instants(this.#window?.start),
      window_end: instants(this.#window?.end),
      position: bigintArray(length, (row) => BigInt(order[row] ?? 0)),
    };
  }

  #valueArrays(order: readonly number[]): Record<string, Data> {
    const arrays = this.#columns.map((column): [string, Data] => {
      const values = this.#values.get(column.name) ?? [];
      const ordered = order.map((row) => values[row]);
      return [column.name, columnKinds[column.type].array(ordered, column)];
    });
    return Object.fromEntries(arrays);
  }

  #rawArrays(order: readonly number[]): Record<string, Data> {
    if (!this.#hasRaw) return {};
    const raw = order.map((row) => this.#raw[row] ?? '');
    const { length } = raw;
    return {
      raw: textArray(length, (row) => raw[row] ?? ''),
      ...(hasColumn(this.#definition.table, 'content_hash') && {
        content_hash: textArray(length, (row) => contentHash(raw[row] ?? '')),
      }),
    };
  }
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

function contentHash(raw: string): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, 32);
}

/** Row indexes sorted by the sort columns, nulls last, then by order of receipt: DuckDB's order. */
function sorted(values: ReadonlyMap<string, Value[]>, length: number, sort: readonly string[]): number[] {
  // By bytes, as DuckDB does: JavaScript compares UTF-16 code units.
  const sortKey = (value: Value) => (typeof value === 'string' ? Buffer.from(value) : value);
  const keys = sort.map((name) => values.get(name)?.map(sortKey) ?? []);
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

/** A column's value: text; microseconds since 1970 of an instant; days of a date; a decimal in units of its last digit. Undefined is null. */
type Value = string | bigint | number | boolean | undefined;

/** A value that the column can't hold: of another type (`type`), or not exact (`size`). */
class Unfit {
  readonly why: 'type' | 'size';

  constructor(why: Unfit['why']) {
    this.why = why;
  }
}

const wrongType = new Unfit('type');
const inexact = new Unfit('size');

/** Reads a cell for a column; a value that isn't exact is `Unfit`. */
function readCell(column: Column, cell: Cell): Value | Unfit {
  if (cell === null || cell === undefined || (cell instanceof JsonNode && cell.kind === 'null')) return undefined;
  return columnKinds[column.type].read(cell, column) ?? wrongType;
}

/** How values of a column's type are read, and become an Arrow array. */
interface ColumnKind {
  /** Undefined for a value of another type. */
  read(cell: Cell, column: Column): Value | Unfit;
  array(values: readonly Value[], column: Column): Data;
}

const columnKinds: Readonly<Record<ColumnType, ColumnKind>> = {
  text: {
    read: cellText,
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
    array: (values) => instantArray(values.length, (row) => asBigint(values[row])),
  },
  date: {
    read: (cell) => {
      const text = stringOf(cell) ?? '';
      const micros = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readInstant(text) : undefined;
      return micros === undefined ? undefined : Number(micros / 86_400_000_000n);
    },
    array: (values) => dateArray(values.length, (row) => asNumber(values[row])),
  },
  boolean: {
    read: (cell) => {
      if (typeof cell === 'boolean') return cell;
      return cell instanceof JsonNode && cell.kind === 'boolean' ? cell.text === 'true' : undefined;
    },
    array: (values) => booleanArray(values.length, (row) => asBoolean(values[row])),
  },
  decimal: {
    read: (cell, column) => {
      const { precision, scale } = digitsOf(column);
      return exactNumber(cell, (text) => readScaled(text, precision, scale), jsonNumber);
    },
    array: (values, column) => decimalArray(values.length, digitsOf(column), (row) => asBigint(values[row])),
  },
  bigint: {
    read: (cell) => exactNumber(cell, readInteger),
    array: (values) => bigintArray(values.length, (row) => asBigint(values[row])),
  },
  integer: {
    read: (cell) =>
      exactNumber(cell, (text) => {
        const value = readInteger(text);
        return value !== undefined && value === BigInt.asIntN(32, value) ? Number(value) : undefined;
      }),
    array: (values) => integerArray(values.length, (row) => asNumber(values[row])),
  },
};

function asBigint(value: Value): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}

function asNumber(value: Value): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function asBoolean(value: Value): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function cellText(cell: Cell): string | undefined {
  if (cell instanceof JsonNode) return cell.text;
  return typeof cell === 'string' || typeof cell === 'bigint' || typeof cell === 'boolean' ? String(cell) : undefined;
}

function stringOf(cell: Cell): string | undefined {
  if (typeof cell === 'string') return cell;
  return cell instanceof JsonNode && cell.kind === 'string' ? cell.text : undefined;
}

/** The grammar of JSON's numbers, and that of whole numbers, which may have leading zeros. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const numberText = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Reads a number from its text. A JavaScript number is exact only as a safe integer. */
function exactNumber(
  cell: Cell,
  read: (text: string) => bigint | number | undefined,
  grammar = numberText,
): Value | Unfit {
  const isWhole = typeof cell === 'bigint' || (typeof cell === 'number' && Number.isSafeInteger(cell));
  const isText = typeof cell === 'string' || (cell instanceof JsonNode && cell.kind !== 'boolean');
  const text = isWhole ? String(cell) : isText ? cellText(cell) : undefined;
  return text === undefined || !grammar.test(text) ? undefined : (read(text) ?? inexact);
}

type RecordRows = ReturnType<RecordTable['rows']>;

function isList(rows: RecordRows): rows is Extract<RecordRows, readonly unknown[]> {
  return Array.isArray(rows);
}
