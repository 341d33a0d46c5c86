import type { Action, Add, Txn } from '../delta/actions.js';
import { loadKeysOf, loadKeyAppId } from '../delta/file-tags.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { Window } from '../../core/windows.js';

/** What a slice makes of a load key that it replaces though it didn't read it. */
export interface KeySplit {
  /** What of the load key goes. */
  readonly inside: string;
  /** What of it stays; none where all of it goes. */
  readonly outside: readonly string[];
}

/** What a slice has read. */
export interface SliceLoads {
  readonly pipeline: string;
  readonly account: string;
  /** Each of them counts as loaded once the slice is committed, also where it was empty. */
  readonly loadKeys: readonly string[];
  /** Replaces what the lake holds of the same load keys; otherwise what somebody else committed meanwhile stays. */
  readonly refresh: boolean;
  /** Load keys that no longer count as loaded, as these cover them: a part of a day within the day. */
  readonly retires?: readonly string[] | undefined;
  /** Load keys that exclude the slice's, other than its own: windows that overlap with it. */
  readonly excludes?: ((loadKey: string) => boolean) | undefined;
  /**
   * What the slice takes of a load key that it finds in the lake and that gives way to whatever is read: a day that imports
   * filled. Undefined for a load key that stays as it is.
   */
  readonly splits?: ((loadKey: string) => KeySplit | undefined) | undefined;
}

/** What a slice replaces: its own load keys, and those that it retires. */
export function replacedKeys({ loadKeys, retires = [] }: SliceLoads): readonly string[] {
  return [...loadKeys, ...retires];
}

/** The files that hold any of the load keys that a slice replaces. */
export function touchedFiles(snapshot: Snapshot, slice: SliceLoads): Add[] {
  return snapshot.filesWith(slice.account, slice.pipeline, replacedKeys(slice));
}

/** The load keys that give way to the slice (see `SliceLoads.splits`), in whole or in part. */
export function displacedKeys(snapshot: Snapshot, { pipeline, account, splits }: SliceLoads): string[] {
  if (splits === undefined) return [];
  return [...snapshot.loadKeysOf(account, pipeline).keys()].filter((loadKey) => splits(loadKey) !== undefined);
}

/** The files that hold anything that goes when the slice comes. */
export function filesToReplace(snapshot: Snapshot, slice: SliceLoads): Add[] {
  const replaced = [...replacedKeys(slice), ...displacedKeys(snapshot, slice)];
  return snapshot.filesWith(slice.account, slice.pipeline, replaced);
}

/** Those of them that hold something that stays as well. */
export function filesToSplit(snapshot: Snapshot, slice: SliceLoads): Add[] {
  const wanted = new Set(replacedKeys(slice));
  const stays = (loadKey: string) => {
    const cut = slice.splits?.(loadKey);
    return cut === undefined ? !wanted.has(loadKey) : cut.outside.length > 0;
  };
  return filesToReplace(snapshot, slice).filter((add) => loadKeysOf(add).some(stays));
}

/** Whether another run has read what the slice reads, or what excludes it. */
export function hasConflict(
  snapshot: Snapshot,
  { pipeline, account, loadKeys, refresh, excludes, retires = [] }: SliceLoads,
): boolean {
  if (!refresh && loadKeys.some((loadKey) => timesRead(snapshot, pipeline, account, loadKey) > 0)) return true;
  if (excludes === undefined) return false;
  const read = [...snapshot.loadKeysOf(account, pipeline).keys()];
  return read.some((loadKey) => excludes(loadKey) && !retires.includes(loadKey));
}

/** How often a load key was read; 0 where it doesn't count as read, or no longer. */
function timesRead(snapshot: Snapshot, pipeline: string, account: string, loadKey: string): number {
  return Math.max(0, loadVersion(snapshot, pipeline, account, loadKey));
}

/** How often a load key was read, below 0 where it counts as read no longer: each commit of the load key has another one. */
export function loadVersion({ txns }: Snapshot, pipeline: string, account: string, loadKey: string): number {
  return txns.get(loadKeyAppId(pipeline, account, loadKey))?.version ?? 0;
}

/** The transactions that say that the slice's load keys are read, and those that it retires no longer. */
export function loadTxns(snapshot: Snapshot, slice: SliceLoads, now: number): Action[] {
  const version = (appId: string) => snapshot.txns.get(appId)?.version ?? 0;
  const id = (loadKey: string) => loadKeyAppId(slice.pipeline, slice.account, loadKey);
  const read = slice.loadKeys.map(id).map((appId) => ({ appId, version: Math.abs(version(appId)) + 1 }));
  const retired = [...(slice.retires ?? []), ...displacedKeys(snapshot, slice)]
    .map(id)
    .filter((appId) => version(appId) > 0)
    .map((appId) => ({ appId, version: -version(appId) }));
  return [...read, ...retired].map((txn) => ({ txn: { ...txn, lastUpdated: now } }));
}

/** The files that a pipeline wrote for an account. */
export function filesOf(snapshot: Snapshot, pipeline: string, account: string): Add[] {
  return [...snapshot.filesOf(account)].filter(({ tags }) => tags?.['pipeline'] === pipeline);
}

/** What the load keys of one pipeline were found to name. */
interface KnownKeys {
  readonly loadKeys: string[];
  readonly windows: (Window | undefined)[];
  inOrder: readonly Window[];
}

/** The windows that load keys of one kind name: the name of each is read once, however often it is asked for. */
export class LoadKeyWindows {
  readonly #read: (loadKey: string) => Window | undefined;
  readonly #known = new WeakMap<ReadonlyMap<string, Txn>, KnownKeys>();

  /** `read`: undefined for a load key of another kind. */
  constructor(read: (loadKey: string) => Window | undefined) {
    this.#read = read;
  }

  /** In order. */
  of(loadKeys: ReadonlyMap<string, Txn>): readonly Window[] {
    let known = this.#known.get(loadKeys);
    if (known === undefined) this.#known.set(loadKeys, (known = { loadKeys: [], windows: [], inOrder: [] }));
    let at = 0;
    let isOther = known.loadKeys.length > loadKeys.size;
    for (const loadKey of loadKeys.keys()) {
      // New ones come last, so that hardly one has to be read again.
      if (known.loadKeys[at] !== loadKey) {
        known.loadKeys[at] = loadKey;
        known.windows[at] = this.#read(loadKey);
        isOther = true;
      }
      at++;
    }
    if (!isOther) return known.inOrder;
    known.loadKeys.length = known.windows.length = at;
    known.inOrder = known.windows.filter((window) => window !== undefined).toSorted((a, b) => a.start - b.start);
    return known.inOrder;
  }
}
