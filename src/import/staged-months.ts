import { deltaStatistics } from '../columns/statistics.js';
import { events } from '../finances/tables.js';
import type { Family } from '../maintenance/families.js';
import type { LocalParquet } from '../maintenance/local-parquet.js';
import { metadataOf } from '../maintenance/new-files.js';
import type { Workspace } from '../maintenance/workspace.js';
import { parquetFile } from '../parquet/wasm.js';
import { dayOf, importedUnit } from '../run/imported-days.js';
import type { MonthBatches } from './event-part.js';

/** A month of a part as files on the local disk, until the whole input is known to be sound. */
export interface StagedMonth {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** As in `MonthBatches`. */
  readonly isNumbered: boolean;
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as the log keeps them. */
  readonly net: string;
}

/** Writes a month of a part to the workspace, in the bytes that it will have in the lake. */
export async function stagedMonth(
  { keep }: Workspace,
  family: Family,
  account: string,
  { month, days, isNumbered, batches }: MonthBatches,
): Promise<StagedMonth | undefined> {
  const metadata = metadataOf({ family, account, month, units: days.map((day) => importedUnit(dayOf(day))) });
  const files = new Map<string, LocalParquet>();
  let net = '{}';
  for (const { table, rows, tags } of batches()) {
    const path = await keep(await parquetFile(table, [rows], metadata));
    files.set(table.name, { path, rows: rows.numRows, stats: deltaStatistics(table, rows) });
    net = tags['net'] ?? net;
  }
  const main = files.get(events.name);
  const [derived] = [...files].filter(([table]) => table !== events.name);
  return main === undefined ? undefined : { month, days, isNumbered, events: main, entries: derived?.[1], net };
}
