import type { Change } from '../catalog/change.js';
import { loadKeyId, refusedAfter, spanIn, type LoadHole, type LoadKey } from '../catalog/load-key.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { overlap, type Window } from '../../core/windows.js';
import { joinedSince } from './loaded-spans.js';

/**
 * What is read again: what was `complete` when it was read before, an `open` settlement, or one that has `closed` since. Settlements are
 * expected to have new rows. The read of a `closed` one is recorded even where it has none.
 */
export type Reread = 'complete' | 'open' | 'closed';

/** The load keys that a slice has read. */
export interface SliceLoads {
  readonly pipeline: string;
  readonly account: string;
  /** They count as loaded once the slice is committed, also where they are empty. */
  readonly loadKeys: readonly string[];
  /** Set where it reads again what is loaded, and replaces the rows where they differ. Left out: it conflicts with loaded load keys. */
  readonly reread?: Reread | undefined;
  /** Loaded load keys that its own cover (a part of a day within the day), which no longer count as loaded then. Left out: none. */
  readonly takesOver?: readonly string[] | undefined;
  /** Events that could not be read, by load key: rows that the slice lacks may be these. */
  readonly holes?: ReadonlyMap<string, readonly LoadHole[]> | undefined;
  /** Where its rows are from; left out: `api`. */
  readonly origin?: LoadKey['origin'] | undefined;
}

/** The window of dates that a slice reads: it replaces imported rows there, and no other loaded window may overlap it. */
export function windowOf({ loadKeys: [key = ''] }: Pick<SliceLoads, 'loadKeys'>): Window | undefined {
  return spanIn('window', key);
}

/**
 * The load keys whose rows a slice removes: its own, even where they don't count as loaded, as files may have rows of them, and those that
 * it takes over. None, where the API refuses to return the slice.
 */
export function replacedKeys({
  loadKeys,
  takesOver = [],
  holes,
}: Pick<SliceLoads, 'loadKeys' | 'takesOver' | 'holes'>): readonly string[] {
  if (refusedAfter([...(holes?.values() ?? [])].flat()) !== undefined) return [];
  return [...loadKeys, ...takesOver];
}

/** Whether another run has loaded the slice's load keys or conflicting ones. */
export function hasConflict(
  snapshot: Snapshot,
  { pipeline, account, loadKeys, reread, takesOver }: SliceLoads,
): boolean {
  const read = snapshot.keysOf(account, pipeline);
  const window = windowOf({ loadKeys });
  if (reread === undefined && loadKeys.some((loadKey) => read.has(loadKey))) return true;
  if (window === undefined) return false;
  const replaced = new Set(replacedKeys({ loadKeys, takesOver }));
  return [...read.keys()].some((loadKey) => {
    const other = replaced.has(loadKey) ? undefined : spanIn('window', loadKey);
    return other !== undefined && overlap(other, window);
  });
}

/**
 * The slice's load keys as loaded at an instant, and the covered and emptied ones deleted.
 *
 * @param now milliseconds since 1970
 * @param emptied imported load keys of which no row stays
 * @param hasHistory whether the history has what the slice changes of the windows that it replaces. Then their unchanged rows are known
 *   since before; otherwise all rows are known since now.
 */
export function keyChange(
  snapshot: Snapshot,
  slice: SliceLoads,
  now: number,
  emptied: readonly string[] = [],
  hasHistory = false,
): NonNullable<Change['keys']> {
  const { pipeline, account, origin = 'api' } = slice;
  const stored = snapshot.keysOf(account, pipeline);
  const gone = [...(slice.takesOver ?? []), ...emptied].flatMap((key) => stored.get(key) ?? []);
  const set = slice.loadKeys.map((key): LoadKey => {
    const window = spanIn('window', key) ?? spanIn('imported', key);
    const same = stored.get(key);
    const before = hasHistory ? [...(same === undefined ? [] : [same]), ...gone] : [];
    const since = joinedSince(
      window,
      before.filter((one) => one.origin === 'api'),
      now,
    );
    const holes = slice.holes?.get(key);
    return { account, pipeline, key, ...(window && { window }), readAt: now, since, origin, ...(holes && { holes }) };
  });
  return { set, delete: gone.map(loadKeyId) };
}

/** The windows of load keys of one kind. */
export class LoadKeyWindows {
  readonly #parse: (loadKey: string) => Window | undefined;
  readonly #parsed = new Map<string, Window | undefined>();
  /** By the load keys of a snapshot, which never change. */
  readonly #inOrder = new WeakMap<ReadonlyMap<string, unknown>, readonly Window[]>();

  /** @param parse parses a load key; undefined for one of another kind */
  constructor(parse: (loadKey: string) => Window | undefined) {
    this.#parse = parse;
  }

  /** In order. */
  of(loadKeys: ReadonlyMap<string, unknown>): readonly Window[] {
    let windows = this.#inOrder.get(loadKeys);
    if (windows === undefined) {
      windows = [...loadKeys.keys()].flatMap((key) => this.#windowOf(key) ?? []).toSorted((a, b) => a.start - b.start);
      this.#inOrder.set(loadKeys, windows);
    }
    return windows;
  }

  /** Parses each load key once: every commit makes another map of all of them. */
  #windowOf(loadKey: string): Window | undefined {
    if (!this.#parsed.has(loadKey)) this.#parsed.set(loadKey, this.#parse(loadKey));
    return this.#parsed.get(loadKey);
  }
}
