import { hasColumn, hasEvents, type Table } from '../../core/columns/table.js';
import { parseLoadKey, type LoadKeyKind } from '../catalog/load-key.js';
import { timestampLiteral, identifier, literal } from '../../core/duckdb/literals.js';

/** The columns that select the rows of a load key, by the key's kind. */
const columnsOfKind: Readonly<Record<LoadKeyKind | 'imported', readonly string[]>> = {
  window: ['window_start', 'window_end'],
  imported: ['window_start', 'window_end'],
  group: ['group_id'],
  order: ['requested_order_id'],
  settlement: ['settlement_id'],
};

/** None for a kind that this program doesn't know. */
const columnsOf: Readonly<Partial<Record<string, readonly string[]>>> = columnsOfKind;

/** Whether the rows of each of these load keys can be selected in a main table's files: derived rows follow, lines have the same columns. */
export function canSelectRows(main: Table, loadKeys: readonly string[]): boolean {
  return loadKeys.every(
    (loadKey) => columnsOf[parseLoadKey(loadKey).kind]?.every((column) => hasColumn(main, column)) === true,
  );
}

/** SQL expression for the load key of a row, by the key's kind. */
export function keyExpression(kind: LoadKeyKind): string {
  const text = (column: string) =>
    kind === 'window' ? `strftime(${column}, '%Y-%m-%dT%H:%M:%S.%gZ')` : identifier(column);
  return [`'${kind}'`, ...columnsOfKind[kind].map(text)].join(" || '/' || ");
}

/** SQL expression for the instant that tells whether an imported row of a main table is of a window. */
export function instantColumn(main: Table): string {
  return hasEvents(main) ? 'effective_at' : 'coalesce(started_at, window_start)';
}

/** SQL condition for the rows of a main table that belong to one of these load keys. Never null. */
export function loadKeyCondition(loadKeys: readonly string[]): string {
  const conditions = loadKeys.map((loadKey) => {
    const { kind, name } = parseLoadKey(loadKey);
    const columns = columnsOf[kind] ?? [];
    const values = columns.length === 1 ? [literal(name)] : name.split('/').map((instant) => timestampLiteral(instant));
    return columns.map((column, at) => `${identifier(column)} = ${values[at] ?? 'NULL'}`).join(' AND ');
  });
  return conditions.length === 0
    ? 'false'
    : `coalesce(${conditions.map((condition) => `(${condition})`).join(' OR ')}, false)`;
}

/**
 * The column whose value identifies the load keys, with their prefix: `group_id` and `group/`; undefined for load keys
 * of several kinds, or of a kind with several columns.
 */
export function keyColumn(
  loadKeys: readonly string[],
): { readonly column: string; readonly prefix: string } | undefined {
  const [first] = loadKeys;
  if (first === undefined) return undefined;
  const { kind } = parseLoadKey(first);
  const [column, ...others] = columnsOf[kind] ?? [];
  if (column === undefined || others.length > 0) return undefined;
  return loadKeys.every((loadKey) => parseLoadKey(loadKey).kind === kind) ? { column, prefix: `${kind}/` } : undefined;
}

/**
 * A label of load keys, for people and for a file's metadata: windows as one range from the first start to the last
 * end, a single group or order by its name, several by their number.
 */
export function loadKeysLabel(loadKeys: readonly string[]): string {
  const [first] = loadKeys;
  if (first === undefined) return '';
  const { kind, name } = parseLoadKey(first);
  if (loadKeys.every(hasBounds)) {
    const bounds = loadKeys.map((loadKey) => parseLoadKey(loadKey).name.split('/'));
    const starts = bounds.map(([start = '']) => start).toSorted();
    const ends = bounds.map(([, end = '']) => end).toSorted();
    return `${starts[0] ?? ''}/${ends.at(-1) ?? ''}`;
  }
  if (!loadKeys.every((loadKey) => parseLoadKey(loadKey).kind === kind)) return `${loadKeys.length} load keys`;
  return loadKeys.length === 1 ? `${kind} ${name}` : `${loadKeys.length} ${kind}s`;
}

/** Load keys for messages: the first, and the number of others. */
export function loadKeysText(loadKeys: readonly string[]): string {
  const [first = '', ...others] = loadKeys;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

/** Whether a load key's name is two instants. */
function hasBounds(loadKey: string): boolean {
  return ['window', 'imported'].includes(parseLoadKey(loadKey).kind);
}

/** The first start of windows, for a file's name: `20250304T000000Z`; undefined for other load keys. */
export function firstStart(loadKeys: readonly string[]): string | undefined {
  if (!loadKeys.every(hasBounds)) return undefined;
  const [start] = loadKeysLabel(loadKeys).split('/');
  return start?.replace('.000Z', 'Z').replace(/[-:]/g, '');
}
