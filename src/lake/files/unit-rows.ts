import type { Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/views.js';
import { dayOf, readImported } from '../loads/imported-days.js';
import { has } from './row-order.js';

/** How the rows of a unit are told from others, by what its name begins with. */
const columnsOf: Readonly<Record<string, readonly string[]>> = {
  window: ['window_start', 'window_end'],
  imported: ['window_start', 'window_end'],
  group: ['group_id'],
  order: ['requested_order_id'],
};

interface Unit {
  readonly kind: string;
  readonly name: string;
}

function unitOf(unit: string): Unit {
  const at = unit.indexOf('/');
  return { kind: unit.slice(0, at), name: unit.slice(at + 1) };
}

/** Whether the rows of each of these units can be told from the others' in a file of the table and of those derived from it. */
export function canTellApart(main: Table, derived: readonly Table[], units: readonly string[]): boolean {
  const told = units.every((unit) => columnsOf[unitOf(unit).kind]?.every((column) => has(main, column)) === true);
  return told && [...derived, ...(derived.length === 0 ? [] : [main])].every((table) => has(table, 'event_id'));
}

/** In SQL: the instant by which a main table's row lies in a day, or in what is left of it. */
export function instantColumn(main: Table): string {
  return has(main, 'effective_at') ? 'effective_at' : 'coalesce(started_at, window_start)';
}

/**
 * In SQL: whether a main table's row belongs to one of these units. Never null.
 *
 * @param instant see `instantColumn`
 */
export function rowsOf(units: readonly string[], instant = 'effective_at'): string {
  const conditions = units.map((unit) => {
    const { kind, name } = unitOf(unit);
    if (kind === 'imported') return importedRows(unit, instant);
    const columns = columnsOf[kind] ?? [];
    const values = columns.length === 1 ? [literal(name)] : name.split('/').map((instant) => instantLiteral(instant));
    return columns.map((column, at) => `${identifier(column)} = ${values[at] ?? 'NULL'}`).join(' AND ');
  });
  return conditions.length === 0 ? 'false' : `coalesce(${conditions.map((of) => `(${of})`).join(' OR ')}, false)`;
}

/** Rows of what is left of an imported day keep the day as their window: the ids of some are made of it. */
function importedRows(unit: string, instant: string): string {
  const { start, end } = readImported(unit) ?? { start: 0, end: 0 };
  const day = dayOf(start);
  const iso = (ms: number) => instantLiteral(new Date(ms).toISOString());
  const whole = `window_start = ${iso(day.start)} AND window_end = ${iso(day.end)}`;
  if (start === day.start && end === day.end) return whole;
  return `${whole} AND ${instant} >= ${iso(start)} AND ${instant} < ${iso(end)}`;
}

/**
 * The column whose value alone names the units, with their beginning: `group_id` and `group/`; undefined where units of
 * several kinds stand together, or where it takes more than one column.
 */
export function namingColumn(
  units: readonly string[],
): { readonly column: string; readonly prefix: string } | undefined {
  const [first] = units;
  if (first === undefined) return undefined;
  const { kind } = unitOf(first);
  const [column, ...others] = columnsOf[kind] ?? [];
  if (column === undefined || others.length > 0) return undefined;
  return units.every((unit) => unitOf(unit).kind === kind) ? { column, prefix: `${kind}/` } : undefined;
}

function instantLiteral(iso: string): string {
  return `TIMESTAMPTZ ${literal(iso)}`;
}

/**
 * What the units come to, for people and for the metadata of a file: the windows as one from the first start to the last
 * end, a single group or order by its name, several as their number.
 */
export function labelOf(units: readonly string[]): string {
  const [first] = units;
  if (first === undefined) return '';
  const { kind, name } = unitOf(first);
  if (units.every(hasBounds)) {
    const bounds = units.map((unit) => unitOf(unit).name.split('/'));
    const starts = bounds.map(([start = '']) => start).toSorted();
    const ends = bounds.map(([, end = '']) => end).toSorted();
    return `${starts[0] ?? ''}/${ends.at(-1) ?? ''}`;
  }
  if (!units.every((unit) => unitOf(unit).kind === kind)) return `${units.length} units`;
  return units.length === 1 ? `${kind} ${name}` : `${units.length} ${kind}s`;
}

/** Whether a unit's name is two instants. */
function hasBounds(unit: string): boolean {
  return ['window', 'imported'].includes(unitOf(unit).kind);
}

/** Where the units begin, as a part of a file's name: `20250304T000000Z`; undefined where they are no windows. */
export function beginningOf(units: readonly string[]): string | undefined {
  if (!units.every(hasBounds)) return undefined;
  const [start] = labelOf(units).split('/');
  return start?.replace('.000Z', 'Z').replace(/[-:]/g, '');
}
