import { isDeepStrictEqual } from 'node:util';
import type { PipelineTables } from '../../core/columns/table.js';
import { covers, joined, overlap } from '../../core/windows.js';
import { spanIn, type LoadKey } from '../catalog/load-key.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { withDerived, type NewFile, type ReplacedFiles } from '../commit-files.js';
import { DataFile } from '../delta/data-file.js';
import { loadedOf } from '../loads/imported-spans.js';
import { keyChange, replacedKeys, windowOf, type SliceLoads } from '../loads/load-keys.js';

/** What of a slice says what it replaces. */
type ReplacingSlice = SliceLoads & Pick<PipelineTables, 'main'>;

/** What a slice replaces of a snapshot. It never changes; another snapshot has another one (`isSameReplacement`). */
export interface SliceReplacement {
  readonly snapshot: Snapshot;
  /**
   * The load keys of which no row stays: those that the slice removes (`replacedKeys`), and imported ones whose whole span is loaded once
   * the slice is.
   */
  readonly whole: readonly string[];
  /** Imported load keys that the window reaches otherwise: some of their rows may stay. */
  readonly partial: readonly string[];
  /** The main table's files with rows of `whole`. */
  readonly files: readonly DataFile[];
  /** The main table's files with rows that the slice replaces, of which others may stay. */
  readonly shared: readonly DataFile[];
  /** The paths of all these, and of what is derived from them. */
  readonly paths: readonly string[];
  /** The version that set each load key of the slice, and each that it takes over; -1 for one that isn't loaded. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What stays of files that a slice replaces, to be committed with the slice. */
export interface Remainder {
  /** Files with the rows that stay. */
  readonly files: readonly NewFile[];
  /** The files of the main table that they are made from. */
  readonly mains: readonly DataFile[];
  /** How many imported rows of these don't stay. */
  readonly importedRows: number;
}

export const noRemainder: Remainder = { files: [], mains: [], importedRows: 0 };

export function replacementOf(snapshot: Snapshot, slice: ReplacingSlice): SliceReplacement {
  const { pipeline, account, main, loadKeys, takesOver = [] } = slice;
  const { covered, partial } = reachedImports(snapshot, slice);
  const whole = new Set([...replacedKeys(slice), ...covered]);
  const filesWith = (keys: Iterable<string>) => snapshot.filesWith(main.name, account, pipeline, keys);
  const files = filesWith(whole);
  const mixed = files.filter((file) => file.loadKeys.some((key) => !whole.has(key)));
  const version = (key: string) => snapshot.key({ account, pipeline, key })?.version ?? -1;
  const shared = [...new Set([...mixed, ...filesWith(partial)])];
  return {
    snapshot,
    whole: [...whole],
    partial,
    files,
    shared,
    paths: withDerived(snapshot, [...files, ...shared]).map(({ path }) => path),
    versions: new Map([...loadKeys, ...takesOver].map((key) => [key, version(key)])),
  };
}

/** The imported load keys that a window reaches once it is loaded. */
function reachedImports(
  snapshot: Snapshot,
  { account, pipeline, loadKeys }: SliceLoads,
): { readonly covered: readonly string[]; readonly partial: readonly string[] } {
  const window = windowOf({ loadKeys });
  if (window === undefined) return { covered: [], partial: [] };
  const keys = [...snapshot.keysOf(account, pipeline).values()];
  const reached = keys.filter(
    (key) => key.origin === 'import' && key.window !== undefined && overlap(key.window, window),
  );
  if (reached.length === 0) return { covered: [], partial: [] };
  const loaded = joined([window, ...loadedOf(keys)]);
  const whole = loaded.find((one) => covers(one, window)) ?? window;
  const isCovered = ({ window: span }: LoadKey) => span !== undefined && covers(whole, span);
  return {
    covered: reached.filter(isCovered).map(({ key }) => key),
    partial: reached.filter((key) => !isCovered(key)).map(({ key }) => key),
  };
}

/** Whether two of a slice replace the same rows of the same files: what was written for one of them fits the other. */
export function isSameReplacement(one: SliceReplacement, other: SliceReplacement): boolean {
  const compared = ({ whole, partial, paths, versions }: SliceReplacement) => [whole, partial, paths, versions];
  return isDeepStrictEqual(compared(one), compared(other));
}

/** A file with rows that the slice replaces as a whole, and others, which must be written again. */
export function mixedFile({ files, shared }: SliceReplacement): DataFile | undefined {
  return files.find((file) => shared.includes(file));
}

/**
 * What the commit of the slice replaces: imported load keys are deleted where none of their rows stays.
 *
 * @param isCompared as for `keyChange`
 */
export function appliedReplacement(
  replacement: SliceReplacement,
  slice: ReplacingSlice,
  remainder: Remainder,
  { isCompared, now }: { readonly isCompared: boolean; readonly now: number },
): ReplacedFiles {
  const { snapshot, whole, files } = replacement;
  const { main } = slice;
  const mains = [...files, ...remainder.mains];
  const paths = new Set(mains.map(({ path }) => path));
  const kept = new Set(remainder.files.flatMap(({ table, add }) => new DataFile(add, table.name).loadKeys));
  const stays = (key: string) =>
    kept.has(key) ||
    snapshot.filesWith(main.name, slice.account, slice.pipeline, [key]).some(({ path }) => !paths.has(path));
  const keys = [...new Set([...whole, ...mains.flatMap(({ loadKeys }) => loadKeys)])];
  const emptied = keys.filter((key) => spanIn('imported', key) !== undefined && !stays(key));
  return {
    removed: withDerived(snapshot, mains),
    keys: keyChange(snapshot, slice, now, emptied, isCompared),
  };
}
