import { isDeepStrictEqual } from 'node:util';
import { catalogError, isObject, type Fields, type MetaData } from '../delta/actions.js';
import { deltaFieldsOf } from '../delta/table-metadata.js';
import type { TableChange } from './change.js';

/** What a snapshot knows of a table. */
export interface TableState {
  /** The number of commits that touch it: the next version of its publications. */
  readonly versions: number;
  readonly metaData: MetaData;
  /** The description of a custom table. */
  readonly description?: Fields;
}

type Schema = Pick<TableChange, 'metaData' | 'description'>;

/**
 * What a commit says of a table's schema, which only grows: the columns of the snapshot, then those of the program that it
 * lacks, so that an older program takes none back. Empty where nothing changes.
 */
export function grownSchema(stored: TableState | undefined, { metaData, description }: Schema): Schema {
  if (stored === undefined) return { ...(metaData && { metaData }), ...(description && { description }) };
  const grown = metaData && grownMetaData(stored.metaData, metaData);
  const described = description && grownDescription(stored.description, description);
  return { ...(grown && { metaData: grown }), ...(described && { description: described }) };
}

function grownMetaData(stored: MetaData, wanted: MetaData): MetaData | undefined {
  const before = deltaFieldsOf(stored.schemaString);
  const fields = grownColumns(before, deltaFieldsOf(wanted.schemaString));
  const schemaString = fields === undefined ? stored.schemaString : JSON.stringify({ type: 'struct', fields });
  const metaData = { ...stored, schemaString, configuration: { ...stored.configuration, ...wanted.configuration } };
  return isDeepStrictEqual(metaData, stored) ? undefined : metaData;
}

/** The description with the columns in its own order, and those that it lacks behind them. */
function grownDescription(stored: Fields | undefined, wanted: Fields): Fields | undefined {
  if (stored === undefined) return wanted;
  const known = new Map(describedColumns(stored).map((column) => [nameOf(column), column]));
  const columns = describedColumns(wanted);
  const names = new Set(columns.map(nameOf));
  const marked = columns.map((column) => {
    const before = known.get(nameOf(column));
    // Older files don't have it.
    return before === undefined || before['later'] === true ? { ...column, later: true } : column;
  });
  const lacked = [...known].flatMap(([name, column]) => (names.has(name) ? [] : [column]));
  const description = { ...wanted, columns: [...marked, ...lacked] };
  return isDeepStrictEqual(description, stored) ? undefined : description;
}

/** The columns, nullable ones made so, and those that are missing behind them; undefined where nothing changes. */
function grownColumns(stored: readonly Fields[], wanted: readonly Fields[]): readonly Fields[] | undefined {
  const byName = new Map(wanted.map((column) => [nameOf(column), column]));
  const known = new Set(stored.map(nameOf));
  const grown = stored.map((column) => {
    const isLoosened = column['nullable'] === false && byName.get(nameOf(column))?.['nullable'] === true;
    return isLoosened ? { ...column, nullable: true } : column;
  });
  // Older files don't have them.
  const added = wanted.filter((column) => !known.has(nameOf(column))).map((column) => ({ ...column, nullable: true }));
  return added.length === 0 && grown.every((column, at) => column === stored[at]) ? undefined : [...grown, ...added];
}

/**
 * Checks that a table's schema has every column that it had.
 *
 * @throws LedgerlakeError LAKE_LOG naming the first one that is missing
 */
export function checkGrown(stored: TableState | undefined, { metaData, description }: Schema, where: string): void {
  if (stored === undefined) return;
  const lacking = (before: readonly Fields[], now: readonly Fields[]) => {
    const names = new Set(now.map(nameOf));
    return before.filter((column) => !names.has(nameOf(column)));
  };
  const [lost] = [
    ...(metaData ? lacking(deltaFieldsOf(stored.metaData.schemaString), deltaFieldsOf(metaData.schemaString)) : []),
    ...(description ? lacking(describedColumns(stored.description), describedColumns(description)) : []),
  ];
  if (lost !== undefined)
    throw catalogError(`expected every column in the schema of ${where}, it has lost ${nameOf(lost)}`);
}

function describedColumns(description: Fields | undefined): readonly Fields[] {
  const columns = description?.['columns'];
  return Array.isArray(columns) ? columns.filter(isObject) : [];
}

/** Delta compares names of columns without regard to case. */
function nameOf(column: Fields): string {
  return String(column['name']).toLowerCase();
}
