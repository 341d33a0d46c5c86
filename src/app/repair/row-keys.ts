import type { Table } from '../../core/columns/table.js';
import { identifier } from '../../core/duckdb/literals.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import type { LoadKey, LoadKeyId } from '../../lake/catalog/load-key.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { parseImportedKey } from '../../lake/loads/imported-spans.js';
import { orderTransactions, settlementSummaries } from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { groupEvents, orderEvents } from '../../sources/finances/model/tables.js';

/** The columns that name a load key, of tables whose load keys are no windows. */
const keyColumns: ReadonlyMap<string, readonly [kind: string, column: string]> = new Map([
  [groupEvents.name, ['group', 'group_id']],
  [orderEvents.name, ['order', 'requested_order_id']],
  [orderTransactions.name, ['order', 'requested_order_id']],
  [settlementSummaries.name, ['settlement', 'settlement_id']],
]);

/** In SQL: the load key of a row of a main table. */
export function keyExpression(main: Table): string {
  const [kind, column] = keyColumns.get(main.name) ?? [];
  if (kind !== undefined && column !== undefined) return `'${kind}/' || ${identifier(column)}`;
  if (!hasColumn(main, 'window_start')) return 'NULL';
  const text = (name: string) => `strftime(${name}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
  return `'window/' || ${text('window_start')} || '/' || ${text('window_end')}`;
}

/** What a load key says of itself, as the entry of one whose own is lost. */
export function loadKeyOf({ account, pipeline, key }: LoadKeyId, readAt: number): LoadKey {
  const span = parseImportedKey(key);
  const window = readWindow(key) ?? span;
  const origin = span === undefined ? 'api' : 'import';
  return { account, pipeline, key, ...(window && { window }), readAt, since: readAt, origin };
}
