import type { Window } from '../../core/windows.js';

/** What identifies a load key: a pipeline has each once for an account. */
export interface LoadKeyId {
  readonly account: string;
  readonly pipeline: string;
  /** `window/START/END`, a settlement, an order. */
  readonly key: string;
}

/** What identifies a load key, without what else is known of it. */
export function loadKeyId({ account, pipeline, key }: LoadKeyId): LoadKeyId {
  return { account, pipeline, key };
}

/** What a pipeline has loaded for an account. A replaced key is deleted; it has no other state. */
export interface LoadKey extends LoadKeyId {
  /** Left out for a key that isn't a range of dates. */
  readonly window?: Window;
  /** When it was read last, in milliseconds since 1970. */
  readonly readAt: number;
  /** Since when its rows are in the lake, in milliseconds since 1970; spans where keys with different instants were joined. */
  readonly since: number | readonly LoadedSpan[];
  readonly origin: 'api' | 'import';
  /** What couldn't be read. */
  readonly holes?: readonly LoadHole[];
  /** The version of the catalog that set it, which a snapshot adds. */
  readonly version?: number;
}

/** A part of a window, and since when its rows are in the lake. */
export interface LoadedSpan extends Window {
  readonly since: number;
}

/**
 * What couldn't be read: an event on a page of the API, or in a line of an imported file; numbers count from 0. With `refusedAfter` it is all
 * that the load key names: the API refuses to return more than that number of results. The lake has the rows of an earlier read, if any.
 */
export type LoadHole =
  | { readonly page: number; readonly byte: number; readonly requestId?: string }
  | { readonly file: string; readonly line: number; readonly byte: number }
  | { readonly refusedAfter: number };

/** The number of results behind which the API refuses to return what a load key names; undefined where it returns all. */
export function refusedAfter(holes: readonly LoadHole[] = []): number | undefined {
  return holes.map((hole) => ('refusedAfter' in hole ? hole.refusedAfter : undefined)).find((at) => at !== undefined);
}

/** What the load keys of a pipeline name: windows, or groups, orders or settlements by their ids. */
export type LoadKeyKind = 'window' | 'group' | 'order' | 'settlement';

/** The kind of a load key; that of a span of imported rows is no pipeline's own. */
type AnyKind = LoadKeyKind | 'imported';

/** A load key: `group/ID`. */
export function loadKeyFor(kind: AnyKind, name: string): string {
  return `${kind}/${name}`;
}

/** The kind of a load key, and what it names. The kind may be one that this program doesn't know. */
export function parseLoadKey(loadKey: string): { readonly kind: string; readonly name: string } {
  const at = loadKey.indexOf('/');
  return { kind: loadKey.slice(0, at), name: loadKey.slice(at + 1) };
}

/** What a load key of a kind names; undefined for one of another kind. */
export function nameIn(wanted: AnyKind, loadKey: string): string | undefined {
  const { kind, name } = parseLoadKey(loadKey);
  return kind === wanted ? name : undefined;
}

/** The span of a load key such as `window/START/END`; undefined for one of another kind, and for a malformed one. */
export function spanIn(kind: 'window' | 'imported', loadKey: string): Window | undefined {
  const [start = '', end = '', ...more] = nameIn(kind, loadKey)?.split('/') ?? [];
  const span = { start: Date.parse(start), end: Date.parse(end) };
  return more.length === 0 && span.start < span.end ? span : undefined;
}
