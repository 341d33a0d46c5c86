import type { Column, ColumnType, Digits, Encoding, Table } from '../../core/columns/table.js';
import type { ColumnDefinition, TableDefinition } from './definition.js';

const types: Readonly<Record<string, ColumnType>> = { varchar: 'text', timestamp: 'instant' };

/** Numbers that follow each other come close together, texts and amounts repeat. */
const encodings: Readonly<Record<ColumnType, Encoding>> = {
  text: 'dictionary',
  instant: 'delta',
  date: 'delta',
  decimal: 'dictionary',
  bigint: 'delta',
  integer: 'delta',
  boolean: 'plain',
};

/** The table of a definition that was checked, with the columns that every own table has. */
export function ownTable(pipeline: string, { name, about, columns, sort = [], raw = true }: TableDefinition): Table {
  const own = Object.entries(columns).map(([column, definition]) => ownColumn(column, definition, sort));
  return { name, about, columns: [...own, ...commonColumns, ...(raw ? rawColumns : [])], sort, ownPipeline: pipeline };
}

function ownColumn(name: string, { type, about }: ColumnDefinition, sort: readonly string[]): Column {
  const [, precision, scale] = /^decimal\((\d+),(\d+)\)$/.exec(type) ?? [];
  const digits: Digits = { precision: Number(precision), scale: Number(scale) };
  const columnType = precision === undefined ? (types[type] ?? (type as ColumnType)) : 'decimal';
  const isFiltered = sort.includes(name) && (columnType === 'text' || columnType === 'instant');
  return {
    name,
    type: columnType,
    encoding: encodings[columnType],
    nullable: true,
    about: about ?? '',
    ...(precision !== undefined && { digits }),
    ...(isFiltered && { filtered: true as const }),
  };
}

function common(name: string, type: ColumnType, encoding: Encoding, about: string): Column {
  return { name, type, encoding, nullable: false, about };
}

const commonColumns: readonly Column[] = [
  { ...common('window_start', 'instant', 'dictionary', 'Start of the window that was read.'), filtered: true },
  common('window_end', 'instant', 'dictionary', 'End of the window, exclusive.'),
  common('position', 'bigint', 'delta', 'Order of receipt within the window, from 0.'),
];

const rawColumns: readonly Column[] = [
  common('content_hash', 'text', 'delta-length', 'The first 128 bits of the SHA-256 of `raw`, in hex.'),
  common('raw', 'text', 'plain', "The record's JSON exactly as received, byte for byte."),
];
