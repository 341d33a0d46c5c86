import {
  sqlType,
  type Column,
  type ColumnType,
  type Digits,
  type Encoding,
  type Table,
} from '../../core/columns/table.js';
import { usageError } from '../../core/errors.js';
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

/** The table of a definition that was checked, with the columns that every custom table has. */
export function customTable(pipeline: string, { name, about, columns, sort = [], raw = true }: TableDefinition): Table {
  const defined = Object.entries(columns).map(([column, definition]) => customColumn(column, definition, sort));
  return {
    name,
    about,
    columns: [...defined, ...commonColumns, ...(raw ? rawColumns : [])],
    sort,
    ownPipeline: pipeline,
  };
}

function customColumn(name: string, { type, about }: ColumnDefinition, sort: readonly string[]): Column {
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

/**
 * Compares a definition with the custom tables of a lake: what was loaded has the columns of then.
 *
 * @param lake as the user wrote it
 * @throws LedgerlakeError USAGE naming the file of the definition and what has changed
 */
export function refuseChanged(
  { file, table }: { readonly file: string; readonly table: Table },
  kept: readonly Table[],
  lake: string,
): void {
  const stored = kept.find(({ name }) => name === table.name);
  const former = kept.find(({ ownPipeline }) => ownPipeline === table.ownPipeline);
  if (stored !== undefined && stored.ownPipeline !== table.ownPipeline) {
    const by = stored.ownPipeline ?? 'another pipeline';
    throw usageError(`${file}: table.name: expected another name than ${table.name}, which ${by} fills in ${lake}`);
  }
  if (former !== undefined && former.name !== table.name) {
    throw usageError(
      `${file}: table.name: expected ${former.name}, which ${table.ownPipeline ?? ''} fills in ${lake}, got ${table.name}: ` +
        'a pipeline with another table needs another name',
    );
  }
  const what = stored && difference(stored, table);
  if (what === undefined) return;
  throw usageError(
    `${file}: table: expected ${what}, as ${table.name} has it in ${lake}: give the pipeline and its table other names, or ` +
      'take another --lake',
  );
}

function difference(stored: Table, table: Table): string | undefined {
  const [was, is] = [shapeOf(stored), shapeOf(table)];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    const [before, now] = [was.get(name), is.get(name)];
    if (before === undefined) return `no column ${name}`;
    if (before !== now) return `the column ${name} as ${before}, got ${now ?? 'none'}`;
  }
  if ([...was.keys()].join() !== [...is.keys()].join()) return `columns in the order ${[...was.keys()].join(', ')}`;
  const [sort = [], sorted = []] = [stored.sort, table.sort];
  return sort.join() === sorted.join() ? undefined : `sort to be [${sort.join(', ')}], got [${sorted.join(', ')}]`;
}

function shapeOf({ columns }: Table): Map<string, string> {
  return new Map(columns.map((column) => [column.name, sqlType(column)]));
}
