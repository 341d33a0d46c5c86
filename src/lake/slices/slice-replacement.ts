import { isDeepStrictEqual } from 'node:util';
import { covers, joined, overlap } from '../../core/windows.js';
import { spanIn, type LoadKey } from '../catalog/load-key.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { withDerived, type Chosen, type NewFile, type ReplacedFiles } from '../commit-files.js';
import type { DataFile } from '../delta/data-file.js';
import { loadedOf } from '../loads/imported-spans.js';
import { hasConflict, keyChange, replacedKeys, windowOf, type SliceLoads } from '../loads/load-keys.js';
import type { SliceCommit } from './slice-commit.js';

/**
 * What a slice replaces of a snapshot: current as long as it is the same rows of the same files.
 *
 *     load keys                                files of the main table with rows of these
 *
 *     its own, and those it takes over --+
 *     imported ones, covered ------------+--> whole   --+--> rows of `whole` alone  --> removed
 *     imported ones, covered in part -------> partial --+--> others                 --> rewritten
 *
 * An imported key counts where the slice's window overlaps its span. It is covered where the whole span is loaded once the slice is.
 */
export interface SliceReplacement extends Chosen {
  readonly slice: SliceCommit;
  readonly snapshot: Snapshot;
  /** As `hasConflict`: nothing of the slice may be committed. */
  readonly isConflict: boolean;
  /** The load keys that are read again and were loaded. */
  readonly known: readonly string[];
  /** The files with rows of `known`, and what is derived from them. */
  readonly stored: readonly DataFile[];
  /** The load keys of which no row stays: `replacedKeys`, and imported ones that are covered. */
  readonly whole: readonly string[];
  /** The imported load keys that are covered in part: some of their rows may stay. */
  readonly partial: readonly string[];
  readonly removed: readonly DataFile[];
  /** Their rows that stay are written again (`remainderOf`). */
  readonly rewritten: readonly DataFile[];
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

export function replacementOf(snapshot: Snapshot, slice: SliceCommit): SliceReplacement {
  const { pipeline, account, main } = slice;
  const filesWith = (keys: Iterable<string>) => snapshot.filesWith(main.name, account, pipeline, keys);
  const replaced = replacedKeys(slice);
  const known = replaced.filter((key) => snapshot.key({ account, pipeline, key }) !== undefined);
  const { covered, partial } = reachedImports(snapshot, slice);
  const whole = new Set([...replaced, ...covered]);
  const files = filesWith([...whole, ...partial]);
  const isRemoved = ({ loadKeys }: DataFile) => loadKeys.every((key) => whole.has(key));
  const replacement: SliceReplacement = {
    slice,
    snapshot,
    isConflict: hasConflict(snapshot, slice),
    known,
    stored: withDerived(snapshot, filesWith(known)),
    whole: [...whole],
    partial,
    removed: files.filter(isRemoved),
    rewritten: files.filter((file) => !isRemoved(file)),
    isCurrent: (newest) => isDeepStrictEqual(stateOf(replacement), stateOf(replacementOf(newest, slice))),
  };
  return replacement;
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

/** What another run may change: the load keys and files that a slice replaces, and the versions that set its own load keys. */
function stateOf({ slice, snapshot, isConflict, whole, partial, removed, rewritten }: SliceReplacement): unknown {
  const { account, pipeline, loadKeys, takesOver = [] } = slice;
  const versions = [...loadKeys, ...takesOver].map((key) => snapshot.key({ account, pipeline, key })?.version);
  const files = withDerived(snapshot, [...removed, ...rewritten]);
  return { isConflict, whole, partial, versions, paths: files.map(({ path }) => path) };
}

/**
 * What the commit of the slice replaces: imported load keys are deleted where none of their rows stays.
 *
 * @param hasHistory as for `keyChange`
 */
export function appliedReplacement(
  { slice, snapshot, whole, removed }: SliceReplacement,
  remainder: Remainder,
  { hasHistory, now }: { readonly hasHistory: boolean; readonly now: number },
): ReplacedFiles {
  const { main, account, pipeline } = slice;
  const mains = [...removed, ...remainder.mains];
  const paths = new Set(mains.map(({ path }) => path));
  const kept = new Set(remainder.files.flatMap(({ loadKeys }) => loadKeys));
  const stays = (key: string) =>
    kept.has(key) || snapshot.filesWith(main.name, account, pipeline, [key]).some(({ path }) => !paths.has(path));
  const keys = [...new Set([...whole, ...mains.flatMap(({ loadKeys }) => loadKeys)])];
  const emptied = keys.filter((key) => spanIn('imported', key) !== undefined && !stays(key));
  return {
    removed: withDerived(snapshot, mains),
    keys: keyChange(snapshot, slice, now, emptied, hasHistory),
  };
}
