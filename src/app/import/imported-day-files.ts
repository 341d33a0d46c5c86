import type { ImportLimits } from './chunk-threads.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Add } from '../../lake/delta/actions.js';
import type { CommitResult, NewFile } from '../../lake/commit-files.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import type { Lake } from '../../lake/lake.js';
import { keyChange, loadVersion } from '../../lake/loads/load-keys.js';
import type { Clock } from '../../core/clock.js';
import type { Family } from '../../core/columns/table.js';
import { dayOf, importedKey, importedWindows } from '../../lake/loads/imported-days.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { overlap } from '../../core/windows.js';

/** The lake and the account of an import. */
export interface ImportTarget {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly account: string;
}

export interface ImportOptions extends ImportTarget {
  readonly signal: AbortSignal;
  /** Skips lines that are not bodies of the service, instead of leaving the whole input out. */
  readonly skipBroken: boolean;
  readonly limits: ImportLimits;
  readonly emit: Emit;
}

/** The imported rows of some days in the lake, at one time. */
export interface StoredDays {
  /** Starts of the days that no loaded window overlaps. */
  readonly open: readonly number[];
  /** The load keys of imported rows of the open days; for a day without rows, the key that it will have. */
  readonly loadKeys: readonly string[];
  /** Files with imported rows of the open days. */
  readonly files: readonly Add[];
  /** Whether a snapshot is unchanged in these days. */
  readonly isCurrent: (snapshot: Snapshot) => boolean;
}

/** Whether a loaded window overlaps a day, by the day's start. */
export function loadedDays(snapshot: Snapshot, account: string, pipeline: string): (day: number) => boolean {
  const loaded = loadedWindows({ snapshot }, pipeline, account);
  const known = new Map<number, boolean>();
  return (day) => {
    const isLoaded = known.get(day) ?? loaded.some((window) => overlap(window, dayOf(day)));
    known.set(day, isLoaded);
    return isLoaded;
  };
}

/** The imported rows of days, by their starts, in the tables of a family. */
export function storedDays(target: ImportTarget, family: Family, days: readonly number[]): StoredDays {
  const { lake, account } = target;
  const { pipeline, main } = family;
  const readState = (snapshot: Snapshot) => {
    const isLoaded = loadedDays(snapshot, account, pipeline);
    const open = days.filter((day) => !isLoaded(day));
    const imported = importedWindows(snapshot, pipeline, account);
    const loadKeys = open.flatMap((day) => {
      const existing = imported.filter((window) => overlap(window, dayOf(day)));
      return (existing.length === 0 ? [dayOf(day)] : existing).map(importedKey);
    });
    const versions = loadKeys.map((key) => `${key} ${loadVersion(snapshot, pipeline, account, key)}`);
    return { open, loadKeys, state: versions.join() };
  };
  const state = readState(lake.snapshot);
  const files = lake.table(main.name).snapshot.filesWith(account, pipeline, state.loadKeys);
  return { ...state, files, isCurrent: (snapshot) => readState(snapshot).state === state.state };
}

/**
 * Commits the files of imported days, unless the lake has changed in these days since `stored` was read: then it changes
 * nothing, and the caller reads again.
 *
 * @param replaced files that are replaced; other files of these days stay
 */
export async function commitDays(
  { lake, clock, account }: ImportTarget,
  { pipeline, main }: Family,
  stored: StoredDays,
  files: readonly NewFile[],
  replaced: readonly Add[] = [],
): Promise<CommitResult> {
  const committed = await lake.commitFiles({
    operation: 'IMPORT',
    main,
    files,
    decide: (snapshot) => {
      const isThere = ({ path }: Add) => snapshot.file(main.name, path) !== undefined;
      if (!stored.isCurrent(snapshot) || !replaced.every(isThere)) return undefined;
      const days = { pipeline, account, loadKeys: stored.loadKeys, refresh: true };
      return { replaced, keys: keyChange(snapshot, days, clock.now(), { origin: 'import' }) };
    },
  });
  if (!committed.isCommitted) await lake.refresh();
  return committed;
}
