import type { Snapshot } from '../catalog/snapshot.js';
import { TableSnapshot } from '../catalog/table-snapshot.js';
import type { Add } from '../delta/actions.js';
import { loadKeysOf } from '../delta/file-tags.js';
import { parseImportedKey, reachedImports, type ReachedImports } from './imported-spans.js';
import { replacedKeys, type SliceLoads } from './load-keys.js';

/** What a slice reaches of the rows that a snapshot has in its main table. */
export interface ReachedRows extends ReachedImports {
  /** The load keys of which no row stays: those that the slice has read or replaces, and imported ones whose span is loaded then. */
  readonly vanishing: ReadonlySet<string>;
  /** The files with any rows of these. */
  readonly files: readonly Add[];
  /** Those of them that have rows of other load keys, too. */
  readonly mixed: readonly Add[];
  /** The files with imported rows of which some may stay. */
  readonly partialFiles: readonly Add[];
}

export function reachedRows(snapshot: Snapshot, main: string, slice: SliceLoads): ReachedRows {
  const { pipeline, account, window } = slice;
  const table = new TableSnapshot(snapshot, main);
  const { covered, partial } =
    window === undefined ? { covered: [], partial: [] } : reachedImports(snapshot, pipeline, account, window);
  const vanishing = new Set([...replacedKeys(slice), ...covered]);
  const files = table.filesWith(account, pipeline, vanishing);
  const mixed = files.filter((add) => loadKeysOf(add).some((key) => !vanishing.has(key)));
  return { covered, partial, vanishing, files, mixed, partialFiles: table.filesWith(account, pipeline, partial) };
}

/**
 * The imported load keys without rows once a slice is committed.
 *
 * @param covered those that the slice covers
 * @param options.replaced the files that it replaces
 * @param options.kept the load keys of the files that it adds in their place
 */
export function emptiedKeys(
  table: TableSnapshot,
  { account, pipeline }: SliceLoads,
  { covered }: ReachedRows,
  { replaced, kept }: { readonly replaced: readonly Add[]; readonly kept: ReadonlySet<string> },
): string[] {
  const paths = new Set(replaced.map(({ path }) => path));
  const has = (key: string) =>
    kept.has(key) || table.filesWith(account, pipeline, [key]).some(({ path }) => !paths.has(path));
  const keys = new Set([...covered, ...replaced.flatMap(loadKeysOf)]);
  return [...keys].filter((key) => parseImportedKey(key) !== undefined && !has(key));
}
