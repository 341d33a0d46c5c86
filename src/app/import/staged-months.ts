import { entries, events } from '../../sources/finances/model/tables.js';
import type { Family } from '../../lake/files/families.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import { metadataOf } from '../../lake/files/new-file.js';
import type { SizedWriter } from '../../core/parquet/sized-writer.js';
import { dayOf, importedKey } from '../../lake/loads/imported-days.js';
import type { MonthBatches } from './event-part.js';
import type { Holding } from './holdings.js';

/** A month of a part as files on the local disk, until the whole input is known to be sound. */
export interface StagedMonth {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** These three as in `MonthBatches`. */
  readonly holding: Holding;
  readonly number: number;
  readonly undated: number;
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as the log keeps them. */
  readonly net: string;
}

/** A month on its way to the local disk. */
export interface StagingMonth {
  /** Undefined where it holds nothing. Never unhandled where nobody waits for it any more. */
  readonly month: Promise<StagedMonth | undefined>;
}

/**
 * Writes a month of a part to the workspace, in the bytes that it will have in the lake. Comes back once the writer has all of
 * its rows.
 */
export async function stageMonth(
  { keep }: Workspace,
  writer: SizedWriter,
  family: Family,
  account: string,
  { batches, ...told }: MonthBatches,
): Promise<StagingMonth> {
  const metadata = metadataOf({
    family,
    account,
    month: told.month,
    loadKeys: told.days.map((day) => importedKey(dayOf(day))),
  });
  const files = new Map<string, Promise<LocalParquet>>();
  let net = '{}';
  for (const { table, rows, tags } of batches(writer.memory)) {
    files.set(table.name, keptFile(await writer.take(table, rows, metadata), keep));
    net = tags['net'] ?? net;
  }
  const staged = async (): Promise<StagedMonth | undefined> => {
    const main = await files.get(events.name);
    const derived = await files.get(entries.name);
    return main && { ...told, events: main, entries: derived, net };
  };
  return { month: handled(staged()) };
}
