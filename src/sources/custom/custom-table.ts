import {
  column,
  sqlType,
  type Column,
  type ColumnType,
  type Digits,
  type Encoding,
  type Table,
} from '../../core/columns/table.js';
import { usageError } from '../../core/errors.js';
import type { ColumnDefinition, PipelineDefinition, TableDefinition } from './definition.js';

const types: Readonly<Record<string, ColumnType>> = { varchar: 'text', timestamp: 'instant' };

/** Those that every reader of Parquet has; a dictionary that saves nothing becomes plain. */
const encodings: Readonly<Record<ColumnType, Encoding>> = {
  text: 'dictionary',
  instant: 'dictionary',
  date: 'dictionary',
  decimal: 'dictionary',
  bigint: 'dictionary',
  integer: 'dictionary',
  boolean: 'plain',
};

/** The tables of a checked definition: the one of its records, and the one of their lines, if any. */
export function customTables({ name, table, lines }: PipelineDefinition): { table: Table; lines?: Table } {
  const main = customTable(name, table);
  if (lines === undefined) return { table: main };
  return { table: main, lines: { ...customTable(name, { ...lines.table, raw: false }), linesOf: main.name } };
}

/** A table of a checked definition, with the columns of every custom table. */
export function customTable(pipeline: string, { name, about, columns, sort = [], raw = true }: TableDefinition): Table {
  const defined = Object.entries(columns).map(([column, definition]) => customColumn(column, definition, sort));
  return {
    name,
    about,
    columns: [...defined, ...commonColumns, ...(raw ? rawColumns : [])],
    sort,
    customPipeline: pipeline,
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

const commonColumns: readonly Column[] = [
  { ...column('window_start', 'instant', 'dictionary', 'Start of the window that was read.'), filtered: true },
  column('window_end', 'instant', 'dictionary', 'End of the window, exclusive.'),
  column('position', 'bigint', 'plain', 'Order of receipt within the window, from 0.'),
];

const rawColumns: readonly Column[] = [
  column('content_hash', 'text', 'plain', 'The first 128 bits of the SHA-256 of `raw`, in hex.'),
  column('raw', 'text', 'plain', "The record's JSON exactly as received, byte for byte."),
];

/**
 * Compares a definition with the custom tables of a lake: only columns may be added after the first load.
 *
 * @param lake as given by the user
 * @throws LedgerlakeError USAGE naming the file of the definition and what has changed
 */
export function refuseChanged(
  { file, table, lines }: { readonly file: string; readonly table: Table; readonly lines?: Table },
  kept: readonly Table[],
  lake: string,
): void {
  refuseOther(file, 'table', table, kept, lake);
  const isKnown = kept.some(({ name }) => name === table.name);
  const formerly = kept.find(
    ({ customPipeline, linesOf }) => customPipeline === table.customPipeline && linesOf !== undefined,
  );
  if (lines !== undefined) refuseOther(file, 'lines.table', lines, kept, lake);
  if (!isKnown || (lines === undefined) === (formerly === undefined)) return;
  const expected = formerly === undefined ? 'no lines' : `the table ${formerly.name}`;
  throw usageError(
    `${file}: lines: expected ${expected}, as ${table.customPipeline ?? ''} has it in ${lake}; give the pipeline and its tables ` +
      'other names, or use another --lake',
  );
}

/** Compares one table; `field` is its path in the definition. */
function refuseOther(file: string, field: string, table: Table, kept: readonly Table[], lake: string): void {
  const stored = kept.find(({ name }) => name === table.name);
  const isLines = (one: Table) => one.linesOf !== undefined;
  const former = kept.find((one) => one.customPipeline === table.customPipeline && isLines(one) === isLines(table));
  if (stored !== undefined && stored.customPipeline !== table.customPipeline) {
    const by = stored.customPipeline ?? 'another pipeline';
    throw usageError(`${file}: ${field}.name: expected a name other than ${table.name}, which ${by} fills in ${lake}`);
  }
  if (former !== undefined && former.name !== table.name) {
    throw usageError(
      `${file}: ${field}.name: expected ${former.name}, which ${table.customPipeline ?? ''} fills in ${lake}, got ${table.name}; ` +
        'a pipeline with another table needs another name',
    );
  }
  const what = stored && difference(stored, table);
  if (what === undefined) return;
  throw usageError(
    `${file}: ${field}: expected ${what}, as ${table.name} has it in ${lake}; give the pipeline and its table other names, or ` +
      'use another --lake',
  );
}

function difference(stored: Table, table: Table): string | undefined {
  const [was, is] = [shapeOf(stored), shapeOf(table)];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    const [before, now] = [was.get(name), is.get(name)];
    if (before === undefined) continue;
    if (before !== now) return `the column ${name} as ${before}, got ${now ?? 'none'}`;
  }
  const stayed = [...is.keys()].filter((name) => was.has(name));
  if ([...was.keys()].join() !== stayed.join()) return `columns in the order ${[...was.keys()].join(', ')}`;
  const [sort = [], sorted = []] = [stored.sort, table.sort];
  return sort.join() === sorted.join() ? undefined : `sort to be [${sort.join(', ')}], got [${sorted.join(', ')}]`;
}

function shapeOf({ columns }: Table): Map<string, string> {
  return new Map(columns.map((column) => [column.name, sqlType(column)]));
}
