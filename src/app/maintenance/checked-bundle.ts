import type { Table } from '../../core/columns/table.js';
import { DamagedFile } from '../../lake/delta/damaged-file.js';
import type { Lake } from '../../lake/lake.js';
import type { ParquetSource } from '../../core/parquet/source-blob.js';
import { currentFiles, type Bundle } from './bundles.js';
import { checkedSource } from '../../lake/files/checked-file.js';
import type { Family } from '../../lake/files/families.js';
import { pageBytes } from './made-again.js';
import type { RowCounts } from './unchanged-entries.js';
import { unchangedSomewhere, type UnchangedThread } from './unchanged-thread.js';
import type { Workspace } from '../../lake/files/workspace.js';

/** A bundle that was looked at. */
export interface Checked {
  readonly bundle: Bundle;
  /** Holds its files alone. */
  readonly workspace: Workspace;
  /** The file of events; undefined where another run replaced it meanwhile. */
  readonly file?: ParquetSource;
  /** Undefined where the entries aren't known to be what this version makes of the file. */
  readonly unchanged?: RowCounts | undefined;
  /** Then local copies of their files; undefined where not all of them are in the lake as their commit says. */
  readonly stored?: readonly string[] | undefined;
}

/** How a bundle is looked at. */
export interface Look {
  /** Helps to find out what has changed; undefined where there is too little. */
  readonly thread: UnchangedThread | undefined;
  /** Whether its entries are likely to be others, so that looking first would only be work done twice. */
  readonly isLikelyChanged: boolean;
}

/**
 * Reads a bundle's file of events, and finds out whether its entries are what this version makes of it.
 *
 * @throws LedgerlakeError LAKE_STORE where the file is missing or was changed, or the signal's reason
 */
export async function checkBundle(
  { lake, signal }: { readonly lake: Lake; readonly signal: AbortSignal },
  workspace: Workspace,
  { thread, isLikelyChanged }: Look,
  family: Family,
  table: Table,
  bundle: Bundle,
): Promise<Checked> {
  const checked = await whileLive(lake, family, bundle, async () => {
    const file = await checkedSource(lake.store, lake.table(family.main.name), bundle.main, workspace);
    const stored = await storedEntries(lake, workspace, table, bundle);
    const [only, ...more] = stored ?? [];
    if (only !== undefined && more.length === 0 && !isLikelyChanged) {
      const isLarge = pageBytes(bundle.main) > workspace.limits.rawBytes;
      const unchanged = await unchangedSomewhere(isLarge ? undefined : thread, table, file, only, signal);
      if (unchanged !== undefined) return { file, unchanged };
    }
    const local = async (source: ParquetSource) => (typeof source === 'string' ? source : workspace.keep(source));
    return { file, stored: stored && (await Promise.all(stored.map(local))) };
  });
  return { bundle, workspace, ...checked };
}

/** What a step over a bundle comes to; undefined where it failed and another run has replaced the bundle meanwhile. */
export async function whileLive<T>(
  lake: Lake,
  family: Family,
  bundle: Bundle,
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    await lake.refresh();
    if (currentFiles(lake.table(family.main.name).snapshot.files, [bundle]) !== undefined) throw error;
    return undefined;
  }
}

/** The files of a bundle's entries; undefined where not all of them are in the lake as their commit says. */
async function storedEntries(
  lake: Lake,
  workspace: Workspace,
  table: Table,
  { derived, isWhole }: Bundle,
): Promise<readonly ParquetSource[] | undefined> {
  if (!isWhole) return undefined;
  const files: ParquetSource[] = [];
  for (const { add } of derived.filter((of) => of.table === table)) {
    try {
      files.push(await checkedSource(lake.store, lake.table(table.name), add, workspace));
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      // It is made anew from what it was made from, so it is no loss.
      return undefined;
    }
  }
  return files;
}
