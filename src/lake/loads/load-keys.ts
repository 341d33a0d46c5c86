import type { Action, Add, Txn } from '../delta/actions.js';
import { loadKeysOf, loadKeyAppId } from '../delta/file-tags.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { Window } from '../../core/windows.js';

/** How a slice splits a load key that it replaces without having read it. */
export interface KeySplit {
  /** The part that is replaced. */
  readonly inside: string;
  /** The parts that stay; empty where all of it is replaced. */
  readonly outside: readonly string[];
}

/** The load keys that a slice has read. */
export interface SliceLoads {
  readonly pipeline: string;
  readonly account: string;
  /** They count as loaded once the slice is committed, also where they are empty. */
  readonly loadKeys: readonly string[];
  /** Whether the slice replaces rows of the same load keys; otherwise they stay. */
  readonly refresh: boolean;
  /** Load keys that no longer count as loaded because the slice's cover them: a part of a day within the day. */
  readonly retires?: readonly string[] | undefined;
  /** Whether another load key conflicts with the slice: an overlapping window. */
  readonly excludes?: ((loadKey: string) => boolean) | undefined;
  /** How the slice splits a stored load key that it displaces: a day of imported rows. Undefined for a load key that stays unchanged. */
  readonly splits?: ((loadKey: string) => KeySplit | undefined) | undefined;
}

/** The load keys that a slice replaces: its own, and those that it retires. */
export function replacedKeys({ loadKeys, retires = [] }: SliceLoads): readonly string[] {
  return [...loadKeys, ...retires];
}

/** The files with any of the load keys that a slice replaces. */
export function touchedFiles(snapshot: Snapshot, slice: SliceLoads): Add[] {
  return snapshot.filesWith(slice.account, slice.pipeline, replacedKeys(slice));
}

/** The load keys that the slice displaces (see `SliceLoads.splits`), in whole or in part. */
export function displacedKeys(snapshot: Snapshot, { pipeline, account, splits }: SliceLoads): string[] {
  if (splits === undefined) return [];
  return [...snapshot.loadKeysOf(account, pipeline).keys()].filter((loadKey) => splits(loadKey) !== undefined);
}

/** The files with any rows that the slice replaces or displaces. */
export function filesToReplace(snapshot: Snapshot, slice: SliceLoads): Add[] {
  const replaced = [...replacedKeys(slice), ...displacedKeys(snapshot, slice)];
  return snapshot.filesWith(slice.account, slice.pipeline, replaced);
}

/** Those of them with rows that stay. */
export function filesToSplit(snapshot: Snapshot, slice: SliceLoads): Add[] {
  const wanted = new Set(replacedKeys(slice));
  const stays = (loadKey: string) => {
    const cut = slice.splits?.(loadKey);
    return cut === undefined ? !wanted.has(loadKey) : cut.outside.length > 0;
  };
  return filesToReplace(snapshot, slice).filter((add) => loadKeysOf(add).some(stays));
}

/** Whether another run has loaded the slice's load keys or conflicting ones. */
export function hasConflict(
  snapshot: Snapshot,
  { pipeline, account, loadKeys, refresh, excludes, retires = [] }: SliceLoads,
): boolean {
  if (!refresh && loadKeys.some((loadKey) => loadVersion(snapshot, pipeline, account, loadKey) > 0)) return true;
  if (excludes === undefined) return false;
  const read = [...snapshot.loadKeysOf(account, pipeline).keys()];
  return read.some((loadKey) => excludes(loadKey) && !retires.includes(loadKey));
}

/**
 * The version of a load key's transaction: how often it was read, negative where it no longer counts as loaded. Each
 * commit of the load key changes it.
 */
export function loadVersion({ txns }: Snapshot, pipeline: string, account: string, loadKey: string): number {
  return txns.get(loadKeyAppId(pipeline, account, loadKey))?.version ?? 0;
}

/** The transactions that mark the slice's load keys as loaded, and retired ones as no longer loaded. */
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

/** The files of a pipeline and account. */
export function filesOf(snapshot: Snapshot, pipeline: string, account: string): Add[] {
  return [...snapshot.filesOf(account)].filter(({ tags }) => tags?.['pipeline'] === pipeline);
}

interface ParsedLoadKeys {
  readonly loadKeys: string[];
  readonly windows: (Window | undefined)[];
  inOrder: readonly Window[];
}

/** The windows of load keys of one kind. Each load key is parsed once and cached. */
export class LoadKeyWindows {
  readonly #parse: (loadKey: string) => Window | undefined;
  readonly #parsed = new WeakMap<ReadonlyMap<string, Txn>, ParsedLoadKeys>();

  /** @param read parses a load key; undefined for one of another kind */
  constructor(read: (loadKey: string) => Window | undefined) {
    this.#parse = read;
  }

  /** In order. */
  of(loadKeys: ReadonlyMap<string, Txn>): readonly Window[] {
    let parsed = this.#parsed.get(loadKeys);
    if (parsed === undefined) this.#parsed.set(loadKeys, (parsed = { loadKeys: [], windows: [], inOrder: [] }));
    let at = 0;
    let isOther = parsed.loadKeys.length > loadKeys.size;
    for (const loadKey of loadKeys.keys()) {
      // New load keys are last, so that hardly any is parsed again.
      if (parsed.loadKeys[at] !== loadKey) {
        parsed.loadKeys[at] = loadKey;
        parsed.windows[at] = this.#parse(loadKey);
        isOther = true;
      }
      at++;
    }
    if (!isOther) return parsed.inOrder;
    parsed.loadKeys.length = parsed.windows.length = at;
    parsed.inOrder = parsed.windows.filter((window) => window !== undefined).toSorted((a, b) => a.start - b.start);
    return parsed.inOrder;
  }
}
