import type { Snapshot } from '../catalog/snapshot.js';
import type { TableSnapshot } from '../catalog/table-snapshot.js';
import type { Add } from '../delta/actions.js';
import { loadKeysOf } from '../delta/file-tags.js';
import { parseImportedKey, reachedImports, type ReachedImports } from './imported-spans.js';
import { replacedKeys, type SliceLoads } from './load-keys.js';

/** The imported load keys that the window of a slice reaches. */
export function importsReached(snapshot: Snapshot, { pipeline, account, window }: SliceLoads): ReachedImports {
  return window === undefined ? { covered: [], partial: [] } : reachedImports(snapshot, pipeline, account, window);
}

/** The load keys of which no stored row stays: those that a slice has read or retires, and imported ones whose span is loaded then. */
export function vanishingKeys(snapshot: Snapshot, slice: SliceLoads): ReadonlySet<string> {
  return new Set([...replacedKeys(slice), ...importsReached(snapshot, slice).covered]);
}

/** The files of a table with any rows of these load keys. */
export function filesToReplace(snapshot: Snapshot, table: TableSnapshot, slice: SliceLoads): Add[] {
  return table.filesWith(slice.account, slice.pipeline, vanishingKeys(snapshot, slice));
}

/** Those of them that have rows of other load keys, too. */
export function filesToSplit(snapshot: Snapshot, table: TableSnapshot, slice: SliceLoads): Add[] {
  const keys = vanishingKeys(snapshot, slice);
  return table
    .filesWith(slice.account, slice.pipeline, keys)
    .filter((add) => loadKeysOf(add).some((key) => !keys.has(key)));
}

/** The files with imported rows of which some may stay. */
export function filesReached(snapshot: Snapshot, table: TableSnapshot, slice: SliceLoads): Add[] {
  return table.filesWith(slice.account, slice.pipeline, importsReached(snapshot, slice).partial);
}

/**
 * The imported load keys without rows once a slice is committed.
 *
 * @param options.replaced the files that it replaces
 * @param options.kept the load keys of the files that it adds in their place
 */
export function emptiedKeys(
  snapshot: Snapshot,
  table: TableSnapshot,
  slice: SliceLoads,
  { replaced, kept }: { readonly replaced: readonly Add[]; readonly kept: ReadonlySet<string> },
): string[] {
  const paths = new Set(replaced.map(({ path }) => path));
  const has = (key: string) =>
    kept.has(key) || table.filesWith(slice.account, slice.pipeline, [key]).some(({ path }) => !paths.has(path));
  const keys = new Set([...importsReached(snapshot, slice).covered, ...replaced.flatMap(loadKeysOf)]);
  return [...keys].filter((key) => parseImportedKey(key) !== undefined && !has(key));
}
