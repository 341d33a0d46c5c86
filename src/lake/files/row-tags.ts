import type { Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { rowsIn } from './local-parquet.js';
import type { Cell } from '../../core/text/rows.js';
import type { NetSums } from './merged-tags.js';
import { hasColumn } from './row-order.js';

/** Net sums by currency of a local file of entries, exact; nothing for a table without amounts. */
export async function netSumsOfFile(database: Database, table: Table, path: string): Promise<NetSums> {
  if (!['role', 'currency', 'amount'].every((column) => hasColumn(table, column))) return {};
  const rows = await database.rows(
    `SELECT coalesce(currency, '') AS currency, CAST(sum(amount) AS VARCHAR) AS net FROM ${rowsIn([path])} ` +
      "WHERE role = 'net' AND amount IS NOT NULL GROUP BY ALL",
  );
  return Object.fromEntries(rows.map(({ currency, net }) => [String(currency), String(net)]));
}

/** What the log tells of each group of a local file; instants in milliseconds since 1970, null where it has none. */
export async function groupSpans(
  database: Database,
  path: string,
): Promise<{ id: string; start: number | null; end: number | null; open?: true; awaited?: true }[]> {
  const rows = await database.rows(
    'SELECT group_id, epoch_us(started_at) AS started, epoch_us(ended_at) AS ended, ' +
      `ended_at IS NOT NULL AND processing_status IS NOT DISTINCT FROM 'Open' AS open, ` +
      `ended_at IS NOT NULL AND processing_status IS DISTINCT FROM 'Open' AND original_total IS NULL AS awaited FROM ${rowsIn([path])}`,
  );
  const milliseconds = (micros: Cell | undefined) => (typeof micros === 'bigint' ? Number(micros / 1000n) : null);
  return rows.map(({ group_id, started, ended, open, awaited }) => ({
    id: typeof group_id === 'string' ? group_id : '',
    start: milliseconds(started),
    end: milliseconds(ended),
    ...(open === true && { open }),
    ...(awaited === true && { awaited }),
  }));
}
