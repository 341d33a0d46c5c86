import type { Table } from '../../core/columns/table.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import type { LoadKey, LoadKeyId } from '../../lake/catalog/load-key.js';
import { keyExpression } from '../../lake/files/load-key-rows.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { parseImportedKey } from '../../lake/loads/imported-spans.js';
import { pipelineTable } from '../verify/checks/main-tables.js';

/** In SQL: the load key of a row of a main table. */
export function keyOfRow(main: Table): string {
  const kind = pipelineTable(main)?.loadKey ?? 'window';
  return kind === 'window' && !hasColumn(main, 'window_start') ? 'NULL' : keyExpression(kind);
}

/** What a load key says of itself, as the entry of one whose own is lost. */
export function loadKeyOf({ account, pipeline, key }: LoadKeyId, readAt: number): LoadKey {
  const span = parseImportedKey(key);
  const window = readWindow(key) ?? span;
  const origin = span === undefined ? 'api' : 'import';
  return { account, pipeline, key, ...(window && { window }), readAt, since: readAt, origin };
}
